/** An engine in memory with the actors of sending, and an account on it. Time is the test's. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Engine, type EngineRefused, layerMemory } from "../../../../src/engine/Engine.ts"
import { OrganizationActor } from "../../../../src/platform/OrganizationActor.ts"
import {
  type AdmitEmail,
  type EmailReport,
  type Mode,
  SendAccount,
  type SendAccountCommand,
  SendEmail,
  type SenderCommand,
  SendSender,
  SendSuppressions,
  type SuppressionCommand,
  sendActors,
  senderKey,
  suppressionPlace
} from "../../../../src/send/index.ts"

export const organization = "org_1"
export const upgradeUrl = "https://up.test"
/** A Wednesday's noon. */
export const start = Date.UTC(2026, 6, 1, 12, 0, 0)

/** Runs it on an engine that begins at `start`; the clock is set before, because an engine looks at its log every ten seconds. */
export const onEngine = <A, E>(effect: Effect.Effect<A, E, Engine>): Effect.Effect<A, E | EngineRefused> =>
  Effect.andThen(
    TestClock.setTime(start),
    Effect.provide(effect, layerMemory({ actors: [OrganizationActor, ...sendActors] }))
  )

export const email = (id: string, more: Partial<AdmitEmail> = {}): AdmitEmail => ({
  id,
  from: "ann@one.test",
  recipients: ["bob@two.test"],
  ...more
})

export const emails = (count: number, prefix: string, more: Partial<AdmitEmail> = {}): ReadonlyArray<AdmitEmail> =>
  Array.from({ length: count }, (_, index) => email(`${prefix}${index}`, more))

/** What can be asked of an account and what belongs to it, in one mode. */
export const sending = Effect.fnUntraced(function* (mode: Mode = "live", of: string = organization) {
  const engine = yield* Engine
  const account = (command: SendAccountCommand) => engine.ask(SendAccount, { organization: of, key: mode }, command)
  const ofSender = (name: string) => ({ organization: of, key: senderKey(mode, name) })
  const stateOf = (id: string) => engine.state(SendEmail, { organization: of, key: id })
  const suppression = (command: SuppressionCommand) =>
    engine.ask(SendSuppressions, { organization: of, key: suppressionPlace(of, mode, command.address).key }, command)
  return {
    account,
    admit: (...admitted: ReadonlyArray<AdmitEmail>) =>
      Effect.map(account({ _tag: "Admit", emails: admitted, upgradeUrl }), (reply) => reply.emails),
    dispatch: (ids: ReadonlyArray<string>, recipients = ["bob@two.test"], sender = "one.test") =>
      Effect.map(account({ _tag: "Dispatch", emails: ids.map((id) => ({ id, sender, recipients })) }), (reply) =>
        reply.emails.map(({ state }) => state)
      ),
    report: (ids: ReadonlyArray<string>, what: EmailReport["what"], more: Partial<EmailReport> = {}) =>
      Effect.map(
        account({ _tag: "Report", reports: ids.map((id) => ({ id, sender: "one.test", what, ...more })) }),
        (reply) => reply.account.trustStage
      ),
    sender: (command: SenderCommand, name = "one.test") => engine.ask(SendSender, ofSender(name), command),
    senderState: (name = "one.test") => engine.state(SendSender, ofSender(name)),
    accountState: engine.state(SendAccount, { organization: of, key: mode }),
    stateOf,
    cancel: (id: string) =>
      Effect.flatMap(stateOf(id), ({ mode, place, sender }) =>
        engine.ask(SendEmail, { organization: of, key: id }, { _tag: "Cancel", mode, place, sender })
      ),
    reschedule: (id: string, scheduledAt: number) =>
      engine.ask(SendEmail, { organization: of, key: id }, { _tag: "Reschedule", scheduledAt }),
    suppression
  }
})

/** The same with one verified domain. */
export const begun = Effect.fnUntraced(function* (mode: Mode = "live") {
  const all = yield* sending(mode)
  yield* all.sender({ _tag: "Verify" })
  return all
})
