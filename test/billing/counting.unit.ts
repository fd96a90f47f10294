/** Usage is counted from memory and from the log (docs/platform.md, 11.8). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { SluiceApi } from "../../src/api/SluiceApi.ts"
import { summed, type UsageCount, usedIn } from "../../src/billing/index.ts"
import { CallCounter } from "../../src/billing/usage/CallCounter.ts"
import { hourOf, UsageReportsActor } from "../../src/billing/usage/model.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { type CountedProduct, countedByFacts, countedProducts } from "../../src/platform/CallCounts.ts"
import { ending } from "../../src/send/account/actors/SendEmail.ts"
import { type EmailFact, SendEmail } from "../../src/send/index.ts"

const minute = 60_000

describe("endpoints that are counted from their facts", () => {
  it("are endpoints of the API", () => {
    const known = Object.values(SluiceApi.groups).flatMap(({ endpoints }) =>
      Object.values(endpoints).map(({ method, path }) => `${method} ${path}`)
    )
    expect([...countedByFacts].filter((one) => !known.includes(one))).toEqual([])
  })
})

const Step = Schema.Union([
  Schema.TaggedStruct("Count", {
    organization: Schema.Literals(["a", "b", "c"]),
    product: Schema.Literals(countedProducts)
  }),
  /** A round of which some organizations' counts are stored; the others' answers are lost. */
  Schema.TaggedStruct("Flush", { stored: Schema.Array(Schema.Literals(["a", "b", "c"])) })
])

describe("counts in memory", () => {
  it.prop(
    "[platform 11.8] reach the log once each under whatever answers are lost",
    { steps: Schema.Array(Step).check(Schema.isMaxLength(60)) },
    ({ steps }) => {
      const counter = new CallCounter(() => expect.unreachable())
      const counted = new Map<string, number>()
      const log = new Map<string, ReadonlyArray<readonly [CountedProduct, number]>>()
      let keys = 0
      const flush = (stored: ReadonlyArray<string>) => {
        for (const [organization, { calls, key }] of counter.take(0, () => `key ${++keys}`)) {
          // Stored under its key whether or not the answer arrives: the log takes a key once.
          log.set(`${organization} ${key}`, calls)
          if (stored.includes(organization)) counter.stored(organization)
        }
      }
      for (const step of steps) {
        if (step._tag === "Flush") flush(step.stored)
        else {
          counter.count(step.organization, step.product)
          const name = `${step.organization} ${step.product}`
          counted.set(name, (counted.get(name) ?? 0) + 1)
        }
      }
      flush(["a", "b", "c"])
      flush(["a", "b", "c"])
      const found = new Map<string, number>()
      for (const [name, calls] of log)
        for (const [product, count] of calls) {
          const of = `${name[0]} ${product}`
          found.set(of, (found.get(of) ?? 0) + count)
        }
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(counted))
    }
  )

  it("wait while the log is away, under their key, and what is counted meanwhile goes behind them", () => {
    const counter = new CallCounter(() => expect.unreachable())
    let keys = 0
    const take = () => counter.take(0, () => `key ${++keys}`).map(([, { calls, key }]) => [key, ...calls])
    counter.count("a", "telco")
    expect(take()).toEqual([["key 1", ["telco", 1]]])
    for (const product of ["telco", "send", "telco"] as const) counter.count("a", product)
    expect(take()).toEqual([["key 1", ["telco", 1]]])
    counter.stored("a")
    expect(take()).toEqual([["key 2", ["telco", 2], ["send", 1]]])
  })

  it("are bounded, and given up when they might count twice", () => {
    let dropped = 0
    const counter = new CallCounter((calls) => (dropped += calls), 2)
    for (const organization of ["a", "b", "c"]) counter.count(organization, "telco")
    expect(dropped).toBe(1)
    expect(counter.take(0, () => "key").map(([organization]) => organization)).toEqual(["a", "b"])
    counter.stored("a")
    expect(counter.take(9 * minute, () => "key").map(([organization]) => organization)).toEqual(["b"])
    expect([counter.take(10 * minute, () => "key"), dropped]).toEqual([[], 2])
  })
})

const Quantity = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
const At = Schema.Int.check(Schema.isBetween({ minimum: 1_790_000_000_000, maximum: 1_790_020_000_000 }))

const Life = Schema.Struct({
  acceptedAt: At,
  /** Where an earlier version has accepted it nobody knows them. */
  bytes: Schema.optionalKey(Quantity),
  isSuppressed: Schema.Boolean,
  /** What happens to it later, in order. */
  steps: Schema.Array(
    Schema.Struct({
      after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 * 24 * 60 * minute })),
      what: Schema.Literals(["Dispatched", "Delayed", "HandedOver", "Delivered", "Bounced", "Failed", "Complained"])
    })
  )
})

