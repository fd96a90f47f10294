/**
 * Assembles a node of several machines (docs/cluster.md): its placement, and the asks between nodes. It is loaded only
 * if nodes share the partitions. Needs the stores and `NatsConnection`.
 */
import { Effect, Layer, Schedule } from "effect"
import { Engine } from "../engine/Engine.ts"
import { atOwner } from "../engine/operator/atOwner.ts"
import { internals } from "../engine/shell/partition/internals.ts"
import type { NatsConnection } from "../nats/connection.ts"
import * as RemoteNats from "../nats/RemoteNats.ts"
import { clusterReplicas, isClustered } from "../nats/replicas.ts"
import { Health } from "../platform/Health.ts"
import * as AdvisoryLock from "../postgres/advisoryLock.ts"
import { Membership } from "../postgres/cluster/Membership.ts"
import * as PlacementCluster from "../postgres/cluster/PlacementCluster.ts"

export { Membership }

export interface NodeSettings extends PlacementCluster.ClusterOptions {
  readonly namespace: string | undefined
}

/** The placement of a node, its part in the cluster, and its asks of other nodes. */
export const layerNode = (settings: NodeSettings) =>
  Layer.merge(PlacementCluster.layer(settings), RemoteNats.layer({ namespace: settings.namespace }))

/** How many copies of each log these NATS servers are to keep. */
export const replicasOf = ({ client }: NatsConnection["Service"]): 1 | 3 => (isClustered(client) ? clusterReplicas : 1)

/** The lock under which the nodes of a first start load the bundled data one after the other. */
const firstStartLock = "sluice first start"

/** Runs an effect while no other node does. */
export const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.andThen(
      AdvisoryLock.hold(firstStartLock).pipe(
        Effect.retry({ while: (error) => error._tag === "LockHeld", schedule: Schedule.spaced("200 millis") })
      ),
      effect
    )
  )

/** Shows in `/readyz` which partitions the node has. */
export const layerNodeHealth = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* Engine
    const { clockProblem, hasLeft, level, node } = yield* Membership
    const health = yield* Health
    yield* health.register({
      name: "cluster",
      part: "note",
      check: Effect.map(engine.status, (partitions) => {
        const problem = clockProblem()
        if (problem !== undefined)
          return { ok: false, detail: `${node.name} leaves its partitions to others: ${problem}` }
        const serving = partitions.filter(({ status }) => status._tag === "Serving").map(({ partition }) => partition)
        const served =
          serving.length === 0 ? "serves no partition" : `serves ${listed(serving)} of ${engine.partitions}`
        const formats = `formats of level ${level()} are in force${level() < node.level ? `, and it knows ${node.level}` : ""}`
        return { ok: true, detail: `${node.name} ${served}${hasLeft() ? " and takes none any more" : ""}; ${formats}` }
      })
    })
  })
)

/** How old an answer about all partitions may be, how long one has for it, and how many are asked concurrently. */
const freshMillis = 1_000
const statusMillis = 1_000
const askedAtOnce = 16

/** Names the partitions that none of the machine's workers serves. */
export const layerEveryPartition = Layer.effectDiscard(
  Effect.gen(function* () {
    const engine = yield* Engine
    const health = yield* Health
    const { context } = internals(engine)
    const all = Array.from({ length: engine.partitions }, (_, partition) => partition)
    const isServed = (partition: number) =>
      atOwner(context, partition, "status").pipe(
        Effect.map((status) => status === "Serving"),
        Effect.timeout(statusMillis),
        Effect.orElseSucceed(() => false)
      )
    const check = yield* Effect.forEach(all, isServed, { concurrency: askedAtOnce }).pipe(
      Effect.map((served) => {
        const away = all.filter((partition) => !served[partition])
        return away.length === 0 ? { ok: true } : { ok: false, detail: `no worker serves ${listed(away)}` }
      }),
      Effect.cachedWithTTL(freshMillis)
    )
    yield* health.register({ name: "workers", part: "note", check })
  })
)

const listed = (partitions: ReadonlyArray<number>): string =>
  `${partitions.length === 1 ? "partition" : "partitions"} ${[...partitions].sort((a, b) => a - b).join(", ")}`
