/**
 * Serves accepted emails (docs/platform.md, 9.11 and 9.12): their state and history, cancelling, rescheduling. The
 * state comes from the email's actor, so that callers see their own changes; history and lists come from the rows.
 * Needs `Engine`, `SqlClient`, `MessageContents` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option, Result } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import type { AskError } from "../../engine/errors.ts"
import { countOf, type ListTotal, maximumTotal } from "../../http/listTotal.ts"
import { type InvalidCursor, PageCursors, type Position, pageOf } from "../../http/PageCursors.ts"
import { type EmailCommand, type EmailRejection, SendEmail } from "../account/actors/index.ts"
import type { Message } from "../Message.ts"
import { lastStates, type ShownState, shownStates } from "../rules/emailStates.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import { keptContentMillis } from "./contents/limits.ts"
import { type ContentsUnavailable, MessageContents } from "./contents/MessageContents.ts"
import {
  type EmailHandoff,
  type EmailHold,
  type HistoryEntry,
  handoffOf,
  holdsOf,
  withAnswers
} from "./emailDetails.ts"
import { emailsTable } from "./table.ts"

/** Nobody's email in this mode, or one that is not kept any more. */
export class EmailNotFound extends Data.TaggedError("EmailNotFound")<{ readonly id: string }> {}

/** The email is past the state that the request needs. */
export class EmailNotWaiting extends Data.TaggedError("EmailNotWaiting")<{
  readonly id: string
  readonly state: ShownState
}> {}

/** The time is too far ahead. */
export class ScheduleTooFar extends Data.TaggedError("ScheduleTooFar")<{ readonly latest: number }> {}

export interface EmailView {
  readonly id: string
  readonly state: ShownState
  readonly acceptedAt: number
  readonly scheduledAt: number | null
  readonly history: ReadonlyArray<HistoryEntry>
  /** Null where it is not kept any more. */
  readonly message: Message | null
  /** Null if it is not held, or if that is unknown. */
  readonly held: EmailHold | null
}

/** An email alone. */
export interface EmailDetail extends EmailView {
  readonly handoff: EmailHandoff | null
}

export interface EmailPage {
  readonly data: ReadonlyArray<EmailView>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string; readonly total?: ListTotal }
}

/** The place of a page: behind a cursor or an email, or before one. */
export interface EmailPageOptions {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
  /** Emails in this state alone. */
  readonly state?: ShownState | undefined
  /** Emails of senders of this domain alone, in lower case. */
  readonly domain?: string | undefined
  /** When they were accepted, in Unix milliseconds: inclusive. */
  readonly since?: number | undefined
  /** The same, exclusive. */
  readonly until?: number | undefined
  /** Whether to count the emails of the whole list. */
  readonly withTotal?: boolean
}

type Unreadable = AskError | ContentsUnavailable | SqlError.SqlError

export class Emails extends Context.Service<
  Emails,
  {
    readonly get: (owner: EmailOwner, id: string) => Effect.Effect<EmailDetail, EmailNotFound | Unreadable>
    /** Newest first. The newest may come a moment late. A page is shorter than its limit only at the end. */
    readonly list: (
      owner: EmailOwner,
      options: EmailPageOptions
    ) => Effect.Effect<EmailPage, EmailNotFound | InvalidCursor | ContentsUnavailable | SqlError.SqlError>
    /** Takes an email back that is queued, held or scheduled. */
    readonly cancel: (owner: EmailOwner, id: string) => Effect.Effect<void, EmailNotFound | EmailNotWaiting | AskError>
    /** Gives a scheduled email another time, in Unix milliseconds; one that has passed sends it now. */
    readonly reschedule: (
      owner: EmailOwner,
      id: string,
      scheduledAt: number
    ) => Effect.Effect<void, EmailNotFound | EmailNotWaiting | ScheduleTooFar | AskError>
  }
