/** A changed key of the signing secrets, on the real database: everything stored moves to the new one, and what others do meanwhile stays. */
import { randomBytes } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../src/app/migrations.ts"
import { parseSecretsKeys, type SecretsKeys, seal } from "../../../src/common/secretsKeys.ts"
import { IdempotentRequests } from "../../../src/platform/IdempotentRequests.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import * as Resealing from "../../../src/webhooks/secret/Resealer.ts"
import { aboutSecret, layerSealing, WebhookSecrets } from "../../../src/webhooks/secret/WebhookSecrets.ts"
import { countingStatements, dump, until } from "../../platform/support.ts"
import { freshDatabase, TestDatabase } from "../../support/database.ts"

const [oldText, newText] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")]
const keysOf = (...texts: ReadonlyArray<string>): SecretsKeys => parseSecretsKeys(texts.join(","))!
const [oldKeys, newKeys, bothKeys] = [keysOf(oldText), keysOf(newText), keysOf(newText, oldText)]

const database = Layer.effectDiscard(migrate(migrations)).pipe(
  Layer.provideMerge(freshDatabase({ maxConnections: 4 })),
  Layer.provide(Logger.layer([]))
)

/** A start with these keys: secrets and kept answers. */
const startWith = (keys: SecretsKeys) =>
  Effect.context<WebhookSecrets | IdempotentRequests>().pipe(
    Effect.provide(
      Layer.fresh(
        IdempotentRequests.layer.pipe(
          Layer.provide(layerSealing),
          Layer.provideMerge(Layer.fresh(WebhookSecrets.layer(Redacted.make(keys))))
        )
      )
    ),
    Effect.provide(Logger.layer([]))
  )

const during = <A, E, R>(keys: SecretsKeys, use: Effect.Effect<A, E, R>) =>
  Effect.flatMap(startWith(keys), (context) => Effect.provideContext(use, context))

const place = (id: string) => ({ id, organizationId: "org_1", endpointId: `we_${id}` })

/** Makes secrets under the old key; answers their texts by id. */
const makeSecrets = (ids: ReadonlyArray<string>) =>
  during(
    oldKeys,
    Effect.gen(function* () {
      const secrets = yield* WebhookSecrets
      const texts = new Map<string, string>()
      for (const id of ids) texts.set(id, yield* secrets.create(place(id)))
      return texts
    })
  )

const request = (key: string) => ({ key, digest: "same" })

/** Asks with an Idempotency-Key. */
const ask = (key: string, answer: string) =>
  Effect.flatMap(IdempotentRequests, (requests) =>
    requests.once({ organizationId: "org_1", livemode: true }, request(key), {
      choose: () => null,
      act: () => Effect.succeed(answer),
      isRejection: () => false
    })
  )

const fresh = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`truncate webhook_secrets, webhook_idempotency`)

const ids = Array.from({ length: 50 }, (_, at) => `s${at}`)

/** The fiber of a node, until a line of its log fits. */
const nodeUntil = (keys: SecretsKeys, line: RegExp) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(Layer.fresh(Resealing.layer(Redacted.make(keys))), scope).pipe(
      Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
    )
    yield* until(Effect.sync(() => lines.some((text) => line.test(text))))
    yield* Scope.close(scope, Exit.void)
    return lines
  })

const noLonger = /^No secret needs the older keys in SLUICE_SECRETS_KEY any more/

