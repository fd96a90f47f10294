/** A node's part in the cluster, for whoever shows it or ends it. It loads nothing of effect/cluster. */
import { Context, type Effect } from "effect"
import type * as Nodes from "./nodes.ts"

/** This node's part in the cluster. */
export class Membership extends Context.Service<
  Membership,
  {
    readonly node: Nodes.NodeCard
    readonly nodes: Nodes.Nodes
    /** Hands all partitions over and takes none any more; returns when others may have them. */
    readonly leave: Effect.Effect<void>
    /** Whether it has left. */
    readonly hasLeft: () => boolean
  }
>()("sluice/postgres/Membership") {}
