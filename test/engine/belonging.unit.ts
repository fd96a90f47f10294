/** A log and a database belong together: a stranger is refused while nothing is written yet, and what is from before there were ids is adopted once. */
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger } from "effect"
import * as CheckpointsMemory from "../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../src/engine/memory/JournalMemory.ts"
import { acceptClock, acceptLoss } from "../../src/engine/operator/acceptLoss.ts"
import { Journal } from "../../src/engine/ports/Journal.ts"
import { requireOwnLogs } from "../../src/engine/shell/partition/ownLogs.ts"
import { Counter } from "./support/actors.ts"
import { type Deployment, makeDeployment, type StartOptions, serving, start } from "./support/deployment.ts"

const target = { organization: "org_1", key: "a" }
const quiet = Effect.provideService(Logger.CurrentLoggers, new Set<never>())

/** Serves once and decides something, and answers the log as it is then. */
const serveOnce = (deployment: Deployment, options: StartOptions = {}, amount = 1) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { engine, stop } = yield* serving(deployment, options)
      yield* engine.ask(Counter, target, { _tag: "Add", amount })
      yield* stop
    })
  )

const log = ({ journal }: Deployment) => journal.log(0)

/** A deployment with an id of its own. */
const named = (id: string): Deployment => ({
  ...makeDeployment(),
  checkpoints: CheckpointsMemory.makeStore({ deployment: id })
})

/** The same log with another database. */
const withFreshDatabase = (deployment: Deployment): Deployment => ({
  ...named("fresh"),
  journal: deployment.journal
})

/** As it was before there were ids. */
const forgetId = (deployment: Deployment) => {
  log(deployment).deployment = undefined
}

const refusal = (deployment: Deployment) =>
  Effect.scoped(quiet(Effect.flip(Effect.flatMap(start(deployment), ({ engine }) => engine.ready))))

/** Tries to start, and says that the log is as it was. */
const refusedUntouched = Effect.fnUntraced(function* (deployment: Deployment) {
  const before = { ...log(deployment), frames: [...log(deployment).frames] }
  const error = yield* refusal(deployment)
  expect(log(deployment)).toEqual(before)
  return (error as { readonly message: string }).message
})

const givingUp = (deployment: Deployment, dryRun: boolean) =>
  Effect.provide(
    acceptLoss(0, { dryRun, reactors: [] }),
    Layer.mergeAll(
      JournalMemory.layerOf(deployment.journal),
      CheckpointsMemory.layerOf(deployment.checkpoints),
      CursorsMemory.layerOf(deployment.cursors)
    )
  )

it.effect("a new log carries its deployment's id, and is served again", () =>
  Effect.gen(function* () {
    const deployment = named("first")
    yield* serveOnce(deployment)
    expect(log(deployment).deployment).toBe(deployment.checkpoints.deployment)
    yield* serveOnce(deployment)
  })
)

it.effect("another database is refused, with both names and what to do, and the log's owner goes on", () =>
  Effect.gen(function* () {
    const first = named("first")
    yield* serveOnce(first)
    const second = withFreshDatabase(first)
    const message = yield* refusedUntouched(second)
    expect(message).toContain(`belongs to the deployment ${first.checkpoints.deployment}`)
    expect(message).toContain(second.checkpoints.deployment)
    expect(message).toContain("SLUICE_LOG_NAMESPACE")
    yield* serveOnce(first)
  })
)

it.effect("two databases that start on empty logs at the same moment: one of them serves", () =>
  Effect.gen(function* () {
    const first = named("first")
    const second = withFreshDatabase(first)
    const both = yield* Effect.all(
      [first, second].map((one) => Effect.result(quiet(serveOnce(one)))),
      {
        concurrency: "unbounded"
      }
    )
    expect(both.map(({ _tag }) => _tag).sort()).toEqual(["Failure", "Success"])
  })
)

it.effect("a log from before there were ids is adopted by the database that knows it", () =>
  Effect.gen(function* () {
    const deployment = named("first")
    yield* serveOnce(deployment)
    forgetId(deployment)
    yield* serveOnce(deployment)
    expect(log(deployment).deployment).toBe(deployment.checkpoints.deployment)
    expect(yield* refusedUntouched(withFreshDatabase(deployment))).toContain("belongs to the deployment")
  })
)

it.effect("an empty log without an id is adopted", () =>
  Effect.gen(function* () {
    const deployment = named("first")
    expect(log(deployment).deployment).toBeUndefined()
    yield* serveOnce(deployment)
    expect(log(deployment).deployment).toBe(deployment.checkpoints.deployment)
  })
)

it.effect("a fresh database does not take a log without an id that holds frames", () =>
  Effect.gen(function* () {
    const first = named("first")
    yield* serveOnce(first)
    forgetId(first)
    const message = yield* refusedUntouched(withFreshDatabase(first))
    expect(message).toContain("no checkpoint and no cursor in it fits")
    expect(message).toContain("sluice recover --partition 0 --accept-loss")
    yield* serveOnce(first)
  })
)

