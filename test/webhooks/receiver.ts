/** A receiver of webhooks as its owner would run it: a real HTTP server that answers as it is told and remembers what came. */
import { createHmac } from "node:crypto"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** Which connection it came on, from 1. */
  readonly connection: number
}

/** Answers one request. `count` is how many came to its path before. */
export type Behaviour = (response: ServerResponse, received: Received, count: number) => void

export const answering =
  (status: number, headers: Readonly<Record<string, string>> = {}, body = "ok"): Behaviour =>
  (response) => {
    response.writeHead(status, headers).end(body)
  }

/** Never answers. */
export const hanging: Behaviour = () => undefined

export interface Receiver {
  readonly port: number
  readonly url: (path: string) => string
  /** All requests to a path, in the order of their arrival. */
  readonly of: (path: string) => ReadonlyArray<Received>
  /** How requests to a path are answered from now on; 200 where nothing was said. */
  readonly answer: (path: string, behaviour: Behaviour) => void
  /** The most requests to a path that were without an answer at the same time. */
  readonly mostAtOnce: (path: string) => number
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Starts a receiver on loopback; it ends with the scope, with its connections. */
export const startReceiver: Effect.Effect<Receiver, never, Scope.Scope> = Effect.gen(function* () {
  const received = new Map<string, Array<Received>>()
  const behaviours = new Map<string, Behaviour>()
  const open = new Map<string, number>()
  const most = new Map<string, number>()
  const connections = new WeakMap<object, number>()
  let connected = 0
  const server = yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const made = createServer((request, response) => {
            const path = request.url!
            const now = (open.get(path) ?? 0) + 1
            open.set(path, now)
            most.set(path, Math.max(most.get(path) ?? 0, now))
            response.once("close", () => open.set(path, open.get(path)! - 1))
            bodyOf(request).then(
              (body) => {
                const list = received.get(path) ?? []
                received.set(path, list)
                const one: Received = {
                  path,
                  method: request.method!,
                  headers: request.headers,
                  body,
                  at: Date.now(),
                  connection: connections.get(request.socket)!
                }
                list.push(one)
                ;(behaviours.get(path) ?? answering(200))(response, one, list.length - 1)
              },
              () => response.destroy()
            )
          })
          made.on("connection", (socket) => connections.set(socket, ++connected))
          made.listen(0, "127.0.0.1", () => resolve(made))
        })
    ),
    (made) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            made.close(() => resolve())
            made.closeAllConnections()
          })
      )
  )
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: (path) => `http://localhost:${port}${path}`,
    of: (path) => received.get(path) ?? [],
    answer: (path, behaviour) => void behaviours.set(path, behaviour),
    mostAtOnce: (path) => most.get(path) ?? 0
  }
})

/** The signature that a receiver computes by docs/platform.md, 7.3, without the platform's own code. */
export const expectedSignature = (secret: string, { body, headers }: Received): string =>
  createHmac("sha256", secret).update(`${headers["x-platformwebhook-timestamp"]}.${body}`).digest("hex")

/** The signatures of a request, in order. */
export const signaturesOf = ({ headers }: Received): ReadonlyArray<string> =>
  String(headers["x-platformwebhook-signature"])
    .split(",")
    .filter((part) => part.startsWith("v1="))
    .map((part) => part.slice(3))
