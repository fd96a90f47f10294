/**
 * Contents on a real nats-server and PostgreSQL (docs/handoff.md, 1): what was acknowledged is there after a kill, what cannot be kept is refused in time, and what is needed for longer is
 * copied before its stream drops it.
 */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { NatsConnection } from "../../../../src/nats/connection.ts"
import { addDeletionOfOrganizations, createPlatformTables } from "../../../../src/platform/migrations.ts"
import { ContentKeys, Sealing } from "../../../../src/send/emails/contents/ContentKeys.ts"
import { contentOf, placeOf } from "../../../../src/send/emails/contents/contentFrames.ts"
import { sweep } from "../../../../src/send/emails/contents/contentSweep.ts"
import { keptContentMillis } from "../../../../src/send/emails/contents/limits.ts"
import { MessageContents } from "../../../../src/send/emails/contents/MessageContents.ts"
import { type ContentStreamOptions, layerDurable } from "../../../../src/send/emails/contents/MessageContentsDurable.ts"
import { createHandoffTables } from "../../../../src/send/handoff/tables.ts"
import { connectTo, eventually } from "../../../nats/jetStreamSupport.ts"
import { type NatsServer, oneServer } from "../../../nats/natsServers.ts"
import { freshDatabase } from "../../../support/database.ts"
import { contentsContract, largeMessages, messageOf, writtenTo } from "./messageContents.ts"

const layerSealing = Layer.succeed(Sealing, {
  seal: (text, about) => ({ keyId: "test", ciphertext: Buffer.from(`${about}|${text}`).toString("base64") }),
  unseal: ({ ciphertext }, about) => {
    const opened = Buffer.from(ciphertext, "base64").toString()
    return opened.startsWith(`${about}|`) ? opened.slice(about.length + 1) : undefined
  }
})

const tables = Layer.effectDiscard(
  Effect.all([createPlatformTables, addDeletionOfOrganizations, createHandoffTables], { discard: true })
)

const small = 16 * 1024 * 1024

/** Contents on a server; a database of their own unless one is given. */
const contentsOn = (url: string, options: ContentStreamOptions) =>
  layerDurable({ maximumBytes: small, ...options }).pipe(
    Layer.provideMerge(ContentKeys.layer.pipe(Layer.provide(layerSealing))),
    Layer.provide(Layer.effect(NatsConnection, connectTo(url))),
    Layer.provide(Logger.layer([]))
  )

const withTables = tables.pipe(Layer.provideMerge(freshDatabase()))

contentsContract(
  "durable",
  Layer.unwrap(
    Effect.sync(() => contentsOn(inject("natsUrl"), { namespace: `test-${randomUUID().slice(0, 12)}` }))
  ).pipe(Layer.provide(withTables))
)

/** A process's view of contents: what it remembers is its own. */
const processOn = (server: NatsServer, sql: SqlClient.SqlClient, options: ContentStreamOptions = {}) =>
  Effect.map(
    Layer.build(
      Layer.fresh(contentsOn(server.url, options)).pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)))
    ),
    (context) => ({ contents: Context.get(context, MessageContents), keys: Context.get(context, ContentKeys) })
  )

const test = (
  title: string,
  body: (given: {
    readonly server: NatsServer
    readonly sql: SqlClient.SqlClient
  }) => Effect.Effect<void, unknown, Scope.Scope>
) =>
  it.live(title, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const server = yield* oneServer()
        const sql = yield* SqlClient.SqlClient
        yield* body({ server, sql })
      }).pipe(Effect.provide(withTables))
    )
  )

