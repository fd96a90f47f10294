/**
 * The interface of a checker of a simulation of deliveries: what it is told, and how it reports. One per file under
 * `checkers`; each scenario gets new ones.
 */
import type { DeliveryOutcome } from "../../../src/webhooks/delivery/ports.ts"
import type { Endpoint, EndpointCommand } from "../../../src/webhooks/endpoint/model.ts"
import type { Simulation } from "./WebhooksSimulation.ts"

/** A request on its way to a receiver. */
export interface Sent {
  readonly deliveryId: string
  readonly endpointId: string
  readonly eventId: string
  /** Virtual time, and the time by the process's clock, in milliseconds. */
  readonly at: number
  readonly wallMillis: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The answer, undefined while there is none. `isReceived` says whether the receiver got the request. */
  isReceived: boolean
  status: number | undefined
  retryAfterMillis: number
}

/** The place of a delivery in its line. */
export interface Lined {
  readonly endpointId: string
  readonly line: string
  readonly id: string
  readonly sequence: number
  readonly index: number
}

export interface Observer {
  /** A delivery has got its place in a line. */
  readonly lined?: (lined: Lined) => void
  /** An attempt begins. */
  readonly sent?: (sent: Sent) => void
  /** An outcome counts in the store. */
  readonly recorded?: (outcome: DeliveryOutcome) => void
  /** A command was decided, by its owner or the dispatcher; the states before and after. */
  readonly decided?: (
    endpointId: string,
    command: EndpointCommand,
    before: Endpoint | undefined,
    after: Endpoint | undefined
  ) => void
  /** An event of the log has met an endpoint as it was at that place. */
  readonly matched?: (
    endpointId: string,
    endpoint: Endpoint,
    event: { readonly eventId: string; readonly type: string }
  ) => void
  /** Between two steps. */
  readonly rested?: () => void
  /** At the end: nothing goes wrong any more, every endpoint is active, and time has passed. */
  readonly healed?: () => void
}

export interface Checker {
  readonly name: string
  /** `violate` reports a finding; the scenario ends there. */
  readonly make: (simulation: Simulation, violate: (message: string) => void) => Observer
}
