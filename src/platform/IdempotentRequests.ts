/**
 * Handles requests with an `Idempotency-Key` (docs/platform.md, 3.2): it keeps the answer of the first request for a
 * day and gives it to every repeat. The random ids of the first request are stored before it acts, so that a repeat
 * after an unknown outcome uses the same ids and nothing is decided twice. Answers are sealed, because they may show a
 * secret. Needs `SqlClient` and `Sealing`.
 */

import { Cause, Clock, Context, Data, Duration, Effect, Exit, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { Sealed } from "../common/secretsKeys.ts"
import { superviseLoop } from "../common/superviseLoop.ts"
import { IdempotencyConflict, type IdempotentRequest } from "../http/idempotency.ts"
import type { Owner } from "./model.ts"

/**
 * Seals texts under the keys of the deployment; `about` names the object of a text, and with another name it does not
 * open.
 */
export class Sealing extends Context.Service<
  Sealing,
  {
    readonly seal: (text: string, about: string) => Sealed
    /** Undefined when it does not fit. */
    readonly unseal: (sealed: Sealed, about: string) => string | undefined
  }
>()("sluice/platform/Sealing") {}

/** How long a key identifies its request and the answer is kept. */
export const idempotencyMillis = 24 * 60 * 60 * 1000

/** After this long a request without an outcome counts as dead; requests end after 10 s (`http/errors.ts`). */
export const busyMillis = 15_000

const sweepIntervalMillis = 60 * 60 * 1000

/** The first request with this key is still under way. */
export class RequestUnderWay extends Data.TaggedError("RequestUnderWay")<{ readonly key: string }> {
  override get message(): string {
    return `The request with the Idempotency-Key ${JSON.stringify(this.key)} is still under way; repeat this one in a moment.`
  }
}

/** Keeps the answer for repeats. */
export type Keep<Answer> = (answer: Answer) => Effect.Effect<void, SqlError.SqlError>

/** An act that must happen only once. */
export interface Once<Chosen, Answer, E, R> {
  /** Chooses the act's random ids, as JSON. */
  readonly choose: () => Chosen
  /**
   * Acts, and returns JSON for the caller. The answer is kept after the act, and a crash may come in between. So acting
   * again with the same `chosen` must change nothing, or an act within PostgreSQL calls `keep` in its own transaction.
   */
  readonly act: (chosen: Chosen, keep: Keep<Answer>) => Effect.Effect<Answer, E, R>
  /** Whether nothing was done and nothing will be, so that the key is free again: only 2xx answers are kept. */
  readonly isRejection: (error: E) => boolean
}

interface Row {
  readonly digest: string
  readonly chosen: string
  readonly key_id: string | null
  readonly answer: string | null
}

export class IdempotentRequests extends Context.Service<
  IdempotentRequests,
  {
    /**
     * Acts, or returns the answer of an earlier request with this key; the same key of the other mode, or of a portal
     * with another label, is another one.
     */
    readonly once: <Chosen, Answer, E, R>(
      owner: Owner,
      request: IdempotentRequest | undefined,
      act: Once<Chosen, Answer, E, R>
    ) => Effect.Effect<
      { readonly answer: Answer; readonly isReplayed: boolean },
      E | IdempotencyConflict | RequestUnderWay | SqlError.SqlError,
      R
    >
  }
>()("sluice/platform/IdempotentRequests") {
  static readonly layer: Layer.Layer<IdempotentRequests, never, SqlClient.SqlClient | Sealing> = Layer.effect(
    IdempotentRequests,
    Effect.suspend(() => make)
  )
}

/** Binds a sealed answer to its request: in another request's row it does not open. */
export const aboutAnswer = ({ livemode, organizationId }: Owner, key: string): string =>
  // A key has no line break. Live answers keep their name from before there were modes.
  `idempotent answer\n${organizationId}\n${key}${livemode ? "" : "\ntest"}`

/**
 * The request under a key of its owner's alone: what a portal's session repeats is never the request of somebody else,
 * whose answer may show a secret. A caller's key has no line break.
 */
const scopedTo = ({ label }: Owner, request: IdempotentRequest): IdempotentRequest =>
  label === undefined ? request : { ...request, key: `portal\n${label}\n${request.key}` }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Sealing

  const placeOf = ({ livemode, organizationId }: Owner, { key }: IdempotentRequest) =>
    sql`organization_id = ${organizationId} and livemode = ${livemode} and key = ${key}`

  /**
   * Takes the key for a first request, or for one whose earlier attempt had no outcome. Returns the row, and whether
   * this request may act.
   */
  const take = Effect.fnUntraced(function* (owner: Owner, request: IdempotentRequest, chosen: unknown) {
    const { livemode, organizationId } = owner
    const now = yield* Clock.currentTimeMillis
    const [taken] = yield* sql<Row>`
      insert into webhook_idempotency as w (organization_id, livemode, key, digest, chosen, busy_until, created_at)
      values (${organizationId}, ${livemode}, ${request.key}, ${request.digest}, ${JSON.stringify(chosen)}, ${now + busyMillis}, ${now})
      on conflict (organization_id, livemode, key) do update
      set busy_until = excluded.busy_until,
        digest = excluded.digest,
        chosen = case when w.created_at <= ${now - idempotencyMillis} then excluded.chosen else w.chosen end,
        created_at = case when w.created_at <= ${now - idempotencyMillis} then excluded.created_at else w.created_at end,
        key_id = null,
        answer = null
      where w.created_at <= ${now - idempotencyMillis}
        or (w.answer is null and w.busy_until <= ${now} and w.digest = excluded.digest)
      returning digest, chosen, key_id, answer`
    if (taken !== undefined) return { row: taken, isOurs: true }
    const [earlier] = yield* sql<Row>`
      select digest, chosen, key_id, answer from webhook_idempotency where ${placeOf(owner, request)}`
    return { row: earlier, isOurs: false }
  })

  const once: IdempotentRequests["Service"]["once"] = Effect.fn("IdempotentRequests.once")(function* <
    Chosen,
    Answer,
    E,
    R
  >(owner: Owner, given: IdempotentRequest | undefined, { act, choose, isRejection }: Once<Chosen, Answer, E, R>) {
    if (given === undefined) return { answer: yield* act(choose(), () => Effect.void), isReplayed: false }
    const request = scopedTo(owner, given)
    const { isOurs, row } = yield* take(owner, request, choose())
    const about = aboutAnswer(owner, request.key)
    if (!isOurs) {
      if (row !== undefined && row.digest !== request.digest) return yield* new IdempotencyConflict({ key: given.key })
      // Without a row, the earlier request was rejected just now.
      if (row === undefined || row.answer === null || row.key_id === null)
        return yield* new RequestUnderWay({ key: given.key })
      const answer = secrets.unseal({ keyId: row.key_id, ciphertext: row.answer }, about)
      if (answer === undefined) return yield* Effect.die(new Error("a kept answer cannot be opened"))
      return { answer: JSON.parse(answer) as Answer, isReplayed: true }
    }
    let isKept = false
    const keep = Effect.fnUntraced(function* (answer: Answer) {
      const { ciphertext, keyId } = secrets.seal(JSON.stringify(answer), about)
      yield* sql`
        update webhook_idempotency set answer = ${ciphertext}, key_id = ${keyId} where ${placeOf(owner, request)}`
      isKept = true
    })
    const free = (cause: Cause.Cause<E | SqlError.SqlError>) => {
      const error = Cause.findErrorOption(cause)
      const rejected = error._tag === "Some" && !SqlError.isSqlError(error.value) && isRejection(error.value)
      const freeing = Effect.ignore(
        rejected
          ? sql`delete from webhook_idempotency where ${placeOf(owner, request)}`
          : sql`update webhook_idempotency set busy_until = 0 where ${placeOf(owner, request)}`
      )
      // An interrupted caller does not wait for a silent database.
      return Cause.hasInterrupts(cause) ? Effect.forkDetach(freeing) : freeing
    }
    return yield* act(JSON.parse(row!.chosen) as Chosen, keep).pipe(
      Effect.tap((answer) => (isKept ? Effect.void : keep(answer))),
      Effect.map((answer) => ({ answer, isReplayed: false })),
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : free(exit.cause)))
    )
  })

  const sweep = Effect.gen(function* () {
    const before = (yield* Clock.currentTimeMillis) - idempotencyMillis
    yield* sql`delete from webhook_idempotency where created_at <= ${before}`
    yield* Effect.sleep(Duration.millis(sweepIntervalMillis))
  })
  yield* Effect.forkScoped(
    superviseLoop(sweep, { failed: "Old idempotency keys could not be removed", retryMillis: sweepIntervalMillis })
  )

  return IdempotentRequests.of({ once })
})
