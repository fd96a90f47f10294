/**
 * Programs with ingests, publishers and projections that are wrong on purpose, and the same as they should be, of which nothing must be said.
 */
import { Arbitrary, Effect, Schema } from "effect"
import * as Actor from "../../../src/engine/Actor.ts"
import * as Ingest from "../../../src/engine/Ingest.ts"
import * as Publish from "../../../src/engine/Publish.ts"
import * as Reactor from "../../../src/engine/Reactor.ts"
import { type Projection, plan } from "../../../src/simulation/index.ts"
import type { WrongRule } from "./wrongRules.ts"

const Sale = Schema.Struct({ item: Schema.Literals(["tea", "cup"]), cents: Schema.Int })
type Sale = typeof Sale.Type

const Shop = Actor.make({
  kind: "shop",
  command: Sale,
  fact: Sale,
  state: Schema.Int,
  initial: () => 0,
  evolve: (sold, { cents }) => sold + cents,
  decide: (sold, sale) => Actor.decided({ facts: [sale], reply: sold + sale.cents })
})

type SaleRecord = Reactor.FactOf<Sale>

/** Takings by organization and item. */
const takings = (
  handle: (table: Map<string, number>, records: ReadonlyArray<SaleRecord>) => Effect.Effect<void, Error>,
  more: Partial<Projection> = {}
): Projection => {
  const table = new Map<string, number>()
  return {
    reactor: Reactor.make({
      name: "takings",
      parts: [Reactor.facts(Shop, (records) => handle(table, records) as Effect.Effect<void>)]
    }),
    clear: () => table.clear(),
    read: () => Object.fromEntries([...table].sort(([left], [right]) => (left < right ? -1 : 1))),
    ...more
  }
}

const add = (table: Map<string, number>, { fact, organization }: SaleRecord) => {
  const name = `${organization} ${fact.item}`
  table.set(name, (table.get(name) ?? 0) + fact.cents)
}

const addAll = (table: Map<string, number>, records: ReadonlyArray<SaleRecord>) =>
  Reactor.onCommit(() => {
    for (const record of records) add(table, record)
  }) as Effect.Effect<void>

const rebuilt = (projection: () => Projection) => plan(Shop, { reactors: [projection()], floods: false })

/** Adds up what it was told, for comparison. */
const expected: Projection["expected"] = (records) => {
  const sums: Record<string, number> = {}
  for (const record of records) {
    const { fact, organization } = record as SaleRecord
    sums[`${organization} ${fact.item}`] = (sums[`${organization} ${fact.item}`] ?? 0) + fact.cents
  }
  return sums
}

const Order = Schema.Struct({
  subject: Schema.Literals(["orders.org_1", "orders.org_2"]),
  data: Schema.Struct({
    item: Schema.Literals(["tea", "cup"]),
    cents: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 }))
  })
})

const streamed = ({
  organization = ({ subject }) => subject.split(".")[1],
  subject = ({ organization }) => `sold.${organization}`,
  toCommand = (message) => Ingest.command(Shop, "", Schema.decodeUnknownSync(Sale)(Ingest.json(message)))
}: {
  readonly organization?: Ingest.IngestOptions["organization"]
  readonly toCommand?: Ingest.IngestOptions["toCommand"]
  readonly subject?: (record: SaleRecord) => string
} = {}) =>
  plan(Shop, {
    streams: { ORDERS: ["orders.>"], SOLD: ["sold.>"] },
    ingests: [Ingest.jetStream({ name: "orders", stream: "ORDERS", subject: "orders.*", organization, toCommand })],
    publishers: [Publish.jetStream({ name: "sold", from: Publish.facts(Shop), stream: "SOLD", subject })],
    messages: Arbitrary.schema(Order),
    floods: false
  })

const said = "reactors agree with the log"

/** What a checker says of each. */
export const wrongPrograms: ReadonlyArray<WrongRule & { readonly checker: string }> = [
  {
    name: "a projection that changes its table before the commit",
    plan: () =>
      rebuilt(() =>
        takings((table, records) =>
          Effect.sync(() => {
            for (const record of records) add(table, record)
          })
        )
      ),
    checker: said,
    says: "takings makes of the same records, one by one and as it has, org_"
  },
  {
    name: "a projection that is not cleared as a whole",
    plan: () => {
      const totals = new Map<string, number>()
      return rebuilt(() =>
        takings(
          (table, records) =>
            Reactor.onCommit(() => {
              for (const record of records) add(table, record)
              for (const record of records) add(totals, record)
            }) as Effect.Effect<void>,
          { read: () => totals.size > 0 && Object.fromEntries(totals) }
        )
      )
    },
    checker: said,
    says: "takings makes of the same records"
  },
  {
    name: "a projection that sees one sale of a batch",
    plan: () =>
      rebuilt(() =>
        takings((table, records) => addAll(table, [...new Map(records.map((one) => [one.organization, one])).values()]))
      ),
    checker: said,
    says: "takings makes of the same records, one by one"
  },
  {
    name: "a projection that forgets small sales, against its sentence",
    plan: () =>
      rebuilt(() =>
        takings(
          (table, records) =>
            addAll(
              table,
              records.filter(({ fact }) => fact.cents !== 1)
            ),
          { expected }
        )
      ),
    checker: said,
    says: "takings was to have, and has, org_"
  },
  {
    name: "a projection that fails on a record",
    plan: () =>
      rebuilt(() =>
        takings((table, records) =>
          records.some(({ fact }) => fact.cents < 0) ? Effect.fail(new Error("below zero")) : addAll(table, records)
        )
      ),
    checker: said,
    says: "below zero"
  },
  {
    name: "an ingest that skips by a set of its own what it has read before",
    plan: () => {
      // By the bytes themselves, which are the same ones when a stream in memory is read again.
      const seen = new WeakSet<Uint8Array>()
      return streamed({
        toCommand: (message) => {
          if (seen.has(message.data)) return undefined
          seen.add(message.data)
          return Ingest.command(Shop, "", Ingest.json(message) as Sale)
        }
      })
    },
    checker: "each message counts once",
    says: "of orders was "
  },
  {
    name: "a publisher that has no subject for some sales",
    plan: () => streamed({ subject: ({ fact }) => (fact.cents > 890 ? "" : "sold.all") }),
    checker: "each record is published",
    says: "sold has parked record"
  }
]

export const rightPrograms: ReadonlyArray<Pick<WrongRule, "name" | "plan">> = [
  { name: "a projection of sums", plan: () => rebuilt(() => takings(addAll, { expected })) },
  { name: "an ingest and a publisher", plan: () => streamed() },
  {
    name: "signals",
    plan: () =>
      plan(Shop, {
        signals: {
          rules: {
            sale: ({ data }) => ({ actor: Shop, key: "", command: JSON.parse(Buffer.from(data).toString()) as Sale }),
            none: () => undefined
          },
          drawn: Arbitrary.schema(
            Schema.Union([
              Schema.Struct({ kind: Schema.Literal("sale"), data: Sale }),
              Schema.Struct({ kind: Schema.Literal("none"), data: Schema.Literal("nothing") })
            ])
          )
        },
        floods: false
      })
  }
]
