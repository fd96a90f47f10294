/**
 * Registers the tasks of one life of a partition, from the acknowledged frame until their outcome is recorded
 * (docs/architecture.md, rule 11). A task is something to do outside because of a record: a POST, a mail. It is begun
 * before any row is written, and the reactor that follows the log asks the register what to write. Synchronous, and
 * without I/O: callers bring the time.
 *
 * A task waits, runs and ends, or it is left to the queue of the reactor's store. Its frame is recorded at any of these
 * points. A transaction that is rolled back changes nothing here: its records are written again, as the register knows
 * them then.
 */
import type { TaskBounds } from "./TaskBounds.ts"

/**
 * `waiting`: nobody has begun it. `running`: its runner has it. `ended`: its outcome is known. `left`: the queue has
 * it, and it is not begun from here any more.
 */
export type TaskStatus = "waiting" | "running" | "ended" | "left"

/** A task; only its register changes it. */
export interface Task<Payload, Outcome> {
  readonly organization: string
  /** The record that caused it, and what tells it from the other tasks of that record. */
  readonly sequence: number
  readonly index: number
  readonly key: string
  readonly payload: Payload
  readonly status: TaskStatus
  /** Set once it has ended. */
  readonly outcome: Outcome | undefined
}

/** The part of a task that a transaction writes. */
export type WrittenTask<Payload, Outcome> =
  /** Its final state. */
  | { readonly _tag: "Ended"; readonly task: Task<Payload, Outcome>; readonly outcome: Outcome }
  /** A job that its runner holds: the outcome follows by way of the queue. */
  | { readonly _tag: "Running"; readonly task: Task<Payload, Outcome> }
  /** A job that waits. */
  | { readonly _tag: "Left"; readonly task: Task<Payload, Outcome> }

interface Entry<Payload, Outcome> extends Task<Payload, Outcome> {
  status: TaskStatus
  outcome: Outcome | undefined
  /** How the latest transaction has written it, whether that was committed or not. */
  written: "ended" | "running" | undefined
  /** Whether its outcome belongs into the queue, because its frame is recorded or its life is over. */
  isQueued: boolean
  /** Whether its life has ended before its frame was recorded: the next life finds it in the log. */
  isAbandoned: boolean
  readonly frame: FrameTasks<Payload, Outcome>
  readonly characters: number
}

interface FrameTasks<Payload, Outcome> {
  readonly sequence: number
  readonly byKey: Map<string, Entry<Payload, Outcome>>
  /** Tasks that wait or run. */
  open: number
}

const keyOf = (index: number, key: string): string => `${index} ${key}`

export class TaskRegister<Payload, Outcome> {
  private readonly frames = new Map<number, FrameTasks<Payload, Outcome>>()
  private readonly bounds: TaskBounds
  private readonly late: (task: Task<Payload, Outcome>, outcome: Outcome) => void
  private readonly settled: (sequence: number, hasEnded: boolean) => void
  private openTasks = 0
  /** Frames up to here are recorded, so they get no further tasks. */
  private recordedThrough = 0
  private isClosed = false

  /**
   * `late` gets an outcome that came after a transaction had written the task as running; it belongs into the queue.
   * `settled` is called for each task that has ended or was left.
   */
  constructor(
    bounds: TaskBounds,
    late: (task: Task<Payload, Outcome>, outcome: Outcome) => void,
    settled: (sequence: number, hasEnded: boolean) => void = () => undefined
  ) {
    this.bounds = bounds
    this.late = late
    this.settled = settled
  }

  /**
   * Adds a task of a frame, before a transaction writes it. Undefined where there is no room, the frame is recorded, or
   * the life is over: the reactor then writes a job. `characters` bounds the memory of its payload.
   */
  add(
    place: Pick<Task<Payload, Outcome>, "organization" | "sequence" | "index" | "key">,
    payload: Payload,
    characters: number
  ): Task<Payload, Outcome> | undefined {
    const { index, key, organization, sequence } = place
    if (this.isClosed || sequence <= this.recordedThrough) return undefined
    if (!this.bounds.take(organization, characters)) return undefined
    const frame = this.frames.get(sequence) ?? { sequence, byKey: new Map(), open: 0 }
    this.frames.set(sequence, frame)
    const task: Entry<Payload, Outcome> = {
      organization,
      sequence,
      index,
      key,
      payload,
      status: "waiting",
      outcome: undefined,
      written: undefined,
      isQueued: false,
      isAbandoned: false,
      frame,
      characters
    }
    frame.byKey.set(keyOf(index, key), task)
    frame.open++
    this.openTasks++
    return task
  }

