/**
 * Simulates the PostgreSQL of a deployment: checkpoints, cursors with their transactions, and signals, each with its
 * faults on the way. The stores themselves are the engine's in memory; each process has one of these ports.
 */
import { Effect, Stream } from "effect"
import * as CheckpointsMemory from "../../engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../engine/memory/CursorsMemory.ts"
import * as SignalsMemory from "../../engine/memory/SignalsMemory.ts"
import { type CheckpointRecord, Checkpoints, CheckpointsUnavailable } from "../../engine/ports/Checkpoints.ts"
import { Cursors, CursorsUnavailable } from "../../engine/ports/Cursors.ts"
import { Placement } from "../../engine/ports/Placement.ts"
import { type Signal, Signals, SignalsUnavailable } from "../../engine/ports/Signals.ts"
import type { Host, HostedProcess } from "../kernel/Host.ts"
import type { Operation } from "./Scenario.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"
import { booksName } from "./SqlEffects.ts"

/** How long a statement waits for an answer. */
const statementTimeoutMillis = 2_000

/** How long a slow statement takes. */
const slowMillis = [3_000, 15_000] as const

/** When an abandoned statement is carried out. */
const lateMillis = [30_000, 90_000] as const

/** Waits on the time of one process. */
const wait = (simulation: Host, engine: HostedProcess, millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const cancel = simulation.world.after(millis, engine.process, () => resume(Effect.void))
    return Effect.sync(cancel)
  })

export const crash = (simulation: Host, engine: HostedProcess, where: string): Effect.Effect<never> =>
  Effect.suspend(() => {
    simulation.crash(engine, where)
    return Effect.never
  })

