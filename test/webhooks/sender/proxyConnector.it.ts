/** Posting through a real proxy: it gets the checked address, and its faults are told apart from the endpoint's. */
import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { DeliveryRequest } from "../../../src/webhooks/delivery/ports.ts"
import { parseProxy } from "../../../src/webhooks/sender/egressProxy.ts"
import * as HttpSender from "../../../src/webhooks/sender/HttpSender.ts"
import { makeTargetGuard, type Resolve, type TargetPolicy } from "../../../src/webhooks/target/targets.ts"
import { startReceiver } from "../receiver.ts"

const loopback: Resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])

/** A proxy that leads to where it is asked, or answers with a status. */
const startProxy = (refusal?: number) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly port: number
      readonly asked: Array<{ readonly target: string; readonly authorization: string | undefined }>
      /** The first bytes that go to the targets. */
      readonly begun: Array<string>
      readonly close: () => void
    }>((resume) => {
      const asked: Array<{ readonly target: string; readonly authorization: string | undefined }> = []
      const begun: Array<string> = []
      const sockets = new Set<Socket>()
      const server = createServer()
      server.on("connect", (request: IncomingMessage, socket: Socket) => {
        sockets.add(socket)
        const target = request.url!
        asked.push({ target, authorization: request.headers["proxy-authorization"] })
        if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`)
        const at = target.lastIndexOf(":")
        const upstream = connect(Number(target.slice(at + 1)), target.slice(0, at), () => {
          socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
          socket.once("data", (chunk: Buffer) => begun.push(chunk.toString("latin1")))
          socket.pipe(upstream).pipe(socket)
        })
        for (const one of [socket, upstream]) one.on("error", () => one.destroy())
        sockets.add(upstream)
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        }
        resume(Effect.succeed({ port, asked, begun, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const request = (url: string): DeliveryRequest => ({
  url,
  organizationId: "org_1",
  headers: { "Content-Type": "application/json" },
  body: "{}",
  timeoutMillis: 10_000
})

const senderThrough = (port: number, { credentials = "", policy = "any" as TargetPolicy, resolve = loopback } = {}) =>
  HttpSender.make(makeTargetGuard(policy, resolve), parseProxy(`http://${credentials}127.0.0.1:${port}`))

describe("a sender with a proxy", () => {
  it.live("[platform 6.12] names the checked address, keeps the name for the endpoint, and reuses its connection", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const proxy = yield* startProxy()
      const sender = yield* senderThrough(proxy.port, { credentials: "ann:p%40ss@" })
      for (const _ of [1, 2, 3, 4, 5, 6]) {
        const { attempt } = yield* sender.send(request(`http://hook.localhost:${receiver.port}/hook`))
        assert.deepInclude(attempt, { _tag: "Answered", status: 200 })
      }
      assert.deepStrictEqual(proxy.asked[0], {
        target: `127.0.0.1:${receiver.port}`,
        authorization: `Basic ${Buffer.from("ann:p@ss").toString("base64")}`
      })
      // A connection that is just about to be free is not waited for.
      assert.isAtMost(proxy.asked.length, 2)
      const received = receiver.of("/hook")
      assert.lengthOf(received, 6)
      assert.strictEqual(received[0]!.headers.host, `hook.localhost:${receiver.port}`)
      assert.strictEqual(received[0]!.headers["proxy-authorization"], undefined)
    })
  )

  it.live("[platform 6.12] speaks TLS with the name of the host", () =>
    Effect.gen(function* () {
      const receiver = yield* startReceiver
      const proxy = yield* startProxy()
      const sender = yield* senderThrough(proxy.port)
      const { error } = yield* sender.send(request(`https://shop.example:${receiver.port}/`))
      assert.strictEqual(error, "The TLS handshake failed")
      assert.strictEqual(proxy.asked[0]!.target, `127.0.0.1:${receiver.port}`)
      // The greeting of TLS has the name as it is.
      assert.include(proxy.begun[0], "shop.example")
    })
  )

  it.live("[platform 6.12] asks the proxy for no address that is not public", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const sender = yield* senderThrough(proxy.port, { policy: "public" })
      const named = yield* sender.send(request("https://inside.example/"))
      assert.strictEqual(named.error, "The host name has no public address")
      const literal = yield* sender.send(request("https://127.0.0.1/"))
      assert.strictEqual(literal.error, "127.0.0.1 is not a public address, nothing is delivered there")
      assert.deepStrictEqual(proxy.asked, [])
    })
  )

  it.live("[platform 6.12] tells the proxy's own faults from those of the endpoint", () =>
    Effect.gen(function* () {
      const faults = [
        [407, true, "The egress proxy refused its credentials (407)"],
        [403, true, "The egress proxy refused the connection (403)"],
        [502, false, "The host could not be reached: the egress proxy answered 502"]
      ] as const
      for (const [status, isOurs, error] of faults) {
        const proxy = yield* startProxy(status)
        const sender = yield* senderThrough(proxy.port, { credentials: "ann:secret-of-ann@" })
        const answer = yield* sender.send(request("https://shop.example/"))
        assert.deepStrictEqual(answer, {
          attempt: { _tag: "NoAnswer", ...(isOurs ? { isOurs: true } : {}) },
          response: null,
          error
        })
      }
      const gone = yield* Effect.scoped(startProxy())
      const sender = yield* senderThrough(gone.port)
      assert.deepStrictEqual(yield* sender.send(request("https://shop.example/")), {
        attempt: { _tag: "NoAnswer", isOurs: true },
        response: null,
        error: "The egress proxy could not be reached"
      })
    })
  )
})
