/** The public events of sending, as followers of the log see them: one for each change, however often it is reported, with what the report said. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { DecideContext } from "../../../../src/engine/Actor.ts"
import { type Engine, layerMemory } from "../../../../src/engine/Engine.ts"
import * as Reactor from "../../../../src/engine/Reactor.ts"
import { type Event, eventOf } from "../../../../src/events/index.ts"
import { OrganizationActor } from "../../../../src/platform/OrganizationActor.ts"
import {
  ActorsMemory,
  type EmailReport,
  SendAccount,
  type SendAccountCommand,
  SendLimits,
  SendSender,
  sendActors
} from "../../../../src/send/index.ts"
import { begun, email, emails, organization, start, upgradeUrl } from "./support.ts"

const { dayMillis, hourMillis } = SendLimits
const recipients = ["bob@two.test", "eve@two.test"]
const content = { from: "Ann <ann@one.test>", subject: "Hello" }
const toAll = { ...content, to: ["bob@two.test"] }
const iso = (at: number) => new Date(at).toISOString()

/** Runs it on an engine whose events of sending are put into `told`, in their order. */
const telling = <A, E>(effect: (told: () => ReadonlyArray<Event>) => Effect.Effect<A, E, Engine>) => {
  const told: Array<Event> = []
  const reactor = Reactor.make({
    name: "told",
    pace: Reactor.immediate,
    parts: [
      Reactor.events(["send.*"], (records) =>
        Reactor.onCommit(() => {
          for (const record of records) told.push(eventOf(record))
        })
      )
    ]
  })
  const engine = layerMemory({ actors: [OrganizationActor, ...sendActors], reactors: [reactor] })
  return Effect.andThen(
    TestClock.setTime(start),
    Effect.provide(
      effect(() => told),
      engine
    )
  )
}

const settle = Effect.repeat(TestClock.adjust("1 second"), { times: 9 })
const typesOf = (told: ReadonlyArray<Event>) => told.map(({ type }) => type.slice("send.".length))

/** One email with two recipients, on its way. */
const sentEmail = Effect.fnUntraced(function* (mode: "live" | "test" = "live") {
  const all = yield* begun(mode)
  yield* all.admit(email("a", { recipients }))
  yield* all.dispatch(["a"], recipients)
  return all
})

