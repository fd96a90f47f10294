/**
 * Defines the messages between `sluice serve --workers` and its workers, over the channel that Node opens between a
 * process and its forks.
 */

/** The first message to a worker. It has everything else from the same arguments and environment as its supervisor. */
export interface WorkerSeat {
  /** From 1. */
  readonly number: number
  /** Its name among the nodes. */
  readonly name: string
  readonly databaseUrl: string
  readonly natsUrl: string
  /** Whether other machines share the partitions, so that one of theirs says nothing about this one. */
  readonly hasPeers: boolean
}

/** A worker serves. */
export interface Ready {
  readonly apiUrl: string
  /** Set for the one worker that has the admin API. */
  readonly adminUrl: string | undefined
  /** The output of a start. */
  readonly announcement: string
}

export type ToWorker =
  | { readonly sluice: "seat"; readonly seat: WorkerSeat }
  /** Asks for its own metrics. */
  | { readonly sluice: "collect"; readonly id: number }
  /** Answers `metrics`. */
  | { readonly sluice: "collected"; readonly id: number; readonly text: string }

export type FromWorker =
  | { readonly sluice: "sit" }
  | { readonly sluice: "ready"; readonly ready: Ready }
  | { readonly sluice: "own"; readonly id: number; readonly text: string }
  /** Asks for the metrics of all workers. */
  | { readonly sluice: "metrics"; readonly id: number }

/** Set in the environment of a worker, to its number. */
export const workerVariable = "WORKER_OF_SLUICE"

/** Whether a message is one of these; Node's own have no such field. */
export const isOurs = (message: unknown): message is { readonly sluice: string } =>
  typeof message === "object" && message !== null && "sluice" in message