>()("sluice/send/Emails") {
  static readonly layer: Layer.Layer<Emails, never, Engine | SqlClient.SqlClient | MessageContents | PageCursors> =
    Layer.effect(
      Emails,
      Effect.gen(function* () {
        return make({
          engine: yield* Engine,
          sql: yield* SqlClient.SqlClient,
          contents: yield* MessageContents,
          cursors: yield* PageCursors
        })
      })
    )
}

interface Means {
  readonly engine: Engine["Service"]
  readonly sql: SqlClient.SqlClient
  readonly contents: MessageContents["Service"]
  readonly cursors: PageCursors["Service"]
}

interface Row {
  readonly id: string
  readonly state: ShownState
  readonly acceptedAt: number
  readonly scheduledAt: number | null
  readonly pointer: string
  readonly history: string
}

const historyOf = (lines: string): ReadonlyArray<HistoryEntry> =>
  lines.split("\n").map((line) => {
    // The projection has written it.
    const [state, at, recipient] = JSON.parse(line) as [ShownState, number, string?]
    return recipient === undefined ? { state, at } : { state, at, recipient }
  })

/** Whether the time of the content is over, though the stream may have it for longer. */
const isErased = (history: ReadonlyArray<HistoryEntry>, now: number): boolean => {
  const end = history.find(({ state }) => lastStates.has(state))
  return end !== undefined && now >= end.at + keptContentMillis
}

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql.literal(`id, state, accepted_at as "acceptedAt", scheduled_at as "scheduledAt", pointer, history`)

const ofOwner = (sql: SqlClient.SqlClient, { mode, organizationId }: EmailOwner) =>
  sql`organization_id = ${organizationId} and mode = ${mode}`

const findRow = (sql: SqlClient.SqlClient, owner: EmailOwner, id: string) =>
  Effect.map(
    sql<Row>`select ${columnsOf(sql)} from ${sql(emailsTable)} where ${ofOwner(sql, owner)} and id = ${id}`,
    ([row]) => row
  )

/** An owner's email as its actor has it; undefined where there is none. */
const actorOf = ({ engine }: Means, { mode, organizationId }: EmailOwner, id: string) =>
  Effect.map(engine.state(SendEmail, { organization: organizationId, key: id }), (email) =>
    email.state === "none" || email.mode !== mode ? undefined : { ...email, state: email.state }
  )

/**
 * Finds an owner's email for a command: by its actor, or, if another process has that, by its row. The row does not say
 * where the email is; the first `Cancel` learns it (`Moved`).
 */
const findFor = (means: Means, owner: EmailOwner, id: string) =>
  Effect.catch(actorOf(means, owner, id), (error) =>
    Effect.flatMap(
      Effect.catchTag(findRow(means.sql, owner, id), "SqlError", () => Effect.fail(error)),
      (row) => (row === undefined ? Effect.fail(error) : Effect.succeed({ mode: owner.mode, place: null, sender: "" }))
    )
  ).pipe(
    Effect.flatMap((email) => (email === undefined ? Effect.fail(new EmailNotFound({ id })) : Effect.succeed(email)))
  )

const makeGet = (means: Means): Emails["Service"]["get"] =>
  Effect.fn("Emails.get")(function* (owner, id) {
    const { contents, sql } = means
    const [actor, row] = yield* Effect.all([Effect.result(actorOf(means, owner, id)), findRow(sql, owner, id)], {
      concurrency: 2
    })
    if (Result.isFailure(actor) && row === undefined) return yield* Effect.fail(actor.failure)
    const before = row === undefined ? [] : historyOf(row.history)
    // If the engine does not answer, the row is good enough: it is a moment old at most.
    const ofRow = row && { ...row, changedAt: before.at(-1)?.at ?? row.acceptedAt }
    const email = Result.getOrElse(actor, () => ofRow)
    if (email === undefined) return yield* new EmailNotFound({ id })
    // The row follows a moment later.
    const isBehind = row === undefined || row.state !== email.state
    const isGone = isErased(before, yield* Clock.currentTimeMillis)
    const [message = null] = isGone ? [] : yield* contents.read(owner.organizationId, [email.pointer])
    const history = isBehind ? [...before, { state: email.state, at: email.changedAt }] : before
    const [holds, answered, handoff] = yield* Effect.all(
      [
        holdsOf(means, owner, [{ id, state: email.state }]),
        withAnswers(sql, owner, id, history),
        handoffOf(sql, owner, id)
      ],
      { concurrency: 3 }
    )
    return {
      id,
      state: email.state,
      acceptedAt: email.acceptedAt,
      scheduledAt: email.scheduledAt,
      history: answered,
      message,
      held: holds.get(id) ?? null,
      handoff
    }
  })

