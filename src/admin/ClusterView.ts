/**
 * Shows operators the nodes of a deployment and its partitions, and makes a node hand its partitions over
 * (`sluice cluster`). On one machine there is one node, which shows its own partitions. Needs `Engine`; in a cluster
 * also `Membership`.
 */
import { Context, Data, Effect, Layer, Option, Schema } from "effect"
import { knownFormats } from "../common/formatLevels.ts"
import { build } from "../common/version.ts"
import { Engine } from "../engine/Engine.ts"
import { atOwner, type OwnerReport } from "../engine/operator/atOwner.ts"
import { internals } from "../engine/shell/partition/internals.ts"
import { Membership } from "../postgres/cluster/Membership.ts"

/** No node has this name, or there is no cluster. */
export class NoSuchNode extends Data.TaggedError("NoSuchNode")<{ readonly message: string }> {}

/** The nodes cannot be read now. */
export class NodesUnavailable extends Data.TaggedError("NodesUnavailable")<{ readonly message: string }> {}

export const ShownNode = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  role: Schema.String,
  level: Schema.Int.annotate({ description: "The newest level of formats that its version knows" }),
  startedAt: Schema.NullOr(Schema.Int).annotate({ description: "Milliseconds since the Unix epoch" }),
  silentMillis: Schema.Int.annotate({ description: "Milliseconds since its last sign of life" }),
  isDraining: Schema.Boolean,
  partitions: Schema.Array(Schema.Int)
}).annotate({ identifier: "ShownNode" })

export const ShownPartition = Schema.Struct({
  partition: Schema.Int,
  node: Schema.NullOr(Schema.String).annotate({ description: "Who took it last" }),
  status: Schema.String.annotate({ description: "Serving, or why it cannot be asked" }),
  epoch: Schema.NullOr(Schema.Int),
  sequence: Schema.NullOr(Schema.Int),
  lag: Schema.NullOr(Schema.Int).annotate({ description: "Frames that its reactor has not worked on yet" }),
  waiting: Schema.NullOr(Schema.Int).annotate({ description: "Commands that wait; null where nobody says it" }),
  actors: Schema.NullOr(Schema.Int).annotate({ description: "Actors in memory; null where nobody says it" })
}).annotate({ identifier: "ShownPartition" })

/** The view of `sluice cluster status`. */
export const ShownCluster = Schema.Struct({
  placement: Schema.Literals(["machine", "cluster"]),
  level: Schema.Int.annotate({
    description: "The level of formats in force: it rises when every node knows a higher one, and never falls"
  }),
  nodes: Schema.Array(ShownNode),
  partitions: Schema.Array(ShownPartition)
}).annotate({ identifier: "ShownCluster" })
export type ShownCluster = typeof ShownCluster.Type

/**
 * How many partitions are asked concurrently, and how long each has: one that moves would have the whole view wait for
 * its next owner.
 */
const askedAtOnce = 16
const reportMillis = 2_000

export class ClusterView extends Context.Service<
  ClusterView,
  {
    readonly show: Effect.Effect<ShownCluster, NodesUnavailable>
    /** Asks a node to hand its partitions over; it does within a second, and goes on to answer requests. */
    readonly drain: (name: string) => Effect.Effect<void, NoSuchNode | NodesUnavailable>
  }
>()("sluice/admin/ClusterView") {
  static readonly layer: Layer.Layer<ClusterView, never, Engine> = Layer.effect(
    ClusterView,
    Effect.gen(function* () {
      const engine = yield* Engine
      const membership = Option.getOrUndefined(yield* Effect.serviceOption(Membership))
      const { context } = internals(engine)
      const reportOf = (partition: number) =>
        Effect.match(Effect.timeout(atOwner(context, partition, "report"), reportMillis), {
          onSuccess: (found) => {
            const { actors, epoch, lag, sequence, status, waiting } = found as OwnerReport
            return { status, epoch, sequence, lag: lag ?? null, waiting: waiting ?? null, actors: actors ?? null }
          },
          onFailure: (error) => {
            const status = error._tag === "TimeoutError" ? "its owner does not answer now" : error.message
            return { status, epoch: null, sequence: null, lag: null, waiting: null, actors: null }
          }
        })
      const show = Effect.gen(function* () {
        const [nodes, owners] = yield* membership === undefined
          ? Effect.succeed([[], []] as const)
          : Effect.all([membership.nodes.list, membership.nodes.owners])
        const nodeOf = new Map(owners.map(({ node, partition }) => [partition, node]))
        const all = Array.from({ length: engine.partitions }, (_, partition) => partition)
        const partitions = yield* Effect.forEach(
          all,
          (partition) =>
            Effect.map(reportOf(partition), (found) => ({ partition, node: nodeOf.get(partition) ?? null, ...found })),
          { concurrency: askedAtOnce }
        )
        if (membership === undefined) {
          const startedAt = Math.round(performance.timeOrigin)
          const alone = { name: "this machine", version: build(), role: "all", level: knownFormats.newest }
          return {
            placement: "machine" as const,
            level: context.placement.level?.() ?? knownFormats.newest,
            nodes: [{ ...alone, startedAt, silentMillis: 0, isDraining: false, partitions: all }],
            partitions
          }
        }
        return {
          placement: "cluster" as const,
          level: membership.level(),
          nodes: nodes.map((node) => ({
            ...node,
            startedAt: Math.round(node.startedAt),
            silentMillis: Math.max(0, Math.round(node.silentMillis)),
            partitions: all.filter((partition) => nodeOf.get(partition) === node.name)
          })),
          partitions
        }
      })
      return ClusterView.of({
        show: Effect.mapError(show, ({ message }) => new NodesUnavailable({ message })),
        drain: Effect.fn("ClusterView.drain")(function* (name) {
          const isThere =
            membership === undefined
              ? false
              : yield* Effect.mapError(membership.nodes.drain(name), ({ message }) => new NodesUnavailable({ message }))
          if (!isThere) return yield* new NoSuchNode({ message: `no node of a cluster is named ${name}` })
        })
      })
    })
  )

  static readonly layerNone: Layer.Layer<ClusterView> = Layer.sync(ClusterView, () => {
    const none = Effect.fail(new NodesUnavailable({ message: "no platform is running; start it, then look at it" }))
    return ClusterView.of({ show: none, drain: () => none })
  })
}
