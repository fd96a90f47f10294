/**
 * Defines the port of placement: the partitions that this process runs (docs/architecture.md, "Placement" and rule 4).
 * Placement keeps two owners apart in the normal case. It does not exclude them at every instant; the journal's fence
 * protects the log. Implementations: `layerLocal` here (one process owns everything, no lock), the one-machine one with
 * a deployment-wide advisory lock under `src/postgres`; a clustered one fits the same shape (each partition a singleton
 * whose `run` is `serve`).
 */
import { Context, Data, Effect, Layer, type Scope } from "effect"

/**
 * Another process runs the partitions, so this one may not. The message says who it is and what an operator can do.
 * Terminal. See {@link Placement}.
 */
export class PlacementRefused extends Data.TaggedError("PlacementRefused")<{ readonly message: string }> {}

/** Placement cannot say now whether a partition is ours. See {@link Placement}. */
export class PlacementUnavailable extends Data.TaggedError("PlacementUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The port that assigns partitions to this process: all of them on one machine, a share of them in a cluster.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Placement } from "sluice"
 *
 * // a port: whether the first partition is run by this process
 * export const isOurs = Effect.flatMap(Placement, ({ owns }) => owns(0))
 * ```
 */
export class Placement extends Context.Service<
  Placement,
  {
    /**
     * Runs `serve(partition)` in a fiber of its own for each of the partitions 0 to `partitions - 1` for as long as
     * this process owns it, and interrupts it when the partition is lost. Returns when the first assignment is made
     * (one machine: all partitions, immediately after the lock is taken) and `serve` has begun to run for it (fork with
     * `startImmediately`). Fibers and locks end with the scope. `serve` never ends by itself while the partition is
     * healthy or can be healed: the engine's supervisor loop is inside it.
     *
     * One machine with a lock: when the lock is held elsewhere, `PlacementRefused`. When the lock's connection is lost
     * later, `owns` answers false until the same lock could be taken again; the partitions are not interrupted for that
     * (the fence protects the log), but they do not claim again without it.
     */
    readonly place: (
      partitions: number,
      serve: (partition: number) => Effect.Effect<void>
    ) => Effect.Effect<void, PlacementRefused | PlacementUnavailable, Scope.Scope>

    /**
     * The level of formats in force: frames and rows must not need a higher one, because a process of an older program
     * may own the partition next. It never falls. Omitted if no older program runs.
     */
    readonly level?: () => number

    /**
     * Whether several processes share the partitions. One that is fenced repeatedly then rests, instead of waiting for
     * an operator: a machine that is too busy loses its partitions more than once, and another process may have them
     * next.
     */
    readonly isShared?: boolean

    /**
     * Whether this process owns the partition, by a fresh look-up (for a lock: asked of the server), not from memory.
     */
    readonly owns: (partition: number) => Effect.Effect<boolean, PlacementUnavailable>
  }
>()("sluice/engine/Placement") {}

/** One process owns all partitions without coordination: for the library in memory, for tests and simulations. */
export const layerLocal: Layer.Layer<Placement> = Layer.succeed(
  Placement,
  Placement.of({
    place: (partitions, serve) =>
      Effect.forEach(
        Array.from({ length: partitions }, (_, partition) => partition),
        (partition) => Effect.forkScoped(serve(partition), { startImmediately: true }),
        { discard: true }
      ),
    owns: () => Effect.succeed(true)
  })
)
