/**
 * Manages the addresses that an account does not send to, for their owner (docs/platform.md, 9.15). The actors decide;
 * lists show the rows of the projection, so a change waits a moment for them. Needs `SqlClient` and `Engine`.
 */
import { Context, Data, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Engine } from "../../../engine/Engine.ts"
import type { AskError, OnceError } from "../../../engine/errors.ts"
import type { IdempotencyConflict, IdempotentRequest } from "../../../http/idempotency.ts"
import { quote } from "../../../http/parameters.ts"
import { makeRepeats } from "../../emails/repeats.ts"
import { normalizedAddress } from "../../senders/addresses/model.ts"
import type { Account } from "../../senders/domains/model.ts"
import { SendSuppressions, type SuppressionCommand, type SuppressionReason, suppressionPlace } from "../actors/index.ts"
import { type Origin, type Suppression, simulatorDomain, suppressionId } from "./suppression.ts"

/** The time for which a change waits until the list shows it; normally milliseconds. */
const projectionWaitMillis = 2_000
const projectionPollMillis = 20

/** Most addresses that are looked up at their actors concurrently. */
const asksAtOnce = 16

/** The given text is no address, or none that can be suppressed. */
export class SuppressionInvalid extends Data.TaggedError("SuppressionInvalid")<{ readonly given: string }> {}

/** The list has no such id or address. */
export class SuppressionNotFound extends Data.TaggedError("SuppressionNotFound")<{ readonly idOrEmail: string }> {
  override get message(): string {
    return `Nothing on the suppression list has the id or address ${quote(this.idOrEmail)}.`
  }
}

export interface SuppressionRemoval {
  readonly id: string
  /** Whether it was on the list. */
  readonly deleted: boolean
}