/** The beginning of a page, and whether it goes towards newer emails. */
const placeOf = Effect.fnUntraced(function* (
  { cursors, sql }: Means,
  list: string,
  owner: EmailOwner,
  { after, before, cursor }: EmailPageOptions
) {
  const named = after ?? before
  if (named === undefined)
    return { position: Option.getOrUndefined(yield* cursors.decode(list, cursor)), isBefore: false }
  const row = yield* findRow(sql, owner, named)
  if (row === undefined) return yield* new EmailNotFound({ id: named })
  const position: Position = { atMillis: row.acceptedAt, id: row.id }
  return { position, isBefore: after === undefined }
})

/** The list's name in its cursors, so that those of another owner, or of another filter, do not fit. */
const listOf = ({ mode, organizationId }: EmailOwner, { domain, state }: EmailPageOptions): string =>
  [
    `emails of ${mode}/${organizationId}`,
    ...(state === undefined ? [] : [`in ${state}`]),
    ...(domain === undefined ? [] : [`of ${domain}`])
  ].join("\n")

const newestFirst = "order by accepted_at desc, id desc"
const oldestFirst = "order by accepted_at, id"

/**
 * The rows of a list. A filter has an index in the order of the list: for a domain the states are branches of it, whose
 * first emails are merged.
 */
const rowsOf = (
  sql: SqlClient.SqlClient,
  { domain, state }: EmailPageOptions,
  conditions: ReadonlyArray<Statement.Fragment>,
  isBefore: boolean,
  limit: number
) => {
  const order = sql.literal(isBefore ? oldestFirst : newestFirst)
  const table = sql(emailsTable)
  if (domain === undefined) {
    const wanted = state === undefined ? [] : [sql`state = ${state}`]
    return sql<Row>`
      select ${columnsOf(sql)} from ${table} where ${sql.and([...conditions, ...wanted])} ${order} limit ${limit}`
  }
  const branch = [...conditions, sql`domain = ${domain}`, sql`state = wanted.named`]
  return sql<Row>`
    select id, state, accepted_at as "acceptedAt", scheduled_at as "scheduledAt", pointer, history
    from unnest(${state === undefined ? [...shownStates] : [state]}::text[]) wanted(named)
    cross join lateral (
      select * from ${table} where ${sql.and(branch)} ${order} limit ${limit}
    ) found
    ${order} limit ${limit}`
}

/** The rows that a total counts, in any order. */
const countedOf = (
  sql: SqlClient.SqlClient,
  { domain, state }: EmailPageOptions,
  conditions: ReadonlyArray<Statement.Fragment>
) => {
  const wanted = [
    ...conditions,
    ...(domain === undefined ? [] : [sql`domain = ${domain}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`])
  ]
  return sql`select 1 from ${sql(emailsTable)} where ${sql.and(wanted)} limit ${maximumTotal + 1}`
}

