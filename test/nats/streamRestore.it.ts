/** Streams that are copied and created again: the same sequences, subjects, headers and data, on a real server. */
import { assert, layer } from "@effect/vitest"
import { headers as newHeaders } from "@nats-io/transport-node"
import { Context, Effect, Layer, Stream } from "effect"
import * as Api from "../../src/nats/jetStreamApi.ts"
import * as Requests from "../../src/nats/requests.ts"
import * as SignalsJetStream from "../../src/nats/SignalsJetStream.ts"
import { copyMessages, type StoredMessage } from "../../src/nats/streamCopy.ts"
import { fillStream, finishStream, isHalfRestored } from "../../src/nats/streamRestore.ts"
import { fill, numbered } from "../engine/contracts/journalHarness.ts"
import { patienceMillis } from "../support/patience.ts"
import { appendText, connectTo, contents, journalOn, maximumBytes } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"

class Servers extends Context.Service<Servers, { readonly from: string; readonly to: string }>()("test/Servers") {}

const servers = Layer.effect(
  Servers,
  Effect.gen(function* () {
    return { from: (yield* oneServer()).url, to: (yield* oneServer()).url }
  })
)

const reached = Effect.fnUntraced(function* (url: string) {
  const { client } = yield* connectTo(url)
  const requests = yield* Requests.make(client)
  return { client, requests, api: Api.make(requests) }
})

/** Everything of a stream. */
const copied = Effect.fnUntraced(function* (url: string, stream: string) {
  const { api, requests } = yield* reached(url)
  const { config, state } = yield* api.streamInfo(stream)
  const batches = yield* Stream.runCollect(
    copyMessages(requests, api, { stream, from: state.first_seq, through: state.last_seq })
  )
  return { config, state, messages: batches.flat() }
})

/** Creates a copied stream at the other server. */
const restored = Effect.fnUntraced(function* (
  url: string,
  { config, messages, state }: Effect.Success<ReturnType<typeof copied>>,
  meanwhile: Effect.Effect<void>
) {
  const { api, requests } = yield* reached(url)
  const options = { config, first: state.first_seq, last: state.last_seq, newestTime: messages.at(-1)?.time }
  yield* fillStream(requests, api, options, Stream.fromIterable(messages.map((message) => [message])))
  yield* meanwhile
  yield* finishStream(api, options)
})

/** A message as it is compared: its time is the restore's, and headers that tell the server something are gone. */
const comparable = ({ data, headers, sequence, subject }: StoredMessage) => ({
  sequence,
  subject,
  data: Buffer.from(data).toString(),
  headers: headers === undefined ? undefined : { ...headers }
})

