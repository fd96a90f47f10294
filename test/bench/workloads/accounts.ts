/**
 * Measures accounts of sending: many of them with few sends on an engine in memory, and single states at the largest sizes they are made for. Bytes that are
 * stored are those of the encoded states; the keys and columns of their rows come on top.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Context, Effect, Layer, Schema } from "effect"
import type { AnyActor } from "../../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import {
  ActorsMemory,
  Admission,
  SendAccount,
  SendEmail,
  SendSender,
  SendSuppressions,
  suppressionPlace
} from "../../../src/send/index.ts"
import { serveWorkload } from "./workload.ts"

export interface AccountsLoad {
  readonly accounts: number
  readonly sends: number
}

const upgradeUrl = "https://up.test"
const organizationOf = (index: number) => `org_${String(index).padStart(22, "0")}`

const held = (): number => {
  setFlagsFromString("--expose-gc")
  const collect: () => void = runInNewContext("gc")
  collect()
  return process.memoryUsage().heapUsed
}

const bytesOf = (actor: AnyActor, state: unknown): number => Buffer.byteLength(JSON.stringify(actor.encodeState(state)))

/** Microseconds of a call once it is compiled: the best of some stretches, since others' work only adds. */
const microsOf = (call: () => unknown): number => {
  const stretches = 8
  const stretchMillis = 60
  let best = Number.POSITIVE_INFINITY
  for (let stretch = 0; stretch < stretches; stretch++) {
    const began = performance.now()
    let calls = 0
    while (performance.now() - began < stretchMillis) {
      call()
      calls++
    }
    best = Math.min(best, ((performance.now() - began) * 1_000) / calls)
  }
  return best
}

/** What it takes to write a state into a checkpoint, and to load it from one. */
const costsOf = <Name extends string>(name: Name, actor: AnyActor, state: unknown) => {
  const encoded = JSON.stringify(actor.encodeState(state))
  const costs = {
    Bytes: Buffer.byteLength(encoded),
    Encode: microsOf(() => JSON.stringify(actor.encodeState(state))),
    Decode: microsOf(() => actor.decodeState(JSON.parse(encoded), actor.version))
  }
  // Named after the state.
  return Object.fromEntries(Object.entries(costs).map(([what, cost]) => [`${name}${what}`, cost])) as Record<
    `${Name}${keyof typeof costs}`,
    number
  >
}

/** The layout that one would write first, to compare: an object for each time of a day with 5,000 sends. */
const objectsOf = (times: number) => {
  const History = Schema.Array(Schema.Struct({ at: Schema.Int, emails: Schema.Int }))
  const encode = Schema.encodeUnknownSync(History)
  const decode = Schema.decodeUnknownSync(History)
  const history = Array.from({ length: times }, (_, index) => ({ at: 1_767_225_600_000 + index * 4_000, emails: 1 }))
  const text = JSON.stringify(encode(history))
  return {
    objectsBytes: Buffer.byteLength(text),
    objectsEncode: microsOf(() => JSON.stringify(encode(history))),
    objectsDecode: microsOf(() => decode(JSON.parse(text)))
  }
}

const admitOf = (number: number, count = 1) => ({
  _tag: "Admit" as const,
  upgradeUrl,
  emails: Array.from({ length: count }, (_, index) => ({
    id: `em_${String(number).padStart(18, "0")}${String(index).padStart(4, "0")}`,
    from: "ann@one.test",
    recipients: [`somebody@domain${number % 7}.test`]
  }))
})

/** The largest states that the rules are made for: their bytes, and the microseconds of writing and of loading each. */
const largest = () => {
  const start = Date.UTC(2026, 0, 1)
  const memory = new ActorsMemory("org_1")
  const probation = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }
  memory.ask(SendSender, "live/one.test", { _tag: "Verify" }, start)
  memory.ask(SendAccount, "live", { _tag: "SetLimits", custom: { emailsPerMonth: "unlimited", probation } }, start)
  for (let number = 0; number < 5_000; number++)
    memory.ask(SendAccount, "live", admitOf(number), start + number * 4_000)
  const custom = costsOf("custom", SendAccount, memory.state(SendAccount, "live"))
  const now = start + 40 * 86_400_000
  memory.ask(SendAccount, "live", { _tag: "Check" }, now)
  for (let number = 0; number < 1_000; number++)
    memory.ask(SendAccount, "live", admitOf(10_000 + number, 100), now + number)
  const sender = memory.state(SendSender, "live/one.test")
  const buckets = new Map<string, number>()
  for (let index = 0; index < 1_000_000; index++) {
    const { key } = suppressionPlace("org_1", "live", `somebody${index}@domain.test`)
    buckets.set(key, (buckets.get(key) ?? 0) + 1)
  }
  const fullest = Math.max(...buckets.values())
  return {
    ...costsOf("established", SendAccount, memory.state(SendAccount, "live")),
    ...custom,
    ...objectsOf(5_000),
    ...costsOf("sender", SendSender, sender),
    ...costsOf("bucket", SendSuppressions, { entries: "x".repeat(11 * fullest) }),
    heldEmails: sender.holds.tail - sender.holds.head
  }
}

serveWorkload(({ accounts, sends }: AccountsLoad) =>
  Effect.gen(function* () {
    const services = yield* Layer.build(layerMemory({ actors: Admission.actors, config: { maximumActors: 2_000_000 } }))
    const engine = Context.get(services, Engine)
    const all = (f: (index: number) => Effect.Effect<unknown, unknown>) =>
      Effect.forEach(
        Array.from({ length: accounts }, (_, index) => index),
        f,
        { concurrency: 1_000, discard: true }
      )
    const target = (index: number, key: string) => ({ organization: organizationOf(index), key })
    const ask = (number: number) => (index: number) =>
      engine.ask(SendAccount, target(index, "live"), admitOf(index * sends + number))
    return {
      measure: async () => {
        const states = largest()
        await Effect.runPromise(
          all((index) => engine.ask(SendSender, target(index, "live/one.test"), { _tag: "Verify" }))
        )
        const before = held()
        await Effect.runPromise(all(ask(0)))
        const first = held()
        for (let number = 1; number < sends; number++) await Effect.runPromise(all(ask(number)))
        const last = held()
        const state = (actor: AnyActor, key: string): Promise<unknown> =>
          Effect.runPromise(engine.state(actor, target(0, key)))
        const emailId = admitOf(0).emails[0]!.id
        return {
          ...states,
          residentPerAccount: (first - before) / accounts,
          residentPerEmail: (last - first) / (accounts * (sends - 1)),
          storedPerAccount:
            bytesOf(SendAccount, await state(SendAccount, "live")) +
            bytesOf(SendSender, await state(SendSender, "live/one.test")),
          storedPerEmail: bytesOf(SendEmail, await state(SendEmail, emailId))
        }
      }
    }
  })
)
