/**
 * Finds the deliveries of acknowledged frames and offers them to the dispatcher of this process, before a row of them is
 * written (docs/architecture.md, rule 11; docs/platform.md, 6.4). It folds the endpoints of organizations at the head of
 * the log, with the functions by which the SQL reactor folds and matches behind it. Tests, replays and retries go by way
 * of the queue. Needs no service.
 */
import type { FactRecord, LogRecord } from "../../engine/records.ts"
import { HeadTasks, type NewTask, type TaskDefinition } from "../../engine/tasks/HeadTasks.ts"
import { TaskBounds } from "../../engine/tasks/TaskBounds.ts"
import type { Task, TaskRegister } from "../../engine/tasks/TaskRegister.ts"
import type { LifeOfTasks, TaskLife, TaskSource } from "../../engine/tasks/TaskSource.ts"
import { readEvent } from "../../events/index.ts"
import { lineOf } from "../endpoint/deliveryOrder.ts"
import { dispositionOf, type FoldedEndpoint } from "../endpoint/model.ts"
import { WebhookEndpoint } from "../endpoint/rules.ts"
import type { DispatchListener } from "./DispatchListener.ts"
import { foldEndpoint, type MatchPlace, reachOf, type WrittenDelivery } from "./matchEvents.ts"
import { deliveryIdOf, jobLanes } from "./model.ts"
import type { DeliveryOutcome, DeliveryTask, TakenDelivery } from "./ports.ts"

/** The endpoints of an organization, by id. */
type Endpoints = ReadonlyMap<string, FoldedEndpoint>

type Register = TaskRegister<TakenDelivery, DeliveryOutcome>

const isEndpointFact = (record: LogRecord): record is FactRecord =>
  record._tag === "Fact" && record.kind === WebhookEndpoint.kind

/** The endpoints of an organization after a record. */
const fold = (endpoints: Endpoints, record: LogRecord): Endpoints => {
  if (!isEndpointFact(record)) return endpoints
  const folded = foldEndpoint(endpoints.get(record.key), record)
  const after = new Map(endpoints)
  if (folded.endpoint === null) after.delete(record.key)
  else after.set(record.key, folded)
  return after
}

/** The first attempts that an event asks for. */
const tasks = (record: LogRecord, endpoints: Endpoints): ReadonlyArray<NewTask<TakenDelivery>> => {
  if (record._tag !== "Event" || endpoints.size === 0) return []
  const { body, event } = readEvent(record)
  const { candidates, reach } = reachOf(record, endpoints)
  const found: Array<NewTask<TakenDelivery>> = []
  for (const { endpoint, endpointId } of candidates) {
    if (endpoint === null || dispositionOf(endpointId, endpoint, event, reach) !== "delivered") continue
    const line = event.type === "platform.test" ? undefined : lineOf(endpoint.ordering, event.data)
    const payload: TakenDelivery = {
      id: deliveryIdOf(event.eventId, endpointId),
      partition: record.partition,
      organizationId: record.organization,
      endpointId,
      lane: line === undefined ? jobLanes.first : jobLanes.line,
      attempt: 1,
      // Nobody else can have it before its job is written.
      leasedUntil: Number.POSITIVE_INFINITY,
      origin: "event",
      eventId: event.eventId,
      eventCreatedAt: event.createdAt,
      body,
      line,
      frame: record.sequence
    }
    found.push({ key: endpointId, payload, characters: body.length })
  }
  return found
}

/** The endpoint that a fact has changed; one that was deleted has no state. */
const changedBy = (
  before: Endpoints,
  after: Endpoints,
  { key, sequence }: FactRecord
): ReadonlyArray<FoldedEndpoint> => {
  const folded = after.get(key)
  if (folded !== undefined) return [folded]
  const deleted = before.get(key)
  return deleted === undefined ? [] : [{ ...deleted, sequence, endpoint: null }]
}

/** A delivery in the register of its partition's life. */
class RegisteredDelivery implements DeliveryTask {
  private readonly register: Register
  private readonly task: Task<TakenDelivery, DeliveryOutcome>

  constructor(register: Register, task: Task<TakenDelivery, DeliveryOutcome>) {
    this.register = register
    this.task = task
  }

  run(): boolean {
    return this.register.run(this.task)
  }

  leave(): void {
    this.register.leave(this.task)
  }

  end(outcome: DeliveryOutcome): boolean {
    return this.register.end(this.task, outcome)
  }

  get isQueued(): boolean {
    return this.register.isQueued(this.task)
  }

  get isBeingWritten(): boolean {
    return this.register.isBeingWritten(this.task)
  }

  get isAbandoned(): boolean {
    return this.register.isAbandoned(this.task)
  }
}

export class DeliveryTasks implements TaskSource {
  private readonly listener: () => DispatchListener | undefined
  private readonly bounds: TaskBounds
  private readonly lives = new Map<number, HeadTasks<Endpoints, TakenDelivery, DeliveryOutcome>>()

  constructor(listener: () => DispatchListener | undefined, bounds = new TaskBounds()) {
    this.listener = listener
    this.bounds = bounds
  }

  /** Deliveries that are not recorded yet. */
  get unrecorded(): number {
    return this.bounds.used
  }

  readonly open = (life: TaskLife): LifeOfTasks => {
    const definition: TaskDefinition<Endpoints, TakenDelivery, DeliveryOutcome> = {
      fold,
      tasks,
      changed: (before, after, record) => {
        if (isEndpointFact(record)) this.listener()?.followed(changedBy(before, after, record))
      },
      offer: (offered, register) => {
        const listener = this.listener()
        if (listener === undefined) for (const task of offered) register.leave(task)
        else
          listener.offer(
            offered.map((task) => {
              task.payload.task = new RegisteredDelivery(register, task)
              const cause = life.spanOf(task.sequence)
              if (cause !== undefined) task.payload.cause = cause
              return task.payload
            })
          )
      },
      missed: ({ payload }) => this.listener()?.missed(payload),
      recorded: (sequence) => this.listener()?.recorded(life.partition, sequence),
      resumed: () => this.listener()?.outdated(life.partition),
      late: ({ payload }, outcome) => this.listener()?.late(payload, outcome)
    }
    const head = new HeadTasks(life, definition, this.bounds)
    this.lives.set(life.partition, head)
    return head
  }

  /** An endpoint at the head of the log, where its organization is known there; otherwise as it was read. */
  newest(read: FoldedEndpoint): FoldedEndpoint {
    const endpoints = this.lives.get(read.partition)?.stateOf(read.organizationId)
    return endpoints === undefined ? read : (endpoints.get(read.endpointId) ?? { ...read, endpoint: null })
  }

  /** The part of a delivery that a transaction writes; undefined for one that was not offered. */
  written({ index, partition, sequence }: MatchPlace, endpointId: string): WrittenDelivery | undefined {
    return this.lives.get(partition)?.register.write(sequence, index, endpointId)
  }

  /** Makes an organization known, with its endpoints behind a frame that the reactor has committed. */
  seed(partition: number, organization: string, endpoints: ReadonlyArray<FoldedEndpoint>, at: number): void {
    const life = this.lives.get(partition)
    if (life === undefined || this.listener() === undefined || !life.wants(organization)) return
    life.seed(organization, new Map(endpoints.map((folded) => [folded.endpointId, folded] as const)), at)
  }
}
