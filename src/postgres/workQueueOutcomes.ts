/**
 * Records outcomes of attempts in a work queue (`WorkQueue.ts`): the part of a statement that changes the jobs and
 * returns the outcomes that counted. Needs no service.
 */
import type { SqlClient, Statement } from "effect/sql"
import { storableText } from "./errorText.ts"
import { unnest } from "./unnest.ts"
import { tableOf } from "./workQueueTable.ts"

/** The outcome of an attempt. */
export type JobOutcome = {
  readonly id: string
  readonly attempt: number
} & (
  | { /** Over, one way or the other: the job goes. */ readonly _tag: "Done" }
  | {
      /** To be tried again. */
      readonly _tag: "Again"
      readonly dueAt: number
      readonly lane: number
      readonly error?: string | undefined
      /** In place of the job's, where it now has less to do. */
      readonly payload?: string | undefined
    }
  | {
      /**
       * The job was not tried after all (a shutdown): the attempt does not count, and another taker may have it from
       * `dueAt` on, in another lane if one is named.
       */
      readonly _tag: "Returned"
      readonly dueAt: number
      readonly lane?: number | undefined
      readonly payload?: string | undefined
    }
  | {
      /** Cannot be worked on: waits for an operator, with another payload if one is given. */
      readonly _tag: "Parked"
      readonly error: string
      readonly payload?: string | undefined
    }
)

const rowOf = (outcome: JobOutcome) => {
  const { attempt, id } = outcome
  const row = {
    id,
    attempt,
    over: false,
    due_at: null,
    lane: null,
    given_back: 0,
    error: null,
    payload: null as string | null
  }
  switch (outcome._tag) {
    case "Done":
      return { ...row, over: true }
    case "Again": {
      const { dueAt, error, lane, payload = null } = outcome
      return { ...row, due_at: dueAt, lane, error: error === undefined ? null : storableText(error), payload }
    }
    case "Returned":
      return {
        ...row,
        due_at: outcome.dueAt,
        lane: outcome.lane ?? null,
        given_back: 1,
        payload: outcome.payload ?? null
      }
    case "Parked":
      return { ...row, error: storableText(outcome.error), payload: outcome.payload ?? null }
  }
}

/** The `with` expressions that settle outcomes in the queue of that name; `counted (id)` has those that counted. */
export const settlingIn = (
  sql: SqlClient.SqlClient,
  name: string,
  outcomes: ReadonlyArray<JobOutcome>
): Statement.Fragment => {
  const table = tableOf(sql, name)
  return sql`
    outcome as materialized (
      select * from ${unnest(outcomes.map(rowOf), {
        id: "text",
        attempt: "int4",
        over: "bool",
        due_at: "int8",
        lane: "int2",
        given_back: "int4",
        error: "text",
        payload: "text"
      })}
    ), over as (
      delete from ${table} t using outcome o
      where o.over and t.id = o.id and t.attempts = o.attempt and t.due_at is not null
      returning t.id
    ), kept as (
      update ${table} t
      set due_at = o.due_at, lane = coalesce(o.lane, t.lane), attempts = t.attempts - o.given_back, error = o.error,
        payload = coalesce(o.payload, t.payload)
      from outcome o
      where not o.over and t.id = o.id and t.attempts = o.attempt and t.due_at is not null
      returning t.id
    ), counted as materialized (
      select id from over union all select id from kept
    )`
}
