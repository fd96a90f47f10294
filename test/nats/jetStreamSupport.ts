/** Helpers of this folder's tests: a journal on a server, as a process of its own would have it. */
import { readdirSync, statSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { Effect, Logger, Redacted, Schedule, type Scope, Stream } from "effect"
import type { Journal, Log, PublishAnswer } from "../../src/engine/ports/Journal.ts"
import { append } from "../../src/engine/shell/partition/append.ts"
import { readClocks } from "../../src/engine/shell/readClocks.ts"
import { connectNats, type NatsConnection } from "../../src/nats/connection.ts"
import * as JournalJetStream from "../../src/nats/JournalJetStream.ts"
import { text } from "../engine/contracts/journalHarness.ts"
import { patienceMillis } from "../support/patience.ts"
import type { NatsServer } from "./natsServers.ts"

/** Small enough that a server's file limit holds all logs of a suite. */
export const maximumBytes = 64 * 1024 * 1024

/** A connection as the platform makes it; `urls` separated by commas. */
export const connectTo = (urls: string): Effect.Effect<NatsConnection["Service"], never, Scope.Scope> =>
  Effect.provideService(
    Effect.orDie(connectNats({ url: Redacted.make(urls) })),
    Logger.CurrentLoggers,
    // Losing the server is what these tests are about.
    new Set()
  )

export const journalOn = (
  urls: string,
  options: JournalJetStream.JournalOptions = {}
): Effect.Effect<Journal["Service"], never, Scope.Scope> =>
  Effect.flatMap(connectTo(urls), ({ client }) =>
    Effect.orDie(JournalJetStream.make(client, { maximumBytes, ...options }))
  )

/** Tries until it succeeds; fails the test when it never does. */
export const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(effect, { schedule: Schedule.spaced("50 millis"), times: 600 })

/** The engine's append of a frame with this content. */
export const appendText = (log: Log, content: string, expectedLast: number) =>
  Effect.clockWith((clock) =>
    append(log, { bytes: text(content), identity: `${log.partition}/1/${expectedLast + 1}`, expectedLast }, () =>
      readClocks(clock)
    )
  )

/** The log of partition 0. */
export const openOn = (urls: string, options: JournalJetStream.JournalOptions = {}) =>
  Effect.flatMap(journalOn(urls, options), (journal) => journal.open(0))

/** What the log holds now. */
export const contents = (log: Log) =>
  Effect.gen(function* () {
    const { firstSequence, lastSequence } = yield* log.state
    const batches = yield* Stream.runCollect(log.read(firstSequence, lastSequence))
    return batches.flat().map((frame) => Buffer.from(frame.bytes).toString())
  })

export const waitUntil = <E>(condition: Effect.Effect<boolean, E>) =>
  eventually(
    Effect.filterOrFail(
      condition,
      (holds) => holds,
      () => "not yet" as const
    )
  )

/** A log that remembers how its publish attempts were answered. */
export const observed = (log: Log): { readonly log: Log; readonly answers: Array<PublishAnswer> } => {
  const answers: Array<PublishAnswer> = []
  return {
    answers,
    log: {
      ...log,
      publish: (request) => Effect.tap(log.publish(request), (answer) => Effect.sync(() => answers.push(answer)))
    }
  }
}

/** What a power failure under a weak disk or a restore gone wrong does: the last bytes of a stream's newest block are not there. */
export const lostTail = (server: NatsServer, stream: string, bytes: number): void => {
  const folder = join(server.store, "SLUICE", "streams", stream, "msgs")
  const blocks = readdirSync(folder)
    .filter((file) => file.endsWith(".blk"))
    .sort((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10))
  const newest = join(folder, blocks[blocks.length - 1]!)
  truncateSync(newest, Math.max(0, statSync(newest).size - bytes))
}

type Client = NatsConnection["Service"]["client"]

/** A call of JetStream's API that must succeed. */
export const callApi = (client: Client, name: string, body: unknown) =>
  Effect.promise(async () => {
    const answer = await client.request(`$JS.API.${name}`, JSON.stringify(body), { timeout: patienceMillis })
    const { error } = answer.json<{ readonly error?: unknown }>()
    if (error !== undefined) throw new Error(JSON.stringify(error))
  })

/** Makes a stream of a program, which stores `<name>.>`. */
export const createStream = (client: Client, name: string, more: object = {}) =>
  callApi(client, `STREAM.CREATE.${name}`, { name, subjects: [`${name}.>`], storage: "file", ...more })
