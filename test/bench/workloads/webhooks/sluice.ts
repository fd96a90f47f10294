/**
 * Deliveries by the platform, from the emitted event to the recorded outcome. In a closed loop events are emitted as long as fewer than
 * `outstanding` wait for their outcome; in an open loop they are due at fixed times, which they carry in their bodies, so that the sink can tell
 * how long after that moment they arrived.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { type Context, Effect, Metric } from "effect"
import type { Sample } from "../../runner/benchmark.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, sampleDeliveries } from "./deliveries.ts"
import { hangingPath, hookPath, momentBefore } from "./events.ts"
import { type Deliveries, startDeliveries } from "./platform.ts"

export interface SluiceLoad extends DeliveryLoad {
  /** Organizations with one endpoint each. */
  readonly endpoints: number
  /** Further ones that never answer, and those that refuse the connection. */
  readonly hanging?: number
  readonly refusing?: number
  /** Where nobody listens. */
  readonly refusingUrl?: string
  /** Of an open loop; the organizations emit in turn. */
  readonly eventsPerSecond?: number
  /** Attempts at the same time, where it is not what the platform has by default. */
  readonly inFlight?: number
}

export interface OpenSample extends Sample {
  /** Events whose endpoint answers; all of them were delivered in the end. */
  readonly emitted: number
  /** Events that were refused because the engine was full. */
  readonly refused: number
}

/** Asks under way at most. */
const callers = 256
/** How long outcomes may take after the last event, and how often they are looked for. */
const drainMillis = 60_000
const drainPollMillis = 20

const outcomes = (outcome: string) =>
  Metric.counter("sluice_webhook_deliveries_total", {
    description: "Outcomes of deliveries and their attempts",
    incremental: true,
    attributes: { outcome }
  })

const countOf = (context: Context.Context<never>): (() => number) => {
  const succeeded = outcomes("succeeded")
  return () => succeeded.valueUnsafe(context).count
}

/** Emits for ever, never more than `outstanding` ahead of what is recorded. */
const closedLoop = ({ emit }: Deliveries, { endpoints, outstanding }: SluiceLoad, recorded: () => number) => {
  let asked = 0
  let underWay = 0
  const pump = () => {
    let room = Math.min(callers - underWay, outstanding - (asked - recorded()))
    for (; room > 0; room--) {
      underWay++
      Effect.runCallback(emit(asked % endpoints, asked), {
        onExit: (exit) => {
          underWay--
          if (exit._tag === "Failure") failLoudly(exit.cause)
        }
      })
      asked++
    }
  }
  return Effect.acquireRelease(
    Effect.sync(() => setInterval(pump, 1)),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
}

/** Emits so many a second for a time; the organizations whose endpoint answers are the first ones. */
const openLoop = ({ emit }: Deliveries, organizations: number, answering: number, perSecond: number, seconds: number) =>
  new Promise<OpenSample>((resolve) => {
    const started = performance.now()
    let sent = 0
    let ended = 0
    let emitted = 0
    let refused = 0
    const send = () => {
      const now = performance.now()
      const due = Math.min((now - started) / 1000, seconds) * perSecond
      for (; sent < due; sent++) {
        const organization = sent % organizations
        const late = now - started - (sent / perSecond) * 1000
        Effect.runCallback(emit(organization, momentBefore(late)), {
          onExit: (exit) => {
            ended++
            if (exit._tag === "Failure") refused++
            else if (organization < answering) emitted++
          }
        })
      }
      if (due < seconds * perSecond || ended < sent) return
      clearInterval(timer)
      resolve({ emitted, refused })
    }
    const timer = setInterval(send, 1)
  })

const drained = async (recorded: () => number, expected: number): Promise<void> => {
  for (const deadline = performance.now() + drainMillis; recorded() < expected; ) {
    if (performance.now() > deadline) throw new Error(`${recorded()} of ${expected} outcomes were recorded`)
    await new Promise((resolve) => setTimeout(resolve, drainPollMillis))
  }
}

/** The places of which organizations with an endpoint each get so many together: each gets no more than half of what stays free. */
const sharedPlaces = (inFlight: number, organizations: number): number =>
  Math.ceil((inFlight * (organizations + 3)) / organizations)

serveWorkload((load: SluiceLoad) =>
  Effect.gen(function* () {
    const { endpoints, eventsPerSecond, hanging = 0, inFlight, refusing = 0, seconds, url } = load
    const deliveries = yield* startDeliveries(
      load.dataFolder,
      inFlight === undefined ? undefined : { capacity: { main: sharedPlaces(inFlight, endpoints), slow: inFlight } }
    )
    const organizations = endpoints + hanging + refusing
    const urlOf = (index: number) =>
      index < endpoints
        ? url + hookPath
        : index < endpoints + hanging
          ? url + hangingPath
          : `${load.refusingUrl}${hookPath}`
    yield* Effect.forEach(
      Array.from({ length: organizations }, (_, index) => index),
      (index) => deliveries.createEndpoint(index, index, urlOf(index)),
      { concurrency: callers, discard: true }
    )
    const recorded = countOf(yield* Effect.context<never>())
    if (eventsPerSecond === undefined) {
      yield* closedLoop(deliveries, load, recorded)
      yield* Effect.sleep(load.warmUpSeconds * 1000)
      return { measure: () => sampleDeliveries(recorded, seconds) }
    }
    const emit = async (forSeconds: number): Promise<OpenSample> => {
      const before = recorded()
      const sample = await openLoop(deliveries, organizations, endpoints, eventsPerSecond, forSeconds)
      await drained(recorded, before + sample.emitted)
      return sample
    }
    yield* Effect.promise(() => emit(load.warmUpSeconds))
    return { measure: () => emit(seconds) }
  })
)
