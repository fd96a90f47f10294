/** Describes a node's part in the cluster, for code that shows or ends it. It loads nothing of effect/cluster. */
import { Context, type Effect, type Scope } from "effect"
import type { FormatsRefused } from "../../common/formatLevels.ts"
import type * as Nodes from "./nodes.ts"

/** This node's part in the cluster. */
export class Membership extends Context.Service<
  Membership,
  {
    readonly node: Nodes.NodeCard
    readonly nodes: Nodes.Nodes
    /** Hands all partitions over and takes none any more; returns when others may have them. */
    readonly leave: Effect.Effect<void>
    /**
     * Runs an effect before the node hands its partitions over, also when an operator asks it to, until the scope ends.
     * Work for a partition that is recorded before then is not done again by its next owner. The effect bounds its own
     * time.
     */
    readonly beforeLeave: (effect: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
    /** The level of formats in force, as the node saw it last. */
    readonly level: () => number
    /**
     * Fails when formats are in force that this program does not know: it has been silent for long, and the others have
     * gone on without it.
     */
    readonly outdated: Effect.Effect<never, FormatsRefused>
    /** Whether it has left. */
    readonly hasLeft: () => boolean
    /** Why the clock of this machine keeps it from taking partitions; undefined while it does not. */
    readonly clockProblem: () => string | undefined
  }
>()("sluice/postgres/Membership") {}