const makeList = (means: Means): Emails["Service"]["list"] =>
  Effect.fn("Emails.list")(function* (owner, options) {
    const { contents, cursors, sql } = means
    const { limit, since, until, withTotal = false } = options
    const list = listOf(owner, options)
    const { isBefore, position } = yield* placeOf(means, list, owner, options)
    const inTime = [
      ofOwner(sql, owner),
      ...(since === undefined ? [] : [sql`accepted_at >= ${since}`]),
      ...(until === undefined ? [] : [sql`accepted_at < ${until}`])
    ]
    const place = position === undefined ? undefined : sql`(${position.atMillis}::int8, ${position.id}::text)`
    const behind =
      place === undefined ? [] : [isBefore ? sql`(accepted_at, id) > ${place}` : sql`(accepted_at, id) < ${place}`]
    const rows = yield* rowsOf(sql, options, [...inTime, ...behind], isBefore, limit + 1)
    const { data, pagination } = pageOf(rows, limit, ({ acceptedAt, id }) =>
      cursors.encode(list, { atMillis: acceptedAt, id })
    )
    const shown = isBefore ? data.toReversed() : data
    const now = yield* Clock.currentTimeMillis
    const [messages, holds, total] = yield* Effect.all(
      [
        contents.read(
          owner.organizationId,
          shown.map(({ pointer }) => pointer)
        ),
        holdsOf(means, owner, shown),
        withTotal ? countOf(sql, countedOf(sql, options, inTime)) : Effect.succeed({})
      ],
      { concurrency: 3 }
    )
    return {
      data: shown.map(({ history: lines, pointer: _, ...row }, index) => {
        const history = historyOf(lines)
        const message = isErased(history, now) ? null : (messages[index] ?? null)
        return { ...row, history, message, held: holds.get(row.id) ?? null }
      }),
      // A cursor leads towards older emails.
      pagination: { ...(isBefore ? { hasMore: pagination.hasMore } : pagination), ...total }
    }
  })

/** The answer of the email's rule if it does not reject, and faults of the engine. */
const refused =
  (id: string) =>
  (
    error: EmailRejection | AskError
  ): Effect.Effect<never, EmailNotFound | EmailNotWaiting | ScheduleTooFar | AskError> => {
    switch (error._tag) {
      case "NotWaiting":
        return Effect.fail(
          error.state === "none" ? new EmailNotFound({ id }) : new EmailNotWaiting({ id, state: error.state })
        )
      case "ScheduleInvalid":
        return Effect.fail(new ScheduleTooFar({ latest: error.latest }))
      case "Moved":
        return Effect.die(error)
      default:
        return Effect.fail(error)
    }
  }

/** The place at which a cancel expects the email. */
type Where = Omit<Extract<EmailCommand, { readonly _tag: "Cancel" }>, "_tag">

const whereOf = ({ mode, place, sender }: Where): Where => ({ mode, place, sender })

const make = (means: Means): Emails["Service"] => {
  const { engine } = means
  const ask = ({ organizationId }: EmailOwner, key: string, command: EmailCommand) =>
    engine.ask(SendEmail, { organization: organizationId, key }, command)
  return Emails.of({
    get: makeGet(means),
    list: makeList(means),
    cancel: Effect.fn("Emails.cancel")((owner, id) =>
      Effect.flatMap(findFor(means, owner, id), (found) => {
        const cancel = (where: Where): ReturnType<typeof ask> => ask(owner, id, { _tag: "Cancel", ...where })
        const again = (error: EmailRejection | AskError) =>
          error._tag === "Moved" ? cancel(whereOf(error)) : Effect.fail(error)
        // It moves once at most, from its schedule into the queue, and its row does not say where it is.
        return cancel(whereOf(found)).pipe(Effect.catch(again), Effect.catch(again))
      }).pipe(
        Effect.catch((error) => (error._tag === "EmailNotFound" ? Effect.fail(error) : refused(id)(error))),
        Effect.catchTag("ScheduleTooFar", Effect.die),
        Effect.asVoid
      )
    ),
    reschedule: Effect.fn("Emails.reschedule")((owner, id, scheduledAt) =>
      Effect.flatMap(findFor(means, owner, id), () =>
        Effect.catch(ask(owner, id, { _tag: "Reschedule", scheduledAt }), refused(id))
      ).pipe(Effect.asVoid)
    )
  })
}
