/** A payment service outside of the process under test: it notes every charge by its idempotency key, and loses some answers. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"

export class PaymentService {
  /** The charges of each key: the order, once for each call. */
  readonly charges = new Map<string, Array<number>>()
  address = ""

  /** Serves until the scope ends. */
  readonly serve = Effect.acquireRelease(
    Effect.callback<() => void>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (part) => {
          body += String(part)
        })
        request.on("end", () => {
          const isFirst = this.note(String(request.headers["idempotency-key"]), Number(body))
          // Every third order is charged, and its first answer is lost.
          response.writeHead(isFirst && Number(body) % 3 === 0 ? 503 : 200).end()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
        resume(
          Effect.succeed(() => {
            server.closeAllConnections()
            server.close()
          })
        )
      })
    }),
    (close) => Effect.sync(close)
  )

  private note(key: string, order: number): boolean {
    const known = this.charges.get(key)
    if (known === undefined) this.charges.set(key, [order])
    else known.push(order)
    return known === undefined
  }
}