describe("[send 3.2] an email's events", () => {
  it.effect("[platform 5.2] tell each step once, with what the first report of it said", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report } = yield* sentEmail()
        const trouble = { code: "4.3.2", reason: "Busy" }
        for (let repeat = 0; repeat < 2; repeat++) yield* report(["a", "a"], "delayed", { ...toAll, ...trouble })
        yield* report(["a", "a", "unknown"], "handedOver", toAll)
        yield* report(["a"], "handedOver", { ...toAll, subject: "Again" })
        for (const recipient of [...recipients, "BOB@two.test"])
          yield* report(["a"], "delivered", { ...content, recipient, code: "2.0.0" })
        yield* report(["a"], "failed", { ...toAll, kind: "expired" })
        yield* settle
        const named = { messageId: "a", ...content }
        const delivered = { code: "2.0.0", kind: null, reason: null }
        expect(told().map(({ data, type }) => [type, data])).toEqual([
          ["send.email.delayed", { ...named, to: toAll.to, ...trouble }],
          ["send.email.sent", { ...named, to: toAll.to }],
          ["send.email.delivered", { ...named, recipient: "bob@two.test", ...delivered }],
          ["send.email.delivered", { ...named, recipient: "eve@two.test", ...delivered }]
        ])
        expect(told().every(({ livemode }) => livemode)).toBe(true)
      })
    )
  )

  it.effect("[platform 5.2] are one of a bounce and of a complaint for each recipient; the email counts one", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report, senderState, stateOf } = yield* sentEmail("test")
        yield* report(["a"], "handedOver", toAll)
        const bounce = { ...content, code: "5.1.1", kind: "permanent", reason: "x".repeat(2_000) }
        for (const recipient of [...recipients, ...recipients])
          yield* report(["a"], "bounced", { ...bounce, recipient })
        for (const recipient of [...recipients, ...recipients])
          yield* report(["a", "a"], "complained", { ...content, recipient, kind: "abuse" })
        yield* report(["a"], "delivered", { ...content, recipient: recipients[1]! })
        yield* settle
        const kinds = ["email.sent", "email.bounced", "email.bounced", "account.paused"]
        expect(typesOf(told()).filter((type) => type !== "email.complained")).toEqual([...kinds, "email.delivered"])
        expect(typesOf(told()).filter((type) => type === "email.complained")).toHaveLength(2)
        expect(told()[1]!.data).toMatchObject({ recipient: recipients[0], kind: "permanent", code: "5.1.1" })
        expect(told()[1]!.data.reason).toBe("x".repeat(1_000))
        expect(told().some(({ livemode }) => livemode)).toBe(false)
        expect((yield* senderState()).tier).toMatchObject({ handedOver: 1, bounced: 1, complained: 1 })
        expect((yield* stateOf("a")).state).toBe("complained")
      })
    )
  )

  it.effect("are made where a recipient's report overtakes that of the hand-over, or the relay refuses", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report, senderState, stateOf } = yield* sentEmail()
        yield* report(["a"], "bounced", { ...content, recipient: recipients[0]!, kind: "permanent" })
        expect((yield* senderState()).tier).toMatchObject({ handedOver: 1, bounced: 1 })
        yield* report(["a", "a"], "handedOver", toAll)
        yield* report(["a"], "delivered", { ...content, recipient: recipients[1]! })
        yield* settle
        expect(typesOf(told())).toEqual(["email.bounced", "email.sent", "email.delivered"])
        expect((yield* senderState()).tier.handedOver).toBe(1)
        expect((yield* stateOf("a")).state).toBe("bounced")
      })
    )
  )

  it.effect("are left out where the report lacks the content, and what is reported counts all the same", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report, stateOf } = yield* sentEmail()
        yield* report(["a"], "delayed", { subject: "Hello", to: [] })
        yield* report(["a"], "handedOver", content)
        yield* report(["a"], "bounced", { recipient: recipients[0]! })
        yield* report(["a"], "bounced", { ...content, recipient: recipients[0]! })
        yield* settle
        expect(told()).toEqual([])
        expect((yield* stateOf("a")).state).toBe("bounced")
      })
    )
  )

  it.effect("tell once that it was given up, and nothing of it afterwards", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report } = yield* sentEmail()
        const why = { ...toAll, kind: "attachment", reason: "Not found" }
        yield* report(["a", "a"], "failed", why)
        for (const what of ["handedOver", "delayed", "delivered", "bounced", "complained"] as const)
          yield* report(["a"], what, { ...toAll, recipient: recipients[0]! })
        yield* settle
        const data = { messageId: "a", ...toAll, code: null, kind: "attachment", reason: "Not found" }
        expect(told().map(({ data, type }) => [type, data])).toEqual([["send.email.failed", data]])
      })
    )
  )

  it.effect("tell of no more recipients than an email can have, however many are made up", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { report, stateOf } = yield* sentEmail()
        for (let number = 0; number < 2 * SendLimits.maximumHeard; number++)
          yield* report(["a"], "delivered", { ...content, recipient: `r${number}@two.test` })
        yield* settle
        expect(told()).toHaveLength(SendLimits.maximumHeard)
        expect((yield* stateOf("a")).heard!.length).toBeLessThan(2_000)
      })
    )
  )
})

