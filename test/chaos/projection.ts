/** Holds the projection's tables against the audited logs: every record one row, every row a record, every sum that of the log. */
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type Audit, accountOf } from "./audit.ts"
import { ledger } from "./model.ts"

/** How often is looked whether the projection has come to the log's end. */
const lookMillis = 100

interface Row {
  readonly sequence: number
  readonly record_index: number
  readonly decision: number
}

/** Waits until the projection's cursors stand at the end of the logs; answers its rows. */
export const caughtUp = Effect.fnUntraced(function* (audit: Audit, partitions: number) {
  const sql = yield* SqlClient.SqlClient
  while (true) {
    const cursors = yield* sql<{ readonly partition: number; readonly sequence: number }>`
      select partition, sequence::float8 as sequence from engine_cursors where reactor = ${ledger.name}`
    const reached = new Map(cursors.map(({ partition, sequence }) => [partition, sequence]))
    const isThere = (partition: number) =>
      (reached.get(partition) ?? 0) >= (audit.rowsOf(partition).sequences.at(-1) ?? 0)
    if (Array.from({ length: partitions }, (_, partition) => partition).every(isThere)) break
    yield* Effect.sleep(lookMillis)
  }
  const [row] = yield* sql<{ readonly count: number }>`select count(*)::float8 as count from chaos_ledger`
  return row!.count
})

export const compareProjection = Effect.fnUntraced(function* (
  audit: Audit,
  partitions: number,
  violation: (text: string) => void
) {
  for (let partition = 0; partition < partitions; partition++) yield* compareLedger(audit, partition, violation)
  yield* compareBalances(audit, violation)
})

const compareLedger = Effect.fnUntraced(function* (audit: Audit, partition: number, violation: (text: string) => void) {
  const sql = yield* SqlClient.SqlClient
  const { decisions, indexes, sequences } = audit.rowsOf(partition)
  let at = 0
  let differs = false
  yield* sql<Row>`
    select sequence::float8 as sequence, record_index, decision::float8 as decision
    from chaos_ledger where partition = ${partition}
    order by sequence, record_index`.stream.pipe(
    Stream.runForEach((row) =>
      Effect.sync(() => {
        const matches =
          row.sequence === sequences[at] && row.record_index === indexes[at] && row.decision === decisions[at]
        if (!matches && !differs) {
          differs = true
          violation(
            `partition ${partition}: the projection has decision ${row.decision} of frame ${row.sequence}/${row.record_index} where the log has ${decisions[at]} of ${sequences[at]}/${indexes[at]}`
          )
        }
        at++
      })
    )
  )
  if (at !== decisions.length)
    violation(`partition ${partition}: the projection has ${at} of ${decisions.length} records`)
})

const compareBalances = Effect.fnUntraced(function* (audit: Audit, violation: (text: string) => void) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    readonly organization: string
    readonly account: string
    readonly count: number
    readonly balance: number
  }>`select organization, account, count::float8 as count, balance::float8 as balance from chaos_balances`
  if (rows.length !== audit.states.size)
    violation(`the projection has ${rows.length} accounts, the log ${audit.states.size}`)
  for (const { account, balance, count, organization } of rows) {
    const state = audit.states.get(accountOf(organization, account))
    if (state?.count !== count || state.balance !== balance)
      violation(
        `the projection has ${count} bookings and ${balance} on ${organization} ${account}, the log ${state?.count} and ${state?.balance}`
      )
  }
})
