/**
 * The receiver of a kill run, a process of its own that outlives every kill: a plain HTTP server that keeps whatever comes, as it comes, and judges
 * nothing. Of some events it refuses the first request, so that kills fall into retries too. Says `listening` with its port, `arrived` with
 * every request, and everything it has when it is asked for it.
 */
import { hash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** One request, as it came. */
export interface Arrival {
  /** The path's last segment: the endpoint's name. */
  readonly endpoint: string
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly contentType: string
  readonly userAgent: string
  readonly body: string
  /** What it was answered. */
  readonly status: number
}

export type FromReceiver =
  | { readonly _tag: "listening"; readonly port: number }
  | { readonly _tag: "arrived"; readonly total: number }
  | { readonly _tag: "all"; readonly arrivals: ReadonlyArray<Arrival> }

const tell = (message: FromReceiver): void => {
  process.send!(message)
}

/** The first request of one event in sixteen is refused. */
const isRefusedOnce = (eventId: string): boolean => hash("sha256", eventId, "hex").startsWith("0")

const main = (): void => {
  const arrivals: Array<Arrival> = []
  const refused = new Set<string>()
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    // A request that was cut off by a kill never ends, and has not arrived.
    request.on("end", () => {
      const text = (name: string) => String(request.headers[name] ?? "")
      const endpoint = request.url!.split("/").at(-1)!
      const id = text("x-platformwebhook-id")
      const key = `${endpoint} ${id}`
      const status = isRefusedOnce(id) && !refused.has(key) ? 503 : 200
      refused.add(key)
      arrivals.push({
        endpoint,
        id,
        timestamp: text("x-platformwebhook-timestamp"),
        signature: text("x-platformwebhook-signature"),
        contentType: text("content-type"),
        userAgent: text("user-agent"),
        body: Buffer.concat(chunks).toString("utf8"),
        status
      })
      response.writeHead(status).end()
      tell({ _tag: "arrived", total: arrivals.length })
    })
    request.on("error", () => {})
  })
  server.listen(0, "127.0.0.1", () => tell({ _tag: "listening", port: (server.address() as AddressInfo).port }))
  process.on("message", () => tell({ _tag: "all", arrivals }))
  process.on("disconnect", () => process.exit())
}

if (process.argv[1] === import.meta.filename) main()
