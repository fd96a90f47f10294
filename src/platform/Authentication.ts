/**
 * Finds the principal of a key (docs/platform.md, 2.3). A warm look-up is a digest and a map look-up, without a round
 * trip to the database. Misses of one key share a look-up, and at most 32 are in flight. PostgreSQL announces a changed
 * key, which is then removed from the map immediately. While that channel is down an entry lives five seconds, and when
 * it is back all entries are dropped, because an announcement may have been missed. Needs `ApiKeys` and
 * `Notifications`.
 */

import { Clock, Context, Data, Deferred, Effect, Layer, Schedule, Semaphore, Stream, SubscriptionRef } from "effect"
import { keyDigest } from "../common/identifiers.ts"
import { DatabaseWatch } from "../postgres/DatabaseWatch.ts"
import { Notifications } from "../postgres/Notifications.ts"
import { ApiKeys, keysChannel } from "./ApiKeys.ts"
import type { Principal } from "./model.ts"
import { WarmKeys } from "./WarmKeys.ts"

/** Concurrent look-ups in the database. */
const maximumLookups = 32
/** How long a look-up may take, including its wait for a place. */
const lookupTimeoutMillis = 5_000
/** The pause before a failed look-up is tried again; there are two retries. */
const lookupPauseMillis = 100
/** Different keys that may wait for their look-up. Beyond that the answer is `unavailable`. */
const maximumWaiting = 1_024
/** How often uses of keys are stored. */
const touchIntervalMillis = 30_000
/** How long a stop waits for the last uses to be stored. */
const lastWriteMillis = 1_000

/** The key could not be checked now. */
export class KeyUncheckable extends Data.TaggedError("KeyUncheckable") {}

/** Keys, and the sessions of a console (docs/platform.md, 12.1), which access accepts only from their cookie. */
const keyPattern = /^(?:sk|cs)_(?:live|test)_[A-Za-z0-9]{22,128}$/

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
    /**
     * Forgets this node's entry of a digest, for a caller that has changed it and does not wait for the announcement.
     */
    readonly forget: (digest: string) => void
  }
>()("sluice/platform/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.suspend(() => make)
  )
}

type Waiting = Deferred.Deferred<Principal | null, KeyUncheckable>

const make = Effect.gen(function* () {
  const apiKeys = yield* ApiKeys
  const notifications = yield* Notifications
  const watch = yield* DatabaseWatch
  const keys = new WarmKeys({
    isConnected: () => SubscriptionRef.getUnsafe(notifications.connected),
    isAway: () => watch.awaySinceMillis() !== undefined,
    graceMillis: watch.graceMillis
  })
  const lookUp = yield* makeLookUp(apiKeys, keys)
  yield* hearAnnouncements(notifications, keys)
  yield* writeUses(apiKeys, keys)

  /** The last known principal of a key, if PostgreSQL turns out to be away. */
  const lastKnown = Effect.fnUntraced(function* (digest: string, error: KeyUncheckable) {
    if (!(yield* watch.look)) return yield* error
    const remembered = keys.principalOf(digest, yield* Clock.currentTimeMillis)
    return remembered === undefined ? yield* error : remembered
  })

  const verify = Effect.fnUntraced(function* (key: string) {
    if (!keyPattern.test(key)) return null
    const now = yield* Clock.currentTimeMillis
    const digest = keyDigest(key)
    const remembered = keys.principalOf(digest, now)
    if (remembered !== undefined) return remembered
    const principal = yield* Effect.catch(lookUp(digest), (error) => lastKnown(digest, error))
    if (principal?.expiresAtMillis != null && principal.expiresAtMillis <= now) return null
    if (principal !== null) keys.use(principal, now)
    return principal
  })

  return Authentication.of({
    verifyWarm: (key, nowMillis) => (keyPattern.test(key) ? keys.principalOf(keyDigest(key), nowMillis) : null),
    verify,
    forget: (digest) => keys.forget(digest)
  })
})

/** Makes the look-up of a digest in the database, which callers of the same digest share. */
const makeLookUp = Effect.fnUntraced(function* (apiKeys: ApiKeys["Service"], keys: WarmKeys) {
  const scope = yield* Effect.scope
  const lookups = yield* Semaphore.make(maximumLookups)
  const waiting = new Map<string, Waiting>()

  const read = (digest: string, deferred: Waiting) =>
    Effect.suspend(() => {
      const before = keys.announcements
      // A session that has just been ended fails the next look-up on it, and the one after that gets another session.
      const found = Effect.retry(apiKeys.findByDigest(digest), {
        times: 2,
        schedule: Schedule.spaced(lookupPauseMillis)
      })
      return Effect.flatMap(found, (principal) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (keys.announcements === before) keys.remember(digest, principal ?? null, now)
          return principal ?? null
        })
      )
    }).pipe(
      lookups.withPermit,
      // A silent database must block neither requests nor look-ups.
      Effect.timeout(lookupTimeoutMillis),
      Effect.tapCause((cause) => Effect.logWarning("An API key could not be looked up", cause)),
      Effect.mapError(() => new KeyUncheckable()),
      Effect.onExit((exit) =>
        Effect.sync(() => waiting.delete(digest)).pipe(Effect.andThen(Deferred.done(deferred, exit)))
      ),
      Effect.ignoreCause
    )

  return Effect.fnUntraced(function* (digest: string) {
    let deferred = waiting.get(digest)
    if (deferred === undefined) {
      if (waiting.size >= maximumWaiting) return yield* new KeyUncheckable()
      deferred = Deferred.makeUnsafe<Principal | null, KeyUncheckable>()
      waiting.set(digest, deferred)
      // Forked into the service's scope, because the first request may go away while others wait.
      yield* Effect.forkIn(read(digest, deferred), scope)
    }
    return yield* Deferred.await(deferred)
  })
})

/** Drops entries as changes of keys are announced, and doubts all of them after announcements may have been missed. */
const hearAnnouncements = Effect.fnUntraced(function* (notifications: Notifications["Service"], keys: WarmKeys) {
  yield* notifications.listen(keysChannel).pipe(
    Stream.runForEach((notification) =>
      Effect.sync(() => (notification._tag === "Message" ? keys.forget(notification.payload) : keys.doubtAll()))
    ),
    Effect.forkScoped
  )
  yield* SubscriptionRef.changes(notifications.connected).pipe(
    Stream.filter((connected) => !connected),
    Stream.runForEach(() =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        // Unless the channel is back already and the entries are doubted.
        if (!SubscriptionRef.getUnsafe(notifications.connected)) keys.goDeaf(now)
      })
    ),
    Effect.forkScoped
  )
})

/** Stores the last uses of keys from time to time, and once more when the service stops. */
const writeUses = Effect.fnUntraced(function* (apiKeys: ApiKeys["Service"], keys: WarmKeys) {
  const write = Effect.suspend(() => apiKeys.touch(keys.takeUses())).pipe(
    Effect.catchCause((cause) => Effect.logDebug("Uses of API keys were not written", cause))
  )
  yield* write.pipe(Effect.repeat(Schedule.spaced(touchIntervalMillis)), Effect.forkScoped)
  yield* Effect.addFinalizer(() => Effect.timeoutOption(write, lastWriteMillis))
})
