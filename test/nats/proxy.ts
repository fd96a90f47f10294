/**
 * A TCP proxy in front of a nats-server that fails as networks do: it holds the answers back, swallows what is sent, or breaks the
 * connections. What is held goes on, in order, when it is released.
 */
import { connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface Proxy {
  readonly url: string
  /** From now on what the server says stays here; what is said to it passes. */
  readonly holdAnswers: Effect.Effect<void>
  /** From now on what is said to the server stays here. */
  readonly holdRequests: Effect.Effect<void>
  /** Lets through what was held, and everything from now on. */
  readonly release: Effect.Effect<void>
  /** Breaks all connections; what was held is lost. */
  readonly cut: Effect.Effect<void>
}

export const proxyTo = (target: string): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { hostname, port } = new URL(target)
    const toServer = new Set<Socket>()
    const toClient = new Set<Socket>()
    let answersHeld = false
    let requestsHeld = false
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      toServer.add(client)
      toClient.add(upstream)
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client]
      ] as const) {
        socket.on("data", (data) => other.write(data))
        socket.on("error", () => other.destroy())
        socket.on("close", () => {
          toServer.delete(client)
          toClient.delete(upstream)
          other.destroy()
        })
      }
      if (requestsHeld) client.pause()
      if (answersHeld) upstream.pause()
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          for (const socket of [...toServer, ...toClient]) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* Effect.die("no port")
    return {
      url: `nats://127.0.0.1:${address.port}`,
      holdAnswers: Effect.sync(() => {
        answersHeld = true
        for (const socket of toClient) socket.pause()
      }),
      holdRequests: Effect.sync(() => {
        requestsHeld = true
        for (const socket of toServer) socket.pause()
      }),
      release: Effect.sync(() => {
        answersHeld = false
        requestsHeld = false
        for (const socket of [...toServer, ...toClient]) socket.resume()
      }),
      cut: Effect.sync(() => {
        for (const socket of [...toServer, ...toClient]) socket.destroy()
      })
    }
  })
