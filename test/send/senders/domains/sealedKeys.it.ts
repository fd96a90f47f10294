/** Keys of domains under a changed configuration, on the real database: what no key opens is refused at the start, and rounds move everything under the first key. */
import { randomBytes } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../../src/app/migrations.ts"
import { parseSecretsKeys, type SecretsKeys, seal, unseal } from "../../../../src/common/secretsKeys.ts"
import { migrate } from "../../../../src/postgres/migrate.ts"
import { aboutDkimKey, requireDomainKeys, sealedDomainKeys } from "../../../../src/send/senders/domains/domainKeys.ts"
import * as Resealing from "../../../../src/webhooks/secret/Resealer.ts"
import { freshDatabase } from "../../../support/database.ts"

const [oldText, newText] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")]
const keysOf = (...texts: ReadonlyArray<string>): SecretsKeys => parseSecretsKeys(texts.join(","))!

const database = Layer.effectDiscard(migrate(migrations)).pipe(
  Layer.provideMerge(freshDatabase({ maxConnections: 2 })),
  Layer.provide(Logger.layer([]))
)

const ids = Array.from({ length: 20 }, (_, at) => `dom_${at}`)

const put = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { ciphertext, keyId } = seal(keysOf(oldText), `key of ${id}`, aboutDkimKey(id))
    yield* sql`
      insert into send_domains (id, organization_id, mode, name, token, selector, public_key, key_id, private_key, status,
        ownership, dkim, created_at, checks, checks_since)
      values (${id}, 'org_1', 'live', ${`${id}.example`}, 't', 's', 'p', ${keyId}, ${ciphertext}, 'pending', 'pending', 'pending',
        0, 0, 0)`
  })

layer(database)("keys of domains", (it) => {
  it.effect("move under a new first key, after which the old one can go", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.forEach(ids, put, { discard: true })
      expect(yield* Effect.flip(requireDomainKeys(keysOf(newText)))).toMatchObject({ _tag: "DomainKeysClosed" })
      const both = keysOf(newText, oldText)
      yield* requireDomainKeys(both)
      const round = yield* Resealing.make(both, 7, (client, keyId) => [sealedDomainKeys(client, keyId)])
      expect(yield* round).toEqual({ resealed: ids.length, unreadable: 0, remaining: 0 })
      expect(yield* round).toEqual({ resealed: 0, unreadable: 0, remaining: 0 })
      yield* requireDomainKeys(keysOf(newText))
      const rows = yield* sql<{ readonly id: string; readonly keyId: string; readonly ciphertext: string }>`
        select id, key_id as "keyId", private_key as ciphertext from send_domains`
      expect(rows.map((row) => unseal(keysOf(newText), row, aboutDkimKey(row.id))).sort()).toEqual(
        ids.map((id) => `key of ${id}`).sort()
      )
    })
  )
})
