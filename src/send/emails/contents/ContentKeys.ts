/**
 * Manages data keys, one for each organization. Its contents are encrypted under the key, so that forgetting the key
 * erases all of them (docs/handoff.md, 1). Keys are stored sealed under the platform's own. Needs `SqlClient` and
 * `Sealing`.
 */

import { createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../../../common/BoundedMap.ts"
import { sealedTexts } from "../sealedTexts.ts"
import { contentKeyBytes } from "./contentFrames.ts"
import { contentKeyMillis, contentTimeoutMillis, maximumContentKeys } from "./limits.ts"
import { ContentsUnavailable } from "./MessageContents.ts"

/** A sealed text, and the id of the key that opens it. */
export interface SealedText {
  readonly keyId: string
  readonly ciphertext: string
}

/** Seals texts under keys of the platform's; `about` says what a text belongs to, so that it opens nowhere else. */
export class Sealing extends Context.Service<
  Sealing,
  {
    readonly seal: (text: string, about: string) => SealedText
    /** Undefined where it does not fit. */
    readonly unseal: (sealed: SealedText, about: string) => string | undefined
  }
>()("sluice/send/Sealing") {}

export class ContentKeys extends Context.Service<
  ContentKeys,
  {
    /** The key of an organization, made where there is none. */
    readonly forWriting: (organization: string) => Effect.Effect<KeyObject, ContentsUnavailable>
    /** Undefined if there is none: everything encrypted under it is erased. */
    readonly forReading: (organization: string) => Effect.Effect<KeyObject | undefined, ContentsUnavailable>
    /** Erases all contents of an organization. Other processes notice within `contentKeyMillis`. */
    readonly forget: (organization: string) => Effect.Effect<void, ContentsUnavailable>
  }
>()("sluice/send/ContentKeys") {
  static readonly layer: Layer.Layer<ContentKeys, never, SqlClient.SqlClient | Sealing> = Layer.effect(
    ContentKeys,
    Effect.suspend(() => make)
  )
}

/** Binds a data key to its organization. */
export const aboutContentKey = (organization: string): string => `send content key\n${organization}`

interface Row {
  readonly keyId: string
  readonly ciphertext: string
}

/** Answers within a bounded time, with or without the database. */
const bounded = <A, E extends { readonly message: string }>(
  effect: Effect.Effect<A, E>
): Effect.Effect<A, ContentsUnavailable> =>
  effect.pipe(
    Effect.timeout(Duration.millis(contentTimeoutMillis)),
    Effect.mapError(
      (error) => new ContentsUnavailable({ message: `keys of contents cannot be reached: ${error.message}` })
    )
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const sealing = yield* Sealing
  const known = new BoundedMap<string, { readonly key: KeyObject; readonly until: number }>(maximumContentKeys)

  const opened = (organization: string, row: Row, now: number) => {
    const text = sealing.unseal(row, aboutContentKey(organization))
    if (text === undefined)
      return Effect.fail(
        new ContentsUnavailable({ message: `the key of the contents of ${organization} needs the key ${row.keyId}` })
      )
    const key = createSecretKey(text, "base64")
    known.set(organization, { key, until: now + contentKeyMillis })
    return Effect.succeed(key)
  }

  const remembered = (organization: string, now: number): KeyObject | undefined => {
    const found = known.get(organization)
    return found !== undefined && now < found.until ? found.key : undefined
  }

  return ContentKeys.of({
    forWriting: Effect.fnUntraced(function* (organization: string) {
      const now = yield* Clock.currentTimeMillis
      const found = remembered(organization, now)
      if (found !== undefined) return found
      const about = aboutContentKey(organization)
      const made = sealing.seal(randomBytes(contentKeyBytes).toString("base64"), about)
      // If several callers make the first key, all get the one that is stored.
      const [row] = yield* bounded(sql<Row>`
        insert into send_content_keys as k (organization_id, key_id, ciphertext, created_at)
        select ${organization}::text, ${made.keyId}::text, ${made.ciphertext}::text, ${now}::int8
        where not exists (select 1 from organizations where id = ${organization} and deleted_at is not null)
        on conflict (organization_id) do update set organization_id = k.organization_id
        returning key_id as "keyId", ciphertext`)
      if (row === undefined) return yield* new ContentsUnavailable({ message: `${organization} was deleted` })
      return yield* opened(organization, row, now)
    }),

    forReading: Effect.fnUntraced(function* (organization: string) {
      const now = yield* Clock.currentTimeMillis
      const found = remembered(organization, now)
      if (found !== undefined) return found
      const [row] = yield* bounded(sql<Row>`
        select key_id as "keyId", ciphertext from send_content_keys where organization_id = ${organization}`)
      return row === undefined ? undefined : yield* opened(organization, row, now)
    }),

    forget: (organization) =>
      Effect.map(bounded(sql`delete from send_content_keys where organization_id = ${organization}`), () => {
        known.delete(organization)
      })
  })
})

export const sealedContentKeys = sealedTexts({
  table: "send_content_keys",
  id: "organization_id",
  text: "ciphertext",
  about: aboutContentKey
})