/** A statement with its delay each way. */
export const statement = <A, E, F>(
  simulation: Host,
  engine: HostedProcess,
  operation: Operation | undefined,
  unavailable: (message: string) => F,
  effect: (fault: string | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E | F> =>
  // One callback instead of a chain of effects: there are some hundred statements in a scenario.
  Effect.callback<A, E | F>((resume) => {
    const { world } = simulation
    const { process } = engine
    const fault = operation === undefined ? undefined : simulation.faults.take(operation)
    let cancel: () => void
    const giveUp = () => {
      cancel = world.after(statementTimeoutMillis, process, () =>
        resume(Effect.fail(unavailable("simulated: the database does not answer")))
      )
    }
    if (fault === "hangs") cancel = () => {}
    else if (fault === "unavailable" || fault === "lost") giveUp()
    else {
      const there = fault === "slow" ? simulation.draw.int(...slowMillis) : simulation.latency()
      cancel = world.after(there + simulation.outages.leftOf("hanging database"), process, () => {
        if (simulation.outages.isOut("database")) giveUp()
        else resume(effect(fault))
      })
    }
    return Effect.sync(() => cancel())
  })

export const makeCheckpoints = (simulation: Host, engine: HostedProcess): Checkpoints["Service"] => {
  const store = simulation.stores.checkpoints
  const inner = CheckpointsMemory.make(store)
  const unavailable = (message: string) => new CheckpointsUnavailable({ message })
  const ask = <A, E>(operation: Operation | undefined, effect: (fault: string | undefined) => Effect.Effect<A, E>) =>
    statement(simulation, engine, operation, unavailable, effect)
  return Checkpoints.of({
    fixPartitions: inner.fixPartitions,
    deployment: inner.deployment,
    list: (partition) =>
      ask("listCheckpoints", (fault) =>
        Effect.map(
          inner.list(partition),
          (records): ReadonlyArray<CheckpointRecord> =>
            // The promise does not cover both stores forgetting the same data together: nothing would be left that
            // shows the loss (docs/architecture.md, rule 9).
            fault === "stale" && simulation.damaged.get(partition)?.isLost !== true ? records.slice(1) : records
        )
      ),
    save: (write) =>
      ask("save", (fault) => {
        if (fault === "crash before") return crash(simulation, engine, "before a checkpoint was written")
        const rows = [...write.rows]
        const saved = Effect.tap(inner.save({ ...write, rows }), () =>
          Effect.sync(() => simulation.saved(write.record, rows, engine))
        )
        switch (fault) {
          case "hangs and is written late":
            // Its caller has given up by then, and may be dead.
            simulation.world.after(simulation.draw.int(...lateMillis), undefined, () => void Effect.runSyncExit(saved))
            return Effect.never
          case "crash after":
            return Effect.andThen(saved, crash(simulation, engine, "after a checkpoint was written"))
          case "answer lost":
            return Effect.andThen(saved, Effect.fail(unavailable("simulated: the answer was lost")))
          default:
            return saved
        }
      }),
    load: (partition, addresses, through) =>
      Effect.tap(
        ask("load", () => inner.load(partition, addresses, through)),
        (rows) => Effect.sync(() => rows.length > 0 && simulation.marks.reach("an actor was read again"))
      ),
    keys: (partition, page) => ask("lookup", () => inner.keys(partition, page)),
    organizations: (partition, page) => ask("lookup", () => inner.organizations(partition, page)),
    states: (partition, page) => ask("lookup", () => inner.states(partition, page)),
    timers: (partition, options) => ask("timers", () => inner.timers(partition, options)),
    expiring: (partition, options) => ask("keys", () => inner.expiring(partition, options)),
    prune: (partition, stateless) => ask("lookup", () => inner.prune(partition, stateless)),
    expire: (partition, now, limit) => ask("expire", () => inner.expire(partition, now, limit)),
    discardAbove: (partition, sequence) => ask(undefined, () => inner.discardAbove(partition, sequence))
  })
}

export const makeCursors = (simulation: Host, engine: HostedProcess): Cursors["Service"] => {
  const inner = CursorsMemory.make(simulation.stores.cursors)
  const unavailable = (message: string) => new CursorsUnavailable({ message })
  const ask = <A, E>(operation: Operation | undefined, effect: (fault: string | undefined) => Effect.Effect<A, E>) =>
    statement(simulation, engine, operation, unavailable, effect)
  return Cursors.of({
    list: (partition) => ask("lookup", () => inner.list(partition)),
    read: (partition, reactor) => ask("lookup", () => inner.read(partition, reactor)),
    transact: (move, effects) =>
      Effect.suspend(() => {
        const fault = simulation.faults.take("transact")
        if (fault === "unavailable" || simulation.outages.isOut("database")) {
          return Effect.andThen(
            wait(simulation, engine, statementTimeoutMillis),
            Effect.suspend(() => Effect.fail(unavailable("simulated: the database does not answer")))
          )
        }
        if (fault === "hangs") return Effect.never
        const usual = fault === "slow" ? simulation.draw.int(...slowMillis) : simulation.latency()
        const commit = usual + simulation.outages.leftOf("hanging database")
        const last =
          fault === "effects fail"
            ? Effect.suspend(() =>
                // Those of a program fail because of the database: what fails for a reason of its own is parked.
                Effect.fail(
                  (move.reactor === booksName
                    ? new Error("simulated: an effect failed")
                    : unavailable("simulated: the transaction was rolled back")) as never
                )
              )
            : fault === "crash before the commit"
              ? crash(simulation, engine, "before a reactor's commit")
              : wait(simulation, engine, commit)
        const done = inner.transact(
          move,
          Effect.tap(effects, () => last)
        )
        return Effect.tap(done, (): Effect.Effect<void, CursorsUnavailable> => {
          simulation.trace(
            () =>
              `  ${engine.name}: the cursor of ${move.reactor} moves from ${move.from.sequence} to ${move.to.sequence}`
          )
          if (fault === "crash after the commit") return crash(simulation, engine, "after a reactor's commit")
          if (fault === "answer lost") return Effect.fail(unavailable("simulated: the answer of the commit was lost"))
          return wait(simulation, engine, simulation.latency())
        })
      }),
    attempt: inner.attempt,
    park: inner.park,
    parkedOrganizations: (partition, reactor, page) =>
      ask("lookup", () => inner.parkedOrganizations(partition, reactor, page)),
    parkedCount: inner.parkedCount,
    parkedAmong: inner.parkedAmong,
    forget: (partition, reactor) => ask("lookup", () => inner.forget(partition, reactor)),
    parked: inner.parked,
    unpark: inner.unpark,
    reset: inner.reset
  })
}

/** Most signals in one chunk. */
const signalBatch = 8

export const makeSignals = (simulation: Simulation, engine: SimulatedEngine): Signals["Service"] => {
  const store = simulation.stores.signals
  const inner = SignalsMemory.make(store)
  return Signals.of({
    publish: inner.publish,
    forget: (partition, through) =>
      Effect.suspend(() => {
        simulation.forgetting(partition, through, engine.name)
        return Effect.andThen(wait(simulation, engine, simulation.latency()), inner.forget(partition, through))
      }),
    subscribe: (partition, after) =>
      Stream.flattenIterable(
        Stream.unfold(Math.max(after, store.forgotten[partition]!), (at) =>
          Effect.callback<readonly [ReadonlyArray<Signal>, number], SignalsUnavailable>((resume) => {
            const look = () => {
              const list = store.lists[partition]!
              if (list.length <= at) return
              store.waiting.delete(look)
              const batch = list.slice(at, at + signalBatch)
              const fault = simulation.faults.take("subscribe")
              simulation.world.after(simulation.latency(), engine.process, () =>
                resume(
                  fault === "cut off"
                    ? Effect.fail(new SignalsUnavailable({ message: "simulated: the subscription was cut off" }))
                    : Effect.succeed([batch, batch[batch.length - 1]!.sequence] as const)
                )
              )
            }
            store.waiting.add(look)
            look()
            return Effect.sync(() => void store.waiting.delete(look))
          })
        )
      )
  })
}

export const makePlacement = (simulation: Simulation, engine: SimulatedEngine): Placement["Service"] =>
  Placement.of({
    place: (partitions, serve) =>
      Effect.forEach(
        Array.from({ length: partitions }, (_, partition) => partition),
        (partition) => Effect.forkScoped(serve(partition), { startImmediately: true }),
        { discard: true }
      ),
    owns: () => Effect.as(wait(simulation, engine, simulation.latency()), engine.owns)
  })
