/**
 * Requests to send, decided on an engine in memory by the actors of accounts whose history is full: 200 emails at different times of the last day, 25
 * recipient domains in the last hour, the first 100 ids. Callers and engine share a process; nothing is flushed, so this is what deciding costs.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import { accountFacts, accountFields } from "../../../src/send/account/actors/schemas.ts"
import { Admission, type NotPaused, SendAccount, type SendRejection, SendSender } from "../../../src/send/index.ts"
import type { AccountFact, AccountState } from "../../../src/send/rules/account.ts"
import { type AccountAnswer, type AccountCommand, admission } from "../../../src/send/rules/admission.ts"
import { Latencies, sampleOf } from "./latencies.ts"
import { admit, Sender } from "./mail.ts"
import { serveWorkload } from "./workload.ts"

export interface AdmissionsLoad {
  /** `small`: one fact on a state of two numbers, for what the engine itself costs. `rule`: the account's rule as an actor of its own. `request`: a request of one email, with organization, senders, list and a new email actor; `keyed`: the same under an idempotency key that no other has. */
  readonly ask: "small" | "rule" | "request" | "keyed"
  readonly callers: number
  readonly organizations: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** The account's rule alone. Its commands have functions, so it is for one process. */
const Rule = Actor.make<AccountCommand, AccountFact, AccountState, AccountAnswer, SendRejection | NotPaused>({
  kind: "rule",
  command: Schema.Unknown as unknown as Actor.JsonCodec<AccountCommand>,
  fact: Schema.Union(accountFacts),
  state: Schema.Struct(accountFields),
  initial: () => admission.initialState,
  evolve: admission.evolve,
  decide: (state, command, { now }) => admission.decide(state, command, now)
})

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
const history = 200
const domains = 25
const upgradeUrl = "https://up.test"
const custom = {
  emailsPerMonth: "unlimited",
  probation: { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }
} as const

let number = 0
const one = () => {
  const id = `em_${String(number++).padStart(22, "0")}`
  return { id, recipients: [`somebody@domain${number % domains}.test`] }
}

const ruleOf = (): AccountCommand => {
  const { id, recipients } = one()
  return {
    _tag: "Send",
    emails: [{ id, sender: "one.test", recipients }],
    isVerified: () => true,
    isSuppressed: () => false,
    upgradeUrl
  }
}

const prepare = (engine: Engine["Service"], { ask, organizations }: AdmissionsLoad) => {
  const organizationOf = (index: number) => `org_${String(index % organizations).padStart(22, "0")}`
  const send = (index: number): Effect.Effect<unknown, unknown> => {
    const organization = organizationOf(index)
    if (ask === "small") return engine.ask(Sender, { organization }, admit(number++))
    if (ask === "rule") return engine.ask(Rule, { organization }, ruleOf())
    const account = { organization, key: "live" }
    const request = { _tag: "Admit", upgradeUrl, emails: [{ from: "ann@one.test", ...one() }] } as const
    return ask === "request"
      ? engine.ask(SendAccount, account, request)
      : engine.askOnce(SendAccount, account, request, { key: `key_${number}`, digest })
  }
  const all = (f: (index: number) => Effect.Effect<unknown, unknown>) =>
    Effect.forEach(
      Array.from({ length: organizations }, (_, index) => index),
      f,
      { concurrency: 1_000, discard: true }
    )
  const begin = (index: number): Effect.Effect<unknown, unknown> =>
    ask === "small"
      ? Effect.void
      : ask === "rule"
        ? engine.ask(Rule, { organization: organizationOf(index) }, { _tag: "SetLimits", custom })
        : Effect.andThen(
            engine.ask(SendSender, { organization: organizationOf(index), key: "live/one.test" }, { _tag: "Verify" }),
            Effect.andThen(
              engine.ask(
                SendSender,
                { organization: organizationOf(index), key: "live/one.test" },
                { _tag: "SetDailyCap", cap: 1_000_000 }
              ),
              engine.ask(
                SendAccount,
                { organization: organizationOf(index), key: "live" },
                { _tag: "SetLimits", custom }
              )
            )
          )
  // A round takes longer than a millisecond, so that each is an entry of its own.
  const fill = Effect.forEach(Array.from({ length: history }), () => all(send), { discard: true })
  return Effect.as(Effect.andThen(all(begin), fill), send)
}

serveWorkload((load: AdmissionsLoad) =>
  Effect.gen(function* () {
    const services = yield* Layer.build(
      layerMemory({
        actors: [Rule, Sender, ...Admission.actors],
        config: { mailboxCapacity: 8_192 }
      })
    )
    const engine = Context.get(services, Engine)
    const send = yield* prepare(engine, load)
    const latencies = new Latencies()
    let next = 0
    const caller = Effect.suspend(() => {
      let sent = 0
      return Effect.whileLoop({
        while: () => true,
        body: () => {
          sent = performance.now()
          return Effect.orDie(send(next++))
        },
        step: () => latencies.record(performance.now() - sent)
      })
    })
    yield* Effect.forkScoped(
      Effect.forEach(Array.from({ length: load.callers }), () => caller, { concurrency: "unbounded", discard: true })
    )
    yield* Effect.sleep(load.warmUpSeconds * 1000)
    return {
      measure: async () => {
        const before = process.cpuUsage()
        const sample = await sampleOf(latencies, load.seconds)
        const { system, user } = process.cpuUsage(before)
        return { ...sample, cpuMicros: (user + system) / (sample.perSecond * load.seconds) }
      }
    }
  })
)
