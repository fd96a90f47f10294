/** The relay's pool against a real SMTP server that is sabotaged at each step (docs/handoff.md, 2.2): what each recipient is answered, and that no mail is taken twice. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import type { RelayTrouble } from "../../../../src/send/handoff/smtp/outcomes.ts"
import { makeRelay, type RelayOptions } from "../../../../src/send/handoff/smtp/Relay.ts"
import { until } from "../../../webhooks/until.ts"
import { type RelayServer, startRelay } from "./relayServer.ts"

const raw = Buffer.from("Subject: Hello\r\n\r\nHello.\r\n.dot\r\n")

interface Given extends Partial<RelayOptions> {
  readonly user?: string
}

/** A relay on a server's port, and what was told of it. */
const relayTo = (server: Pick<RelayServer, "port">, { user = "", ...options }: Given = {}) =>
  Effect.gen(function* () {
    const troubles: Array<RelayTrouble> = []
    const relay = yield* makeRelay(
      { url: Redacted.make(`smtp://${user}127.0.0.1:${server.port}`), tls: "required", ...options },
      (kind) => troubles.push(kind)
    )
    const send = (to: ReadonlyArray<string>, from = "ann@one.test") => relay.send({ from, to, raw })
    const reached = until(Effect.map(relay.trouble, (trouble) => trouble === undefined))
    return { ...relay, send, troubles, reached }
  }).pipe(Effect.provide(Logger.layer([])))

const tagsOf = (answers: ReadonlyArray<{ readonly _tag: string }>) => answers.map(({ _tag }) => _tag)

const quick = { answerMillis: 300, transactionMillis: 600 }

describe("a relay", () => {
  it.live("takes mails over few connections, byte by byte", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const relay = yield* relayTo(server, { connections: 2 })
      yield* relay.reached
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => `bob${index}@two.test`),
        (to) => relay.send([to]),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([...new Set(tagsOf(answers.flat()))], ["Accepted"])
      assert.lengthOf(server.taken, 20)
      assert.strictEqual(server.taken[0]!.raw, raw.toString())
      assert.strictEqual(server.taken[0]!.from, "ann@one.test")
      // One more was the first try.
      assert.isAtMost(server.connections(), 3)
    }).pipe(Effect.scoped)
  )

  it.live("answers each recipient by itself", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.rcptTo = (address) =>
        address.startsWith("gone")
          ? { code: 550, text: "5.1.1 No such user" }
          : address.startsWith("grey")
            ? { code: 451, text: "4.7.1 Greylisted, come again" }
            : address.startsWith("listed")
              ? { code: 554, text: "5.7.1 Your IP is on a block list" }
              : undefined
      const relay = yield* relayTo(server)
      yield* relay.reached
      const to = ["bob@two.test", "gone@two.test", "grey@two.test", "listed@two.test"]
      assert.deepStrictEqual(yield* relay.send(to), [
        { _tag: "Accepted" },
        { _tag: "Permanent", code: "5.1.1", reason: "550 5.1.1 No such user", isReputation: false },
        { _tag: "Temporary", code: "4.7.1", reason: "451 4.7.1 Greylisted, come again" },
        { _tag: "Permanent", code: "5.7.1", reason: "554 5.7.1 Your IP is on a block list", isReputation: true }
      ])
      assert.deepStrictEqual(
        server.taken.map(({ to }) => to),
        [["bob@two.test"]]
      )
      assert.deepStrictEqual(tagsOf(yield* relay.send(to.slice(1, 3))), ["Permanent", "Temporary"])
      assert.lengthOf(server.taken, 1)
    }).pipe(Effect.scoped)
  )

  it.live("[handoff 2.2] refuses a sender for the account, and a content without a word about the address", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.mailFrom = (address) => (address.startsWith("eve") ? { code: 553, text: "Not you" } : undefined)
      server.sabotage.ending = ([to]) =>
        to!.startsWith("x") ? { code: 552, text: "5.3.4 Too long" } : { code: 451, text: "4.3.0 Later" }
      const relay = yield* relayTo(server)
      yield* relay.reached
      const [sender] = yield* relay.send(["bob@two.test"], "eve@one.test")
      assert.include(sender, { _tag: "Account", code: "553" })
      const [content] = yield* relay.send(["x@two.test"])
      assert.include(content, { _tag: "Permanent", code: "5.3.4", isReputation: true })
      const [later] = yield* relay.send(["bob@two.test"])
      assert.include(later, { _tag: "Temporary", code: "4.3.0" })
      assert.lengthOf(server.taken, 0)
      assert.isUndefined(yield* relay.trouble)
    }).pipe(Effect.scoped)
  )

  it.live.each(["drop", "take and drop"] as const)(
    "that hangs up when all was sent (%s) leaves an unknown outcome",
    (ending) =>
      Effect.gen(function* () {
        const server = yield* startRelay()
        server.sabotage.ending = () => ending
        const relay = yield* relayTo(server)
        yield* relay.reached
        assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Unknown"])
        // The library has not sent it again by itself.
        assert.lengthOf(server.taken, ending === "drop" ? 0 : 1)
        server.sabotage.ending = () => "take"
        assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Accepted"])
      }).pipe(Effect.scoped)
  )

  it.live("that is silent when all was sent leaves an unknown outcome, before that none", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.ending = () => "hang"
      const relay = yield* relayTo(server, { times: quick })
      yield* relay.reached
      assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Unknown"])
      server.sabotage.rcptTo = () => "hang"
      assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Temporary"])
      assert.isUndefined(yield* relay.trouble)
    }).pipe(Effect.scoped)
  )

  it.live("that ends idle connections with 421 gets the next mail over another one", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.closesIdle = true
      const relay = yield* relayTo(server, { connections: 1 })
      yield* relay.reached
      for (let index = 0; index < 5; index++)
        assert.deepStrictEqual(tagsOf(yield* relay.send([`bob${index}@two.test`])), ["Accepted"])
      assert.deepStrictEqual(
        server.taken.map(({ to: [to] }) => to),
        [0, 1, 2, 3, 4].map((index) => `bob${index}@two.test`)
      )
    }).pipe(Effect.scoped)
  )

  it.live("that goes away keeps mail waiting, and takes it when it is back", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const relay = yield* relayTo(server)
      yield* relay.reached
      assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Accepted"])
      yield* server.stop
      assert.deepStrictEqual(tagsOf(yield* relay.send(["cy@two.test"])), ["Waits"])
      assert.strictEqual(yield* relay.trouble, "the relay refuses the connection")
      assert.include(relay.troubles, "connect")
      yield* server.start
      yield* relay.reached
      assert.deepStrictEqual(tagsOf(yield* relay.send(["cy@two.test"])), ["Accepted"])
      assert.lengthOf(server.taken, 2)
    }).pipe(Effect.scoped)
  )
})

