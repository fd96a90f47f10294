/**
 * Remembers the public keys of endpoints for anybody who asks (docs/platform.md, 6.11): for a minute, a bounded number of
 * them, those of endpoints without keys too. Few reads are made concurrently, and few may wait. Needs `WebhookSecrets`.
 */
import { hash } from "node:crypto"
import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Semaphore } from "effect"
import { makeTag, type Tag } from "../../http/cacheHeaders.ts"
import { SecretsUnavailable } from "./errors.ts"
import { type PublicKey, WebhookSecrets } from "./WebhookSecrets.ts"

/** How long keys are remembered, here and by caches on the way together: a rotation is visible after it. */
export const publicKeysMillis = 60_000

/** Endpoints whose keys are remembered. */
const maximumRemembered = 10_000

/** Concurrent reads, a small share of the database's connections, and reads that may wait. */
const maximumReads = 2
const maximumWaiting = 64
const readTimeoutMillis = 5_000

/** The public keys of an endpoint, as they were read. */
export interface RememberedKeys {
  readonly keys: ReadonlyArray<PublicKey>
  /** The same for the same keys. */
  readonly tag: Tag
  /** From then on they are read again, milliseconds since the Unix epoch. */
  readonly freshUntil: number
}

export class PublicKeys extends Context.Service<
  PublicKeys,
  {
    readonly of: (endpointId: string) => Effect.Effect<RememberedKeys, SecretsUnavailable>
    /** Reads them again when they are asked for next. */
    readonly forget: (endpointId: string) => Effect.Effect<void>
  }
>()("sluice/webhooks/PublicKeys") {
  static readonly layer: Layer.Layer<PublicKeys, never, WebhookSecrets> = Layer.effect(
    PublicKeys,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const secrets = yield* WebhookSecrets
  const reads = yield* Semaphore.make(maximumReads)
  let waiting = 0

  const away = new SecretsUnavailable({ message: "public keys cannot be read now" })
  const read = (endpointId: string) =>
    Effect.suspend(() => {
      if (waiting >= maximumWaiting) return Effect.fail(away)
      waiting++
      return secrets
        .publicKeys(endpointId)
        .pipe(
          reads.withPermit,
          Effect.timeoutOrElse({ duration: readTimeoutMillis, orElse: () => Effect.fail(away) }),
          Effect.ensuring(Effect.sync(() => waiting--))
        )
    })

  const remember = Effect.fnUntraced(function* (
    endpointId: string
  ): Effect.fn.Return<RememberedKeys, SecretsUnavailable> {
    // A rotation during the read is visible in time.
    const freshUntil = (yield* Clock.currentTimeMillis) + publicKeysMillis
    const keys = yield* read(endpointId)
    const tag = makeTag(hash("sha256", JSON.stringify(keys), "hex").slice(0, 32))
    return { keys, tag, freshUntil }
  })

  const cache = yield* Cache.makeWith(remember, {
    capacity: maximumRemembered,
    timeToLive: (exit) => Duration.millis(Exit.isSuccess(exit) ? publicKeysMillis : 0)
  })

  return PublicKeys.of({
    of: Effect.fn("PublicKeys.of")(function* (endpointId) {
      const found = yield* Cache.get(cache, endpointId)
      if ((yield* Clock.currentTimeMillis) < found.freshUntil) return found
      // The read took long.
      yield* Cache.invalidate(cache, endpointId)
      return yield* Cache.get(cache, endpointId)
    }),
    forget: (endpointId) => Cache.invalidate(cache, endpointId)
  })
})
