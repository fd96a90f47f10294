/**
 * Runs the reactors of a workload in simulated processes: its publishers, and its projections, whose tables are in
 * memory. Also builds them anew, and works a projection through the whole truth alone. Needs no service.
 */
import { Cause, Effect, Exit } from "effect"
import { describe } from "../../engine/describe.ts"
import { rebuildReactor } from "../../engine/operator/rebuild.ts"
import { ReactorTransaction } from "../../engine/ports/Cursors.ts"
import type { ProgramStreams } from "../../engine/ports/ProgramStreams.ts"
import { onCommit, type Reactor } from "../../engine/Reactor.ts"
import { type LogRecord, recordsOf } from "../../engine/records.ts"
import { isAway } from "../../engine/shell/reactors/parkRecords.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"
import type { Projection, Workload } from "./Workload.ts"

/** The name of the checker that reports them. */
export const projectionsName = "reactors agree with the log"

/** All reactors of a workload. */
export const reactorsOf = ({ projections = [], publishers = [] }: Workload): ReadonlyArray<Reactor<ProgramStreams>> => [
  ...projections.map(({ reactor }) => reactor),
  ...publishers
]

/** Reports a projection that fails on a batch for a reason of its own. */
export const watchedReactor = (simulation: Simulation, reactor: Reactor<never>): Reactor<never> => ({
  ...reactor,
  handle: (records) =>
    Effect.tapCause(
      Effect.suspend(() => reactor.handle(records)),
      (cause) =>
        Effect.sync(() => {
          if (Cause.hasInterruptsOnly(cause) || isAway(Cause.squash(cause))) return
          const places = records.map(({ index, kind, sequence }) => `${sequence}/${index} of ${kind}`)
          simulation.violate(
            projectionsName,
            `${reactor.name} fails on ${places.slice(0, 5).join(", ")}: ${describe(Cause.squash(cause))}`
          )
        })
    )
})

/** Builds a reactor anew, where one partition has it all: several are not one transaction in memory. */
export const rebuild = (simulation: Simulation, name: string, engine: SimulatedEngine | undefined): void => {
  if (engine?.engine === undefined || simulation.scenario.topology.partitions > 1) return
  // Operators end every other process first (docs/reactors.md): one that was replaced may purge once more, by the
  // cursors as they stood before.
  if (simulation.living().length > 1) return
  const projection = simulation.workload.projections?.find(({ reactor }) => reactor.name === name)
  const clear = projection === undefined ? Effect.void : onCommit(() => projection.clear())
  engine.isRebuilding = true
  engine.fork(rebuildReactor(engine.engine, { reactor: name, clear }), (exit) => {
    engine.isRebuilding = false
    simulation.trace(() => `${engine.name} builds ${name} anew: ${exit._tag}`)
    if (Exit.isSuccess(exit)) simulation.marks.reach("a reactor was built anew")
  })
}

/** Every record of the truth that a reactor wants, in the order of each log. */
export const wantedRecords = (
  { truth }: Simulation,
  engine: SimulatedEngine,
  { wants }: Pick<Reactor<ProgramStreams>, "wants">
): ReadonlyArray<ReadonlyArray<LogRecord>> =>
  truth.commits.map((commits, partition) => {
    const registry = engine.partition(partition)?.context.registry
    if (registry === undefined) return []
    return commits.flatMap(({ frame, sequence }) =>
      recordsOf(registry, partition, sequence, frame).flatMap((record) =>
        record._tag !== "Unreadable" && (wants?.(record) ?? true) ? [record] : []
      )
    )
  })

/** Works a cleared projection through records one by one. Returns the fault, if it has one. */
export const workAlone = ({ clear, reactor }: Projection, records: ReadonlyArray<LogRecord>): string | undefined => {
  clear()
  for (const record of records) {
    const actions: Array<() => void> = []
    const transaction = ReactorTransaction.of({ onCommit: (action) => void actions.push(action) })
    const exit = Effect.runSyncExit(Effect.provideService(reactor.handle([record]), ReactorTransaction, transaction))
    if (Exit.isFailure(exit)) return describe(Cause.squash(exit.cause))
    for (const action of actions) action()
  }
  return undefined
}
