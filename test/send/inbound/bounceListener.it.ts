/** The listener for bounces, spoken to by a real SMTP client: whom it takes mail for, what it bounds, and what it answers while reports cannot be counted. */
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { readVerp, type VerpTarget, verpOf } from "../../../src/send/feedback/index.ts"
import { listenForBounces } from "../../../src/send/inbound/BounceListener.ts"
import { FeedbackIntake, IntakeUnavailable } from "../../../src/send/inbound/FeedbackIntake.ts"
import { until } from "../../webhooks/until.ts"

const key = Buffer.from("32 bytes of the system's secrets")
const path = verpOf({ emailId: "em_1", recipientIndex: 0 }, "bounces.test", key)

interface Taken {
  readonly raw: string
  readonly targets: ReadonlyArray<VerpTarget>
}

const listening = (isAway: () => boolean = () => false) =>
  Effect.gen(function* () {
    const taken: Array<Taken> = []
    const intake = Layer.succeed(FeedbackIntake, {
      targetOf: (address) => readVerp(address, key),
      take: (raw, targets) =>
        Effect.suspend(() => {
          if (isAway()) return Effect.fail(new IntakeUnavailable({ message: "away" }))
          taken.push({ raw: Buffer.from(raw).toString("latin1"), targets })
          return Effect.succeed("taken" as const)
        }),
      takeFile: () => Effect.succeed("none")
    })
    const port = yield* listenForBounces({ host: "127.0.0.1", port: 0, domain: "bounces.test" }).pipe(
      Effect.provide(intake),
      Effect.provide(Logger.layer([]))
    )
    return { port, taken }
  })

/** A connection that says lines and hears the last line of each answer. */
const client = (port: number) =>
  Effect.gen(function* () {
    const socket: Socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect(port, "127.0.0.1").setEncoding("latin1")),
      (one) => Effect.sync(() => one.destroy())
    )
    let heard = ""
    let isOver = false
    socket.on("data", (text: string) => {
      heard += text
    })
    socket.on("close", () => {
      isOver = true
    })
    socket.on("error", () => undefined)
    const answer = until(Effect.sync(() => isOver || /^\d{3} .*\r\n$/m.test(heard))).pipe(
      Effect.map(() => {
        const last = heard.trimEnd().split("\r\n").at(-1) ?? ""
        heard = ""
        return last
      })
    )
    const say = (line: string) =>
      Effect.andThen(
        Effect.sync(() => socket.write(`${line}\r\n`)),
        answer
      )
    yield* answer
    yield* say("EHLO mx.two.test")
    return { say }
  }) satisfies Effect.Effect<unknown, unknown, Scope.Scope>

describe("the listener", () => {
  it.live("takes mail for return paths of ours, whatever their case, and for nobody else", () =>
    Effect.gen(function* () {
      const { port, taken } = yield* listening()
      const { say } = yield* client(port)
      assert.match(yield* say("MAIL FROM:<>"), /^250 /)
      const other = verpOf(
        { emailId: "em_1", recipientIndex: 0 },
        "bounces.test",
        Buffer.from("another key of 32 bytes at least")
      )
      for (const address of [
        "postmaster@bounces.test",
        "bounce+abc@bounces.test",
        other,
        path.replace("bounces.test", "two.test"),
        "x"
      ])
        assert.match(yield* say(`RCPT TO:<${address}>`), /^5\d\d /, address)
      assert.match(yield* say(`RCPT TO:<${path.toUpperCase()}>`), /^250 /)
      assert.match(yield* say("DATA"), /^354 /)
      assert.match(yield* say("Subject: a\r\n\r\n..dot\r\n."), /^250 /)
      assert.deepStrictEqual(taken, [
        { raw: "Subject: a\r\n\r\n.dot\r\n", targets: [{ emailId: "em_1", recipientIndex: 0 }] }
      ])
      assert.match(yield* say("AUTH PLAIN AGEAYg=="), /^5\d\d /)
    }).pipe(Effect.scoped)
  )

  it.live("reads the beginning of a long mail alone", () =>
    Effect.gen(function* () {
      const { port, taken } = yield* listening()
      const { say } = yield* client(port)
      yield* say("MAIL FROM:<>")
      yield* say(`RCPT TO:<${path}>`)
      yield* say("DATA")
      assert.match(yield* say(`${`${"x".repeat(70)}\r\n`.repeat(30_000)}.`), /^250 /)
      assert.lengthOf(taken[0]!.raw, 262_144)
    }).pipe(Effect.scoped)
  )

  it.live("is told again what it could not count", () =>
    Effect.gen(function* () {
      let isAway = true
      const { port, taken } = yield* listening(() => isAway)
      const { say } = yield* client(port)
      const send = Effect.gen(function* () {
        yield* say("MAIL FROM:<>")
        yield* say(`RCPT TO:<${path}>`)
        yield* say("DATA")
        return yield* say("a\r\n.")
      })
      assert.match(yield* send, /^451 /)
      isAway = false
      assert.match(yield* send, /^250 /)
      assert.lengthOf(taken, 1)
    }).pipe(Effect.scoped)
  )

  it.live("has few connections for one address", () =>
    Effect.gen(function* () {
      const { port } = yield* listening()
      yield* Effect.forEach(Array.from({ length: 10 }), () => client(port))
      const refused = yield* client(port)
      assert.strictEqual(yield* refused.say("NOOP"), "")
    }).pipe(Effect.scoped)
  )
})