/** The log of an email's life as its rules write it, and when it has ended. */
const lived = ({ acceptedAt, bytes, isSuppressed, steps }: typeof Life.Type, key: string) => {
  let state = SendEmail.options.initial("")
  let endedAt = isSuppressed ? acceptedAt : undefined
  const records: Array<LogRecord> = []
  const tell = (fact: EmailFact) => {
    const told = ending(state, fact)
    state = SendEmail.options.evolve(state, told)
    const place = { partition: 0, sequence: 1, index: 0, now: told.at, organization: "a", key }
    records.push({ _tag: "Fact", kind: SendEmail.kind, fact: told, ...place } as unknown as LogRecord)
  }
  const place = { mode: "live" as const, sender: "one.test", place: null, scheduledAt: null, pointer: "1.1" }
  const kept = bytes === undefined ? {} : { bytes }
  tell({ _tag: "Accepted", at: acceptedAt, state: isSuppressed ? "suppressed" : "queued", ...place, ...kept })
  let at = acceptedAt
  for (const { after, what } of isSuppressed ? [] : steps) {
    at += after
    tell(
      what === "Delivered" || what === "Bounced" || what === "Complained"
        ? { _tag: what, at, recipient: "bob@two.test" }
        : { _tag: what, at }
    )
    if (what === "HandedOver" || what === "Bounced" || what === "Failed") endedAt ??= at
  }
  return { records, endedAt }
}

const weekMillis = 7 * 24 * 60 * minute

describe("contents of emails", () => {
  it.prop(
    "[platform 11.8] take room in every hour from their acceptance until seven days after their first end, and in no other",
    { lives: Schema.Array(Life), hours: Schema.Array(Quantity) },
    ({ hours, lives }) => {
      const all = lives.map((life, index) => ({ life, ...lived(life, `em_${index}`) }))
      const changes = summed(all.flatMap(({ records }) => records.flatMap(usedIn)))
      expect(changes.every(({ usageType }) => usageType === "contents")).toBe(true)
      for (const number of hours) {
        const hour = hourOf(1_790_000_000_000) + number * 60 * minute
        const found = changes.reduce((sum, change) => (change.hour <= hour ? sum + change.quantity : sum), 0)
        const naive = all.reduce((sum, { endedAt, life: { acceptedAt, bytes = 0 } }) => {
          const isThere = acceptedAt < hour + 60 * minute
          const isGone = endedAt !== undefined && endedAt + weekMillis < hour + 60 * minute
          return isThere && !isGone ? sum + bytes : sum
        }, 0)
        expect(found).toBe(naive)
      }
    }
  )
})

describe("sums", () => {
  it.prop(
    "by the hour are those of adding one by one, in whatever batches",
    {
      uses: Schema.Array(Schema.Struct({ at: At, product: Schema.Literals(["send", "telco"]), quantity: Quantity })),
      cut: Quantity
    },
    ({ cut, uses }) => {
      const all = uses.map(
        ({ at, product, quantity }): UsageCount => ({
          organization: "a",
          hour: hourOf(at),
          product,
          usageType: "apiCalls",
          quantity
        })
      )
      const naive: Record<string, number> = {}
      for (const { at, product, quantity } of uses) {
        const name = `${new Date(at).toISOString().slice(0, 13)} ${product}`
        naive[name] = (naive[name] ?? 0) + quantity
      }
      const parts = [all.slice(0, cut), all.slice(cut)]
      const rows = summed(parts.flatMap((part) => summed(part)))
      const found = rows.map(({ hour, product, quantity }) => [
        `${new Date(hour).toISOString().slice(0, 13)} ${product}`,
        quantity
      ])
      expect(Object.fromEntries(found)).toEqual(naive)
      expect(found).toHaveLength(Object.keys(naive).length)
    }
  )

  it("of reports begin anew with each month", () => {
    const { evolve, initial } = UsageReportsActor.options
    const report = (at: string, quantity: number) => ({
      _tag: "UsageReported" as const,
      at: Date.parse(at),
      product: "send" as const,
      usageType: "emails" as const,
      quantity
    })
    const facts = [
      report("2026-01-31T23:59:59.999Z", 3),
      report("2026-02-01T00:00:00Z", 4),
      report("2026-02-28T10:00:00Z", 5)
    ]
    expect(facts.reduce(evolve, initial("")).sums).toEqual([{ product: "send", usageType: "emails", sum: 9 }])
  })
})
