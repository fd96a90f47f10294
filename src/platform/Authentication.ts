/**
 * Tells whose a key is (docs/platform.md, 2.3). A warm look-up is a digest and a map look-up, without a round trip to
 * the database. Misses of one key share a look-up, and at most 32 are in flight. PostgreSQL announces a changed key,
 * which then leaves the map at once. While that channel is down an entry lives five seconds, and when it is back all
 * entries are dropped, because an announcement may have been missed. Needs `ApiKeys` and `Notifications`.
 */

import { Clock, Context, Data, Deferred, Effect, Layer, Schedule, Semaphore, Stream, SubscriptionRef } from "effect"
import { BoundedMap } from "../common/BoundedMap.ts"
import { keyDigest } from "../common/identifiers.ts"
import { Notifications } from "../postgres/Notifications.ts"
import { ApiKeys, keysChannel } from "./ApiKeys.ts"
import type { Principal } from "./model.ts"

/** Most entries of known keys, and likewise of unknown ones. The oldest entry gives way. */
const maximumEntries = 20_000
/** Look-ups in the database at once. */
const maximumLookups = 32
/** How long a look-up may take, including its wait for a place. */
const lookupTimeoutMillis = 5_000
/** How many different keys may wait for their look-up. Beyond that the answer is `unavailable`. */
const maximumWaiting = 1_024
/** Life of an entry while announcements cannot be heard. */
const deafLifeMillis = 5_000
/** How often uses of keys are stored. */
const touchIntervalMillis = 30_000
/** How long a stop waits for the last uses to be stored. */
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
     * The principal of a key; null when the key is not active, undefined when it must be looked up with `verify`.
     * Synchronous, because nearly every request takes this path.
     */
    readonly verifyWarm: (key: string, nowMillis: number) => Principal | null | undefined
    /** Like `verifyWarm`, but looks up a key that is not known. */
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

      const known = new BoundedMap<string, Entry>(maximumEntries)
      const unknown = new BoundedMap<string, Entry>(maximumEntries)
      const waiting = new Map<string, Deferred.Deferred<Principal | null, KeyUncheckable>>()
      const uses = new Map<string, number>()
      // Whether announcements may have been missed. It ends not when the channel is back, but once the entries are
      // dropped.
      let deaf = true
      // When announcements were last lost. Entries loaded before were correct until then.
      let deafSinceMillis = 0
      // Counts announcements. A look-up that overlaps one is answered but not remembered.
      let announcements = 0

      const remember = (digest: string, principal: Principal | null, nowMillis: number) => {
        // The key may have been in the other map before.
        known.delete(digest)
        unknown.delete(digest)
        const map = principal === null ? unknown : known
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
          // A silent database must hold neither requests nor places among the look-ups.
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
          // Forked into the service's scope, because the first request may go away while others wait.
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
            // Unless the channel is back already and the entries are dropped.
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
