/**
 * Signs the cursors of lists (docs/platform.md, 3.4). They are opaque, signed with a secret of the database, and valid
 * on every node for their list only. A forged, foreign or damaged cursor is refused with 400, so a handler can trust
 * the position it decodes. Needs `SqlClient` once, at start.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { Context, Data, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** The position after which a page begins: the creation time of the last item (milliseconds), and its id. */
export interface Position {
  readonly atMillis: number
  readonly id: string
}

/** This database did not make the cursor for this list. */
export class InvalidCursor extends Data.TaggedError("InvalidCursor")<{ readonly cursor: string }> {}

/** Default page size of cursor lists (docs/platform.md, 3.4). */
export const defaultCursorPageSize = 25

/** Longest cursor that is decoded, in characters. */
const maximumCursorLength = 512

export class PageCursors extends Context.Service<
  PageCursors,
  {
    /** The cursor for the page after `position` of the named list. */
    readonly encode: (list: string, position: Position) => string
    /** The position in a cursor; `none` without a cursor. Fails on a cursor that `encode` did not make. */
    readonly decode: (list: string, cursor: string | undefined) => Effect.Effect<Option.Option<Position>, InvalidCursor>
  }
>()("sluice/http/PageCursors") {
  static readonly layer: Layer.Layer<PageCursors, SqlError.SqlError, SqlClient.SqlClient> = Layer.effect(
    PageCursors,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ value: string }>`select value from platform_secrets where name = 'cursors'`
      return makePageCursors(rows[0]!.value)
    })
  )
}

/** Cursors under a given secret. */
export const makePageCursors = (secret: string): PageCursors["Service"] => {
  const sign = (list: string, payload: string) =>
    createHmac("sha256", secret).update(`${list}\n${payload}`).digest("base64url").slice(0, 22)
  return {
    encode: (list, position) => {
      const payload = Buffer.from(JSON.stringify([position.atMillis, position.id])).toString("base64url")
      return `${payload}.${sign(list, payload)}`
    },
    decode: (list, cursor) => {
      if (cursor === undefined) return Effect.succeed(Option.none())
      const [payload, signature, ...rest] = cursor.length > maximumCursorLength ? [] : cursor.split(".")
      if (payload === undefined || signature === undefined || rest.length > 0) {
        return Effect.fail(new InvalidCursor({ cursor }))
      }
      const expected = Buffer.from(sign(list, payload))
      const given = Buffer.from(signature)
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
        return Effect.fail(new InvalidCursor({ cursor }))
      }
      // We signed it, so its content is from `encode`.
      const [atMillis, id] = JSON.parse(Buffer.from(payload, "base64url").toString()) as [number, string]
      return Effect.succeed(Option.some({ atMillis, id }))
    }
  }
}

/**
 * Makes one page of a list. `rows` must hold one row more than requested, if there is one: it shows whether there is a
 * next page.
 */
export const pageOf = <A>(
  rows: ReadonlyArray<A>,
  limit: number,
  cursor: (last: A) => string
): {
  readonly data: ReadonlyArray<A>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
} => {
  const hasMore = rows.length > limit
  const data = hasMore ? rows.slice(0, limit) : rows
  const last = data.at(-1)
  return { data, pagination: hasMore && last !== undefined ? { hasMore, nextCursor: cursor(last) } : { hasMore } }
}
