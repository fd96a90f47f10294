/**
 * Makes the events of the webhook workloads: events of the catalogue by number, so that every side posts the same bodies, and a time inside
 * a body, so that the sink can tell how long the event was on its way.
 */
import { encodeEvent } from "../../../../src/events/event.ts"

export const eventType = "telco.lookup.completed"
/** Signs all deliveries. */
export const secret = "whsec_benchmarkBenchmarkBenchmarkBenchmark0000001"
/** Kept open to the endpoint, and deliveries in flight at most. */
export const connections = 64
/** Path of the endpoint that answers, of the one that never does, and of the one that takes `slowMillis` for it. */
export const hookPath = "/hook"
export const hangingPath = "/hang"
export const slowPath = "/slow"
export const slowMillis = 1_200

/** The payload of an event; the number has at most ten digits. */
export const dataOf = (number: number) => {
  const tn = String(number).padStart(10, "0")
  return { tn, npa: tn.slice(0, 3), nxx: tn.slice(3, 6), hasCarrier: true, hasInventory: false }
}

export interface NumberedEvent {
  readonly eventId: string
  readonly body: string
}

/** An event as the platform would deliver it. */
export const numberedEvent = (number: number): NumberedEvent => {
  const eventId = `evt_00000000-0000-8000-8000-${number.toString(16).padStart(12, "0")}`
  const body = encodeEvent({
    eventId,
    type: eventType,
    service: "telco",
    data: dataOf(number),
    livemode: true,
    createdAt: 1_700_000_000_000 + number
  })
  return { eventId, body }
}

/** The clock that all processes of a machine share has so many ticks a millisecond, and begins anew after so many ticks. */
const ticksPerMilli = 10
const ticksInAll = 10_000_000_000

const ticks = (): number => {
  const [seconds, nanos] = process.hrtime()
  return (seconds * 1000 + nanos / 1e6) * ticksPerMilli
}

/** A moment some milliseconds ago, as the number of an event. */
export const momentBefore = (millis: number): number => Math.floor(ticks() - millis * ticksPerMilli) % ticksInAll

/** Milliseconds since the moment of an event's number. */
export const millisSince = (moment: number): number =>
  ((ticks() - moment + 2 * ticksInAll) % ticksInAll) / ticksPerMilli
