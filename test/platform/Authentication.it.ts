/**
 * Authentication by API key (docs/platform.md, 2.3) on a real database: what a warm look-up costs, what happens to many
 * at once, and how fast a change of a key is known, also while it cannot be announced.
 */
import { randomBytes } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Logger, Redacted, Scope, SubscriptionRef } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"
import { keyDigest } from "../../src/common/identifiers.ts"
import { ApiKeys } from "../../src/platform/ApiKeys.ts"
import type { Authentication } from "../../src/platform/Authentication.ts"
import * as PgClient from "../../src/postgres/PgClient.ts"
import { TestDatabase } from "../support/database.ts"
import {
  authenticationNode,
  countingStatements,
  makeKey,
  makeOrganization,
  platformDatabase,
  until
} from "./support.ts"

const unknownKey = () => `sk_live_${randomBytes(16).toString("hex")}`

/** What a request does: the synchronous look first, the database only where that knows nothing. */
const authenticate = (authentication: Authentication["Service"], key: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const warm = authentication.verifyWarm(key, now)
    return warm === undefined ? authentication.verify(key) : Effect.succeed(warm)
  })

/** Passes every look-up of a key through a function. */
const lookingUp =
  (through: (found: ReturnType<ApiKeys["Service"]["findByDigest"]>, digest: string) => typeof found) =>
  (apiKeys: ApiKeys["Service"]): ApiKeys["Service"] => ({
    ...apiKeys,
    findByDigest: (digest) => through(apiKeys.findByDigest(digest), digest)
  })

