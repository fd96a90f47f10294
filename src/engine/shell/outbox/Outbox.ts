/**
 * Holds the unfinished messages of a partition (docs/outbox.md): in memory from their frame on, one lane for each
 * receiving organization, in the order of the log. Bounded; the rest is read from the log when there is room.
 * Synchronous, and used only by the partition's fibers.
 */

import { maximumOutboxBytes, maximumOutboxMessages, maximumSentBytes, maximumSentMessages } from "../../limits.ts"
import type { MessageRecord } from "../../outbox.ts"
import { emptyLogHash, type LogPosition } from "../../ports/Checkpoints.ts"
import { Wakeup } from "../../Wakeup.ts"

/** A frame with messages that are not all done. */
interface OpenFrame {
  /** The place before it. */
  readonly before: LogPosition
  readonly now: number
  left: number
}

/** A message that waits in its lane. */
export interface WaitingMessage extends MessageRecord {
  readonly frame: OpenFrame
}

/** The waiting messages of one receiving organization, in order. */
export class OutboxLane {
  readonly receiver: string
  readonly queue: Array<WaitingMessage> = []
  /** Whether a fiber serves it. */
  isRunning = false

  constructor(receiver: string) {
    this.receiver = receiver
  }

  /** The first messages, as many as one delivery takes. */
  batch(): ReadonlyArray<WaitingMessage> {
    let bytes = 0
    let count = 0
    for (const message of this.queue) {
      if (count === maximumSentMessages || (count > 0 && bytes + message.bytes > maximumSentBytes)) break
      bytes += message.bytes
      count++
    }
    return this.queue.slice(0, count)
  }
}

/** A frame as the outbox takes it in. */
export interface FrameOfMessages extends LogPosition {
  readonly now: number
  readonly messages: ReadonlyArray<MessageRecord>
}

const nowhere: LogPosition = { sequence: -1, hash: "" }

export class Outbox {
  /** Notified when work can begin: messages of an idle lane, frames to read, or room for them. */
  readonly work = new Wakeup()
  /** Notified when `doneThrough` has moved over messages. */
  readonly progress = new Wakeup()
  /** Messages in memory. */
  count = 0
  private bytes = 0
  /** The frames up to here have their messages in the lanes, or done. Later frames are read from the log. */
  private read: LogPosition = nowhere
  private readonly lanes = new Map<string, OutboxLane>()
  /** Lanes with messages and without a fiber. */
  private resting: Array<OutboxLane> = []
  private open: Array<OpenFrame> = []
  private firstOpen = 0
  private lastCursor: LogPosition = { sequence: 0, hash: emptyLogHash }

  /** The outbox's stored cursor when it was last read. */
  get cursor(): LogPosition {
    return this.lastCursor
  }

  foundCursor(position: LogPosition): void {
    this.lastCursor = position
  }

  /** Begins behind a place, up to which all messages are done. */
  begin(place: LogPosition): void {
    this.read = place
    this.count = 0
    this.bytes = 0
    this.lanes.clear()
    this.resting = []
    this.open = []
    this.firstOpen = 0
  }

  /** Forgets everything; no frame is accepted before `begin`. */
  drop(): void {
    this.begin(nowhere)
  }

  get readThrough(): LogPosition {
    return this.read
  }

  /** The place up to which every message is done. */
  get doneThrough(): LogPosition {
    return this.open[this.firstOpen]?.before ?? this.read
  }

  /** The time of the oldest message's decision, milliseconds since the Unix epoch; undefined when all are done. */
  get oldest(): number | undefined {
    return this.open[this.firstOpen]?.now
  }

  /**
   * Accepts the frame behind the last one. Any other frame, or one that does not fit, is left to be read from the log.
   */
  take({ hash, messages, now, sequence }: FrameOfMessages): boolean {
    if (sequence !== this.read.sequence + 1 || (messages.length > 0 && !this.hasRoom)) {
      if (sequence > this.read.sequence) this.work.notify()
      return false
    }
    const before = this.read
    this.read = { sequence, hash }
    if (messages.length === 0) return true
    const frame: OpenFrame = { before, now, left: messages.length }
    this.open.push(frame)
    for (const message of messages) this.add({ ...message, frame })
    if (this.resting.length > 0) this.work.notify()
    return true
  }

  /** Whether one more frame is accepted; the last one may pass the bounds. */
  get hasRoom(): boolean {
    return this.count < maximumOutboxMessages && this.bytes < maximumOutboxBytes
  }

  /** Whether there is enough room again for frames to be read from the log. */
  get isRoomy(): boolean {
    return this.count <= maximumOutboxMessages / 2 && this.bytes <= maximumOutboxBytes / 2
  }

  /** The lanes that need a fiber, which count as running from now on. */
  takeResting(): ReadonlyArray<OutboxLane> {
    const lanes = this.resting
    this.resting = []
    for (const lane of lanes) lane.isRunning = true
    return lanes
  }

  /** Ends the work of a fiber on an empty lane. */
  rest(lane: OutboxLane): void {
    lane.isRunning = false
    if (lane.queue.length === 0) this.lanes.delete(lane.receiver)
    else this.resting.push(lane)
  }

  /** Notes that the first messages of a lane are done. */
  done(lane: OutboxLane, count: number): void {
    if (count === 0) return
    const wasRoomy = this.isRoomy
    for (const message of lane.queue.splice(0, count)) {
      message.frame.left--
      this.count--
      this.bytes -= message.bytes
    }
    const before = this.firstOpen
    while (this.open[this.firstOpen]?.left === 0) this.firstOpen++
    if (this.firstOpen > before) this.progress.notify()
    if (this.firstOpen > this.open.length / 2) {
      this.open = this.open.slice(this.firstOpen)
      this.firstOpen = 0
    }
    if (!wasRoomy && this.isRoomy) this.work.notify()
  }

  private add(message: WaitingMessage): void {
    const { organization } = message.message
    let lane = this.lanes.get(organization)
    if (lane === undefined) {
      lane = new OutboxLane(organization)
      this.lanes.set(organization, lane)
      this.resting.push(lane)
    }
    lane.queue.push(message)
    this.count++
    this.bytes += message.bytes
  }
}
