/**
 * Answers pages of send's lists, newest first: by `cursor` like every list of the platform, and by `after` and
 * `before`, ids of items, as Resend's API has them (docs/platform.md, 3.4). Needs `PageCursors`.
 */
import { Effect, Option, Schema } from "effect"
import { defaultCursorPageSize, PageCursors } from "../../http/PageCursors.ts"
import { integerParameter, maximumPageSize, quote } from "../../http/parameters.ts"
import { SendInvalidRequest } from "./sendErrors.ts"

const itemId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "Expected an id of this list" })
)

/** The query of such a list. */
export const pageQuery = {
  limit: Schema.optional(integerParameter(1, maximumPageSize)),
  cursor: Schema.optional(Schema.String),
  after: Schema.optional(itemId).annotate({ description: "Id of an item: the page of older ones behind it" }),
  before: Schema.optional(itemId).annotate({ description: "Id of an item: the page of newer ones before it" })
}

export interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** The answer of such a list. */
export const pageOf = <A extends Schema.Top>(item: A) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(item),
    has_more: Schema.Boolean,
    pagination: Schema.Struct({ hasMore: Schema.Boolean, nextCursor: Schema.optional(Schema.String) })
  })

/** A place in the list: the page begins beyond it. */
export interface PageStart {
  readonly at: number
  readonly id: string
  /** The page is of newer items, the nearest ones. */
  readonly isNewer: boolean
}

/** Items of a list as its store gives them. */
export interface PagedList<Item, E> {
  /** When an item of this id was made; undefined where there is none. */
  readonly placeOf: (id: string) => Effect.Effect<number | undefined, E>
  /** Newest first; with `isNewer` oldest first. */
  readonly page: (beyond: PageStart | undefined, limit: number) => Effect.Effect<ReadonlyArray<Item>, E>
  readonly at: (item: Item) => { readonly at: number; readonly id: string }
}

/**
 * Answers one page. `list` names the list in cursors, its owner included, so that a cursor is good for this list alone.
 */
export const answerPage = Effect.fnUntraced(function* <Item, E>(
  list: string,
  { after, before, cursor, limit = defaultCursorPageSize }: PageQuery,
  { at, page, placeOf }: PagedList<Item, E>
) {
  const cursors = yield* PageCursors
  if ([after, before, cursor].filter((given) => given !== undefined).length > 1)
    return yield* SendInvalidRequest.of("Give one of 'cursor', 'after' and 'before', not several.")
  const beyondItem = Effect.fnUntraced(function* (name: "after" | "before", id: string) {
    const place = yield* placeOf(id)
    if (place === undefined)
      return yield* SendInvalidRequest.of(`Invalid parameter '${name}': ${quote(id)}. There is no such item.`)
    return { at: place, id, isNewer: name === "before" }
  })
  const beyondCursor = Effect.map(
    Effect.mapError(cursors.decode(list, cursor), () =>
      SendInvalidRequest.of("Invalid parameter 'cursor'. Expected one that this list's answer gave.")
    ),
    (position) =>
      Option.getOrUndefined(Option.map(position, ({ atMillis, id }) => ({ at: atMillis, id, isNewer: false })))
  )
  const beyond =
    after !== undefined
      ? yield* beyondItem("after", after)
      : before !== undefined
        ? yield* beyondItem("before", before)
        : yield* beyondCursor
  const found = yield* page(beyond, limit + 1)
  const hasMore = found.length > limit
  const shown = found.slice(0, limit)
  const data = beyond?.isNewer === true ? shown.toReversed() : shown
  const last = data.at(-1)
  const place = last === undefined ? undefined : at(last)
  // Behind a page of newer items there is at least the item that it was asked from.
  const hasOlder = beyond?.isNewer === true ? data.length > 0 : hasMore
  const next = hasOlder && place !== undefined ? cursors.encode(list, { atMillis: place.at, id: place.id }) : undefined
  return {
    data,
    has_more: hasMore,
    pagination: { hasMore: hasOlder, ...(next === undefined ? {} : { nextCursor: next }) }
  }
})