layer(platformDatabase, { excludeTestServices: true })("authentication", (it) => {
  it.effect("asks the database once for a key, and not again while it is warm", () =>
    Effect.gen(function* () {
      // Made before the node is there, or its announcement might come between the two looks.
      const { id, key, organizationId } = yield* makeKey()
      const authentication = yield* authenticationNode()
      const cold = yield* countingStatements(authenticate(authentication, key))
      expect(cold).toMatchObject({ statements: 1, result: { keyId: id, organizationId, mode: "live" } })
      const warm = yield* countingStatements(Effect.replicateEffect(authenticate(authentication, key), 100))
      expect(warm.statements).toBe(0)
      expect(warm.result).toEqual(Array.from({ length: 100 }, () => cold.result))
    })
  )

  it.effect("asks nothing for a text that can be no key", () =>
    Effect.gen(function* () {
      const authentication = yield* authenticationNode()
      const texts = [
        "",
        "sk_live_",
        "sk_live_short",
        `sk_prod_${"a".repeat(22)}`,
        `sk_live_${"a".repeat(129)}`,
        "a".repeat(1e6)
      ]
      const { result, statements } = yield* countingStatements(
        Effect.forEach(texts, (text) => authenticate(authentication, text))
      )
      expect(statements).toBe(0)
      expect(result).toEqual(texts.map(() => null))
    })
  )

  it.effect("remembers an unknown key, until one with that text is made", () =>
    Effect.gen(function* () {
      const authentication = yield* authenticationNode()
      const apiKeys = yield* ApiKeys
      const key = unknownKey()
      const { result, statements } = yield* countingStatements(
        Effect.replicateEffect(authenticate(authentication, key), 50)
      )
      expect(statements).toBe(1)
      expect(new Set(result)).toEqual(new Set([null]))
      const { id } = yield* makeOrganization
      const newKey = { name: null, mode: "live", services: [], scopes: [], expiresAtMillis: null } as const
      yield* apiKeys.create(id, { ...newKey, value: key })
      yield* until(Effect.map(authenticate(authentication, key), (principal) => principal?.organizationId === id))
    })
  )

  it.effect("[platform 2.3] keeps a bounded number of unknown keys, and no flood of them drops a known one", () =>
    Effect.gen(function* () {
      let asked = 0
      const { id, key } = yield* makeKey()
      const authentication = yield* authenticationNode(
        lookingUp((found, digest) =>
          Effect.suspend(() => {
            asked++
            return digest === keyDigest(key) ? found : Effect.succeed(undefined)
          })
        )
      )
      yield* authenticate(authentication, key)
      const flood = Array.from({ length: 20_001 }, unknownKey)
      yield* Effect.forEach(flood, (one) => authenticate(authentication, one), { concurrency: 64, discard: true })
      expect(asked).toBe(1 + flood.length)
      expect(yield* authenticate(authentication, key)).toMatchObject({ keyId: id })
      yield* authenticate(authentication, flood.at(-1)!)
      expect(asked).toBe(1 + flood.length)
      // The oldest has given way.
      yield* authenticate(authentication, flood[0]!)
      expect(asked).toBe(2 + flood.length)
    })
  )

  it.effect("looks a key up once for all who ask at the same time, whoever of them goes away", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const authentication = yield* authenticationNode(
        lookingUp((found) => Effect.andThen(Deferred.await(gate), found))
      )
      const { id, key } = yield* makeKey()
      const { result, statements } = yield* countingStatements(
        Effect.gen(function* () {
          const first = yield* Effect.forkChild(authenticate(authentication, key), { startImmediately: true })
          const others = yield* Effect.forEach(Array.from({ length: 100 }), () =>
            Effect.forkChild(authenticate(authentication, key), { startImmediately: true })
          )
          yield* Fiber.interrupt(first)
          yield* Deferred.succeed(gate, undefined)
          return yield* Effect.forEach(others, Fiber.join)
        })
      )
      expect(statements).toBe(1)
      expect(result.map((principal) => principal?.keyId)).toEqual(result.map(() => id))
    })
  )

  it.effect("[platform 2.3] has at most 32 look-ups under way and 1,024 keys waiting; the next one fails", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      const authentication = yield* authenticationNode(
        lookingUp((found) =>
          Effect.suspend(() => {
            most = Math.max(most, ++running)
            return Deferred.await(gate)
          }).pipe(Effect.andThen(found), Effect.ensuring(Effect.sync(() => running--)))
        )
      )
      const waiting = yield* Effect.forEach(Array.from({ length: 1_024 }, unknownKey), (key) =>
        Effect.forkChild(authenticate(authentication, key), { startImmediately: true })
      )
      yield* until(Effect.sync(() => running === 32))
      const refused = yield* Effect.flip(authenticate(authentication, unknownKey()))
      expect(refused).toMatchObject({ _tag: "KeyUncheckable" })
      yield* Deferred.succeed(gate, undefined)
      expect(new Set(yield* Effect.forEach(waiting, Fiber.join))).toEqual(new Set([null]))
      expect(most).toBe(32)
      expect(yield* authenticate(authentication, unknownKey())).toBeNull()
    })
  )

  it.effect("says that a key cannot be checked when the database fails, and checks it when it is back", () =>
    Effect.gen(function* () {
      let away = true
      const sql = yield* SqlClient.SqlClient
      const authentication = yield* authenticationNode(
        lookingUp((found) =>
          Effect.suspend(() => (away ? Effect.andThen(sql`select nothing from nowhere`, found) : found))
        )
      )
      const { id, key } = yield* makeKey()
      expect(yield* Effect.flip(authenticate(authentication, key))).toMatchObject({ _tag: "KeyUncheckable" })
      away = false
      expect(yield* authenticate(authentication, key)).toMatchObject({ keyId: id })
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("drops a revoked key on every node as soon as it is announced", () =>
    Effect.gen(function* () {
      const nodes = [yield* authenticationNode(), yield* authenticationNode()]
      const apiKeys = yield* ApiKeys
      const { id, key } = yield* makeKey()
      for (const node of nodes) expect(yield* authenticate(node, key)).toMatchObject({ keyId: id })
      yield* apiKeys.revoke(id)
      for (const node of nodes) yield* until(Effect.map(authenticate(node, key), (principal) => principal === null))
    })
  )

  it.effect("does not remember what it read before a revocation that came meanwhile", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const read = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const [slow, other] = [yield* makeKey(), yield* makeKey()]
      const authentication = yield* authenticationNode(
        lookingUp((found, digest) =>
          digest === keyDigest(slow.key)
            ? Effect.tap(found, () => Effect.andThen(Deferred.succeed(read, undefined), Deferred.await(gate)))
            : found
        )
      )
      yield* authenticate(authentication, other.key)
      const asked = yield* Effect.forkChild(authenticate(authentication, slow.key), { startImmediately: true })
      yield* Deferred.await(read)
      yield* apiKeys.revoke(slow.id)
      yield* apiKeys.revoke(other.id)
      // Announcements come in order: with the second, the first has been heard.
      yield* until(Effect.sync(() => authentication.verifyWarm(other.key, Date.now()) === undefined))
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(asked)).toMatchObject({ keyId: slow.id })
      expect(yield* authenticate(authentication, slow.key)).toBeNull()
    })
  )
})

/** Lets new connections to the test's database in or not; those that are open stay. */
const allowConnections = Effect.fnUntraced(
  function* (allowed: boolean) {
    const { name } = yield* TestDatabase
    const admin = yield* PgClient.make({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })
    yield* admin`alter database ${admin(name)} with allow_connections ${admin.literal(`${allowed}`)}`
    if (allowed) return
    yield* admin`
      select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${name} and application_name like '%notifications%'`
  },
  Effect.scoped,
  Effect.provide(Reactivity.layer)
)

