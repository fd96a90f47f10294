/**
 * Lets the deliveries of lines go one after the other (docs/platform.md, 7.10): it tells the dispatcher's memory which
 * delivery begins when one is over, and gives back what must wait in the store. `EndpointLines.ts` has the lines of an
 * endpoint. Synchronous; needs no service.
 */
import { jobLanes } from "../delivery/model.ts"
import type { DeliveryOutcome, TakenDelivery } from "../delivery/ports.ts"
import { type Blocked, EndpointLines, type LinesInUse } from "./EndpointLines.ts"
import type { Worker } from "./EndpointWorker.ts"

/** The parts of the dispatcher's memory that lines need. */
export interface LinesHost {
  readonly now: number
  readonly isDraining: boolean
  /** The worker of an endpoint, if there is one. */
  readonly workerOf: (endpointId: string) => Worker | undefined
  /** Whether this process has a delivery. */
  readonly isHeld: (id: string) => boolean
  /** Lets a held delivery have its turn. */
  readonly enqueue: (worker: Worker, delivery: TakenDelivery) => void
  /** Lets an offered delivery wait for room. */
  readonly offer: (worker: Worker, delivery: TakenDelivery) => void
  readonly giveBack: (delivery: TakenDelivery) => void
  /** Takes a held delivery from its turn; false where its attempt has begun. */
  readonly withdraw: (worker: Worker, delivery: TakenDelivery) => boolean
  readonly want: (worker: Worker) => void
  readonly arm: (worker: Worker, lane: number, at: number) => void
}

/** How a delivery has left the dispatcher's memory. */
export type Departure =
  /** It is over. */
  | { readonly isOver: true }
  /** It is in the store, due at that time if it is known. */
  | { readonly isOver: false; readonly dueAt?: number | undefined }

export const departed: Departure = { isOver: false }

/** The departure that an outcome means. */
export const departureOf = ({ result }: DeliveryOutcome): Departure =>
  result._tag === "Settled" ? { isOver: true } : { isOver: false, dueAt: result.dueAt }

export class DispatchLines {
  private readonly host: LinesHost
  private readonly endpoints = new Map<string, EndpointLines>()
  private readonly inUse: LinesInUse = { count: 0 }
  /** Frames of each partition up to here are recorded. */
  private readonly recordedThrough = new Map<number, number>()
  /**
   * Deliveries that were over while a transaction wrote them as running: the next of their line begins once it is known
   * how they were recorded. Otherwise a crash could repeat one behind a later one that is recorded.
   */
  private readonly ending = new Set<TakenDelivery>()

  constructor(host: LinesHost) {
    this.host = host
  }

  /** The lines of an endpoint, made if they are missing. */
  of(endpointId: string): EndpointLines {
    const known = this.endpoints.get(endpointId)
    if (known !== undefined) return known
    const lines = new EndpointLines(this.inUse)
    this.endpoints.set(endpointId, lines)
    return lines
  }

  /** The lines of an endpoint, if it has any. */
  known(endpointId: string): EndpointLines | undefined {
    return this.endpoints.get(endpointId)
  }

  /** Takes in an offered delivery. `canGo`: it may be attempted by this process now. */
  offer(worker: Worker, delivery: TakenDelivery, canGo: boolean): void {
    const lines = this.of(delivery.endpointId)
    if (!canGo) {
      lines.store(delivery)
      delivery.task?.leave()
      return
    }
    const way = lines.offer(delivery)
    if (way === "go") this.host.offer(worker, delivery)
    else if (way === "leave") {
      delivery.task?.leave()
      this.askForWalk(worker)
    }
  }

  /** An offered delivery whose turn has come was left to the queue. */
  left(worker: Worker, delivery: TakenDelivery): void {
    if (delivery.line === undefined) return
    this.giveUp(this.of(delivery.endpointId).block(delivery))
    this.host.want(worker)
  }

  /** Takes in a delivery of the store that is held now. */
  take(worker: Worker, delivery: TakenDelivery): void {
    if (this.of(delivery.endpointId).take(delivery)) this.host.enqueue(worker, delivery)
  }

  /** A delivery has left the dispatcher's memory. Only what a line knows counts. */
  release(delivery: TakenDelivery, departure: Departure): void {
    if (delivery.line === undefined) return
    this.ending.delete(delivery)
    const lines = this.endpoints.get(delivery.endpointId)
    if (lines === undefined) return
    if (departure.isOver && delivery.task?.isBeingWritten === true) {
      this.ending.add(delivery)
      return
    }
    if (departure.isOver) this.advance(lines, delivery)
    else this.block(lines, delivery, departure.dueAt)
  }

  /** The outcome of a delivery goes to the store; its line goes on once it is there. */
  late(delivery: TakenDelivery): void {
    this.ending.delete(delivery)
  }

  /** A delivery is to be given back: what is behind it must wait in the store too. */
  giveBack(delivery: TakenDelivery): void {
    const lines = this.endpoints.get(delivery.endpointId)
    if (delivery.line !== undefined && lines !== undefined) this.giveUp(lines.block(delivery))
  }

