/**
 * Simulates the streams of a program: what ingests read and publishers store, each with its faults on the way. The
 * streams themselves are those in memory; each process has one of these ports.
 */
import { Effect, Stream } from "effect"
import * as ProgramStreamsMemory from "../../engine/memory/ProgramStreamsMemory.ts"
import { ProgramStreams, type StreamBatch, StreamUnavailable } from "../../engine/ports/ProgramStreams.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"

/** How long a call waits for an answer. */
const callTimeoutMillis = 2_000

/** How long a hanging subscription says nothing until it ends. */
const hangingMillis = [5_000, 40_000] as const

/** When a late answer comes. */
const lateMillis = [500, 4_000] as const

/** Most messages in one batch. */
const batchMessages = 4

const away = (message: string) => new StreamUnavailable({ message: `simulated: ${message}` })

/** Waits on the time of one process. */
const wait = ({ world }: Simulation, { process }: SimulatedEngine, millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const cancel = world.after(millis, process, () => resume(Effect.void))
    return Effect.sync(cancel)
  })

/** A batch in smaller ones, so that a process can die between any two messages. */
const split = ({ messages, through }: StreamBatch): ReadonlyArray<StreamBatch> => {
  const batches: Array<StreamBatch> = []
  for (let from = 0; from < messages.length; from += batchMessages) {
    const some = messages.slice(from, from + batchMessages)
    const isLast = from + batchMessages >= messages.length
    batches.push({ messages: some, through: isLast ? through : some[some.length - 1]!.sequence })
  }
  return batches.length === 0 ? [{ messages, through }] : batches
}

export const makeProgramStreams = (simulation: Simulation, engine: SimulatedEngine): ProgramStreams["Service"] => {
  const { draw, faults, outages } = simulation
  const store = simulation.stores.streams
  const inner = ProgramStreamsMemory.make(store)
  const refuse = (millis: number, message: string) =>
    Effect.andThen(
      wait(simulation, engine, millis),
      Effect.suspend(() => Effect.fail(away(message)))
    )
  const given = (batch: StreamBatch) =>
    Effect.suspend(() => {
      const fault = faults.take("messages")
      if (fault === "cut off") return refuse(simulation.latency(), "the subscription was cut off")
      const millis = fault === "late" ? draw.int(...lateMillis) : simulation.latency()
      return Effect.as(wait(simulation, engine, millis), batch)
    })
  return ProgramStreams.of({
    before: inner.before,
    ends: (stream) =>
      Effect.suspend(() =>
        faults.take("ends") === undefined && !outages.isOut("log")
          ? Effect.andThen(wait(simulation, engine, simulation.latency()), inner.ends(stream))
          : refuse(callTimeoutMillis, "the stream does not answer")
      ),
    follow: (request) =>
      Stream.unwrap(
        Effect.suspend(() => {
          const fault = faults.take("follow")
          if (fault === "hangs") return refuse(draw.int(...hangingMillis), "the subscription says nothing")
          if (fault !== undefined || outages.isOut("log"))
            return refuse(callTimeoutMillis, "the stream does not answer")
          const batches = Stream.flatMap(inner.follow(request), (batch) => Stream.fromIterable(split(batch)))
          return Effect.succeed(Stream.mapEffect(batches, given))
        })
      ),
    publish: (message) =>
      Effect.suspend(() => {
        const fault = faults.take("store")
        if (fault === "hangs" || fault === "unavailable" || outages.isOut("log"))
          return refuse(fault === "hangs" ? 2 * callTimeoutMillis : callTimeoutMillis, "the stream does not answer")
        // The duplicate window of the stream is over.
        if (fault === "ids forgotten") for (const { ids } of store.streams.values()) ids.clear()
        const there = fault === "late" ? draw.int(...lateMillis) : simulation.latency()
        const stored = Effect.tap(Effect.andThen(wait(simulation, engine, there), inner.publish(message)), () =>
          Effect.sync(() => simulation.published(message, engine))
        )
        if (fault === "answer lost") return Effect.andThen(stored, refuse(callTimeoutMillis, "the answer was lost"))
        if (fault === "crash after")
          return Effect.andThen(
            stored,
            Effect.suspend(() => {
              simulation.crash(engine, "after a message was stored")
              return Effect.never
            })
          )
        return Effect.andThen(stored, wait(simulation, engine, simulation.latency()))
      })
  })
}