describe("the events of accounts and senders", () => {
  it.effect("[platform 5.2] tell a pause once, whatever pulled the trigger", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { account, admit, dispatch } = yield* begun()
        const signals = ["foreign_link"] as const
        yield* admit(...emails(5, "a", { signals }))
        yield* settle
        const first = { trustStage: "sending_paused", pauseReason: "risky_content", pausedAt: iso(start) }
        expect(told().map(({ data, type }) => [type, data])).toEqual([["send.account.paused", first]])
        yield* account({ _tag: "Lift" })
        yield* TestClock.adjust("1 second")
        yield* admit(...emails(3, "b"))
        yield* dispatch(["b0", "b1", "b2"])
        const reports: Array<EmailReport> = ["b0", "b1", "b2"].flatMap((id) =>
          (["handedOver", "bounced", "complained"] as const).map((what) => ({ id, sender: "one.test", what }))
        )
        yield* account({ _tag: "Report", reports })
        yield* settle
        expect(typesOf(told())).toEqual(["account.paused", "account.paused"])
        expect(told()[1]!.data.pauseReason).toBe("complaint")
      })
    )
  )

  it.effect("[platform 5.2] tell the promotions of both, by wakes", () =>
    telling((told) =>
      Effect.gen(function* () {
        const { account, admit, dispatch, report } = yield* begun()
        const ids = Array.from({ length: 100 }, (_, index) => `a${index}`)
        const probation = { emailsPerHour: 500, emailsPerDay: 500, domainsPerHour: 5 }
        yield* account({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation } })
        yield* admit(...emails(100, "a"))
        yield* dispatch(ids)
        yield* report(ids, "handedOver")
        yield* TestClock.adjust(4 * dayMillis)
        yield* settle
        const established = { trustStage: "established", previousTrustStage: "probation" }
        const at = iso(start + 3 * dayMillis)
        const warming = {
          sender: "one.test",
          tier: "warming",
          previousTier: "new",
          emailsPerDay: 2_000,
          promotedAt: at
        }
        const both = told().map(({ data, type }) => [type, data])
        expect(both).toHaveLength(2)
        expect(both).toContainEqual(["send.account.promoted", { ...established, promotedAt: at }])
        expect(both).toContainEqual(["send.domain.promoted", warming])
      })
    )
  )

  it("tell of trust at the hour of its check, by a wake or by the command that comes first", () => {
    const memory = new ActorsMemory(organization)
    const ask = (command: SendAccountCommand, at: number) => memory.ask(SendAccount, "live", command, at)
    memory.ask(SendSender, "live/one.test", { _tag: "Verify" }, start)
    ask({ _tag: "Check" }, start)
    const sentAt = start + 4 * dayMillis
    ask({ _tag: "Admit", emails: [email("a")], upgradeUrl }, sentAt)
    ask({ _tag: "Dispatch", emails: [{ id: "a", sender: "one.test", recipients }] }, sentAt)
    ask({ _tag: "Report", reports: [{ id: "a", sender: "one.test", what: "handedOver" }] }, sentAt)
    const state = memory.state(SendAccount, "live")
    const { decide, wake, wakeAt } = SendAccount.options
    const now = wakeAt!(state)!
    expect(now).toBe(start + 17 * dayMillis)
    const self = { organization, kind: SendAccount.kind, key: "live" }
    const context: DecideContext = {
      now,
      self,
      level: Number.POSITIVE_INFINITY,
      id: String,
      read: () => {
        throw new Error("it reads no other actor")
      }
    }
    const data = { trustStage: "trusted", previousTrustStage: "established", promotedAt: iso(now) }
    const trusted = [{ type: "send.account.promoted", service: "send", livemode: true, data }]
    expect(wake!(state, context)).toMatchObject({ events: trusted })
    expect(decide(state, { _tag: "Check" }, { ...context, now: now + hourMillis })).toMatchObject({ events: trusted })
  })

  it.effect("belong to their mode", () =>
    telling((told) =>
      Effect.gen(function* () {
        const test = yield* begun("test")
        yield* test.admit(...emails(5, "a", { signals: ["shortened_link"] }))
        yield* settle
        expect(told().map(({ livemode, type }) => [type, livemode])).toEqual([["send.account.paused", false]])
      })
    )
  )
})
