/** Signing secrets on the real database: sealed there, open for who signs, gone once they are forgotten, and what another key does. */
import { randomBytes } from "node:crypto"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../src/app/migrations.ts"
import { parseSecretsKeys } from "../../../src/common/secretsKeys.ts"
import { migrate } from "../../../src/postgres/migrate.ts"
import { WebhookSecrets } from "../../../src/webhooks/secret/WebhookSecrets.ts"
import { countingStatements, dump } from "../../platform/support.ts"
import { freshDatabase } from "../../support/database.ts"

const [keyText, otherText] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")]

/** The secrets as another start has them, with these keys. */
const startWith = (...keys: ReadonlyArray<string>) =>
  Effect.provide(
    WebhookSecrets,
    Layer.fresh(WebhookSecrets.layer(Redacted.make(parseSecretsKeys(keys.join(","))!)))
  ).pipe(Effect.provide(Logger.layer([])))

const place = (id: string, endpointId = "we_1") => ({ id, organizationId: "org_1", endpointId })

const database = Layer.effectDiscard(migrate(migrations)).pipe(
  Layer.provideMerge(freshDatabase({ maxConnections: 4 })),
  Layer.provide(Logger.layer([]))
)

const fresh = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`truncate webhook_secrets`)

layer(database, { excludeTestServices: true })("signing secrets", (it) => {
  describe("of an endpoint", () => {
    it.effect("[platform 6.8] are whsec_ texts that the database does not hold in the clear", () =>
      Effect.gen(function* () {
        yield* fresh
        const secrets = yield* startWith(keyText)
        const text = yield* secrets.create(place("s1"))
        expect(text).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/)
        const stored = yield* dump("webhook_secrets")
        expect(stored).toContain("s1")
        expect(stored).not.toContain(text.slice(6))
        expect(yield* secrets.open(["s1"])).toEqual(new Map([["s1", text]]))
      })
    )

    it.effect("made twice under one id are one", () =>
      Effect.gen(function* () {
        yield* fresh
        const secrets = yield* startWith(keyText)
        const made = yield* Effect.all(
          Array.from({ length: 8 }, () => secrets.create(place("s1"))),
          { concurrency: "unbounded" }
        )
        expect(new Set(made).size).toBe(1)
      })
    )

    it.effect("are read with one statement for all that are not in memory, and then with none", () =>
      Effect.gen(function* () {
        yield* fresh
        const maker = yield* startWith(keyText)
        const ids = Array.from({ length: 20 }, (_, at) => `s${at}`)
        for (const id of ids) yield* maker.create(place(id))
        const secrets = yield* startWith(keyText)
        const first = yield* countingStatements(secrets.open(ids))
        expect(first.statements).toBe(1)
        expect([...first.result.keys()].toSorted()).toEqual(ids.toSorted())
        const second = yield* countingStatements(secrets.open([...ids, ...ids]))
        expect(second).toEqual({ result: first.result, statements: 0 })
        expect((yield* countingStatements(secrets.open(["s1", "none"]))).result.has("none")).toBe(false)
      })
    )

    it.effect("are gone once they are forgotten, with the transaction that forgets them", () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* SqlClient.SqlClient
        const secrets = yield* startWith(keyText)
        for (const id of ["s1", "s2"]) yield* secrets.create(place(id))
        yield* secrets.open(["s1", "s2"])
        yield* Effect.flip(sql.withTransaction(Effect.andThen(secrets.forget(["s2"]), Effect.fail("no"))))
        expect((yield* secrets.open(["s1", "s2"])).size).toBe(2)
        yield* secrets.forget(["s1", "none"])
        yield* secrets.forget([])
        expect([...(yield* secrets.open(["s1", "s2"])).keys()]).toEqual(["s2"])
        expect([...(yield* (yield* startWith(keyText)).open(["s1", "s2"])).keys()]).toEqual(["s2"])
      })
    )

    it.effect("may be given: they are sealed like those that are made, and the first text under an id stays", () =>
      Effect.gen(function* () {
        yield* fresh
        const secrets = yield* startWith(keyText)
        const text = JSON.stringify({ Authorization: "Bearer of-my-own".repeat(20) })
        yield* secrets.put(place("h1"), text)
        yield* secrets.put(place("h1"), "another")
        expect(yield* dump("webhook_secrets")).not.toContain("of-my-own")
        for (let look = 0; look < 2; look++) expect(yield* secrets.open(["h1"])).toEqual(new Map([["h1", text]]))
      })
    )

    it.effect("have a fingerprint that is one text's under one key, and stays while that key does", () =>
      Effect.gen(function* () {
        yield* fresh
        const [first, both, other] = [
          yield* startWith(keyText),
          yield* startWith(otherText, keyText),
          yield* startWith(otherText)
        ]
        expect(first.fingerprint("text")).toMatch(/^[0-9a-f]{64}$/)
        expect(both.fingerprint("text")).toBe(first.fingerprint("text"))
        expect(other.fingerprint("text")).not.toBe(first.fingerprint("text"))
        expect(first.fingerprint("texts")).not.toBe(first.fingerprint("text"))
      })
    )

    it.effect("open in no other endpoint's row", () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* SqlClient.SqlClient
        const secrets = yield* startWith(keyText)
        yield* secrets.create(place("s1", "we_1"))
        yield* sql`update webhook_secrets set endpoint_id = 'we_2'`
        expect((yield* secrets.open(["s1"])).size).toBe(0)
      }).pipe(Effect.provide(Logger.layer([])))
    )
  })

  describe("under another key", () => {
    it.effect("refuse the start, naming the key that is missing and no secret", () =>
      Effect.gen(function* () {
        yield* fresh
        yield* (yield* startWith(keyText)).create(place("s1"))
        const error = yield* Effect.flip(startWith(otherText))
        expect(error).toMatchObject({ _tag: "SecretsKeyMissing" })
        expect(error.message).toContain(parseSecretsKeys(keyText)![0].id)
        expect(error.message).not.toContain(keyText)
      })
    )

    it.effect("are read while the earlier one stands behind it; new ones no longer need that", () =>
      Effect.gen(function* () {
        yield* fresh
        const text = yield* (yield* startWith(keyText)).create(place("s1"))
        const both = yield* startWith(otherText, keyText)
        const later = yield* both.create(place("s2"))
        expect(yield* both.open(["s1", "s2"])).toEqual(
          new Map([
            ["s1", text],
            ["s2", later]
          ])
        )
        yield* both.forget(["s1"])
        expect(yield* (yield* startWith(otherText)).open(["s2"])).toEqual(new Map([["s2", later]]))
      })
    )
  })
})
