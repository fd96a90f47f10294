/** A deployment in memory whose stores outlive the engines on it, as disks outlive processes. */
import { Context, Effect, Exit, Layer, type Scope } from "effect"
import * as Scopes from "effect/Scope"
import { TestClock } from "effect/testing"
import type { EngineConfig } from "../../../src/engine/config.ts"
import { Engine, type EngineOptions, layer } from "../../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import * as ProgramStreamsMemory from "../../../src/engine/memory/ProgramStreamsMemory.ts"
import * as SignalsMemory from "../../../src/engine/memory/SignalsMemory.ts"
import * as WorkerJobsMemory from "../../../src/engine/memory/WorkerJobsMemory.ts"
import type { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import type { Cursors } from "../../../src/engine/ports/Cursors.ts"
import type { Journal } from "../../../src/engine/ports/Journal.ts"
import { layerLocal, type Placement } from "../../../src/engine/ports/Placement.ts"
import { layerNone, type Remote } from "../../../src/engine/ports/Remote.ts"
import type { Signals } from "../../../src/engine/ports/Signals.ts"
import { WorkerJobs } from "../../../src/engine/ports/WorkerJobs.ts"
import { internals } from "../../../src/engine/shell/partition/internals.ts"
import type { Partition } from "../../../src/engine/shell/partition/Partition.ts"
import { Account, Counter, Limiter, Reminder } from "./actors.ts"

export interface Deployment {
  readonly journal: JournalMemory.JournalStore
  readonly checkpoints: CheckpointsMemory.CheckpointsStore
  readonly cursors: CursorsMemory.CursorsStore
  readonly signals: SignalsMemory.SignalsStore
  /** The program's own streams: one of orders. */
  readonly streams: ProgramStreamsMemory.ProgramStreamsStore
  readonly workerJobs: WorkerJobsMemory.WorkerJobsStore
}

export const makeDeployment = (options?: {
  readonly maximumBytes?: number
  readonly partitions?: number
}): Deployment => ({
  journal: JournalMemory.makeStore(options),
  checkpoints: CheckpointsMemory.makeStore(),
  cursors: CursorsMemory.makeStore(),
  signals: SignalsMemory.makeStore(options?.partitions ?? 1),
  streams: ProgramStreamsMemory.makeStore({ orders: ["orders.>"] }),
  workerJobs: WorkerJobsMemory.makeStore()
})

export interface StartOptions extends Partial<EngineOptions<never>> {
  readonly journalLayer?: Layer.Layer<Journal>
  readonly checkpointsLayer?: Layer.Layer<Checkpoints>
  readonly cursorsLayer?: Layer.Layer<Cursors>
  readonly placementLayer?: Layer.Layer<Placement>
  readonly remoteLayer?: Layer.Layer<Remote>
  readonly signalsLayer?: Layer.Layer<Signals>
  readonly workerJobs?: WorkerJobs["Service"]
  readonly config?: Partial<EngineConfig>
}

/** An engine that runs; `stop` closes it gracefully. */
export interface Running {
  readonly engine: Engine["Service"]
  readonly stop: Effect.Effect<void>
}

/** Starts an engine with one partition over a deployment; it ends with the scope, or with `stop`. */
export const start = (
  deployment: Deployment,
  options: StartOptions = {}
): Effect.Effect<Running, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scopes.fork(yield* Effect.scope)
    const { checkpointsLayer, config, cursorsLayer, journalLayer, placementLayer, remoteLayer, ...others } = options
    const { signalsLayer, workerJobs, ...rest } = others
    const engineLayer = layer({
      actors: [Counter, Account, Reminder],
      lanes: [Limiter],
      ...rest,
      config: { partitions: 1, ...config }
    }).pipe(
      Layer.provide([
        journalLayer ?? JournalMemory.layerOf(deployment.journal),
        checkpointsLayer ?? CheckpointsMemory.layerOf(deployment.checkpoints),
        cursorsLayer ?? CursorsMemory.layerOf(deployment.cursors),
        placementLayer ?? layerLocal,
        signalsLayer ?? SignalsMemory.layerOf(deployment.signals),
        ProgramStreamsMemory.layerOf(deployment.streams),
        Layer.succeed(WorkerJobs, workerJobs ?? WorkerJobsMemory.make(deployment.workerJobs)),
        remoteLayer ?? layerNone
      ])
    )
    const context = yield* Layer.buildWithScope(engineLayer, scope)
    return { engine: Context.get(context, Engine), stop: Scopes.close(scope, Exit.void) }
  })

/** A partition that runs here, for looks that its users do not have. */
export const partitionIn = (engine: Engine["Service"], id = 0): Partition => internals(engine).partitions.get(id)!

/** Starts an engine and waits until it serves. */
export const serving = (deployment: Deployment, options: StartOptions = {}) =>
  Effect.tap(start(deployment, options), ({ engine }) => engine.ready)

/** Time goes by in steps, between which all fibers get their turns, as they would in reality. */
export const elapse = (seconds: number, stepMillis = 500): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let left = seconds * 1_000; left > 0; left -= stepMillis) {
      yield* TestClock.adjust(Math.min(left, stepMillis))
      for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
    }
  })
