/** Nodes of a cluster in the process of the test, on a real PostgreSQL: what each runs of the partitions. */
import { Context, Effect, Layer, type Redacted } from "effect"
import { Placement } from "../../../src/engine/ports/Placement.ts"
import * as PlacementCluster from "../../../src/postgres/cluster/PlacementCluster.ts"
import { createClusterTables, createFormatLevels } from "../../../src/postgres/cluster/tables.ts"
import { freshDatabase } from "../../support/database.ts"
import { until } from "../support.ts"

export const partitions = 8

export interface RunningNode {
  /** The partitions that run here. */
  readonly running: ReadonlySet<number>
}

/** Starts a node that reaches PostgreSQL at this address. */
export const startNode = (name: string, databaseUrl: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const running = new Set<number>()
    const node = { name, version: "0.1.0", role: "all" }
    const services = yield* Layer.build(PlacementCluster.layer({ databaseUrl, node, takesPartitions: true }))
    yield* Context.get(services, Placement).place(partitions, (partition) =>
      Effect.andThen(
        Effect.sync(() => running.add(partition)),
        Effect.never
      ).pipe(Effect.ensuring(Effect.sync(() => running.delete(partition))))
    )
    return { running } satisfies RunningNode
  })

/** Returns once each of these nodes has partitions, and together they have all. */
export const spreadOver = (...nodes: ReadonlyArray<RunningNode>) =>
  until(
    Effect.sync(() => {
      const found = nodes.flatMap(({ running }) => [...running])
      return nodes.every(({ running }) => running.size > 0) && new Set(found).size === partitions
    })
  )

const tables = Layer.effectDiscard(Effect.andThen(createClusterTables, createFormatLevels))

/** A database with what nodes need. */
export const clusterDatabase = Layer.provideMerge(tables, freshDatabase())
