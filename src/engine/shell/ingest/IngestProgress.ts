/** Holds how far a partition has come with an ingest in this life, and whether it waits for an operator. */
import type { IngestStart } from "../../ingestRules.ts"
import { Wakeup } from "../../Wakeup.ts"

/** The state of an ingest at a partition. See {@link Ingest.status}. */
export type IngestState = "starting" | "following" | "away" | "stopped"

export class IngestProgress {
  state: IngestState = "starting"
  /** Why it is away or stopped; undefined otherwise. */
  reason: string | undefined = undefined
  /** The last message that was read. */
  read: number | undefined = undefined
  /** Messages of the same subjects behind it, as the stream said. */
  behind: number | undefined = undefined
  readonly resumed = new Wakeup()
  private newStart: IngestStart | undefined = undefined

  /** Makes a stopped ingest begin again at a place; false if it is not stopped. */
  resume(from: IngestStart): boolean {
    if (this.state !== "stopped") return false
    this.newStart = from
    this.resumed.notify()
    return true
  }

  /** The place at which an operator has it begin again, until it has begun there. */
  get start(): IngestStart | undefined {
    return this.newStart
  }

  begun(): void {
    this.newStart = undefined
  }

  is(state: IngestState, reason?: string): void {
    this.state = state
    this.reason = reason
  }
}