describe("what is wrong with a relay is said", () => {
  const said = (server: Pick<RelayServer, "port">, options: Given) =>
    Effect.gen(function* () {
      const relay = yield* relayTo(server, options)
      yield* until(Effect.sync(() => relay.troubles.length > 0))
      assert.deepStrictEqual(tagsOf(yield* relay.send(["bob@two.test"])), ["Waits"])
      return yield* relay.trouble
    })

  it.live("of a wrong password, without it", () =>
    Effect.gen(function* () {
      const server = yield* startRelay({
        onAuth: (auth, _session, done) => done(null, auth.password === "right" ? { user: "ann" } : {})
      })
      const right = yield* relayTo(server, { user: "ann:right@" })
      yield* right.reached
      assert.strictEqual(
        yield* said(server, { user: "ann:wrong@" }),
        "the relay refuses the user and password of SLUICE_SMTP_URL"
      )
    }).pipe(Effect.scoped)
  )

  it.live("of a certificate that nobody knows; such a relay is used where that is allowed", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      // Another name of this machine, which is not known as one by its look.
      const url = Redacted.make(`smtp://0.0.0.0:${server.port}`)
      assert.match((yield* said(server, { url })) ?? "", /^the relay's certificate (is self-signed|has expired)$/)
      const allowed = yield* relayTo(server, { url, tls: "opportunistic" })
      yield* allowed.reached
      assert.deepStrictEqual(tagsOf(yield* allowed.send(["bob@two.test"])), ["Accepted"])
      assert.isTrue(server.taken[0]!.isEncrypted)
    }).pipe(Effect.scoped)
  )

  it.live("of a relay without TLS, and nothing is sent to it", () =>
    Effect.gen(function* () {
      const server = yield* startRelay({ disabledCommands: ["STARTTLS"] })
      const url = Redacted.make(`smtp://0.0.0.0:${server.port}`)
      assert.strictEqual(yield* said(server, { url }), "the relay offers no TLS connection that can be verified")
      assert.lengthOf(server.taken, 0)
      const local = yield* relayTo(server)
      yield* local.reached
    }).pipe(Effect.scoped)
  )

  it.live("of one that is not there", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      yield* server.stop
      assert.strictEqual(yield* said(server, {}), "the relay refuses the connection")
    }).pipe(Effect.scoped)
  )
})
