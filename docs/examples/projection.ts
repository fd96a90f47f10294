/** A table that follows the log: what each customer has bought, for SQL to read. `DATABASE_URL=… NATS_URL=… node projection.ts` */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Actor, Engine, Reactor, Reactors } from "sluice"
import * as Durable from "sluice/durable"

const Order = Schema.Struct({ item: Schema.String, cents: Schema.Int })

const Customer = Actor.make({
  kind: "customer",
  command: Order,
  fact: Order,
  state: Schema.Int,
  initial: () => 0,
  evolve: (spent, { cents }) => spent + cents,
  decide: (spent, order) => Actor.decided({ facts: [order], reply: spent + order.cents })
})

const createSales = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`create table sales (item text primary key, sold int8 not null, cents int8 not null)`
)

const sales = Reactor.make({
  name: "sales",
  parts: [
    // in the transaction that moves the reactor's cursor: each order counts once, whatever fails
    Reactor.facts(Customer, (records) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.forEach(
          records,
          ({ fact: { cents, item } }) => sql`
            insert into sales as s (item, sold, cents) values (${item}, 1, ${cents})
            on conflict (item) do update set sold = s.sold + 1, cents = s.cents + excluded.cents`,
          { discard: true }
        )
      )
    )
  ]
})

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  yield* engine.ready
  const buy = (key: string, item: string, cents: number) =>
    engine.ask(Customer, { organization: "shop", key }, { item, cents })
  yield* Effect.all([buy("ann", "tea", 300), buy("ben", "tea", 300), buy("ann", "cup", 500)])
  // the table is a moment behind the answers
  yield* Reactors.settled
  const sql = yield* SqlClient.SqlClient
  return yield* sql`select item, sold, cents from sales order by item`
})

const { DATABASE_URL: databaseUrl = "", NATS_URL: natsUrl = "" } = process.env
const migrations = [{ number: 1, name: "sales", run: createSales }]
const stores = { databaseUrl, natsUrl, namespace: "sales", migrations }
const durable = Durable.layer({ actors: [Customer], reactors: [sales] }, stores)
console.log(await Effect.runPromise(Effect.provide(program, durable)))
// [ { item: 'cup', sold: 1, cents: 500 }, { item: 'tea', sold: 2, cents: 600 } ]
