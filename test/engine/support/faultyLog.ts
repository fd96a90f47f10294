/** A journal in memory whose answers a test scripts one by one: what the server did and what it said need not be the same. */
import { Effect, Layer } from "effect"
import { type JournalStore, openLog, publishTo, surveyLogs } from "../../../src/engine/memory/JournalMemory.ts"
import {
  Journal,
  JournalUnavailable,
  type Log,
  type LogState,
  type PublishAnswer,
  type PublishRequest,
  type StoredFrame
} from "../../../src/engine/ports/Journal.ts"

/** What becomes of one publish attempt. */
export type PublishFault =
  | "ack lost after commit"
  | "request lost"
  /** Stored only when `deliverLate` is called. */
  | "request late"
  /** Stored; the answer comes after `waitMillis`. */
  | { readonly _tag: "slow"; readonly waitMillis: number }
  /** Not stored by this attempt, answered like this. */
  | { readonly _tag: "answer"; readonly answer: PublishAnswer }
  /** Stored, answered like this. */
  | { readonly _tag: "stored, but"; readonly answer: PublishAnswer }
  | "none"

export interface FaultyLog {
  /** Taken one per publish; normal when empty. */
  readonly publishes: Array<PublishFault>
  /** While true nothing of the log can be reached, and publishes get no answer. */
  away: boolean
  /** While true there is no connection: publishes are not sent, and nothing can be reached. */
  disconnected: boolean
  /** What the next state requests say instead of the truth, one each. */
  readonly states: Array<LogState>
  /** Every publish attempt. */
  readonly attempts: Array<PublishRequest>
  /** How often the log was asked for its state. */
  looks: number
  /** Stores what was late. */
  readonly deliverLate: () => void
  /** Awaited before each publish is stored, so that a test can look while an append is under way. */
  gate: Effect.Effect<void>
  readonly layer: Layer.Layer<Journal>
  readonly log: Log
}

export const makeFaultyLog = (store: JournalStore, partition = 0): FaultyLog => {
  const late: Array<PublishRequest> = []
  const truth = openLog(store, partition)
  const faulty: FaultyLog = {
    publishes: [],
    away: false,
    disconnected: false,
    states: [],
    attempts: [],
    looks: 0,
    gate: Effect.void,
    deliverLate: () => {
      for (const request of late.splice(0)) publishTo(store.log(partition), request, store.maximumBytes)
    },
    get log() {
      return log
    },
    get layer() {
      return Layer.succeed(
        Journal,
        Journal.of({
          maximumMessageBytes: 1024 * 1024,
          survey: (partitions) => Effect.sync(() => surveyLogs(store, partitions)),
          open: (opened) => Effect.succeed(opened === partition ? log : openLog(store, opened))
        })
      )
    }
  }
  const noAnswer = (request: PublishRequest): Effect.Effect<PublishAnswer> =>
    Effect.as(Effect.sleep(request.timeoutMillis), { _tag: "NoAnswer", reason: "timeout" } as const)
  const reach = <A>(effect: Effect.Effect<A, JournalUnavailable>): Effect.Effect<A, JournalUnavailable> =>
    Effect.suspend(() =>
      faulty.away || faulty.disconnected
        ? Effect.andThen(
            Effect.sleep(1_000),
            Effect.fail(new JournalUnavailable({ partition, message: "scripted away" }))
          )
        : effect
    )
  const log: Log = {
    ...truth,
    get deployment() {
      return store.log(partition).deployment
    },
    publish: (request) =>
      Effect.gen(function* () {
        faulty.attempts.push(request)
        yield* faulty.gate
        if (faulty.disconnected) return { _tag: "NotSent" }
        if (faulty.away) return yield* noAnswer(request)
        const fault = faulty.publishes.shift() ?? "none"
        if (fault === "request lost") return yield* noAnswer(request)
        if (fault === "request late") {
          late.push(request)
          return yield* noAnswer(request)
        }
        if (fault !== "none" && fault !== "ack lost after commit" && fault._tag === "answer") return fault.answer
        const answer = yield* truth.publish(request)
        if (fault === "none") return answer
        if (fault === "ack lost after commit") return yield* noAnswer(request)
        if (fault._tag === "slow") {
          yield* Effect.sleep(fault.waitMillis)
          return answer
        }
        return fault.answer
      }),
    frameAt: (sequence): Effect.Effect<StoredFrame | undefined, JournalUnavailable> => reach(truth.frameAt(sequence)),
    get state() {
      return reach(
        Effect.suspend(() => {
          faulty.looks++
          const scripted = faulty.states.shift()
          return scripted === undefined ? truth.state : Effect.succeed(scripted)
        })
      )
    }
  }
  return faulty
}
