/**
 * Handles the admin API's lists over all organizations. Needs `AccountList`, `Organizations` and `SendOperator`, and uses
 * `RequestRate` where a platform runs. The figures of a page are asked for concurrently, with one deadline.
 */
import { Clock, Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { defaultCursorPageSize } from "../http/PageCursors.ts"
import { requestsPerMinute } from "../limits/plans.ts"
import type { Organization } from "../platform/model.ts"
import { Organizations } from "../platform/Organizations.ts"
import { RequestRate } from "../platform/RequestRate.ts"
import { AccountList, SendOperator } from "../send/index.ts"
import { AdminApi } from "./adminApi.ts"
import { invalidCursor, unavailable } from "./failures.ts"

/** How many accounts of a page are asked concurrently, and how long a page has for all of them. */
const askedAtOnce = 16
const askMillis = 2_000

/** Answers null where there is no answer in time. */
type OrNull = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A | null, never, R>

/** Adds to each item what `ask` says about it. An owner that hangs must not hold up the page. */
const withAnswers = <A, B, R>(
  items: ReadonlyArray<A>,
  ask: (item: A, orNull: OrNull) => Effect.Effect<B, never, R>
): Effect.Effect<ReadonlyArray<B>, never, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (begunAt) => {
    const orNull: OrNull = (effect) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.map(Effect.option(Effect.timeout(effect, Math.max(0, begunAt + askMillis - now))), Option.getOrNull)
      )
    return Effect.forEach(items, (item) => ask(item, orNull), { concurrency: askedAtOnce })
  })

const failures = { InvalidCursor: () => Effect.fail(invalidCursor()), SqlError: unavailable }

/** The rate of an organization, and what is left of it. */
const rateOf = (rates: Option.Option<RequestRate["Service"]>) => (organization: Organization, orNull: OrNull) =>
  Effect.gen(function* () {
    const { id, name, plan, requestsPerMinute: own } = organization
    const taken = Option.isSome(rates) ? rates.value.look(organization) : undefined
    // A decision is there immediately, or in an effect.
    const left = taken === undefined || "allowed" in taken ? taken : yield* orNull(taken)
    return {
      organizationId: id,
      organizationName: name,
      plan,
      own,
      inForce: requestsPerMinute(plan, own),
      left: left === null || left === undefined ? null : { remaining: left.remaining, resetsAt: left.reset * 1_000 }
    }
  })

export const layerAccounts = HttpApiBuilder.group(
  AdminApi,
  "accounts",
  Effect.fn(function* (handlers) {
    const lists = yield* AccountList
    const operator = yield* SendOperator
    const organizations = yield* Organizations
    // A command that runs without a platform has no limiters.
    const rates = yield* Effect.serviceOption(RequestRate)
    return handlers.handleAll({
      list: ({ query: { limit = defaultCursorPageSize, warned, ...filter } }) =>
        Effect.gen(function* () {
          const { data, pagination } = yield* lists.accounts({
            cursor: undefined,
            ...filter,
            limit,
            warned: warned === "true"
          })
          const shown = yield* withAnswers(data, (account, orNull) =>
            Effect.map(
              orNull(
                Effect.flatMap(organizations.get(account.organizationId), (organization) =>
                  operator.show({ organization, mode: account.mode })
                )
              ),
              (found) => ({ ...account, triggers: found?.triggers ?? null })
            )
          )
          return { data: shown, pagination }
        }).pipe(Effect.catchTags(failures)),
      senders: ({ query: { limit = defaultCursorPageSize, name, ...filter } }) =>
        Effect.gen(function* () {
          const { data, pagination } = yield* lists.senders({
            cursor: undefined,
            ...filter,
            limit,
            name: name?.trim().toLowerCase()
          })
          const shown = yield* withAnswers(data, (sender, orNull) =>
            Effect.map(
              orNull(operator.sender({ organization: { id: sender.organizationId }, mode: sender.mode }, sender.name)),
              (found) => ({
                ...sender,
                sending:
                  found === null
                    ? null
                    : {
                        isVerified: found.isVerified,
                        tier: found.tier,
                        dailyCap: found.dailyCap,
                        waiting: found.waiting
                      }
              })
            )
          )
          return { data: shown, pagination }
        }).pipe(Effect.catchTags(failures)),
      rates: ({ query: { cursor, limit = defaultCursorPageSize, own, search } }) =>
        Effect.gen(function* () {
          const { data, pagination } = yield* organizations.list({
            cursor,
            limit,
            search,
            hasOwnRate: own === "true",
            listName: "rates"
          })
          return { data: yield* withAnswers(data, rateOf(rates)), pagination }
        }).pipe(Effect.catchTags(failures))
    })
  })
)
