/**
 * Defines the decisions of the chaos test: bookings on two accounts of an organization, each with a decision number of its own. The rule
 * recognizes a repeated number, so that a caller may ask again; states carry a count and a digest over the order of what
 * happened, so that a lost, doubled or swapped decision shows. A SQL reactor projects every record into a table without any
 * unique key, where a repeated effect would stay visible. Shared by the processes that run the engine and by the driver.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Actor from "../../src/engine/Actor.ts"
import type * as Reactor from "../../src/engine/Reactor.ts"
import type { LogRecord } from "../../src/engine/records.ts"
import { unnest } from "../../src/postgres/unnest.ts"

/** The two accounts of an organization. A booking goes to the first, a transfer to both. */
export const firstAccount = "first"
export const secondAccount = "second"

/** In the projection, the place of an account's name for a public event. */
export const eventPlace = "event"

/** Numbers of an account's last bookings that its state remembers. A caller asks again only for its very last one. */
const rememberedDecisions = 16

const Booked = Schema.Struct({ decision: Schema.Int, amount: Schema.Int })
type Booked = typeof Booked.Type

const State = Schema.Struct({
  count: Schema.Int,
  balance: Schema.Int,
  digest: Schema.Int,
  recent: Schema.Array(Schema.Int)
})
export type AccountState = typeof State.Type

const Command = Schema.Union([
  Schema.TaggedStruct("Book", {
    decision: Schema.Int,
    amount: Schema.Int,
    /** Takes the amount from the second account in the same decision. */
    transfer: Schema.Boolean,
    /** Tells the world in the same decision. */
    announce: Schema.Boolean,
    /** Sends the amount to the chest of another organization. */
    sendTo: Schema.optionalKey(Schema.String)
  }),
  /** Answered from the state, without a fact. */
  Schema.TaggedStruct("Look", {})
])
export type AccountCommand = typeof Command.Type

const Reply = Schema.Union([
  Schema.TaggedStruct("Booked", {}),
  Schema.TaggedStruct("Repeated", {}),
  Schema.TaggedStruct("Seen", { count: Schema.Int, balance: Schema.Int, digest: Schema.Int })
])
export type AccountReply = typeof Reply.Type

/** Depends on the order, so that two swapped decisions show. */
export const digestAfter = (digest: number, decision: number): number => (Math.imul(digest, 31) + decision) | 0

export const emptyAccount: AccountState = { count: 0, balance: 0, digest: 0, recent: [] }

export const evolve = (state: AccountState, fact: Booked): AccountState => ({
  count: state.count + 1,
  balance: (state.balance + fact.amount) | 0,
  digest: digestAfter(state.digest, fact.decision),
  recent: [...state.recent.slice(1 - rememberedDecisions), fact.decision]
})

/** Takes in what accounts of other organizations send. It recognizes no repeat: the outbox has to. */
export const Chest = Actor.make<Booked, Booked, number>({
  kind: "chest",
  command: Booked,
  fact: Booked,
  state: Schema.Int,
  initial: () => 0,
  decide: (_, booked) => Actor.decided({ facts: [booked] }),
  evolve: (sum, { amount }) => sum + amount
})

export const Account: Actor.Actor<AccountCommand, Booked, AccountState, AccountReply, never> = Actor.make<
  AccountCommand,
  Booked,
  AccountState,
  AccountReply
>({
  kind: "account",
  command: Command,
  fact: Booked,
  state: State,
  reply: Reply,
  initial: () => emptyAccount,
  touches: (command) => (command._tag === "Book" && command.transfer ? [Account.at(secondAccount)] : []),
  decide: (state, command) => {
    if (command._tag === "Look") {
      const { balance, count, digest } = state
      return Actor.decided({ reply: { _tag: "Seen" as const, balance, count, digest } })
    }
    const { amount, announce, decision, sendTo, transfer } = command
    if (state.recent.includes(decision)) return Actor.decided({ reply: { _tag: "Repeated" as const } })
    return Actor.decided({
      reply: { _tag: "Booked" as const },
      facts: [{ decision, amount }],
      others: transfer ? [Account.facts(secondAccount, [{ decision, amount: -amount }])] : [],
      events: announce
        ? [{ type: "account.booked", service: "account", livemode: true, data: { decision, amount } }]
        : [],
      messages: sendTo === undefined ? [] : [Actor.message(Chest, sendTo, "", { decision, amount })]
    })
  },
  evolve
})

/** Every record as a row, and a sum that a second run of a batch would change. */
export const createTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table if not exists chaos_ledger (
      partition int4 not null,
      sequence int8 not null,
      record_index int4 not null,
      organization text not null,
      account text not null,
      decision int8 not null
    )`
  yield* sql`create index if not exists chaos_ledger_place on chaos_ledger (partition, sequence, record_index)`
  yield* sql`
    create table if not exists chaos_balances (
      organization text not null,
      account text not null,
      count int8 not null,
      balance int8 not null,
      primary key (organization, account)
    )`
})

/** A record as a row of the ledger. */
export const rowOf = (record: LogRecord) => {
  const { index, organization, partition, sequence } = record
  const place = { partition, sequence, record_index: index, organization }
  if (record._tag === "Event") {
    const { decision } = record.event.data as Booked
    return { ...place, account: eventPlace, decision, amount: 0 }
  }
  const { amount, decision } = record.fact as Booked
  return { ...place, account: record.key, decision, amount }
}

/** The projection. */
export const ledger: Reactor.Reactor<SqlClient.SqlClient> = {
  name: "ledger",
  wants: ({ kind }) => kind === Account.kind,
  handle: Effect.fnUntraced(function* (records: ReadonlyArray<LogRecord>) {
    const sql = yield* SqlClient.SqlClient
    const rows = records.map(rowOf)
    yield* sql`
      insert into chaos_ledger (partition, sequence, record_index, organization, account, decision)
      select * from ${unnest(rows, {
        partition: "int4",
        sequence: "int8",
        record_index: "int4",
        organization: "text",
        account: "text",
        decision: "int8"
      })}`
    const facts = rows.filter(({ account }) => account !== eventPlace)
    yield* sql`
      insert into chaos_balances as held (organization, account, count, balance)
      select organization, account, count(*), sum(amount)
      from ${unnest(facts, { organization: "text", account: "text", amount: "int8" })}
      group by organization, account
      order by organization, account
      on conflict (organization, account) do update
      set count = held.count + excluded.count, balance = held.balance + excluded.balance`
  })
}

/** What the engine of a process is made of. Checkpoints come often, so that recoveries start from them and logs are purged. */
export const engineOptions = (settings: { readonly partitions: number; readonly checkpointMillis: number }) => ({
  actors: [Account, Chest],
  reactors: [ledger],
  config: { partitions: settings.partitions, checkpointMillis: settings.checkpointMillis }
})