layer(database, { excludeTestServices: true })("a new key before the old one", (it) => {
  describe("with a round through everything stored", () => {
    it.effect(
      "leaves nothing that needs the old one: every text and every kept answer opens with the new one alone",
      () =>
        Effect.gen(function* () {
          yield* fresh
          const texts = yield* makeSecrets(ids)
          for (const id of ids) yield* during(oldKeys, ask(id, `answer of ${id}`))
          const before = yield* dump("webhook_secrets")
          const round = yield* Resealing.make(bothKeys, 7)
          expect(yield* round).toEqual({ resealed: 100, unreadable: 0, remaining: 0 })
          expect(yield* dump("webhook_secrets")).not.toBe(before)
          yield* during(
            newKeys,
            Effect.gen(function* () {
              expect(yield* (yield* WebhookSecrets).open(ids)).toEqual(texts)
              for (const id of ids)
                expect(yield* ask(id, "another")).toEqual({ answer: `answer of ${id}`, isReplayed: true })
            })
          )
          expect(yield* Effect.flip(startWith(oldKeys))).toMatchObject({ _tag: "SecretsKeyMissing" })
        })
    )

    it.effect("reads and writes a batch at a time, and nothing where nothing is left", () =>
      Effect.gen(function* () {
        yield* fresh
        yield* makeSecrets(ids)
        const first = yield* countingStatements(yield* Resealing.make(bothKeys, 10))
        // Five full batches and the empty one behind them, the answers' empty one, the count.
        expect(first).toEqual({ result: { resealed: 50, unreadable: 0, remaining: 0 }, statements: 5 * 2 + 1 + 1 + 1 })
        const second = yield* countingStatements(yield* Resealing.make(bothKeys, 10))
        expect(second).toEqual({ result: { resealed: 0, unreadable: 0, remaining: 0 }, statements: 3 })
      })
    )

    it.effect("leaves a row as somebody else has changed it in between", () =>
      Effect.gen(function* () {
        yield* fresh
        const texts = yield* makeSecrets(["s1", "s2", "s3"])
        const { url } = yield* TestDatabase
        const sql = yield* SqlClient.SqlClient
        const other = yield* PgClient.make({ url, maxConnections: 1 })
        const theirs = seal(newKeys, "whsec_theirs", aboutSecret("s2", "we_s2"))
        // Another node is at the second row and forgets the third one.
        const fiber = yield* other.withTransaction(
          Effect.gen(function* () {
            yield* other`
              update webhook_secrets set key_id = ${theirs.keyId}, ciphertext = ${theirs.ciphertext} where id = 's2'`
            yield* other`delete from webhook_secrets where id = 's3'`
            const fiber = yield* Effect.forkDetach(yield* Resealing.make(bothKeys))
            yield* until(
              Effect.map(
                sql`select 1 from pg_locks l join pg_database d on d.oid = l.database or l.database is null
                  where not l.granted and d.datname = current_database()`,
                ({ length }) => length > 0
              )
            )
            return fiber
          })
        )
        expect(yield* Fiber.join(fiber)).toEqual({ resealed: 1, unreadable: 0, remaining: 0 })
        const opened = yield* during(
          newKeys,
          Effect.flatMap(WebhookSecrets, (secrets) => secrets.open(["s1", "s2", "s3"]))
        )
        expect(opened).toEqual(
          new Map([
            ["s1", texts.get("s1")!],
            ["s2", "whsec_theirs"]
          ])
        )
      }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
    )

    it.effect("by several nodes at once loses nothing of what is made and forgotten meanwhile", () =>
      Effect.gen(function* () {
        yield* fresh
        const texts = yield* makeSecrets(ids)
        const rounds = Array.from({ length: 3 }, () => Effect.flatten(Resealing.make(bothKeys, 3)))
        const rotations = during(
          bothKeys,
          Effect.flatMap(WebhookSecrets, (secrets) =>
            Effect.forEach(ids, (id, at) =>
              Effect.gen(function* () {
                const made = yield* secrets.create(place(`n${id}`))
                if (at % 2 === 0) yield* secrets.forget([id])
                return made
              })
            )
          )
        )
        const [made] = yield* Effect.all([rotations, ...rounds], { concurrency: "unbounded" })
        yield* Effect.flatten(Resealing.make(bothKeys, 3))
        const kept = ids.filter((_, at) => at % 2 === 1).map((id) => [id, texts.get(id)!] as const)
        const opened = yield* during(
          newKeys,
          Effect.flatMap(WebhookSecrets, (secrets) => secrets.open([...ids, ...ids.map((id) => `n${id}`)]))
        )
        expect(opened).toEqual(new Map([...kept, ...ids.map((id, at) => [`n${id}`, made[at]!] as const)]))
      })
    )

    it.effect("passes by what no key opens, and does all others", () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* SqlClient.SqlClient
        yield* makeSecrets(ids)
        yield* sql`update webhook_secrets set endpoint_id = 'we_other' where id = 's3'`
        expect(yield* yield* Resealing.make(bothKeys, 5)).toEqual({ resealed: 49, unreadable: 1, remaining: 1 })
      })
    )
  })

  describe("at a node's start", () => {
    it.effect("moves everything and says that the old one can go", () =>
      Effect.gen(function* () {
        yield* fresh
        const texts = yield* makeSecrets(ids)
        const lines = yield* nodeUntil(bothKeys, noLonger)
        expect(lines).toEqual([expect.stringMatching(/sealed anew: 50/)])
        for (const text of [...texts.values(), oldText, newText]) expect(lines.join()).not.toContain(text)
        // Another start with both finds nothing to do and says so too.
        expect(yield* nodeUntil(bothKeys, noLonger)).toEqual([expect.stringMatching(/sealed anew: 0/)])
      })
    )

    it.effect("never says so while one still needs it", () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* SqlClient.SqlClient
        yield* makeSecrets(ids)
        yield* sql`update webhook_secrets set endpoint_id = 'we_other' where id = 's3'`
        const lines = yield* nodeUntil(bothKeys, /cannot be opened/)
        expect(lines).toEqual([expect.stringMatching(/^1 signing secrets, kept answers or keys of domains/)])
      })
    )
  })
})
