/** Organizations and API keys in PostgreSQL (docs/platform.md, 2). */
import { expect, layer } from "@effect/vitest"
import { Effect, Queue, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { keyDigest } from "../../src/common/identifiers.ts"
import { idempotentRequest } from "../../src/http/idempotency.ts"
import { ApiKeys, keysChannel } from "../../src/platform/ApiKeys.ts"
import { Organizations, type Page } from "../../src/platform/Organizations.ts"
import { Notifications } from "../../src/postgres/Notifications.ts"
import { dump, makeKey, makeOrganization, platformDatabase } from "./support.ts"

const acme = { name: "Acme", email: null, plan: "free", sendPlan: "hobby", risk: "standard" } as const

/** All items of a list, page by page. */
const walk = Effect.fnUntraced(function* <A, E, R>(
  limit: number,
  page: (cursor: string | undefined) => Effect.Effect<Page<A>, E, R>
) {
  const items: Array<A> = []
  let cursor: string | undefined
  for (;;) {
    const { data, pagination } = yield* page(cursor)
    items.push(...data)
    if (!pagination.hasMore) return items
    expect(data).toHaveLength(limit)
    cursor = pagination.nextCursor
  }
})

layer(platformDatabase, { excludeTestServices: true })("organizations", (it) => {
  it.effect("[platform 2.1] keep what they were made with, and have ids of their own", () =>
    Effect.gen(function* () {
      const organizations = yield* Organizations
      const all = {
        name: "Ünternehmen 🚀 O'Brien",
        email: "a@b.c",
        plan: "team",
        sendPlan: "pro",
        risk: "higher"
      } as const
      const { organization, replayed } = yield* organizations.create(all)
      expect(replayed).toBe(false)
      expect(organization).toEqual({
        ...all,
        id: expect.stringMatching(/^org_[0-9A-Za-z]{22}$/),
        requestsPerMinute: null,
        createdAt: expect.any(Number)
      })
      expect(yield* organizations.get(organization.id)).toEqual(organization)
      expect(yield* organizations.isEmpty).toBe(false)
      const missing = yield* Effect.flip(organizations.get("org_nope' or true --"))
      expect(missing).toMatchObject({ _tag: "OrganizationNotFound" })
    })
  )

  it.effect("are listed newest first, each once in whatever pages, also those of one instant", () =>
    Effect.gen(function* () {
      const organizations = yield* Organizations
      const made: Array<string> = []
      for (const instant of [1_000, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000]) {
        yield* TestClock.setTime(4_000_000_000_000 + instant)
        made.push((yield* organizations.create({ ...acme, name: `at ${instant}` })).organization.id)
      }
      const whole = (yield* organizations.list({ limit: 100, cursor: undefined })).data
      const times = whole.map(({ createdAt }) => createdAt)
      expect(times).toEqual([...times].sort((a, b) => b - a))
      expect(new Set(whole.slice(0, 7).map(({ id }) => id))).toEqual(new Set(made))
      for (const limit of [1, 2, 3, 7, 100]) {
        const walked = yield* walk(limit, (cursor) => organizations.list({ limit, cursor }))
        expect(walked, `pages of ${limit}`).toEqual(whole)
      }
    }).pipe(Effect.provide(TestClock.layer()))
  )

  it.effect("made twice under one idempotency key are one, for the same request only", () =>
    Effect.gen(function* () {
      const organizations = yield* Organizations
      const once = idempotentRequest("order 1", acme)
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => organizations.create(acme, once)),
        { concurrency: 10 }
      )
      expect(new Set(answers.map(({ organization }) => organization.id)).size).toBe(1)
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
      const other = { ...acme, name: "Other" }
      const conflict = yield* Effect.flip(organizations.create(other, idempotentRequest("order 1", other)))
      expect(conflict).toMatchObject({ _tag: "IdempotencyConflict", key: "order 1" })
    })
  )
})