layer(servers, { excludeTestServices: true, timeout: patienceMillis })("a stream that is created again", (it) => {
  it.effect("a log has its frames at their sequences, and takes the next one", () =>
    Effect.gen(function* () {
      const { from, to } = yield* Servers
      const log = yield* Effect.flatMap(journalOn(from), (journal) => journal.open(0, "deployment"))
      yield* fill(log, 0, numbered(40))
      yield* log.purgeBelow(8)
      const before = yield* copied(from, "log-0")
      yield* restored(to, before, Effect.void)
      const after = yield* copied(to, "log-0")
      assert.deepStrictEqual(after.messages.map(comparable), before.messages.map(comparable))
      assert.strictEqual(after.messages[0]?.sequence, 8)
      // The engine finds its log, with nothing to complain of.
      const again = yield* Effect.flatMap(journalOn(to), (journal) => journal.open(0, "deployment"))
      assert.strictEqual(again.deployment, "deployment")
      assert.deepStrictEqual(yield* contents(again), yield* contents(log))
      assert.strictEqual((yield* appendText(again, "next", 40))._tag, "Stored")
      assert.strictEqual((yield* again.state).lastSequence, 41)
    })
  )

  it.effect("messages that were removed one by one stay away, at the end too", () =>
    Effect.gen(function* () {
      const { from, to } = yield* Servers
      const { api, client } = yield* reached(from)
      const config: Api.StreamConfig = {
        name: "sparse",
        subjects: ["sparse.*"],
        retention: "limits",
        storage: "file",
        discard: "new",
        max_msgs: -1,
        max_msgs_per_subject: -1,
        max_bytes: 16 * 1024 * 1024,
        max_age: 3_600_000_000_000,
        max_msg_size: -1,
        max_consumers: -1,
        num_replicas: 1,
        duplicate_window: 100_000_000,
        deny_delete: false,
        deny_purge: false,
        allow_direct: true
      }
      yield* api.createStream(config)
      for (let at = 1; at <= 700; at++)
        yield* Effect.promise(() => client.request(`sparse.${at % 7 === 0 ? "kept" : "gone"}`, `message ${at}`))
      yield* api.purge("sparse", { filter: "sparse.gone" })
      for (let at = 0; at < 3; at++) yield* Effect.promise(() => client.request("sparse.gone", "last"))
      yield* api.purge("sparse", { filter: "sparse.gone" })
      const before = yield* copied(from, "sparse")
      assert.strictEqual(before.messages.length, 100)
      yield* restored(to, before, Effect.void)
      const after = yield* copied(to, "sparse")
      assert.deepStrictEqual(after.messages.map(comparable), before.messages.map(comparable))
      assert.deepStrictEqual([after.state.messages, after.state.last_seq], [100, 703])
      const settings = ({ config: found }: typeof after) => [
        found.subjects,
        found.max_age,
        found.allow_direct,
        found.deny_delete,
        found.subject_transform
      ]
      assert.deepStrictEqual(settings(after), settings(before))
      const there = yield* reached(to)
      const answer = yield* Effect.promise(() => there.client.request("sparse.new", "next"))
      assert.strictEqual(answer.json<{ seq: number }>().seq, 704)
    })
  )

  it.effect("an empty stream goes on after its last sequence", () =>
    Effect.gen(function* () {
      const { from, to } = yield* Servers
      const { api } = yield* reached(from)
      const log = yield* Effect.flatMap(journalOn(from), (journal) => journal.open(1))
      yield* fill(log, 0, numbered(9))
      yield* api.purge("log-1", { seq: 10 })
      const info = yield* api.streamInfo("log-1")
      yield* restored(to, { config: info.config, state: { ...info.state, first_seq: 10 }, messages: [] }, Effect.void)
      const again = yield* Effect.flatMap(journalOn(to), (journal) => journal.open(1))
      assert.deepStrictEqual(yield* again.state, { ...(yield* log.state) })
      assert.strictEqual((yield* appendText(again, "next", 9))._tag, "Stored")
    })
  )

  it.effect("signals keep their partition and their newest ids, and nobody publishes before the end", () =>
    Effect.gen(function* () {
      const { from, to } = yield* Servers
      const { client } = yield* reached(from)
      const signalsOn = (url: string) =>
        Effect.flatMap(connectTo(url), (connection) =>
          SignalsJetStream.make(connection.client, { partitions: 4, maximumBytes })
        )
      const signals = yield* signalsOn(from)
      for (let at = 1; at <= 30; at++)
        yield* signals.publish({
          organization: `org_${at}`,
          kind: "bounce",
          data: Buffer.from(`signal ${at}`),
          id: `id ${at}`
        })
      // A publisher of its own puts in what tells the server something.
      const told = newHeaders()
      told.set("Nats-Expected-Stream", "signals")
      told.set("Nats-Expected-Last-Sequence", "30")
      told.set("Trace", "of the publisher")
      yield* Effect.promise(() =>
        client.request("signal.org_x.bounce", "told", { headers: told, timeout: patienceMillis })
      )
      const before = yield* copied(from, "signals")
      const there = yield* reached(to)
      yield* restored(
        to,
        before,
        Effect.gen(function* () {
          assert.isTrue(isHalfRestored((yield* there.api.streamInfo("signals")).config))
          const refused = yield* Effect.promise(() =>
            there.client.request("signal.org_1.bounce", "early").catch(String)
          )
          assert.match(String(refused), /no responders/i)
        }).pipe(Effect.orDie)
      )
      assert.isFalse(isHalfRestored((yield* there.api.streamInfo("signals")).config))
      const after = yield* copied(to, "signals")
      const plain = (message: StoredMessage) => {
        const { headers, ...rest } = comparable(message)
        const { "Nats-Expected-Stream": _, ...kept } = headers ?? {}
        return { ...rest, headers: kept }
      }
      assert.deepStrictEqual(after.messages.map(plain), before.messages.map(plain))
      assert.strictEqual(before.messages.at(-1)?.headers?.["Nats-Expected-Stream"]?.[0], "signals")
      assert.strictEqual(after.messages.at(-1)?.headers?.["Nats-Expected-Stream"], undefined)
      // A publisher that repeats itself is recognized, and the engine's partitions find theirs.
      const again = yield* signalsOn(to)
      yield* again.publish({ organization: "org_30", kind: "bounce", data: Buffer.from("signal 30"), id: "id 30" })
      assert.strictEqual((yield* there.api.streamInfo("signals")).state.last_seq, 31)
    })
  )
})
