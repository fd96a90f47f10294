/**
 * Follows streams of the program's own in JetStream, whose messages become commands, each counted once
 * (docs/streams.md, "Streams in"). Ingests are given to the engine in `ingests`.
 */
import { Effect } from "effect"
import type { Actor } from "./Actor.ts"
import { Engine, EngineRefused } from "./Engine.ts"
import {
  type Ingest,
  type IngestCommand,
  type IngestOptions,
  type IngestStart,
  type SubjectsOfPartition,
  startProblem
} from "./ingestRules.ts"
import type { StreamMessage } from "./ports/ProgramStreams.ts"
import type { IngestState } from "./shell/ingest/IngestProgress.ts"
import { internals } from "./shell/partition/internals.ts"

export type { Ingest, IngestCommand, IngestOptions, IngestStart, IngestState, StreamMessage, SubjectsOfPartition }

/**
 * Defines an ingest: the engine follows the stream, and decides the command of each message once, in the order of the
 * stream within an organization. Its place is part of the partition's frames.
 *
 * @example
 * ```ts
 * import { type Actor, Ingest } from "sluice"
 *
 * // messages of `orders.<organization>`, with the order as JSON
 * export const orders = (Shop: Actor.AnyActor) =>
 *   Ingest.jetStream({
 *     name: "orders",
 *     stream: "ORDERS",
 *     subject: "orders.*",
 *     organization: ({ subject }) => subject.split(".")[1],
 *     toCommand: (message) => ({ actor: Shop, key: "", command: Ingest.json(message) })
 *   })
 * ```
 */
export const jetStream = (options: IngestOptions): Ingest => ({ ...options, from: options.from ?? "beginning" })

/**
 * The command that a message means, typed by its actor.
 *
 * @example
 * ```ts
 * import { type Actor, Ingest } from "sluice"
 *
 * export const counted = (Counter: Actor.Actor<{ readonly add: number }, unknown, number, void, never>) =>
 *   Ingest.command(Counter, "page", { add: 1 })
 * ```
 */
export const command = <Command, Fact, State, Reply, Rejection>(
  actor: Actor<Command, Fact, State, Reply, Rejection>,
  key: string,
  command: NoInfer<Command>
): IngestCommand => ({ actor, key, command })

const decoder = new TextDecoder("utf-8", { fatal: true })

/**
 * A message's data as JSON. Throws if it is none, which parks the message.
 *
 * @example
 * ```ts
 * import { Ingest } from "sluice"
 *
 * export const cents = (message: Ingest.StreamMessage) => Number((Ingest.json(message) as { cents?: unknown }).cents)
 * ```
 */
export const json = ({ data }: StreamMessage): unknown => JSON.parse(decoder.decode(data))

/** An ingest at one partition of this process. See {@link Ingest.status}. */
export interface IngestStatus {
  readonly ingest: string
  readonly partition: number
  /** `away`: the stream does not answer, and is tried again. `stopped`: an operator has to say where it goes on. */
  readonly state: IngestState
  /** Why it is away or stopped, for people. */
  readonly reason?: string
  /** The last message whose decision is stored; undefined before the first. */
  readonly place?: number
  /** Messages of its subjects behind the last one that was read, of all partitions. */
  readonly behind?: number
}

/**
 * The ingests of the partitions of this process.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Ingest } from "sluice"
 *
 * // for a health check: an operator must look
 * export const isStopped = Effect.map(Ingest.status, (all) => all.some(({ state }) => state === "stopped"))
 * ```
 */
export const status: Effect.Effect<ReadonlyArray<IngestStatus>, never, Engine> = Effect.map(Engine, (engine) => {
  const { context, partitions } = internals(engine)
  return [...partitions.values()].flatMap((partition) =>
    context.ingests.map(({ name }): IngestStatus => {
      const { behind, reason, state } = partition.ingestProgress(name)
      const place = partition.core.head.ingests?.[name]
      return {
        ingest: name,
        partition: partition.id,
        state,
        ...(reason === undefined ? {} : { reason }),
        ...(place === undefined ? {} : { place }),
        ...(behind === undefined ? {} : { behind })
      }
    })
  )
})

/**
 * Makes an ingest that has stopped go on, on the partitions of this process: from the beginning of what its stream has
 * now, or from where `from` says. Returns the partitions on which it was stopped. A process that shares the partitions
 * does it for its own.
 *
 * @example
 * ```ts
 * import { Ingest } from "sluice"
 *
 * // the stream dropped messages before they were read: an operator goes on with the rest
 * export const goOn = Ingest.resume({ ingest: "orders", from: "beginning" })
 * ```
 */
export const resume = (options: {
  readonly ingest: string
  readonly from: IngestStart
}): Effect.Effect<ReadonlyArray<number>, EngineRefused, Engine> =>
  Effect.flatMap(Engine, (engine) => {
    const { context, partitions } = internals(engine)
    if (!context.ingests.some(({ name }) => name === options.ingest))
      return Effect.fail(new EngineRefused({ message: `no ingest is named ${options.ingest}` }))
    const problem = startProblem(options.from)
    if (problem !== undefined) return Effect.fail(new EngineRefused({ message: problem }))
    const stopped = [...partitions.values()].filter((one) => one.ingestProgress(options.ingest).resume(options.from))
    return Effect.succeed(stopped.map(({ id }) => id))
  })
