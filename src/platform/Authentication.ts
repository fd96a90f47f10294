/**
 * Tells who a key is. Warm look-ups are a digest and a map look-up, no database round trip; misses share one look-up a
 * key and at most 32 are in flight. A change of a key is announced by PostgreSQL and drops it from the map at once;
 * while that channel is down an entry lives five seconds, and after it everything is looked up anew, because an
 * announcement may have been missed (docs/platform.md, 2.3). Needs `ApiKeys` and `Notifications`.
 */
import { Clock, Context, Data, Deferred, Effect, Layer, Schedule, Semaphore, Stream, SubscriptionRef } from "effect"
import { Notifications } from "../postgres/Notifications.ts"
import { ApiKeys, keysChannel } from "./ApiKeys.ts"
import { keyDigest } from "./identifiers.ts"
import type { Principal } from "./model.ts"

/** Entries of known and, apart, of unknown keys that are kept; the oldest gives way. */
const maximumEntries = 20_000
/** Look-ups in the database at once. */
const maximumLookups = 32
/** How long a look-up may take, its wait for a place included. */
const lookupTimeoutMillis = 5_000
/** Different keys that may wait for their look-up; beyond it the answer is `unavailable`. */
const maximumWaiting = 1_024
/** Life of an entry while announcements cannot be heard. */
const deafLifeMillis = 5_000
/** How often uses are written down. */
const touchIntervalMillis = 30_000
/** How long the last uses may keep a stop waiting. */
const lastWriteMillis = 1_000
/** Precision of a key's last use. */
const touchPrecisionMillis = 60_000

/** The key could not be checked now. */
export class KeyUncheckable extends Data.TaggedError("KeyUncheckable") {}

interface Entry {
  /** Null for a text that is no active key. */
  readonly principal: Principal | null
  readonly loadedAtMillis: number
  touchedAtMillis: number
}

const keyPattern = /^sk_(?:live|test)_[A-Za-z0-9]{22,128}$/

export class Authentication extends Context.Service<
  Authentication,
  {
    /**
     * The principal of a key, null where it is no active key; undefined where it has to be looked up with `verify`.
     * Synchronous: the path of nearly every request.
     */
    readonly verifyWarm: (key: string, nowMillis: number) => Principal | null | undefined
    /** Like `verifyWarm`, looking up what is not known. */
    readonly verify: (key: string) => Effect.Effect<Principal | null, KeyUncheckable>
  }
