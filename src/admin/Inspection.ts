/**
 * Shows operators a partition or an actor of the running engine (`sluice inspect`). Needs `Engine`; a command without a
 * running platform has none and says so.
 */
import { Context, Data, Effect, Layer } from "effect"
import type { AnyActor } from "../engine/Actor.ts"
import { Engine, Operator } from "../engine/Engine.ts"
import type { PartitionSummary } from "../engine/operator/inspect.ts"
import type { RecoverAsked, Recovered } from "../engine/operator/recoverHere.ts"

/** There is nothing to inspect: no running engine, no such partition, no such kind of actor. */
export class NothingToInspect extends Data.TaggedError("NothingToInspect")<{ readonly message: string }> {}

export class Inspection extends Context.Service<
  Inspection,
  {
    /** The kinds of actors that there are. */
    readonly kinds: ReadonlyArray<string>
    /** The figures of every partition that this process serves. */
    readonly partitions: Effect.Effect<ReadonlyArray<PartitionSummary>, NothingToInspect>
    /** A whole frame of a partition's log, as JSON; undefined where the log does not hold it. */
    readonly frame: (partition: number, sequence: number) => Effect.Effect<unknown, NothingToInspect>
    /** Status, head, checkpoint, cursors, mailbox and the last facts of a partition, as JSON. */
    readonly partition: (partition: number) => Effect.Effect<unknown, NothingToInspect>
    /** Says what keeps a partition from serving, and lets it go on where that is allowed. Its owner does it. */
    readonly recover: (partition: number, asked: RecoverAsked) => Effect.Effect<Recovered, NothingToInspect>
    /** State, sequence, checkpoint, timer and the last facts of an actor, as JSON. */
    readonly actor: (kind: string, organization: string, key: string) => Effect.Effect<unknown, NothingToInspect>
  }
>()("sluice/admin/Inspection") {
  /** For an engine that runs these actors. */
  static readonly layer = (actors: ReadonlyArray<AnyActor>): Layer.Layer<Inspection, never, Engine> =>
    Layer.effect(
      Inspection,
      Effect.map(Effect.map(Engine, Operator.of), (operator) =>
        Inspection.of({
          kinds: actors.map(({ kind }) => kind).sort(),
          partitions: operator.summarizePartitions,
          frame: Effect.fn("Inspection.frame")((partition, sequence) =>
            Effect.mapBoth(operator.inspectFrame(partition, sequence), {
              onSuccess: (found) => (found === undefined ? undefined : asJson(found)),
              onFailure: nothing
            })
          ),
          partition: Effect.fn("Inspection.partition")((partition) =>
            Effect.mapBoth(operator.inspectPartition(partition), { onSuccess: asJson, onFailure: nothing })
          ),
          recover: Effect.fn("Inspection.recover")((partition, asked) =>
            Effect.mapError(operator.recoverPartition(partition, asked), nothing)
          ),
          actor: Effect.fn("Inspection.actor")((kind, organization, key) => {
            const actor = actors.find((known) => known.kind === kind)
            return actor === undefined
              ? Effect.fail(
                  nothing({
                    message: `no actor is of the kind ${kind}; known: ${actors.map((known) => known.kind).join(", ")}`
                  })
                )
              : Effect.mapBoth(operator.inspectActor(actor, { organization, key }), {
                  onSuccess: asJson,
                  onFailure: nothing
                })
          })
        })
      )
    )

  static readonly layerNone: Layer.Layer<Inspection> = Layer.sync(Inspection, () => {
    const none = Effect.fail(new NothingToInspect({ message: "no platform is running; start it, then inspect it" }))
    return Inspection.of({
      kinds: [],
      partitions: none,
      frame: () => none,
      partition: () => none,
      recover: () => none,
      actor: () => none
    })
  })
}

const nothing = ({ message }: { readonly message: string }) => new NothingToInspect({ message })

/** Plain JSON: what is undefined is left out. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
