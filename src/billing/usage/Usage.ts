/**
 * Answers queries of usage, and records the reports of sites (docs/platform.md, 11.8 and 11.9). Figures follow the log,
 * normally within seconds. Needs `SqlClient` and `Engine`.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Engine } from "../../engine/Engine.ts"
import { isRetryable } from "../../engine/errors.ts"
import { engineKeyOf, IdempotencyConflict, type IdempotentRequest } from "../../http/idempotency.ts"
import { retryAfterMillis } from "../../http/RequestState.ts"
import type { CountedProduct } from "../../platform/CallCounts.ts"
import { BillingUnavailable } from "../errors.ts"
import type { Period } from "../periods.ts"
import { type CountedType, hourOf, UsageReportsActor, type UsageType } from "./model.ts"

export type Figures = Readonly<Record<UsageType, number>>

export interface UsageReport {
  readonly product: CountedProduct
  readonly usageType: UsageType
  readonly quantity: number
}

export class Usage extends Context.Service<
  Usage,
  {
    /**
     * Sums the usage of a period of whole hours, of one product or of all. `storage` is the reports of sites in it, and
     * the contents of emails that are kept in its last hour, or in the present one where the period goes on.
     */
    readonly of: (
      organizationId: string,
      period: Period,
      product?: CountedProduct
    ) => Effect.Effect<Figures, SqlError.SqlError>
    /**
     * Adds what a site reports; a repeat under the same key adds nothing. Answers what was reported of it in this
     * month.
     */
    readonly report: (
      organizationId: string,
      report: UsageReport,
      idempotent: IdempotentRequest | undefined
    ) => Effect.Effect<
      { readonly total: number; readonly isReplayed: boolean },
      IdempotencyConflict | BillingUnavailable
    >
  }
>()("sluice/billing/Usage") {
  static readonly layer: Layer.Layer<Usage, never, SqlClient.SqlClient | Engine> = Layer.effect(
    Usage,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const engine = yield* Engine
  const unavailable = (error: unknown): Effect.Effect<never, BillingUnavailable> =>
    isRetryable(error, { isIdempotent: false })
      ? Effect.fail(
          new BillingUnavailable({ message: "The report cannot be stored right now; repeat it", retryAfterMillis })
        )
      : Effect.fail(
          new BillingUnavailable({
            message: "Whether the report was stored is not known; repeat it with the same Idempotency-Key",
            retryAfterMillis
          })
        )
  return Usage.of({
    of: Effect.fn("Usage.of")(function* (organizationId, { end, start }, product) {
      const only = product === undefined ? sql.literal("true") : sql`product = ${product}`
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql<{ readonly usage_type: CountedType; readonly sum: string }>`
        select usage_type, sum(quantity) as sum from usage_hours
        where organization_id = ${organizationId} and hour < ${end} and ${only}
          and (hour >= ${start} or usage_type = 'contents') and (hour <= ${hourOf(now)} or usage_type <> 'contents')
        group by usage_type`
      const found = new Map(rows.map((row) => [row.usage_type, Number(row.sum)]))
      const contents = start > now ? 0 : (found.get("contents") ?? 0)
      return {
        apiCalls: found.get("apiCalls") ?? 0,
        emails: found.get("emails") ?? 0,
        storage: (found.get("storage") ?? 0) + contents
      }
    }),
    report: Effect.fn("Usage.report")(function* (organization, report, idempotent) {
      const command = { _tag: "ReportUsage" as const, ...report }
      const target = { organization }
      if (idempotent === undefined) {
        const total = yield* Effect.catch(engine.ask(UsageReportsActor, target, command), unavailable)
        return { total, isReplayed: false }
      }
      // The keys of an organization are one set, in which the reports of sites have their own.
      const once = { key: engineKeyOf("u", idempotent.key), digest: idempotent.digest }
      const { isReplay, reply } = yield* engine
        .askOnce(UsageReportsActor, target, command, once)
        .pipe(
          Effect.catch(
            (error): Effect.Effect<never, IdempotencyConflict | BillingUnavailable> =>
              error._tag === "IdempotencyConflict"
                ? Effect.fail(new IdempotencyConflict({ key: idempotent.key }))
                : unavailable(error)
          )
        )
      return { total: reply, isReplayed: isReplay }
    })
  })
})
