/**
 * Posting through a proxy that speaks TLS itself (docs/platform.md, 6.12): whom the sender trusts, and how long it waits
 * for the proxy, by the Clock.
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { DeliveryRequest } from "../../../src/webhooks/delivery/ports.ts"
import { parseProxy } from "../../../src/webhooks/sender/egressProxy.ts"
import * as HttpSender from "../../../src/webhooks/sender/HttpSender.ts"
import { makeTargetGuard } from "../../../src/webhooks/target/targets.ts"
import { startReceiver } from "../receiver.ts"

const certificate = (name: string) => readFileSync(new URL(`../../nats/certificates/${name}`, import.meta.url), "utf8")

/** A proxy behind TLS, which leads to where it is asked, or says nothing. */
const startTlsProxy = (isSilent = false) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly asked: Promise<string>; readonly close: () => void }>(
      (resume) => {
        const sockets = new Set<Socket>()
        const { promise: asked, resolve: ask } = Promise.withResolvers<string>()
        const server = createServer({ key: certificate("server-key.pem"), cert: certificate("server.pem") })
        server.on("connection", (socket: Socket) => sockets.add(socket))
        server.on("connect", (request, socket: Socket) => {
          ask(request.url!)
          socket.on("error", () => socket.destroy())
          if (isSilent) return
          const at = request.url!.lastIndexOf(":")
          const upstream = connect(Number(request.url!.slice(at + 1)), request.url!.slice(0, at), () => {
            socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
            socket.pipe(upstream).pipe(socket)
          })
          sockets.add(upstream)
          upstream.on("error", () => upstream.destroy())
        })
        server.listen(0, "127.0.0.1", () => {
          const close = () => {
            for (const socket of sockets) socket.destroy()
            server.close()
          }
          resume(Effect.succeed({ port: (server.address() as AddressInfo).port, asked, close }))
        })
      }
    ),
    ({ close }) => Effect.sync(close)
  )

/** A port that takes connections and never speaks, so that no handshake comes to its end. */
const startMute = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly reached: Promise<void>; readonly close: () => void }>((resume) => {
    const sockets = new Set<Socket>()
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
    const server = createTcpServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => socket.destroy())
      // The greeting of TLS has come.
      socket.once("data", () => reach())
    })
    server.listen(0, "127.0.0.1", () => {
      const close = () => {
        for (const socket of sockets) socket.destroy()
        server.close()
      }
      resume(Effect.succeed({ port: (server.address() as AddressInfo).port, reached, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** The attempt itself takes as long as it likes. */
const request = (url: string): DeliveryRequest => ({
  url,
  organizationId: "org_1",
  headers: { "Content-Type": "application/json" },
  body: "{}",
  timeoutMillis: 600_000
})

const senderThrough = (port: number) =>
  HttpSender.make(
    makeTargetGuard("any", () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])),
    parseProxy(`https://localhost:${port}`)
  )

const unreached = {
  attempt: { _tag: "NoAnswer", isOurs: true },
  response: null,
  error: "The egress proxy could not be reached"
} as const

describe("a sender with a proxy that speaks TLS", () => {
  const before = getCACertificates("default")
  beforeAll(() => setDefaultCACertificates([...before, certificate("authority.pem")]))
  afterAll(() => setDefaultCACertificates(before))

  it.live("[platform 6.12] delivers through it", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const proxy = yield* startTlsProxy()
      const sender = yield* senderThrough(proxy.port)
      const { attempt } = yield* sender.send(request(`http://hook.localhost:${receiver.port}/hook`))
      assert.deepInclude(attempt, { _tag: "Answered", status: 200 })
      assert.strictEqual(yield* Effect.promise(() => proxy.asked), `127.0.0.1:${receiver.port}`)
      assert.strictEqual(receiver.of("/hook")[0]!.headers.host, `hook.localhost:${receiver.port}`)
    })
  )

  it.live("[platform 6.12] tells it nothing while its certificate is not trusted", () =>
    Effect.gen(function* () {
      setDefaultCACertificates(before)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => setDefaultCACertificates([...before, certificate("authority.pem")]))
      )
      const proxy = yield* startTlsProxy()
      const sender = yield* senderThrough(proxy.port)
      assert.deepStrictEqual(yield* sender.send(request("https://shop.example/")), unreached)
    })
  )

  it.effect("[platform 6.12] waits ten seconds for its answer to CONNECT, and the endpoint may be to blame", () =>
    Effect.gen(function* () {
      const proxy = yield* startTlsProxy(true)
      const sender = yield* senderThrough(proxy.port)
      const sending = yield* Effect.forkChild(sender.send(request("https://shop.example/")))
      assert.strictEqual(yield* Effect.promise(() => proxy.asked), "127.0.0.1:443")
      yield* TestClock.adjust(9_999)
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(sending), {
        attempt: { _tag: "NoAnswer" },
        response: null,
        error: "The egress proxy gave no answer in time"
      })
    })
  )

  it.effect("[platform 6.12] waits five seconds until it can be spoken to", () =>
    Effect.gen(function* () {
      const mute = yield* startMute
      const sender = yield* senderThrough(mute.port)
      const sending = yield* Effect.forkChild(sender.send(request("https://shop.example/")))
      yield* Effect.promise(() => mute.reached)
      yield* TestClock.adjust(4_999)
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(sending), unreached)
    })
  )
})