export class SuppressionList extends Context.Service<
  SuppressionList,
  {
    /**
     * Adds addresses and answers their ids, in order. One that is there already stays as it is. A repeat of a request
     * adds nothing.
     */
    readonly add: (
      account: Account,
      emails: ReadonlyArray<string>,
      options?: {
        /** Default: `manual`. */
        readonly reason?: SuppressionReason
        readonly request?: IdempotentRequest | undefined
      }
    ) => Effect.Effect<
      { readonly ids: ReadonlyArray<string>; readonly isReplayed: boolean },
      SuppressionInvalid | IdempotencyConflict | OnceError | SqlError.SqlError
    >
    /** Takes ids or addresses off the list, in order. */
    readonly remove: (
      account: Account,
      idsOrEmails: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<SuppressionRemoval>, SuppressionInvalid | AskError | SqlError.SqlError>
    readonly get: (
      account: Account,
      idOrEmail: string
    ) => Effect.Effect<Suppression, SuppressionNotFound | SqlError.SqlError>
    /** Newest first, or oldest first behind `beyond` where that asks for newer ones. */
    readonly page: (
      account: Account,
      origin: Origin | undefined,
      beyond: { readonly at: number; readonly id: string; readonly isNewer: boolean } | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Suppression>, SqlError.SqlError>
  }
>()("sluice/send/SuppressionList") {
  static readonly layer: Layer.Layer<SuppressionList, never, SqlClient.SqlClient | Engine> = Layer.effect(
    SuppressionList,
    Effect.suspend(() => make)
  )
}

interface Row {
  readonly id: string
  readonly email: string
  readonly origin: Origin
  readonly created_at: number
}

const suppressionOf = ({ created_at, ...row }: Row): Suppression => ({ ...row, createdAt: created_at })

const isAddress = (idOrEmail: string): boolean => idOrEmail.includes("@")

const addressOf = (given: string): Effect.Effect<string, SuppressionInvalid> => {
  const address = normalizedAddress(given)
  return address === undefined || address.endsWith(`@${simulatorDomain}`)
    ? Effect.fail(new SuppressionInvalid({ given }))
    : Effect.succeed(address)
}

const makeRows = (sql: SqlClient.SqlClient) => {
  const of = ({ mode, organizationId }: Account) => sql`organization_id = ${organizationId} and mode = ${mode}`
  const find = (account: Account, ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> =>
    sql<Row>`select id, email, origin, created_at from send_suppressions where ${of(account)} and id = any(${ids}::text[])`
  /**
   * Waits until the list has this many of the ids. The caller gets an answer in any case, since the change is decided.
   */
  const awaitShown = (account: Account, ids: ReadonlyArray<string>, count: number) =>
    Effect.suspend(() => find(account, ids)).pipe(
      Effect.repeat({
        schedule: Schedule.spaced(Duration.millis(projectionPollMillis)),
        until: (rows) => rows.length === count
      }),
      Effect.timeoutOption(Duration.millis(projectionWaitMillis)),
      Effect.asVoid
    )
  const page: SuppressionList["Service"]["page"] = (account, origin, beyond, limit) => {
    const { at = 0, id = "", isNewer = false } = beyond ?? {}
    const older = beyond === undefined ? sql.literal("true") : sql`(created_at, id) < (${at}, ${id})`
    const where = isNewer ? sql`(created_at, id) > (${at}, ${id})` : older
    const from = origin === undefined ? sql.literal("true") : sql`origin = ${origin}`
    const order = sql.literal(isNewer ? "created_at, id" : "created_at desc, id desc")
    return Effect.map(
      sql<Row>`
        select id, email, origin, created_at from send_suppressions
        where ${of(account)} and ${where} and ${from} order by ${order} limit ${limit}`,
      (rows) => rows.map(suppressionOf)
    )
  }
  return { find, awaitShown, page }
}

const make = Effect.gen(function* () {
  const rows = makeRows(yield* SqlClient.SqlClient)
  const engine = yield* Engine
  const repeats = makeRepeats(engine)

  const ask = ({ mode, organizationId }: Account, command: SuppressionCommand) => {
    const { key } = suppressionPlace(organizationId, mode, command.address)
    return engine.ask(SendSuppressions, { organization: organizationId, key }, command)
  }

  /** Takes an address off, and says whether it was there. */
  const takeOff = Effect.fnUntraced(function* (account: Account, address: string) {
    if (!(yield* ask(account, { _tag: "Look", address }))) return false
    yield* ask(account, { _tag: "Unsuppress", address })
    return true
  })

  return SuppressionList.of({
    add: Effect.fn("SuppressionList.add")(function* (account, emails, { reason = "manual", request } = {}) {
      const addresses = yield* Effect.forEach(emails, addressOf)
      const ids = addresses.map((address) => suppressionId(account, address))
      if (request !== undefined && (yield* repeats.isRepeat(account, request))) return { ids, isReplayed: true }
      const different = [...new Set(addresses)]
      yield* Effect.forEach(different, (address) => ask(account, { _tag: "Suppress", address, reason }), {
        concurrency: asksAtOnce,
        discard: true
      })
      if (request !== undefined) yield* repeats.remember(account, request)
      yield* rows.awaitShown(account, ids, different.length)
      return { ids, isReplayed: false }
    }),
    remove: Effect.fn("SuppressionList.remove")(function* (account, idsOrEmails) {
      const ids = idsOrEmails.filter((one) => !isAddress(one))
      const byId = new Map((yield* rows.find(account, ids)).map(({ email, id }) => [id, email]))
      const named = yield* Effect.forEach(idsOrEmails, (one) =>
        isAddress(one)
          ? Effect.map(addressOf(one), (address) => ({ id: suppressionId(account, address), address }))
          : Effect.succeed({ id: one, address: byId.get(one) })
      )
      const removed = yield* Effect.forEach(
        named,
        ({ address, id }) =>
          Effect.map(
            address === undefined ? Effect.succeed(false) : takeOff(account, address),
            (deleted): SuppressionRemoval => ({ id, deleted })
          ),
        // An address that is named twice was on the list for the first one only.
        { concurrency: 1 }
      )
      yield* rows.awaitShown(
        account,
        removed.flatMap(({ deleted, id }) => (deleted ? [id] : [])),
        0
      )
      return removed
    }),
    get: Effect.fn("SuppressionList.get")(function* (account, idOrEmail) {
      const address = isAddress(idOrEmail) ? normalizedAddress(idOrEmail) : undefined
      const id = address === undefined ? idOrEmail : suppressionId(account, address)
      const [row] = yield* rows.find(account, [id])
      return row === undefined ? yield* new SuppressionNotFound({ idOrEmail }) : suppressionOf(row)
    }),
    page: Effect.fn("SuppressionList.page")(rows.page)
  })
})
