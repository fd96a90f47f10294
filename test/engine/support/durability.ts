/** Helpers of the tests of recovery, checkpoints and witnesses: frames in a deployment, and faults of its log. */
import { expect } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import { acceptLoss } from "../../../src/engine/operator/acceptLoss.ts"
import { Checkpoints } from "../../../src/engine/ports/Checkpoints.ts"
import type { Reactor } from "../../../src/engine/Reactor.ts"
import { Counter } from "./actors.ts"
import { type Deployment, type StartOptions, serving, start } from "./deployment.ts"

export const target = { organization: "org_1" }
export const add = (amount: number) => ({ _tag: "Add" as const, amount })
export const get = { _tag: "Get" as const }

/** Adds `count` ones, each in a frame of its own. */
export const addEach = (deployment: Deployment, count: number, options: StartOptions = {}, organizations = 1) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine, stop } = yield* serving(deployment, options)
      for (let n = 0; n < count; n++) {
        yield* engine.ask(Counter, { organization: `org_${1 + (n % organizations)}` }, add(1))
        // A log in memory answers at once: the checkpoints' fiber gets its turn here.
        yield* Effect.yieldNow
      }
      yield* TestClock.adjust(0)
      yield* stop
    })
  )

export const recordsOf = (deployment: Deployment) =>
  [...deployment.checkpoints.of(0).records].map(({ sequence }) => sequence).sort((a, b) => a - b)

/** The sentence with which a partition refuses to start. */
export const refusal = (deployment: Deployment, options: StartOptions = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine } = yield* start(deployment, options)
      yield* TestClock.adjust("10 seconds")
      const [found] = yield* engine.status
      expect(found?.status._tag).toBe("Stopped")
      return found?.status._tag === "Stopped" ? found.status.reason : ""
    })
  )

export const recover = (deployment: Deployment, dryRun: boolean, reactors: ReadonlyArray<string> = []) =>
  acceptLoss(0, { dryRun, reactors }).pipe(
    Effect.provide(JournalMemory.layerOf(deployment.journal)),
    Effect.provide(CheckpointsMemory.layerOf(deployment.checkpoints)),
    Effect.provide(CursorsMemory.layerOf(deployment.cursors))
  )

/** Cuts the last frames off, as a block file that is cut short does. */
export const truncate = (deployment: Deployment, frames: number) => {
  deployment.journal.log(0).frames.splice(-frames)
}

/** As above, in an engine that takes no checkpoint meanwhile; the one of its end is dropped. */
export const addEachWithoutCheckpoint = (deployment: Deployment, count: number) => {
  const kept = [...deployment.checkpoints.of(0).records]
  return Effect.tap(addEach(deployment, count), () =>
    Effect.sync(() => {
      deployment.checkpoints.of(0).records = kept
    })
  )
}

export const layerOf = (service: Checkpoints["Service"]): Layer.Layer<Checkpoints> =>
  Layer.succeed(Checkpoints, service)

export const stuck: Reactor<never> = { name: "stuck", handle: () => Effect.never }
export const follower: Reactor<never> = { name: "follower", handle: () => Effect.void }
