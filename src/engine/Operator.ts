/**
 * Operates an engine: shows its partitions, frames and actors, and resumes a partition that has stopped. An act is
 * carried out by the partition's owner, in whichever process an operator asks. Needs `Engine`.
 */
import { Effect } from "effect"
import type { AnyActor } from "./Actor.ts"
import type { Target } from "./address.ts"
import { Engine } from "./EngineService.ts"
import type { EngineRefused } from "./errors.ts"
import { atOwner } from "./operator/atOwner.ts"
import {
  type ActorInspection,
  type InspectedFrame,
  type PartitionInspection,
  type PartitionSummary,
  summarizePartition
} from "./operator/inspect.ts"
import type { RecoverAsked, Recovered } from "./operator/recoverHere.ts"
import { internals } from "./shell/partition/internals.ts"

export type { Frame, FrameActor, FrameMessage, FrameRecord, Head, IngestPlaces } from "./frame.ts"
export type {
  ActorInspection,
  InspectedCursor,
  InspectedFrame,
  InspectedRecord,
  PartitionInspection,
  PartitionSummary
} from "./operator/inspect.ts"
export type { RecoverAsked, Recovered } from "./operator/recoverHere.ts"

/** The acts of an operator on one engine. See {@link Engine.Operator.of}. */
export interface OperatorActs {
  readonly recoverPartition: (partition: number, asked: RecoverAsked) => Effect.Effect<Recovered, EngineRefused>
  readonly inspectPartition: (partition: number) => Effect.Effect<PartitionInspection, EngineRefused>
  readonly summarizePartitions: Effect.Effect<ReadonlyArray<PartitionSummary>>
  readonly inspectFrame: (
    partition: number,
    sequence: number
  ) => Effect.Effect<InspectedFrame | undefined, EngineRefused>
  readonly inspectActor: (actor: AnyActor, target: Target) => Effect.Effect<ActorInspection, EngineRefused>
}

/**
 * The acts on an engine of this process.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 *
 * // for programs that hold several engines; the functions below take the engine of their context
 * export const headOf = (engine: Engine.Engine["Service"]) =>
 *   Effect.map(Engine.Operator.of(engine).inspectPartition(0), ({ head }) => head)
 * ```
 */
export const of = (engine: Engine["Service"]): OperatorActs => {
  const { context, partitions } = internals(engine)
  // The values that cross processes are the same as JSON.
  return {
    inspectPartition: (id) =>
      Effect.map(atOwner(context, id, "inspect partition"), (found) => found as PartitionInspection),
    recoverPartition: (id, asked) => Effect.map(atOwner(context, id, "recover", asked), (found) => found as Recovered),
    summarizePartitions: Effect.suspend(() =>
      Effect.forEach(
        [...partitions.values()].sort((one, other) => one.id - other.id),
        summarizePartition,
        { concurrency: 8 }
      )
    ),
    inspectFrame: (id, sequence) =>
      Effect.map(atOwner(context, id, "inspect frame", sequence), (found) => found as InspectedFrame),
    inspectActor: (actor, { key = "", organization }) =>
      Effect.map(
        atOwner(context, engine.partitionOf(organization), "inspect actor", { organization, kind: actor.kind, key }),
        (found) => found as ActorInspection
      )
  }
}

const acts = Effect.map(Engine, of)

/**
 * Reports why a partition does not serve, and resumes it if that is allowed.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 *
 * // what keeps partition 3 from serving; nothing is given up
 * export const report = Effect.map(
 *   Engine.Operator.recoverPartition(3, { acceptLoss: false, acceptClock: false }),
 *   ({ lines }) => lines.join("\n")
 * )
 * ```
 */
export const recoverPartition = (
  partition: number,
  asked: RecoverAsked
): Effect.Effect<Recovered, EngineRefused, Engine> =>
  Effect.flatMap(acts, ({ recoverPartition: recover }) => recover(partition, asked))

/**
 * Shows a partition: its status, head, checkpoint, cursors, mailbox and last facts.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 *
 * export const waiting = Effect.map(Engine.Operator.inspectPartition(0), ({ mailboxDepth }) => mailboxDepth)
 * ```
 */
export const inspectPartition = (partition: number): Effect.Effect<PartitionInspection, EngineRefused, Engine> =>
  Effect.flatMap(acts, ({ inspectPartition: inspect }) => inspect(partition))

/**
 * The figures of every partition placed in this process, in order.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 *
 * export const epochs = Effect.map(Engine.Operator.summarizePartitions, (all) => all.map(({ head }) => head.epoch))
 * ```
 */
export const summarizePartitions: Effect.Effect<ReadonlyArray<PartitionSummary>, never, Engine> = Effect.flatMap(
  acts,
  ({ summarizePartitions: summarize }) => summarize
)

/**
 * Shows a frame of a partition; undefined if the log does not hold it, or does not answer.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Engine } from "sluice"
 *
 * export const kinds = Effect.map(Engine.Operator.inspectFrame(0, 7), (found) =>
 *   found?.frame.records.map(({ actor }) => actor.kind)
 * )
 * ```
 */
export const inspectFrame = (
  partition: number,
  sequence: number
): Effect.Effect<InspectedFrame | undefined, EngineRefused, Engine> =>
  Effect.flatMap(acts, ({ inspectFrame: inspect }) => inspect(partition, sequence))

/**
 * Shows an actor: its state, sequence, checkpoint, timer and last facts.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { type Actor, Engine } from "sluice"
 *
 * export const stored = (Counter: Actor.AnyActor) =>
 *   Effect.map(Engine.Operator.inspectActor(Counter, { organization: "acme" }), ({ state }) => state)
 * ```
 */
export const inspectActor = (actor: AnyActor, target: Target): Effect.Effect<ActorInspection, EngineRefused, Engine> =>
  Effect.flatMap(acts, ({ inspectActor: inspect }) => inspect(actor, target))
