/**
 * Deliveries by the platform, from the emitted event to the recorded outcome. In a closed loop events are emitted as long as fewer than
 * `outstanding` wait for their outcome; in an open loop they are due at fixed times, which they carry in their bodies, so that the sink can tell
 * how long after that moment they arrived.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { type Context, Effect, Metric } from "effect"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"
import { makeNames } from "../../../../src/webhooks/target/TargetNames.ts"
import { startNameServer } from "../../../support/nameServer.ts"
import type { Sample } from "../../runner/benchmark.ts"
import { serveWorkload } from "../workload.ts"
import { type DeliveryLoad, failLoudly, sampleDeliveries } from "./deliveries.ts"
import { hangingPath, hookPath, momentBefore, slowPath } from "./events.ts"
import { type Deliveries, startDeliveries } from "./platform.ts"

/** They answer while everything warms up and hang then, take long for each answer, or have names of which no name server knows. */
export type BadKind = "warmed" | "slow" | "dead"

export interface SluiceLoad extends DeliveryLoad {
  /** Organizations with one endpoint each. */
  readonly endpoints: number
  /** Further ones that never answer, and those that refuse the connection. */
  readonly hanging?: number
  readonly refusing?: number
  /** Where nobody listens. */
  readonly refusingUrl?: string
  /** Further endpoints of one more organization, and what is wrong with them. */
  readonly bad?: { readonly endpoints: number; readonly kind: BadKind }
  /** Of an open loop; the organizations emit in turn. */
  readonly eventsPerSecond?: number
  /** Values by which events are in lines, in a closed loop; no order without it. */
  readonly keys?: number
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
const closedLoop = ({ emit }: Deliveries, { endpoints, keys, outstanding }: SluiceLoad, recorded: () => number) => {
  const draw = new Prng(1, "keys")
  let asked = 0
  let underWay = 0
  const pump = () => {
    let room = Math.min(callers - underWay, outstanding - (asked - recorded()))
    for (; room > 0; room--) {
      underWay++
      Effect.runCallback(emit(asked % endpoints, keys === undefined ? asked : draw.int(0, keys - 1)), {
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

/** The organizations of an open loop: all, the first ones, whose endpoint answers, and how many answers an event of the last one has. */
interface Emitting {
  readonly organizations: number
  readonly answering: number
  readonly answersOfLast: number
}

/** Emits so many a second for a time. */
const openLoop = (
  { emit }: Deliveries,
  { answering, answersOfLast, organizations }: Emitting,
  perSecond: number,
  seconds: number
) =>
  new Promise<OpenSample & { readonly answers: number }>((resolve) => {
    const started = performance.now()
    let sent = 0
    let ended = 0
    let emitted = 0
    let answers = 0
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
            else if (organization < answering) {
              emitted++
              answers++
            } else if (organization === organizations - 1) answers += answersOfLast
          }
        })
      }
      if (due < seconds * perSecond || ended < sent) return
      clearInterval(timer)
      resolve({ emitted, answers, refused })
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
    const { bad, endpoints, eventsPerSecond, hanging = 0, inFlight, refusing = 0, seconds, url } = load
    const nameServer = yield* startNameServer
    const deliveries = yield* startDeliveries(
      load.dataFolder,
      inFlight === undefined ? undefined : { capacity: { main: sharedPlaces(inFlight, endpoints), slow: inFlight } },
      makeNames({ servers: [nameServer.address] })
    )
    const organizations = endpoints + hanging + refusing + (bad === undefined ? 0 : 1)
    const urlOf = (index: number) =>
      index < endpoints
        ? url + hookPath
        : index < endpoints + hanging
          ? url + hangingPath
          : `${load.refusingUrl}${hookPath}`
    yield* Effect.forEach(
      Array.from({ length: endpoints + hanging + refusing }, (_, index) => index),
      (index) => deliveries.createEndpoint(index, index, urlOf(index), load.keys === undefined ? undefined : "tn"),
      { concurrency: callers, discard: true }
    )
    const badOnes = Array.from({ length: bad?.endpoints ?? 0 }, (_, number) => organizations + number)
    yield* Effect.forEach(badOnes, (endpoint) => {
      const name = `dead${endpoint}.example`
      nameServer.answer(name, "silent")
      const badUrl = { warmed: url + hookPath, slow: url + slowPath, dead: `https://${name}${hookPath}` }
      return deliveries.createEndpoint(organizations - 1, endpoint, badUrl[bad!.kind])
    })
    const recorded = countOf(yield* Effect.context<never>())
    if (eventsPerSecond === undefined) {
      yield* closedLoop(deliveries, load, recorded)
      yield* Effect.sleep(load.warmUpSeconds * 1000)
      return { measure: () => sampleDeliveries(recorded, seconds) }
    }
    const emit = async (forSeconds: number, answersOfLast: number): Promise<OpenSample> => {
      const before = recorded()
      const emitting = { organizations, answering: endpoints, answersOfLast }
      const { answers, emitted, refused } = await openLoop(deliveries, emitting, eventsPerSecond, forSeconds)
      await drained(recorded, before + answers)
      return { emitted, refused }
    }
    yield* Effect.promise(() => emit(load.warmUpSeconds, bad?.kind === "dead" ? 0 : badOnes.length))
    if (bad?.kind === "warmed")
      yield* Effect.forEach(badOnes, (endpoint) =>
        deliveries.moveEndpoint(organizations - 1, endpoint, url + hangingPath)
      )
    return { measure: () => emit(seconds, bad?.kind === "slow" ? badOnes.length : 0) }
  })
)