  /** Notes that a runner begins a task. False where it must not: the task is left to the queue. */
  run(task: Task<Payload, Outcome>): boolean {
    const entry = task as Entry<Payload, Outcome>
    if (entry.status !== "waiting") return false
    entry.status = "running"
    return true
  }

  /** Leaves a task that waits to the queue. */
  leave(task: Task<Payload, Outcome>): void {
    const entry = task as Entry<Payload, Outcome>
    if (entry.status !== "waiting") return
    entry.status = "left"
    this.settle(entry)
  }

  /** Ends a task that runs. False where the outcome belongs into the queue, which the caller tells. */
  end(task: Task<Payload, Outcome>, outcome: Outcome): boolean {
    const entry = task as Entry<Payload, Outcome>
    if (entry.isQueued || entry.status !== "running") return false
    entry.status = "ended"
    entry.outcome = outcome
    this.settle(entry)
    return true
  }

  /** Whether the outcome of a task that runs belongs into the queue. */
  isQueued(task: Task<Payload, Outcome>): boolean {
    return (task as Entry<Payload, Outcome>).isQueued
  }

  /** Whether a task must not be begun any more, because the next life of its partition has it. */
  isAbandoned(task: Task<Payload, Outcome>): boolean {
    return (task as Entry<Payload, Outcome>).isAbandoned
  }

  /** Whether a transaction has written a task as running, and it is not known whether that was committed. */
  isBeingWritten(task: Task<Payload, Outcome>): boolean {
    const { isQueued, written } = task as Entry<Payload, Outcome>
    return written === "running" && !isQueued
  }

  /** The part of a task that the transaction writes; undefined without one. A task that waits is left to the queue. */
  write(sequence: number, index: number, key: string): WrittenTask<Payload, Outcome> | undefined {
    const entry = this.frames.get(sequence)?.byKey.get(keyOf(index, key))
    if (entry === undefined) return undefined
    if (entry.status === "ended") {
      entry.written = "ended"
      return { _tag: "Ended", task: entry, outcome: entry.outcome as Outcome }
    }
    if (entry.status === "running") {
      entry.written = "running"
      return { _tag: "Running", task: entry }
    }
    this.leave(entry)
    return { _tag: "Left", task: entry }
  }

  /** Whether all tasks of a frame have ended or were left. */
  isSettled(sequence: number): boolean {
    return (this.frames.get(sequence)?.open ?? 0) === 0
  }

  /** Tasks that wait or run, over all frames. */
  get open(): number {
    return this.openTasks
  }

  /** Notes that the store has all frames up to this one. */
  recorded(sequence: number): void {
    this.recordedThrough = Math.max(this.recordedThrough, sequence)
    for (const frame of this.frames.values()) {
      if (frame.sequence > sequence) continue
      this.frames.delete(frame.sequence)
      for (const entry of frame.byKey.values()) {
        const { outcome, status, written } = entry
        this.release(entry)
        // It ended between the transaction that wrote it as running and this call.
        if (status === "ended" && written === "running") this.late(entry, outcome as Outcome)
      }
    }
  }

  /** Ends the life. What runs goes on, and its outcome counts where the queue has a job for it. */
  close(): void {
    this.isClosed = true
    for (const frame of this.frames.values())
      for (const entry of frame.byKey.values()) {
        entry.isAbandoned = true
        this.release(entry)
      }
    this.frames.clear()
  }

  /** Forgets a task, which still may run. */
  private release(entry: Entry<Payload, Outcome>): void {
    entry.isQueued = true
    this.leave(entry)
    if (entry.status === "running") this.settle(entry)
    this.bounds.give(entry.organization, entry.characters)
  }

  private settle({ frame, status }: Entry<Payload, Outcome>): void {
    frame.open--
    this.openTasks--
    this.settled(frame.sequence, status === "ended")
  }
}
