/**
 * The fenced append over three real servers with three copies of the log: its leader is killed or stands still, the majority is gone, another
 * writer comes through another server.
 */
import { assert, describe, it } from "@effect/vitest"
import type { NatsConnection as Client } from "@nats-io/transport-node"
import { Effect, Fiber, Stream } from "effect"
import * as Api from "../../src/nats/jetStreamApi.ts"
import { raiseReplicas } from "../../src/nats/replicas.ts"
import * as Requests from "../../src/nats/requests.ts"
import { copyMessages } from "../../src/nats/streamCopy.ts"
import { fillStream, finishStream } from "../../src/nats/streamRestore.ts"
import { fill, numbered, text } from "../engine/contracts/journalHarness.ts"
import { patienceMillis } from "../support/patience.ts"
import { appendText, connectTo, contents, eventually, observed, openOn, waitUntil } from "./jetStreamSupport.ts"
import { type NatsServer, threeServers } from "./natsServers.ts"
import { proxyTo } from "./proxy.ts"

const replicas = { replicas: 3 } as const

/** The server that leads the log, and the others; once one does. */
const leaderOf = (client: Client, servers: ReadonlyArray<NatsServer>) =>
  eventually(
    Effect.tryPromise(async () => {
      const answer = await client.request("$JS.API.STREAM.INFO.log-0", "", { timeout: patienceMillis })
      const leader = answer.json<Api.StreamInfo & { readonly cluster: { readonly leader?: string } }>().cluster.leader
      const index = ["n1", "n2", "n3"].indexOf(leader ?? "")
      if (index === -1) throw new Error("no leader")
      return { leader: servers[index]!, others: servers.filter((_, other) => other !== index) }
    })
  )

const urlsOf = (servers: ReadonlyArray<NatsServer>) => servers.map((server) => server.url).join(",")

const start = Effect.gen(function* () {
  const servers = yield* threeServers
  const { client } = yield* connectTo(urlsOf(servers))
  const log = yield* openOn(urlsOf(servers), replicas)
  yield* fill(log, 0, [text("first")])
  return { servers, client, log }
})

describe("streams that were made with one copy", { timeout: patienceMillis }, () => {
  it.live("are raised to three while the log is written, and outlive the server that had them", () =>
    Effect.gen(function* () {
      const servers = yield* threeServers
      const { client } = yield* connectTo(urlsOf(servers))
      const log = yield* openOn(urlsOf(servers))
      yield* fill(log, 0, [text("first")])
      const { leader } = yield* leaderOf(client, servers)
      const written: Array<string> = ["first"]
      let isRaised = false
      const writer = yield* Effect.forkScoped(
        Effect.gen(function* () {
          while (!isRaised || written.length < 3) {
            const content = `frame ${written.length}`
            const outcome = yield* appendText(log, content, written.length)
            if (outcome._tag === "Stored") written.push(content)
            else assert.strictEqual(outcome._tag, "Unknown")
          }
        })
      )
      const raised = yield* raiseReplicas(client, { namespace: undefined, partitions: 2, replicas: 3 })
      isRaised = true
      yield* Fiber.join(writer)
      assert.deepStrictEqual(raised, [{ stream: "log-0", from: 1, to: 3, isComplete: true }])
      // There is nothing left to do; a copy that has fallen behind for a moment is looked at until it is complete again.
      const again = yield* raiseReplicas(client, { namespace: undefined, partitions: 2, replicas: 3 })
      assert.deepStrictEqual(
        again.filter(({ from, isComplete }) => from !== 3 || !isComplete),
        []
      )
      yield* leader.kill
      const elsewhere = yield* eventually(openOn(urlsOf(servers.filter((server) => server !== leader)), replicas))
      assert.deepStrictEqual(yield* eventually(contents(elsewhere)), written)
      let outcome = yield* appendText(elsewhere, "after it", written.length)
      while (outcome._tag === "Unknown") outcome = yield* appendText(elsewhere, "after it", written.length)
      assert.strictEqual(outcome._tag, "Stored")
    })
  )
})

describe("a log of three copies", { timeout: patienceMillis }, () => {
  it.live("is created again from its messages, by a leader that has yet to be elected", () =>
    Effect.gen(function* () {
      const { client, log, servers } = yield* start
      yield* fill(log, 1, numbered(300))
      const before = yield* contents(log)
      const requests = yield* Requests.make(client)
      const api = Api.make(requests)
      const { config, state } = yield* api.streamInfo("log-0")
      const messages = (yield* Stream.runCollect(
        copyMessages(requests, api, { stream: "log-0", from: 1, through: state.last_seq })
      )).flat()
      yield* api.deleteStream("log-0")
      const options = { config, first: 1, last: state.last_seq, newestTime: messages.at(-1)?.time }
      yield* fillStream(requests, api, options, Stream.succeed(messages))
      yield* finishStream(api, options)
      assert.strictEqual((yield* api.streamInfo("log-0")).config.num_replicas, 3)
      const again = yield* openOn(urlsOf(servers), replicas)
      assert.deepStrictEqual(yield* contents(again), before)
      assert.strictEqual((yield* appendText(again, "next", 301))._tag, "Stored")
    })
  )
})