>()("sluice/platform/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const notifications = yield* Notifications
      const scope = yield* Effect.scope
      const lookups = yield* Semaphore.make(maximumLookups)

      const known = new Map<string, Entry>()
      const unknown = new Map<string, Entry>()
      const waiting = new Map<string, Deferred.Deferred<Principal | null, KeyUncheckable>>()
      const uses = new Map<string, number>()
      // Whether announcements may have been missed: not over when the channel is back, but when that is dealt with.
      let deaf = true
      // When announcements were last lost: what was loaded before was in force until then.
      let deafSinceMillis = 0
      // Raised by every announcement: a look-up that overlaps one is answered but not remembered.
      let announcements = 0

      const remember = (digest: string, principal: Principal | null, nowMillis: number) => {
        // It may have been the other one before.
        known.delete(digest)
        unknown.delete(digest)
        const map = principal === null ? unknown : known
        if (map.size >= maximumEntries) map.delete(map.keys().next().value!)
        map.set(digest, { principal, loadedAtMillis: nowMillis, touchedAtMillis: 0 })
      }

      const forget = (digest: string) => {
        announcements++
        known.delete(digest)
        unknown.delete(digest)
      }

      const forgetAll = () => {
        deaf = false
        announcements++
        known.clear()
        unknown.clear()
      }

      const warm = (digest: string, nowMillis: number): Principal | null | undefined => {
        const entry = known.get(digest) ?? unknown.get(digest)
        if (entry === undefined) return undefined
        if (
          (deaf || !SubscriptionRef.getUnsafe(notifications.connected)) &&
          nowMillis - Math.max(entry.loadedAtMillis, deafSinceMillis) > deafLifeMillis
        ) {
          return undefined
        }
        const principal = entry.principal
        if (principal === null) return null
        if (principal.expiresAtMillis !== null && principal.expiresAtMillis <= nowMillis) return null
        if (nowMillis - entry.touchedAtMillis >= touchPrecisionMillis) {
          entry.touchedAtMillis = nowMillis
          uses.set(principal.keyId, nowMillis)
        }
        return principal
      }

      const lookUp = (digest: string, deferred: Deferred.Deferred<Principal | null, KeyUncheckable>) =>
        Effect.suspend(() => {
          const before = announcements
          return Effect.flatMap(apiKeys.findByDigest(digest), (principal) =>
            Effect.map(Clock.currentTimeMillis, (now) => {
              if (announcements === before) remember(digest, principal ?? null, now)
              return principal ?? null
            })
          )
        }).pipe(
          lookups.withPermit,
          // A database that is silent must not hold requests, nor a place among the look-ups.
          Effect.timeout(lookupTimeoutMillis),
          Effect.tapCause((cause) => Effect.logWarning("An API key could not be looked up", cause)),
          Effect.mapError(() => new KeyUncheckable()),
          Effect.onExit((exit) =>
            Effect.sync(() => waiting.delete(digest)).pipe(Effect.andThen(Deferred.done(deferred, exit)))
          ),
          Effect.ignoreCause
        )

      const verify = Effect.fnUntraced(function* (key: string) {
        if (!keyPattern.test(key)) return null
        const now = yield* Clock.currentTimeMillis
        const digest = keyDigest(key)
        const remembered = warm(digest, now)
        if (remembered !== undefined) return remembered
        let deferred = waiting.get(digest)
        if (deferred === undefined) {
          if (waiting.size >= maximumWaiting) return yield* new KeyUncheckable()
          deferred = Deferred.makeUnsafe<Principal | null, KeyUncheckable>()
          waiting.set(digest, deferred)
          // In the service's scope: the request that happened to be first may go away while others wait.
          yield* Effect.forkIn(lookUp(digest, deferred), scope)
        }
        const principal = yield* Deferred.await(deferred)
        if (principal?.expiresAtMillis != null && principal.expiresAtMillis <= now) return null
        if (principal !== null) uses.set(principal.keyId, now)
        return principal
      })

      yield* notifications.listen(keysChannel).pipe(
        Stream.runForEach((notification) =>
          Effect.sync(() => (notification._tag === "Message" ? forget(notification.payload) : forgetAll()))
        ),
        Effect.forkScoped
      )

      yield* SubscriptionRef.changes(notifications.connected).pipe(
        Stream.filter((connected) => !connected),
        Stream.runForEach(() =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            // Unless this comes so late that the channel is back and all is forgotten.
            if (SubscriptionRef.getUnsafe(notifications.connected)) return
            deaf = true
            deafSinceMillis = now
          })
        ),
        Effect.forkScoped
      )

      const writeUses = Effect.suspend(() => {
        const batch = [...uses].map(([keyId, atMillis]) => ({ keyId, atMillis }))
        uses.clear()
        return apiKeys.touch(batch)
      }).pipe(Effect.catchCause((cause) => Effect.logDebug("Uses of API keys were not written", cause)))
      yield* writeUses.pipe(Effect.repeat(Schedule.spaced(touchIntervalMillis)), Effect.forkScoped)
      yield* Effect.addFinalizer(() => Effect.timeoutOption(writeUses, lastWriteMillis))

      return Authentication.of({
        verifyWarm: (key, nowMillis) => (keyPattern.test(key) ? warm(keyDigest(key), nowMillis) : null),
        verify
      })
    })
  )
}
