/** Defines the options and answers of acts on parked records. */
import type { Effect } from "effect"
import type { ParkedRecord } from "../ports/Cursors.ts"

/** The parked records of one organization, in a list of organizations. See {@link Parked.list}. */
export interface ParkedEntry {
  readonly partition: number
  readonly reactor: string
  readonly organization: string
  readonly records: number
}

/** A page of the organizations that have parked records at a reactor. See {@link Parked.list}. */
export interface ParkedList {
  readonly reactor: string
  /** All records that are parked at the reactor, over all partitions. */
  readonly records: number
  /** In the order of partition and organization. */
  readonly organizations: ReadonlyArray<ParkedEntry>
  readonly hasMore: boolean
}

/** The result of trying parked records again. See {@link Parked.retry}. */
export interface RetriedParked {
  readonly retried: number
  /** Records still parked: the first of them failed again, or the limit was reached. */
  readonly left: number
  /** Why the first remaining record failed again; undefined if none did. */
  readonly error?: string
}

/** An effect that runs in an act's transaction, with the records that the act removes. See {@link Parked.retry}. */
export type Alongside = (records: ReadonlyArray<ParkedRecord>) => Effect.Effect<void, unknown>

/** The number of parked records to try again. See {@link Parked.retry}. */
export interface RetryOptions {
  /** Tries no more records than this, in whole batches; default: all of them. */
  readonly limit?: number
  readonly alongside?: Alongside
}

/** The record to give up. See {@link Parked.dismiss}. */
export interface DismissOptions {
  /** The expected record. If another one is the first by now, nothing is done. */
  readonly record?: { readonly sequence: number; readonly index: number } | undefined
  readonly alongside?: Alongside
}
