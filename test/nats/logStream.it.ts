/** The streams that logs live in: made as the engine needs them, and refused with a sentence for the operator where one offers less. */
import { assert, layer } from "@effect/vitest"
import type { NatsConnection as Client } from "@nats-io/transport-node"
import { Context, Effect, Layer } from "effect"
import { maximumFrameBytes } from "../../src/engine/limits.ts"
import type { PublishAnswer } from "../../src/engine/ports/Journal.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"
import type { StreamConfig, StreamInfo } from "../../src/nats/jetStreamApi.ts"
import { fill, freshPartition, text } from "../engine/contracts/journalHarness.ts"
import { patienceMillis } from "../support/patience.ts"
import { connectTo, journalOn, maximumBytes } from "./jetStreamSupport.ts"
import { oneServer } from "./natsServers.ts"

class Server extends Context.Service<Server, { readonly url: string; readonly client: Client }>()("test/Server") {}

const server = Layer.effect(
  Server,
  Effect.gen(function* () {
    const { url } = yield* oneServer()
    const { client } = yield* connectTo(url)
    return { url, client }
  })
)

type Settings = Partial<Record<keyof StreamConfig, unknown>>

/** What an operator does with a tool of his own. */
const administer = (call: string, body?: Settings | { readonly seq?: number }) =>
  Effect.gen(function* () {
    const { client } = yield* Server
    const answer = yield* Effect.promise(() =>
      client.request(`$JS.API.${call}`, body === undefined ? "" : JSON.stringify(body), { timeout: patienceMillis })
    )
    const parsed = answer.json<StreamInfo & { readonly error?: { readonly description: string } }>()
    if (parsed.error !== undefined) return yield* Effect.die(new Error(parsed.error.description))
    return parsed
  })

/** Weaknesses an operator's stream may have, and what the refusal must name. */
const weaknesses: ReadonlyArray<readonly [Settings, RegExp]> = [
  [{ storage: "memory" }, /keeps its frames in memory/],
  [{ persist_mode: "async" }, /acknowledges frames before they are written/],
  [{ max_age: 60_000_000_000 }, /drops frames after 60 s; .*--max-age/],
  [{ max_msgs: 10 }, /limited to a number of frames/],
  [{ max_msgs_per_subject: 1 }, /limited to a number of frames/],
  [{ discard: "old" }, /drops old frames when it is full; .*--discard=new/],
  [{ max_bytes: -1 }, /has no bound.*--max-bytes=/],
  [{ deny_delete: false }, /allows single frames to be deleted/],
  [{ deny_purge: true }, /forbids purging/],
  [{ allow_direct: true }, /answers reads from any copy/],
  [{ retention: "workqueue" }, /drops frames that consumers have read/],
  [{ no_ack: true }, /acknowledges nothing/],
  [{ allow_rollup_hdrs: true, deny_purge: false }, /lets a message replace all frames/],
  [{ allow_msg_ttl: true }, /time to live/],
  [{ max_msg_size: 1000 }, /refuses frames of more than 1000 bytes/],
  [{ subject_transform: { src: ">", dest: "elsewhere.>" } }, /rewrites subjects/]
]

