/** Defines the origin of a command that no client has asked: a message of an ingest, or a signal. */

/** The message of an ingest, or the signal, that a command came from. */
export interface CommandOrigin {
  /** The ingest's name; `signalsName` with the partition's number for a signal. */
  readonly source: string
  readonly sequence: number
}

/** The source of signals. No ingest has such a name. */
export const signalsName = "signals of partition"