layer(platformDatabase, { excludeTestServices: true })("authentication in time", (it) => {
  it.effect("refuses a key from the millisecond of its end, warm and cold, without asking again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const { id, key } = yield* makeKey({ expiresAtMillis: 1_060_000 })
      const [node, coldNode] = [yield* authenticationNode(), yield* authenticationNode()]
      expect(yield* authenticate(node, key)).toMatchObject({ keyId: id })
      yield* TestClock.setTime(1_059_999)
      expect(yield* authenticate(node, key)).toMatchObject({ keyId: id })
      yield* TestClock.setTime(1_060_000)
      const { result, statements } = yield* countingStatements(authenticate(node, key))
      expect({ result, statements }).toEqual({ result: null, statements: 0 })
      expect(yield* authenticate(coldNode, key)).toBeNull()
    }).pipe(Effect.provide(TestClock.layer()))
  )

  it.effect("[platform 2.3] trusts what it knows for five seconds once changes cannot be announced", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* TestClock.setTime(1_000_000)
      const [kept, revoked] = [yield* makeKey(), yield* makeKey()]
      const node = yield* authenticationNode()
      const unknown = unknownKey()
      const ask = Effect.forEach([kept.key, revoked.key, unknown], (key) => authenticate(node, key))
      const answers = Effect.map(countingStatements(ask), ({ result, statements }) => ({
        ids: result.map((principal) => principal?.keyId ?? null),
        statements
      }))
      expect(yield* answers).toEqual({ ids: [kept.id, revoked.id, null], statements: 3 })

      yield* TestClock.setTime(2_000_000)
      yield* allowConnections(false)
      yield* until(Effect.map(SubscriptionRef.get(node.connected), (connected) => !connected))
      // As another node would do it; the announcement reaches nobody here.
      yield* sql`update api_keys set active = false where id = ${revoked.id}`
      yield* TestClock.setTime(2_005_000)
      expect(yield* answers).toEqual({ ids: [kept.id, revoked.id, null], statements: 0 })
      yield* TestClock.setTime(2_005_001)
      expect(yield* answers).toEqual({ ids: [kept.id, null, null], statements: 3 })
      // What was looked up is trusted again, for as long.
      yield* TestClock.setTime(2_010_001)
      expect(yield* answers).toEqual({ ids: [kept.id, null, null], statements: 0 })
      yield* TestClock.setTime(2_010_002)
      expect(yield* answers).toEqual({ ids: [kept.id, null, null], statements: 3 })

      // Again without an announcement: nothing may be trusted that was known before the channel came back.
      yield* sql`update api_keys set active = false where id = ${kept.id}`
      yield* allowConnections(true)
      yield* until(SubscriptionRef.get(node.connected))
      yield* until(Effect.map(authenticate(node, kept.key), (principal) => principal === null))
    }).pipe(Effect.ensuring(Effect.orDie(allowConnections(true))), Effect.provide(TestClock.layer()))
  )

  it.effect(
    "[platform 2.3] trusts keys that were used before for the grace while PostgreSQL itself is away, and no other",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_000_000)
        const [used, unused] = [yield* makeKey(), yield* makeKey()]
        const unknown = unknownKey()
        let away = false
        const node = yield* authenticationNode(undefined, {
          awaySinceMillis: () => (away ? 2_000_000 : undefined),
          graceMillis: 60_000,
          look: Effect.sync(() => away)
        })
        const warm = (key: string, nowMillis: number) => node.verifyWarm(key, nowMillis)?.keyId
        expect(yield* authenticate(node, used.key)).toMatchObject({ keyId: used.id })
        expect(yield* authenticate(node, unknown)).toBeNull()

        yield* TestClock.setTime(2_000_000)
        yield* allowConnections(false)
        yield* until(Effect.map(SubscriptionRef.get(node.connected), (connected) => !connected))
        // While PostgreSQL answers, the channel alone being down, it is asked after five seconds.
        expect([warm(used.key, 2_005_000), warm(used.key, 2_005_001)]).toEqual([used.id, undefined])
        away = true
        expect([warm(used.key, 2_005_001), warm(used.key, 2_060_000)]).toEqual([used.id, used.id])
        expect(warm(used.key, 2_060_001)).toBeUndefined()
        expect(warm(unused.key, 2_005_001)).toBeUndefined()
        expect(node.verifyWarm(unknown, 2_005_001)).toBeUndefined()
      }).pipe(Effect.ensuring(Effect.orDie(allowConnections(true))), Effect.provide(TestClock.layer()))
  )

  it.effect("writes down when keys were last used, every half minute and when it stops", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      yield* TestClock.setTime(1_000_000)
      const scope = yield* Scope.make()
      const { key, organizationId } = yield* makeKey()
      const node = yield* Scope.provide(authenticationNode(), scope)
      const lastUse = Effect.map(
        apiKeys.list({ organizationId, limit: 1, cursor: undefined }),
        ({ data }) => data[0]!.lastUsedAt
      )
      yield* authenticate(node, key)
      yield* authenticate(node, key)
      expect(yield* lastUse).toBeNull()
      yield* TestClock.adjust("30 seconds")
      yield* until(Effect.map(lastUse, (at) => at === 1_000_000))
      // To the minute: what comes within it is not worth a statement.
      yield* TestClock.setTime(1_059_999)
      yield* authenticate(node, key)
      yield* TestClock.setTime(1_060_000)
      yield* authenticate(node, key)
      yield* Scope.close(scope, Exit.void)
      expect(yield* lastUse).toBe(1_060_000)
    }).pipe(Effect.provide(TestClock.layer()))
  )
})
