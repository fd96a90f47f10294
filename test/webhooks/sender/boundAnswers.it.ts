/** Answers on raw sockets, as no HTTP server would give them: floods end, and each is told as what it is. */
import { type AddressInfo, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { readResponseBytes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryAnswer } from "../../../src/webhooks/delivery/ports.ts"
import * as HttpSender from "../../../src/webhooks/sender/HttpSender.ts"
import { makeTargetGuard } from "../../../src/webhooks/target/targets.ts"
import { until } from "../until.ts"

interface RawReceiver {
  readonly url: string
  /** Connections that were opened, and those that are over. */
  readonly connections: () => number
  readonly closed: () => number
}

/** A receiver that does what it likes with each request that comes on a connection. */
const receiving = (answer: (socket: Socket) => void): Effect.Effect<RawReceiver, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<RawReceiver & { readonly close: () => void }>((resume) => {
        const sockets = new Set<Socket>()
        let opened = 0
        const server = createServer((socket) => {
          opened++
          sockets.add(socket)
          socket.on("error", () => undefined)
          socket.on("close", () => sockets.delete(socket))
          // Each request is one small piece, which ends with its body.
          socket.on("data", (bytes) => {
            if (bytes.toString("latin1").endsWith("{}")) answer(socket)
          })
        }).listen(0, "127.0.0.1", () =>
          resume(
            Effect.succeed({
              url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
              connections: () => opened,
              closed: () => opened - sockets.size,
              close: () => {
                for (const socket of sockets) socket.destroy()
                server.close()
              }
            })
          )
        )
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ close: _, ...receiver }) => receiver
  )

/** Writes a beginning, then the same again and again until the connection is closed. */
const flooding = (beginning: string, more: string) => (socket: Socket) => {
  const piece = more.repeat(Math.ceil(16_384 / more.length))
  const go = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on("drain", go)
  socket.write(beginning)
  go()
}

const send = (url: string) =>
  Effect.flatMap(HttpSender.make(makeTargetGuard("any")), (sender) =>
    sender.send({ url, organizationId: "org_1", headers: {}, body: "{}", timeoutMillis: 60_000 })
  )

const told = ({ attempt, error }: DeliveryAnswer) => [
  attempt._tag,
  attempt._tag === "Answered" ? attempt.status : 0,
  error
]

const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
const tooLarge = `The answer has more than ${readResponseBytes} bytes`

describe("an answer that does not end", () => {
  it.live.each([
    ["a chunk extension", flooding(`${chunked}1;`, "x"), ["Answered", 200, tooLarge]],
    ["chunk extensions", flooding(chunked, "1;xxxxxxxxxxxxxxxx\r\na\r\n"), ["Answered", 200, tooLarge]],
    ["a body", flooding("HTTP/1.1 200 OK\r\n\r\n", "x"), ["Answered", 200, tooLarge]],
    ["interim answers", flooding("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"), ["NoAnswer", 0, tooLarge]],
    [
      "trailers",
      flooding(`${chunked}0\r\n`, "x: y\r\n"),
      ["Answered", 200, "The trailers of the answer are too large"]
    ],
    ["headers", flooding("HTTP/1.1 200 OK\r\n", "x: y\r\n"), ["NoAnswer", 0, "The headers of the answer are too large"]]
  ] as const)("but goes on with %s: its connection is closed, and it is told", ([, answer, expected]) =>
    Effect.gen(function* () {
      const receiver = yield* receiving(answer)
      assert.deepStrictEqual(told(yield* send(receiver.url)), [...expected])
      yield* until(Effect.sync(() => receiver.closed() === 1))
    })
  )
})

describe("an answer that is not whole", () => {
  it.live.each([
    [
      "a 200 that is cut off",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning"),
      ["Answered", 200, "The answer broke off"]
    ],
    [
      "a chunked 200 that is cut off",
      (socket: Socket) => socket.end(`${chunked}9\r\nbeginning\r\n`),
      ["Answered", 200, "The answer broke off"]
    ],
    [
      "a 200 whose body is not HTTP",
      (socket: Socket) => socket.end(`${chunked}what\r\n`),
      ["Answered", 200, "The body of the answer is not HTTP"]
    ],
    ["a text", (socket: Socket) => socket.end("hello\r\n"), ["NoAnswer", 0, "The answer is not HTTP"]],
    [
      "headers that are cut off",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-"),
      ["NoAnswer", 0, "The connection was closed without an answer"]
    ]
  ] as const)("%s is told as what it is", ([, answer, expected]) =>
    Effect.gen(function* () {
      const receiver = yield* receiving(answer)
      assert.deepStrictEqual(told(yield* send(receiver.url)), [...expected])
    })
  )
})

describe("answers on one connection", () => {
  it.live("have the bound each", () =>
    Effect.gen(function* () {
      const body = "x".repeat(readResponseBytes - 1_000)
      const receiver = yield* receiving((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      )
      const sender = yield* HttpSender.make(makeTargetGuard("any"))
      for (let count = 0; count < 6; count++)
        assert.deepStrictEqual(
          told(
            yield* sender.send({
              url: receiver.url,
              organizationId: "org_1",
              headers: {},
              body: "{}",
              timeoutMillis: 60_000
            })
          ),
          ["Answered", 200, null]
        )
      // The second request may begin before the first connection is free again.
      assert.isAtMost(receiver.connections(), 2)
    })
  )
})
