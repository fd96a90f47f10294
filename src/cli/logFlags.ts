/** Defines the flags of commands that list a log, newest first: its organization, its times, and how much is shown. */
import { Clock, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"

/** Most entries that one command shows. */
const maximumShown = 10_000
const defaultShown = 100
const largestPage = 100

const hourMillis = 3_600_000

export const limit = Flag.Int("limit").pipe(
  Flag.withSchema(
    Schema.Int.check(
      Schema.isBetween(
        { minimum: 1, maximum: maximumShown },
        { message: `Expected a whole number from 1 to ${maximumShown}` }
      )
    )
  ),
  Flag.withDescription(`How many of the newest are shown; default: ${defaultShown}`),
  Flag.withDefault(defaultShown)
)

export const hours = Flag.Int("hours").pipe(
  Flag.withSchema(
    Schema.Int.check(
      Schema.isBetween({ minimum: 1, maximum: 9_600 }, { message: "Expected a whole number of hours from 1 to 9600" })
    )
  ),
  Flag.withDescription("How many hours to look back"),
  Flag.optional
)

/** The time that hours before now are, in Unix milliseconds, as a parameter. */
export const sinceOf = (given: Option.Option<number>) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    Option.match(given, { onNone: () => ({}), onSome: (hours) => ({ since: now - hours * hourMillis }) })
  )

/** The value of a flag as a parameter that is left out without it. */
export const parameter = <const Name extends string, A>(name: Name, given: Option.Option<A>) =>
  // The key is the name alone, which the compiler does not conclude.
  (Option.isSome(given) ? { [name]: given.value } : {}) as { readonly [N in Name]?: A }

interface PageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string | undefined }
}

/** The newest items of a cursor list, at most `limit`, read page by page. */
export const newest = Effect.fnUntraced(function* <A, E>(
  limit: number,
  page: (query: { readonly limit: number; readonly cursor?: string }) => Effect.Effect<PageOf<A>, E>
) {
  const items: Array<A> = []
  let cursor: string | undefined
  do {
    const wanted = Math.min(largestPage, limit - items.length)
    const { data, pagination } = yield* page({ limit: wanted, ...(cursor === undefined ? {} : { cursor }) })
    items.push(...data)
    cursor = pagination.hasMore ? pagination.nextCursor : undefined
  } while (cursor !== undefined && items.length < limit)
  return items
})
