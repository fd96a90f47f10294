/**
 * Serves accepted emails (docs/platform.md, 9.11 and 9.12): their state and history, cancelling, rescheduling. The
 * state comes from the email's actor, so that callers see their own changes; history and lists come from the rows.
 * Needs `Engine`, `SqlClient`, `MessageContents` and `PageCursors`.
 */
import { Clock, Context, Data, Effect, Layer, Option, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import type { AskError } from "../../engine/errors.ts"
import { countOf, type ListTotal } from "../../http/listTotal.ts"
import { type InvalidCursor, PageCursors, type Position, pageOf } from "../../http/PageCursors.ts"
import { type EmailCommand, type EmailRejection, SendEmail } from "../account/actors/index.ts"
import type { Message } from "../Message.ts"
import type { ShownState } from "../rules/emailStates.ts"
import type { EmailSearch } from "../search/searchTerms.ts"
import type { EmailOwner } from "./AcceptEmails.ts"
import { type ContentsUnavailable, MessageContents } from "./contents/MessageContents.ts"
import {
  type EmailHandoff,
  type EmailHold,
  type HistoryEntry,
  handoffOf,
  holdsOf,
  withAnswers
} from "./emailDetails.ts"
import {
  beyond,
  columnsOf,
  countedOf,
  type EmailFilter,
  type EmailPlace,
  type EmailRow,
  type EmailTimes,
  historyOf,
  isErased,
  listedIn,
  ofOwner,
  rowsOf
} from "./emailRows.ts"
import { countFound, type FoundEmails, findEmails } from "./findEmails.ts"
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
export interface EmailPageOptions extends EmailFilter, EmailTimes {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
  /** Emails with these words alone. */
  readonly search?: EmailSearch | undefined
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

const findRow = (sql: SqlClient.SqlClient, owner: EmailOwner, id: string) =>
  Effect.map(
    sql<EmailRow>`select ${columnsOf(sql)} from ${sql(emailsTable)} where ${ofOwner(sql, owner)} and id = ${id}`,
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
const listOf = ({ mode, organizationId }: EmailOwner, { domain, search, state }: EmailPageOptions): string =>
  [
    `emails of ${mode}/${organizationId}`,
    ...(state === undefined ? [] : [`in ${state}`]),
    ...(domain === undefined ? [] : [`of ${domain}`]),
    ...(search === undefined ? [] : [`with ${JSON.stringify(search)}`])
  ].join("\n")

/** The rows of a page, in the order of the list, with one more where there are further ones. */
const pageRows = Effect.fnUntraced(function* (
  { contents, sql }: Means,
  owner: EmailOwner,
  options: EmailPageOptions,
  place: EmailPlace
): Effect.fn.Return<FoundEmails, ContentsUnavailable | SqlError.SqlError> {
  const { search } = options
  const limit = options.limit + 1
  if (search !== undefined) return yield* findEmails({ contents, sql }, owner, { ...options, search }, place, limit)
  const listed = [...listedIn(sql, owner, options), ...beyond(sql, place)]
  return { rows: yield* rowsOf(sql, options, listed, place.isBefore, limit), rest: undefined }
})

/** The number of emails of the whole list, if it is asked for. */
const totalOf = ({ contents, sql }: Means, owner: EmailOwner, options: EmailPageOptions) => {
  const { search, withTotal = false } = options
  if (!withTotal) return Effect.succeed({})
  return search === undefined
    ? countOf(sql, countedOf(sql, options, listedIn(sql, owner, options)))
    : countFound({ contents, sql }, owner, { ...options, search })
}

const makeList = (means: Means): Emails["Service"]["list"] =>
  Effect.fn("Emails.list")(function* (owner, options) {
    const { contents, cursors } = means
    const list = listOf(owner, options)
    const place = yield* placeOf(means, list, owner, options)
    const { rest, rows } = yield* pageRows(means, owner, options, place)
    const { data, pagination } = pageOf(rows, options.limit, ({ acceptedAt, id }) =>
      cursors.encode(list, { atMillis: acceptedAt, id })
    )
    const shown = place.isBefore ? data.toReversed() : data
    const now = yield* Clock.currentTimeMillis
    const [messages, holds, total] = yield* Effect.all(
      [
        contents.read(
          owner.organizationId,
          shown.map(({ pointer }) => pointer)
        ),
        holdsOf(means, owner, shown),
        totalOf(means, owner, options)
      ],
      { concurrency: 3 }
    )
    const further = rest === undefined ? pagination : { hasMore: true, nextCursor: cursors.encode(list, rest) }
    return {
      data: shown.map(({ history: lines, pointer: _, ...row }, index) => {
        const history = historyOf(lines)
        const message = isErased(history, now) ? null : (messages[index] ?? null)
        return { ...row, history, message, held: holds.get(row.id) ?? null }
      }),
      // A cursor leads towards older emails.
      pagination: { ...(place.isBefore ? { hasMore: further.hasMore } : further), ...total }
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
