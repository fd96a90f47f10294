/**
 * Finds the tasks of a part at the head of the log (docs/architecture.md, rule 11): it folds what its tasks depend on,
 * organization by organization, from each acknowledged frame, and offers their tasks to a runner. The reactor behind it
 * folds the same records and decides alone what is written. An organization is known here once the reactor has committed
 * its state; until then the reactor writes jobs for it. Synchronous; the definition is pure but for its runner.
 */
import { BoundedMap } from "../../common/BoundedMap.ts"
import type { CommittedFrame, LogRecord } from "../records.ts"
import type { TaskBounds } from "./TaskBounds.ts"
import { type Task, TaskRegister } from "./TaskRegister.ts"
import type { LifeOfTasks, TaskLife } from "./TaskSource.ts"

/** Organizations of a partition whose state is kept. */
const maximumKnown = 10_000

/** Tasks of one frame; the reactor writes jobs for the others. It bounds the work of one turn. */
export const maximumTasksOfFrame = 2_048

/** A task that a record asks for. */
export interface NewTask<Payload> {
  /** Tells the tasks of a record apart. */
  readonly key: string
  readonly payload: Payload
  /** The size of the payload. */
  readonly characters: number
}

/** The tasks of a part: pure functions, and the runner. */
export interface TaskDefinition<State, Payload, Outcome> {
  readonly fold: (state: State, record: LogRecord) => State
  /** The tasks of a record, by the state with the record folded in. */
  readonly tasks: (record: LogRecord, state: State) => ReadonlyArray<NewTask<Payload>>
  /** A record has changed the state of its organization. */
  readonly changed: (before: State, after: State, record: LogRecord) => void
  /** Takes tasks, in the order of the log: the runner begins each now or later, or leaves it. */
  readonly offer: (tasks: ReadonlyArray<Task<Payload, Outcome>>, register: TaskRegister<Payload, Outcome>) => void
  /** Takes note of a task for which there is no room: the reactor writes a job for it. */
  readonly missed?: (task: NewTask<Payload>) => void
  /** The reactor has recorded all frames up to this one. */
  readonly recorded?: (sequence: number) => void
  /** The reactor may have committed states that nobody was told of. */
  readonly resumed: () => void
  /** Records an outcome in the queue, because a transaction has written its task as running. */
  readonly late: (task: Task<Payload, Outcome>, outcome: Outcome) => void
}

export class HeadTasks<State, Payload, Outcome> implements LifeOfTasks {
  readonly register: TaskRegister<Payload, Outcome>
  private readonly definition: TaskDefinition<State, Payload, Outcome>
  private readonly life: TaskLife
  private readonly known = new BoundedMap<string, State>(maximumKnown)
  private readonly excluded = new Set<string>()
  private isAnyExcluded = false

  constructor(life: TaskLife, definition: TaskDefinition<State, Payload, Outcome>, bounds: TaskBounds) {
    this.life = life
    this.definition = definition
    this.register = new TaskRegister<Payload, Outcome>(bounds, definition.late, life.settled)
  }

  readonly followed = (frame: CommittedFrame): void => {
    const offered: Array<Task<Payload, Outcome>> = []
    for (const record of frame.records) {
      // Its meaning for the state is not known. The reactor parks it.
      if (record._tag === "Unreadable") this.known.delete(record.organization)
      else this.take(record, offered)
    }
    this.offer(offered)
  }

  /**
   * Makes an organization known, with its state behind the frame `at`, which the reactor has committed. What the frames
   * behind it ask for is offered now.
   */
  seed(organization: string, state: State, at: number): void {
    if (!this.wants(organization)) return
    const frames = this.life.framesAfter(at)
    if (frames === undefined) return
    this.known.set(organization, state)
    const offered: Array<Task<Payload, Outcome>> = []
    for (const { records } of frames)
      for (const record of records) {
        if (record.organization !== organization) continue
        if (record._tag === "Unreadable") this.known.delete(organization)
        else this.take(record, offered)
      }
    this.offer(offered)
  }

  /** Whether an organization waits to be made known by `seed`. */
  wants(organization: string): boolean {
    return !this.isAnyExcluded && !this.excluded.has(organization) && this.known.get(organization) === undefined
  }

  /** The state of an organization at the head of the log, where it is known. */
  stateOf(organization: string): State | undefined {
    return this.known.get(organization)
  }

  readonly isSettled = (sequence: number): boolean => this.register.isSettled(sequence)
  readonly open = (): number => this.register.open
  readonly recorded = (sequence: number): void => {
    this.register.recorded(sequence)
    this.definition.recorded?.(sequence)
  }

  readonly exclude = (organization: string | undefined): void => {
    if (organization === undefined) {
      this.isAnyExcluded = true
      this.known.clear()
      return
    }
    this.excluded.add(organization)
    this.known.delete(organization)
  }

  readonly allow = (organization: string): void => {
    this.excluded.delete(organization)
  }

  readonly resumed = (): void => this.definition.resumed()

  readonly close = (): void => {
    this.known.clear()
    this.isAnyExcluded = true
    this.register.close()
  }

  private take(record: LogRecord, offered: Array<Task<Payload, Outcome>>): void {
    const { organization } = record
    const before = this.known.get(organization)
    if (before === undefined) return
    const { changed, fold, tasks } = this.definition
    try {
      const after = fold(before, record)
      if (after !== before) {
        this.known.set(organization, after)
        changed(before, after, record)
      }
      for (const found of tasks(record, after)) {
        const { characters, key, payload } = found
        const { index, sequence } = record
        const hasRoom = offered.length < maximumTasksOfFrame
        const task = hasRoom
          ? this.register.add({ organization, sequence, index, key }, payload, characters)
          : undefined
        if (task === undefined) this.definition.missed?.(found)
        else offered.push(task)
      }
    } catch {
      // The reactor fails on the record too, and parks it with its error.
      this.known.delete(organization)
    }
  }

  private offer(offered: ReadonlyArray<Task<Payload, Outcome>>): void {
    if (offered.length > 0) this.definition.offer(offered, this.register)
  }
}