describe("durable contents", () => {
  test("survive a kill of the server and of the process", ({ server, sql }) =>
    Effect.gen(function* () {
      const before = yield* processOn(server, sql)
      const written: Array<{ readonly pointers: ReadonlyArray<string>; readonly text: string }> = []
      // It writes until the server is killed under it.
      const writing = Effect.forEach(
        Array.from({ length: 2_000 }, (_, index) => `text ${index}`),
        (text) =>
          Effect.ignore(
            Effect.map(writtenTo(before.contents, "org_a", [messageOf(text)]), (pointers) => {
              written.push({ pointers, text })
            })
          ),
        { concurrency: 16, discard: true }
      )
      const enough = eventually(
        Effect.suspend(() => (written.length > 200 ? Effect.void : Effect.fail("too few" as const)))
      )
      yield* Effect.all([writing, Effect.andThen(enough, server.kill)], { concurrency: "unbounded", discard: true })
      yield* server.start
      const after = yield* processOn(server, sql)
      assert.isAbove(written.length, 200)
      for (const { pointers, text } of written)
        assert.deepStrictEqual(yield* eventually(after.contents.read("org_a", pointers)), [messageOf(text)])
      assert.lengthOf(yield* eventually(writtenTo(before.contents, "org_a", [messageOf("again")])), 1)
    }))

  test("are refused in time while the server hangs or is away", ({ server, sql }) =>
    Effect.gen(function* () {
      const { contents } = yield* processOn(server, sql)
      const [pointer] = yield* writtenTo(contents, "org_a", [messageOf("one")])
      const other = yield* processOn(server, sql)
      yield* server.freeze
      assert.strictEqual(
        (yield* Effect.flip(writtenTo(contents, "org_a", [messageOf("two")])))._tag,
        "ContentsUnavailable"
      )
      assert.strictEqual((yield* Effect.flip(other.contents.read("org_a", [pointer!])))._tag, "ContentsUnavailable")
      yield* server.thaw
      yield* server.kill
      assert.strictEqual(
        (yield* Effect.flip(writtenTo(contents, "org_a", [messageOf("two")])))._tag,
        "ContentsUnavailable"
      )
      yield* server.start
      assert.deepStrictEqual(yield* eventually(other.contents.read("org_a", [pointer!])), [messageOf("one")])
    }))

  test("are refused when the store is full, and what is there stays", ({ server, sql }) =>
    Effect.gen(function* () {
      const { contents } = yield* processOn(server, sql, { maximumBytes: 1024 * 1024 })
      const messages = largeMessages(200_000)
      const pointers: Array<string> = []
      const fill = Effect.forever(
        Effect.map(writtenTo(contents, "org_a", messages), (some) => void pointers.push(...some))
      )
      const error = yield* Effect.flip(fill)
      assert.strictEqual(error._tag, "ContentsUnavailable")
      assert.isAtLeast(pointers.length, 3)
      const others = yield* processOn(server, sql, { maximumBytes: 1024 * 1024 })
      assert.deepStrictEqual(
        yield* others.contents.read("org_a", pointers),
        pointers.map(() => messages[0]!)
      )
    }))

  test("of one organization are erased with its key", ({ server, sql }) =>
    Effect.gen(function* () {
      const { contents, keys } = yield* processOn(server, sql)
      const [gone] = yield* writtenTo(contents, "org_a", [messageOf("a")])
      const [left] = yield* writtenTo(contents, "org_b", [messageOf("b")])
      yield* keys.forget("org_a")
      assert.deepStrictEqual(yield* contents.read("org_a", [gone!]), [null])
      assert.deepStrictEqual(yield* contents.read("org_b", [left!]), [messageOf("b")])
      const [anew] = yield* writtenTo(contents, "org_a", [messageOf("anew")])
      assert.deepStrictEqual(yield* contents.read("org_a", [gone!, anew!]), [null, messageOf("anew")])
    }))

  test("[handoff 1] that outlive their stream are read from the copy, and erased a week later", ({ server, sql }) =>
    Effect.gen(function* () {
      const { contents } = yield* processOn(server, sql)
      const [held, queued, young] = yield* writtenTo(contents, "org_a", ["held", "queued", "young"].map(messageOf))
      const now = Date.now()
      const day = 24 * 3_600_000
      const wait = (email: string, pointer: string, acceptedAt: number) => sql`
        insert into send_waiting (organization_id, email_id, mode, sender, place, pointer, accepted_at)
        values ('org_a', ${email}, 'live', 'live/one.test', 7, ${pointer}, ${acceptedAt})`
      yield* wait("held", held!, now - 5 * day)
      yield* wait("young", young!, now - day)
      yield* sql`
        insert into send_jobs (id, partition, group_key, lane, due_at, attempts, expires_at, payload)
        values ('org_a/queued', 0, 'org_a/live', 2, ${now + day}, 0, null,
          ${JSON.stringify({ email: "queued", pointer: queued, acceptedAt: now - 5 * day })})`
      const { client } = yield* connectTo(server.url)
      const contentsAt = (pointers: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          const found = new Map<string, Uint8Array>()
          for (const pointer of pointers) {
            const place = placeOf(pointer)!
            const answer = await client.request("$JS.API.DIRECT.GET.contents", JSON.stringify({ seq: place.sequence }))
            const content = contentOf(answer.data, place)
            if (content !== undefined) found.set(pointer, content)
          }
          return found
        })
      yield* sweep(sql, contentsAt)
      yield* Effect.promise(() => client.request("$JS.API.STREAM.PURGE.contents", ""))
      const after = yield* processOn(server, sql)
      const all = [held!, queued!, young!]
      assert.deepStrictEqual(yield* after.contents.read("org_a", all), [messageOf("held"), messageOf("queued"), null])
      assert.deepStrictEqual(yield* after.contents.read("org_b", all), [null, null, null])
      // The queued one's job goes, and the held one ended a week ago.
      yield* sql`delete from send_jobs`
      yield* sql`update send_waiting set ended_at = ${now - keptContentMillis - 1} where email_id = 'held'`
      yield* sweep(sql, contentsAt)
      assert.deepStrictEqual(yield* after.contents.read("org_a", all), [null, messageOf("queued"), null])
      yield* sql`update send_waiting set ended_at = ended_at - ${keptContentMillis + 1} where email_id = 'queued'`
      yield* sweep(sql, contentsAt)
      assert.deepStrictEqual(yield* after.contents.read("org_a", all), [null, null, null])
    }))
})
