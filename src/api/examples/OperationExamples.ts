/**
 * Defines the form of the examples in the API's description. They are functions, so that a process makes them only when
 * somebody asks for the description.
 */

/** The request and the answers of an operation, by example. */
export interface OperationExample {
  /** The body of a request that the platform accepts; undefined for an operation without a body. */
  readonly body?: unknown
  /** The answer of success, in the type of content that is JSON or text. */
  readonly answer?: unknown
  /** Answers of failure that are no errors, by status. */
  readonly failures?: Readonly<Record<string, unknown>>
}

/** By operation id. */
export type OperationExamples = Readonly<Record<string, OperationExample>>

/** 2026-01-01T00:00:00Z in milliseconds since the Unix epoch: the time of the examples. */
export const exampleMillis = 1_767_225_600_000

/** The same time as text. */
export const exampleTime = "2026-01-01T00:00:00.000Z"

/** A page that is the last one. */
export const lastPage = { hasMore: false } as const

/** An event, as the log and deliveries show it. */
export const exampleEvent = {
  eventId: "evt_00040000-0001-8000-8000-0000d0000000",
  type: "telco.lookup.completed",
  service: "telco",
  data: { tn: "2125550100", npa: "212", nxx: "555", hasCarrier: false, hasInventory: false },
  livemode: true,
  createdAt: exampleMillis
} as const