describe("the fenced append over three servers", { timeout: patienceMillis }, () => {
  it.live("the leader killed after the frame was stored and before it said so: stored once", () =>
    Effect.gen(function* () {
      const { servers, client, log: direct } = yield* start
      const { leader } = yield* leaderOf(client, servers)
      const proxy = yield* proxyTo(leader.url)
      const { log, answers } = observed(yield* openOn(proxy.url, replicas))
      yield* proxy.holdAnswers
      const fiber = yield* Effect.forkScoped(appendText(log, "second", 1))
      yield* waitUntil(Effect.map(direct.state, (state) => state.lastSequence === 2))
      yield* leader.kill
      yield* proxy.cut
      const outcome = yield* Fiber.join(fiber)
      assert.strictEqual(answers[0]?._tag, "NoAnswer")
      assert.strictEqual(outcome._tag, "Stored")
      assert.deepStrictEqual(yield* eventually(contents(direct)), ["first", "second"])
      yield* leader.start
      assert.strictEqual((yield* appendText(direct, "third", 2))._tag, "Stored")
      assert.deepStrictEqual(yield* contents(direct), ["first", "second", "third"])
    })
  )

  it.live("without a majority nothing is acknowledged; when it is back the frame is there once", () =>
    Effect.gen(function* () {
      const { servers, client } = yield* start
      const { leader, others } = yield* leaderOf(client, servers)
      const { log, answers } = observed(yield* openOn(leader.url, replicas))
      yield* Effect.forEach(others, (server) => server.kill, { discard: true })
      const attempts = () =>
        Effect.gen(function* () {
          // The engine's append ends after its deadline with "unknown" and is begun anew by the partition that recovers.
          while (true) {
            const outcome = yield* appendText(log, "second", 1)
            if (outcome._tag !== "Unknown") return outcome
          }
        })
      const fiber = yield* Effect.forkScoped(attempts())
      yield* waitUntil(Effect.sync(() => answers.length > 0))
      assert.isTrue(answers.every((answer) => answer._tag !== "Acked"))
      yield* Effect.forEach(others, (server) => server.start, { discard: true, concurrency: 2 })
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Stored")
      assert.deepStrictEqual(yield* eventually(contents(log)), ["first", "second"])
    })
  )

  it.live("a leader that stands still is replaced, and what it says when it goes on changes nothing", () =>
    Effect.gen(function* () {
      const { servers, client, log } = yield* start
      const { leader, others } = yield* leaderOf(client, servers)
      const throughLeader = yield* openOn(leader.url, replicas)
      const elsewhere = yield* openOn(urlsOf(others), replicas)
      yield* leader.freeze
      const zombie = yield* Effect.forkScoped(appendText(throughLeader, "zombie", 1))
      let outcome = yield* appendText(elsewhere, "second", 1)
      while (outcome._tag === "Unknown") outcome = yield* appendText(elsewhere, "second", 1)
      yield* leader.thaw
      const late = yield* Fiber.join(zombie)
      // One of the two is in the log, and each knows which. A copy that lags behind may be read first.
      const both = Effect.filterOrFail(
        contents(log),
        (frames) => frames.length > 1,
        () => new Error("a copy lags behind")
      )
      const stored = yield* eventually(both)
      assert.deepStrictEqual(stored, ["first", late._tag === "Stored" ? "zombie" : "second"])
      assert.strictEqual(outcome._tag === "Stored", late._tag !== "Stored")
    })
  )

  it.live("of two writers through different servers one is fenced, for certain", () =>
    Effect.gen(function* () {
      const { servers } = yield* start
      const [ours, theirs] = yield* Effect.all([openOn(servers[0]!.url, replicas), openOn(servers[1]!.url, replicas)])
      const outcomes = yield* Effect.all([appendText(ours, "ours", 1), appendText(theirs, "theirs", 1)], {
        concurrency: 2
      })
      assert.deepStrictEqual(outcomes.map((outcome) => outcome._tag).sort(), ["Fenced", "Stored"])
      const winner = outcomes[0]._tag === "Stored" ? "ours" : "theirs"
      assert.deepStrictEqual(yield* contents(ours), ["first", winner])
      const fenced = outcomes.find((outcome) => outcome._tag === "Fenced")
      assert.isTrue(fenced?._tag === "Fenced" && fenced.certain)
    })
  )
})
