/** Helpers for the contract of `Journal`, and the part that an implementation gives. Each takes partitions that no other one uses, so that all may have one server. */
import { assert } from "@effect/vitest"
import { Context, Effect, Schedule, type Scope, Stream } from "effect"
import type { Journal, Log, StoredFrame } from "../../../src/engine/ports/Journal.ts"

/** What the suite needs of an implementation. */
export class JournalHarness extends Context.Service<
  JournalHarness,
  {
    /**
     * Opens the journal as a process of its own would. Every call leads to the same logs. `maximumBytes` bounds the logs that it makes.
     */
    readonly connect: (options?: {
      readonly maximumBytes?: number
    }) => Effect.Effect<Journal["Service"], never, Scope.Scope>
  }
>()("test/JournalHarness") {}

let nextPartition = 1000

/** A partition that no other test uses. */
export const freshPartition = (): number => nextPartition++

const publishTimeoutMillis = 10_000

/** An attempt, as the engine makes it. A cluster may elect another leader at any moment, and stores nothing meanwhile. */
export const publish = (log: Log, bytes: Uint8Array, expectedLast: number, identity = "0/1/1") =>
  log
    .publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })
    .pipe(Effect.repeat({ while: ({ _tag }) => _tag === "NoLeader", schedule: Schedule.spaced("50 millis") }))

/** Appends frames one after the other to a log whose last sequence is known. */
export const fill = (log: Log, after: number, frames: ReadonlyArray<Uint8Array>) =>
  Effect.gen(function* () {
    let last = after
    for (const bytes of frames) {
      const answer = yield* publish(log, bytes, last, `${log.partition}/1/${last + 1}`)
      assert.deepStrictEqual(answer, { _tag: "Acked", sequence: last + 1, duplicate: false })
      last++
    }
    return last
  })

export const text = (content: string): Uint8Array => Buffer.from(content)

export const numbered = (count: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: count }, (_, index) => text(`frame ${index + 1}`))

export const readAll = (log: Log, from: number, through: number) =>
  Effect.map(Stream.runCollect(log.read(from, through)), (batches) => batches.flat())

export const contentOf = (frame: StoredFrame): string => Buffer.from(frame.bytes).toString()

export const openFresh = (options?: { readonly maximumBytes?: number }) =>
  Effect.gen(function* () {
    const harness = yield* JournalHarness
    const journal = yield* harness.connect(options)
    const partition = freshPartition()
    const log = yield* journal.open(partition)
    return { harness, journal, partition, log }
  })