layer(server, { excludeTestServices: true, timeout: patienceMillis })("streams of logs", (it) => {
  it.effect("a new log has the settings that keep what is acknowledged", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partition = freshPartition()
      yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      const { config } = yield* administer(`STREAM.INFO.log-${partition}`)
      assert.containSubset(config, {
        subjects: [`log.${partition}`],
        storage: "file",
        retention: "limits",
        discard: "new",
        max_age: 0,
        max_bytes: maximumBytes,
        max_msgs: -1,
        deny_delete: true,
        deny_purge: false,
        allow_direct: false,
        num_replicas: 1
      })
    })
  )

  it.effect("64 logs are opened at once, by two processes", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partitions = Array.from({ length: 64 }, freshPartition)
      const openAll = Effect.flatMap(journalOn(url), (journal) =>
        Effect.forEach(partitions, (partition) => journal.open(partition), { concurrency: "unbounded" })
      )
      const [logs, others] = yield* Effect.all([openAll, openAll], { concurrency: 2 })
      yield* fill(logs[63]!, 0, [text("x")])
      assert.strictEqual((yield* others[63]!.state).lastSequence, 1)
    })
  )

  it.effect("deployments with namespaces of their own do not see each other's logs", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partition = freshPartition()
      const [plain, blue] = yield* Effect.all([
        Effect.flatMap(journalOn(url), (journal) => journal.open(partition)),
        Effect.flatMap(journalOn(url, { namespace: "blue" }), (journal) => journal.open(partition))
      ])
      yield* fill(blue, 0, [text("blue")])
      assert.strictEqual((yield* plain.state).lastSequence, 0)
    })
  )

  for (const [weakness, sentence] of weaknesses) {
    it.effect(`a stream with ${JSON.stringify(weakness)} is refused`, () =>
      Effect.gen(function* () {
        const { url } = yield* Server
        const journal = yield* journalOn(url)
        const partition = freshPartition()
        yield* journal.open(partition)
        const { config } = yield* administer(`STREAM.INFO.log-${partition}`)
        // Some settings cannot be changed, so the operator's stream is made anew.
        yield* administer(`STREAM.DELETE.log-${partition}`)
        yield* administer(`STREAM.CREATE.log-${partition}`, { ...config, ...weakness })
        const error = yield* Effect.flip(journal.open(partition))
        assert.strictEqual(error._tag, "JournalRefused")
        assert.match(error.message, sentence)
        assert.match(error.message, new RegExp(`log-${partition}`))
      })
    )
  }

  it.effect("a log with fewer copies than demanded is refused, and so are copies that one server cannot hold", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const journal = yield* journalOn(url, { replicas: 3 })
      const partition = freshPartition()
      yield* Effect.flatMap(journalOn(url), (single) => single.open(partition))
      const weaker = yield* Effect.flip(journal.open(partition))
      assert.strictEqual(weaker._tag, "JournalRefused")
      assert.match(weaker.message, /has 1 copies instead of 3.*nats stream edit log-\d+ --replicas=3/)
      const impossible = yield* Effect.flip(journal.open(freshPartition()))
      assert.strictEqual(impossible._tag, "JournalRefused")
      assert.match(impossible.message, /replicas > 1 not supported/)
    })
  )

  it.effect("a log that was given more room takes it at the next start and keeps its frames", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partition = freshPartition()
      const small = yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      yield* fill(small, 0, [text("kept")])
      const large = yield* Effect.flatMap(journalOn(url, { maximumBytes: 2 * maximumBytes }), (journal) =>
        journal.open(partition)
      )
      const state = yield* large.state
      assert.deepStrictEqual([state.maximumBytes, state.lastSequence], [2 * maximumBytes, 1])
      const again = yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      assert.strictEqual((yield* again.state).maximumBytes, 2 * maximumBytes)
    })
  )

  it.effect("a server without room for the log is told apart from one that is away", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const journal = yield* journalOn(url, { maximumBytes: 1e15 })
      const error = yield* Effect.flip(journal.open(freshPartition()))
      assert.strictEqual(error._tag, "JournalRefused")
      assert.match(error.message, /insufficient storage.*max_file_store/)
    })
  )

  it.effect("a subject that another stream has taken is named", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partition = freshPartition()
      yield* administer("STREAM.CREATE.squatter", { name: "squatter", subjects: [`log.${partition}`] } as Settings)
      const error = yield* Effect.flip(Effect.flatMap(journalOn(url), (journal) => journal.open(partition)))
      assert.strictEqual(error._tag, "JournalRefused")
      assert.match(error.message, /subjects overlap/)
    })
  )

  it.effect("a message that somebody else has put there is read with an empty identity", () =>
    Effect.gen(function* () {
      const { url, client } = yield* Server
      const partition = freshPartition()
      const log = yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      yield* Effect.promise(() => client.request(`log.${partition}`, "foreign", { timeout: patienceMillis }))
      const found = yield* log.frameAt(1)
      assert.deepStrictEqual([found?.identity, Buffer.from(found!.bytes).toString()], ["", "foreign"])
    })
  )

  it.effect("a frame that the server cannot take is too large, and nothing else", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const journal = yield* journalOn(url)
      assert.isAtLeast(journal.maximumMessageBytes, maximumFrameBytes)
      const log = yield* journal.open(freshPartition())
      const attempt = (size: number, expectedLast: number) =>
        log.publish({ bytes: new Uint8Array(size), identity: "0/1/1", expectedLast, timeoutMillis: 5_000 })
      assert.deepStrictEqual(yield* attempt(1024 * 1024 + 1, 0), { _tag: "TooLarge", maximumBytes: 1024 * 1024 })
      assert.strictEqual((yield* attempt(journal.maximumMessageBytes, 0))._tag, "Acked")
      assert.strictEqual((yield* log.frameAt(1))?.bytes.length, journal.maximumMessageBytes)
    })
  )

  it.effect("a server that takes only small messages is refused", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const small = Object.create(client, { info: { value: { ...client.info, max_payload: 100_000 } } }) as Client
      const error = yield* Effect.flip(JournalJetStream.make(small))
      assert.match(error.message, /max_payload: 1MB/)
    })
  )

  it.effect("what a server seldom says is understood", () =>
    Effect.gen(function* () {
      const { url, client } = yield* Server
      const partition = freshPartition()
      const log = yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      // In the place of the stream, somebody who says what a cluster, a full disk or a broken server would.
      yield* administer(`STREAM.DELETE.log-${partition}`)
      let says = ""
      const subscription = client.subscribe(`log.${partition}`, {
        callback: (_error, message) => void message.respond(says)
      })
      yield* Effect.promise(() => client.flush())
      const refusal = (code: number, errorCode: number, description: string) =>
        JSON.stringify({ error: { code, err_code: errorCode, description }, stream: "log", seq: 0 })
      const answers: ReadonlyArray<readonly [string, PublishAnswer]> = [
        ['{"stream":"log","seq":7}', { _tag: "Acked", sequence: 7, duplicate: false }],
        ['{"stream":"log","seq":7,"duplicate":true}', { _tag: "Acked", sequence: 7, duplicate: true }],
        [refusal(400, 10071, "wrong last sequence: 41"), { _tag: "WrongSequence", last: 41 }],
        [refusal(400, 10071, "wrong last sequence"), { _tag: "WrongSequence", last: undefined }],
        [refusal(400, 10164, "wrong last sequence"), { _tag: "WrongSequence", last: undefined }],
        [refusal(503, 10077, "maximum bytes exceeded"), { _tag: "Full" }],
        [refusal(503, 10077, "maximum messages exceeded"), { _tag: "Full" }],
        [refusal(500, 10047, "insufficient storage resources available"), { _tag: "Full" }],
        [refusal(503, 10023, "insufficient resources"), { _tag: "Full" }],
        [refusal(400, 10054, "message size exceeds maximum allowed"), { _tag: "TooLarge", maximumBytes: undefined }],
        [refusal(503, 10008, "JetStream system temporarily unavailable"), { _tag: "NoLeader" }],
        [refusal(500, 10009, "JetStream cluster can not handle request"), { _tag: "NoLeader" }],
        // A store that failed may have written something: that is no "full".
        [
          refusal(503, 10077, "write: no space left on device"),
          { _tag: "Refused", message: "write: no space left on device (503, 10077)" }
        ],
        [refusal(503, 10039, "not enabled"), { _tag: "Refused", message: "not enabled (503, 10039)" }],
        ["{}", { _tag: "Refused", message: "the server's acknowledgement has no sequence" }],
        ["+OK", { _tag: "Refused", message: "the server's answer is not JSON" }]
      ]
      for (const [said, understood] of answers) {
        says = said
        const answer = yield* log.publish({
          bytes: text("x"),
          identity: "0/1/1",
          expectedLast: 6,
          timeoutMillis: 5_000
        })
        assert.deepStrictEqual(answer, understood, said)
      }
      subscription.unsubscribe()
    })
  )

  it.effect("a log whose stream was deleted is away, not empty", () =>
    Effect.gen(function* () {
      const { url } = yield* Server
      const partition = freshPartition()
      const log = yield* Effect.flatMap(journalOn(url), (journal) => journal.open(partition))
      yield* fill(log, 0, [text("gone")])
      yield* administer(`STREAM.DELETE.log-${partition}`)
      assert.strictEqual((yield* Effect.flip(log.state))._tag, "JournalUnavailable")
      assert.strictEqual((yield* Effect.flip(log.frameAt(1)))._tag, "JournalUnavailable")
      const answer = yield* log.publish({ bytes: text("x"), identity: "0/1/2", expectedLast: 1, timeoutMillis: 5_000 })
      assert.deepStrictEqual(answer, { _tag: "NoLeader" })
    })
  )
})