layer(platformDatabase, { excludeTestServices: true })("API keys", (it) => {
  it.effect("[platform 2.3] are stored as SHA-256 only", () =>
    Effect.gen(function* () {
      const { key } = yield* makeKey()
      const stored = yield* dump("api_keys")
      expect(key).toMatch(/^sk_live_[0-9A-Za-z]{22}$/)
      expect(stored).toContain(keyDigest(key))
      expect(stored).not.toContain(key)
      expect(stored).not.toContain(key.slice("sk_live_".length))
    })
  )

  it.effect("are found by their digest, with what their organization may, until they are revoked", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const made = yield* makeKey({ mode: "test", services: ["telco", "send"], scopes: ["talk:*"], expiresAtMillis: 5 })
      expect(made.key).toMatch(/^sk_test_/)
      expect(yield* apiKeys.findByDigest(keyDigest(made.key))).toEqual({
        keyId: made.id,
        organizationId: made.organizationId,
        mode: "test",
        plan: "free",
        sendPlan: "hobby",
        services: new Set(["telco", "send"]),
        scopes: new Set(["talk:*"]),
        expiresAtMillis: 5
      })
      const revoked = yield* apiKeys.revoke(made.id)
      expect(revoked.active).toBe(false)
      expect(yield* apiKeys.findByDigest(keyDigest(made.key))).toBeUndefined()
      expect(yield* apiKeys.revoke(made.id)).toEqual(revoked)
      expect(yield* Effect.flip(apiKeys.revoke("key_nope"))).toMatchObject({ _tag: "ApiKeyNotFound", id: "key_nope" })
    })
  )

  it.effect("belong to one organization, whose list they are in, newest first", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const [one, other] = [yield* makeOrganization, yield* makeOrganization]
      const newKey = { mode: "live", services: [], scopes: [], expiresAtMillis: null } as const
      for (const name of ["a", "b", "c", "d", "e"]) {
        yield* apiKeys.create(one.id, { ...newKey, name })
        yield* apiKeys.create(other.id, { ...newKey, name: "other" })
      }
      const list = (limit: number) => (cursor: string | undefined) =>
        apiKeys.list({ organizationId: one.id, limit, cursor })
      const whole = (yield* list(100)(undefined)).data
      expect(whole.map(({ name }) => name).sort()).toEqual(["a", "b", "c", "d", "e"])
      for (const limit of [1, 2, 5]) expect(yield* walk(limit, list(limit))).toEqual(whole)

      const foreign = (yield* apiKeys.list({ organizationId: other.id, limit: 1, cursor: undefined })).pagination
      const refused = yield* Effect.flip(list(1)(foreign.nextCursor))
      expect(refused).toMatchObject({ _tag: "InvalidCursor" })
      for (const effect of [
        apiKeys.list({ organizationId: "org_nope", limit: 1, cursor: undefined }),
        apiKeys.create("org_nope", { ...newKey, name: null })
      ]) {
        expect(yield* Effect.flip(effect as Effect.Effect<unknown, unknown>)).toMatchObject({
          _tag: "OrganizationNotFound",
          id: "org_nope"
        })
      }
    })
  )

  it.effect("made twice under one idempotency key are one, shown once, per organization", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const [one, other] = [yield* makeOrganization, yield* makeOrganization]
      const newKey = { name: null, mode: "live", services: [], scopes: [], expiresAtMillis: null } as const
      const request = idempotentRequest("order 1", newKey)
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => apiKeys.create(one.id, newKey, request)),
        { concurrency: 8 }
      )
      expect(new Set(answers.map(({ apiKey }) => apiKey.id)).size).toBe(1)
      expect(answers.filter(({ key }) => key !== null)).toHaveLength(1)
      expect((yield* apiKeys.create(other.id, newKey, request)).key).not.toBeNull()
      const changed = { ...newKey, mode: "test" } as const
      const conflict = yield* Effect.flip(apiKeys.create(one.id, changed, idempotentRequest("order 1", changed)))
      expect(conflict).toMatchObject({ _tag: "IdempotencyConflict" })
    })
  )

  it.effect("announce a change when it is committed, and none that is rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const apiKeys = yield* ApiKeys
      const notifications = yield* Notifications
      const heard = yield* Queue.unbounded<string>()
      yield* notifications.listen(keysChannel).pipe(
        Stream.runForEach((one) => Queue.offer(heard, one._tag === "Message" ? one.payload : "gap")),
        Effect.forkScoped
      )
      expect(yield* Queue.take(heard)).toBe("gap")
      const made = yield* makeKey()
      expect(yield* Queue.take(heard)).toBe(keyDigest(made.key))
      const undone = yield* apiKeys
        .revoke(made.id)
        .pipe(Effect.andThen(Effect.fail("undone")), sql.withTransaction, Effect.flip)
      expect(undone).toBe("undone")
      const next = yield* makeKey()
      expect(yield* Queue.take(heard)).toBe(keyDigest(next.key))
      expect(yield* apiKeys.findByDigest(keyDigest(made.key))).toBeDefined()
    })
  )

  it.effect("[platform 2.3] note their last use, which never moves back", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const [one, other] = [yield* makeKey(), yield* makeKey()]
      const lastUse = (key: { readonly organizationId: string }) =>
        Effect.map(
          apiKeys.list({ organizationId: key.organizationId, limit: 1, cursor: undefined }),
          ({ data }) => data[0]!.lastUsedAt
        )
      expect(yield* lastUse(one)).toBeNull()
      yield* apiKeys.touch([
        { keyId: one.id, atMillis: 2_000 },
        { keyId: other.id, atMillis: 3_000 },
        { keyId: "key_gone", atMillis: 1 }
      ])
      yield* apiKeys.touch([{ keyId: one.id, atMillis: 1_000 }])
      yield* apiKeys.touch([])
      expect(yield* lastUse(one)).toBe(2_000)
      expect(yield* lastUse(other)).toBe(3_000)
    })
  )
})