// Looks again after pauses, in case a server answered from an old state.
it.live("a database with checkpoints of another log does not take a log without an id", () =>
  Effect.gen(function* () {
    const [first, second] = [named("first"), named("second")]
    yield* serveOnce(first)
    yield* serveOnce(second, {}, 2)
    forgetId(first)
    forgetId(second)
    // Its checkpoints stand at places that the other's log has too, with other frames.
    expect(yield* refusedUntouched({ ...first, journal: second.journal })).toContain("has seen another frame")
    yield* serveOnce(second)
  })
)

it.effect("a database whose only witness of a log without an id is a cursor adopts it", () =>
  Effect.gen(function* () {
    const deployment = named("first")
    const handled = yield* Deferred.make<void>()
    const reactors = [{ name: "sql", handle: () => Deferred.succeed(handled, undefined) }]
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { engine } = yield* serving(deployment, { reactors })
        yield* engine.ask(Counter, target, { _tag: "Add", amount: 1 })
        yield* Deferred.await(handled)
        while (deployment.cursors.cursors.size === 0) yield* Effect.yieldNow
      })
    )
    forgetId(deployment)
    deployment.checkpoints.of(0).records = []
    yield* serveOnce(deployment, { reactors })
    expect(log(deployment).deployment).toBe(deployment.checkpoints.deployment)
  })
)

it.effect("recover has nothing to do with a database that nothing has served with", () =>
  Effect.gen(function* () {
    const first = named("first")
    yield* serveOnce(first)
    expect((yield* Effect.flip(givingUp(withFreshDatabase(first), false))).message).toContain("nothing has served")
  })
)

it.effect("recover refuses another deployment's log", () =>
  Effect.gen(function* () {
    const first = named("first")
    yield* serveOnce(first)
    const second = withFreshDatabase(first)
    yield* refusal(second)
    const frames = log(first).frames.length
    for (const dryRun of [true, false]) {
      const error = yield* Effect.flip(givingUp(second, dryRun))
      expect(error.message).toContain("belongs to the deployment")
    }
    const clock = yield* Effect.flip(
      Effect.provide(
        acceptClock(0),
        Layer.merge(JournalMemory.layerOf(second.journal), CheckpointsMemory.layerOf(second.checkpoints))
      )
    )
    expect(clock.message).toContain("belongs to the deployment")
    expect(log(first).frames.length).toBe(frames)
  })
)

it.effect("recover takes a log over that carries no id, for a database that has lost everything", () =>
  Effect.gen(function* () {
    const first = named("first")
    // Without a checkpoint nothing of the log was purged, so all of it can be replayed.
    yield* serveOnce(first)
    forgetId(first)
    const second = withFreshDatabase(first)
    yield* refusal(second)
    const planned = yield* givingUp(second, true)
    expect(planned.fits).toBe(false)
    expect(planned.lines.join()).toContain("Taken over:")
    expect(log(first).deployment).toBeUndefined()
    const done = yield* givingUp(second, false)
    expect(done.lines).toEqual(planned.lines)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { engine } = yield* serving(second)
        expect((yield* engine.state(Counter, target)).total).toBe(1)
      })
    )
  })
)

it.effect(
  "a place that has none of the logs that the database knows is refused as that: nothing is made there, and no loss is offered",
  () =>
    Effect.gen(function* () {
      const deployment = named("first")
      const look = ({ checkpoints, cursors, journal }: Deployment) =>
        Effect.provide(
          requireOwnLogs(1),
          Layer.mergeAll(
            JournalMemory.layerOf(journal),
            CheckpointsMemory.layerOf(checkpoints),
            CursorsMemory.layerOf(cursors)
          )
        )
      // A new deployment has none either.
      yield* look(deployment)
      yield* serveOnce(deployment)
      yield* look(deployment)
      const elsewhere: Deployment = { ...deployment, journal: JournalMemory.makeStore() }
      const { message } = yield* Effect.flip(look(elsewhere))
      expect(message).toContain("this NATS has none of this deployment's logs")
      expect(message).toContain("NATS_URL, SLUICE_LOG_NAMESPACE")
      expect(message).not.toContain("accept-loss")
      expect(elsewhere.journal.has(0)).toBe(false)
      // Empty streams of an earlier start at the wrong place are no logs either.
      elsewhere.journal.log(0).deployment = "first"
      expect((yield* Effect.flip(look(elsewhere))).message).toContain("none of this deployment's logs")
    })
)

it.effect("a place whose logs another node has begun since the first look at them is the right one", () =>
  Effect.gen(function* () {
    const deployment = named("first")
    yield* serveOnce(deployment)
    let looks = 0
    const journal = yield* Effect.provide(Journal, JournalMemory.layerOf(deployment.journal))
    // The first look comes before the other node's first frame.
    const survey: (typeof journal)["survey"] = (partitions) =>
      looks++ === 0 ? Effect.succeed([]) : journal.survey(partitions)
    yield* Effect.provide(
      requireOwnLogs(1),
      Layer.mergeAll(
        Layer.succeed(Journal, { ...journal, survey }),
        CheckpointsMemory.layerOf(deployment.checkpoints),
        CursorsMemory.layerOf(deployment.cursors)
      )
    )
    expect(looks).toBe(2)
  })
)