  recorded(partition: number, sequence: number): void {
    this.recordedThrough.set(partition, Math.max(sequence, this.recordedThrough.get(partition) ?? 0))
    for (const delivery of this.ending) {
      if (delivery.partition !== partition || delivery.task?.isBeingWritten === true) continue
      // Its life may be over, and then the next one does not know of its end.
      this.release(delivery, delivery.task?.isAbandoned === true ? departed : { isOver: true })
    }
  }

  recordedOf(partition: number): number {
    return this.recordedThrough.get(partition) ?? 0
  }

  /** The store may hold deliveries that this process does not know, of frames up to `frame`. */
  doubt(worker: Worker, frame = 0): void {
    const lines = this.endpoints.get(worker.endpointId)
    if (lines === undefined) return
    lines.doubt(frame)
    this.askForWalk(worker)
  }

  /** Takes in what the reactor has put into the store. */
  queued(worker: Worker, added: ReadonlyArray<{ readonly line: string; readonly id: string }>): void {
    if (added.length === 0) return
    const lines = this.of(worker.endpointId)
    for (const { id, line } of added) {
      if (this.host.isHeld(id)) continue
      const next = lines.beginsTooSoon(line, id)
      this.giveUp(lines.queued(line, id))
      if (next !== undefined) this.holdBack(worker, lines, next)
    }
    this.host.want(worker)
  }

  /** The reactor has written a retry of a line. */
  retry(worker: Worker, line: string, dueAt: number): void {
    this.of(worker.endpointId).retrying.set(line, dueAt)
    this.host.arm(worker, jobLanes.line, dueAt)
  }

  /** Looks at the lines whose first delivery is due. */
  fire(worker: Worker): void {
    const lines = this.endpoints.get(worker.endpointId)
    const next = lines?.due(this.host.now)
    if (next !== undefined) this.host.arm(worker, jobLanes.line, next)
    if (lines === undefined || lines.ready.size === 0) this.askForWalk(worker)
    else this.host.want(worker)
  }

  /** Has the lines of an endpoint looked through in the store. */
  askForWalk(worker: Worker): void {
    worker.isWalkWanted = true
    this.host.want(worker)
  }

  /** A walk over the lines of an endpoint is over. */
  walked(worker: Worker): void {
    const lines = this.of(worker.endpointId)
    const next = lines.due(this.host.now)
    if (next !== undefined) this.host.arm(worker, jobLanes.line, next)
    if (lines.ready.size > 0) this.host.want(worker)
  }

  /** Has the lines of a partition's endpoints looked through whose deliveries in the store are not known. */
  wantWalks(partition: number): void {
    for (const [endpointId, lines] of this.endpoints) {
      const worker = this.host.workerOf(endpointId)
      if (worker?.partition === partition && lines.needsWalk) this.askForWalk(worker)
    }
  }

  /** Forgets the lines of an endpoint: it is deleted, or served elsewhere. Answers what was held. */
  forget(endpointId: string): ReadonlyArray<TakenDelivery> {
    const lines = this.endpoints.get(endpointId)
    if (lines === undefined) return []
    this.endpoints.delete(endpointId)
    const { offered, taken } = lines.clear()
    for (const { task } of offered) task?.leave()
    return taken
  }

  private advance(lines: EndpointLines, delivery: TakenDelivery): void {
    const next = lines.over(delivery)
    const worker = this.host.workerOf(delivery.endpointId)
    if (next._tag === "None" || worker === undefined) return
    const canGo = worker.permits(jobLanes.line) && !this.host.isDraining
    if (next._tag === "Stored") this.host.want(worker)
    else if (next._tag === "Taken") {
      // With its lease it has lost its place: somebody else may have it.
      if (canGo && next.delivery.leasedUntil > this.host.now) this.host.enqueue(worker, next.delivery)
      else this.host.giveBack(next.delivery)
    } else if (canGo) this.host.offer(worker, next.delivery)
    else {
      next.delivery.task?.leave()
      this.left(worker, next.delivery)
    }
  }

  private block(lines: EndpointLines, delivery: TakenDelivery, dueAt: number | undefined): void {
    this.giveUp(lines.block(delivery, dueAt))
    const worker = this.host.workerOf(delivery.endpointId)
    if (worker === undefined) return
    if (dueAt === undefined) {
      lines.ready.add(delivery.line!)
      this.host.want(worker)
    } else this.host.arm(worker, jobLanes.line, dueAt)
  }

  /** Has a delivery that has not begun wait in the store, with those behind it. */
  private holdBack(worker: Worker, lines: EndpointLines, delivery: TakenDelivery): void {
    if (this.host.isHeld(delivery.id)) {
      if (this.host.withdraw(worker, delivery)) this.host.giveBack(delivery)
      return
    }
    this.giveUp(lines.block(delivery))
    delivery.task?.leave()
  }

  private giveUp({ offered, taken }: Blocked): void {
    for (const { task } of offered) task?.leave()
    for (const delivery of taken) this.host.giveBack(delivery)
  }
}
