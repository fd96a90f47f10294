/**
 * Handles the checkpoints for a partition's core (docs/architecture.md, rules 9 and 10): the reads that it needs, their
 * results, and the states that go into the next checkpoint.
 */

import { placesOf } from "../../frame.ts"
import type { ActorRow, CheckpointRecord, ExpiryRow, TimerRow } from "../../ports/Checkpoints.ts"
import type { ActorMemory } from "../actors/ActorMemory.ts"
import { rowOf, rowOfKey, type SnapshotActor } from "../actors/actorRows.ts"
import type { LoadBatch } from "../actors/Loads.ts"
import { assert } from "../assert.ts"
import type { KeyPageRequest } from "../keys/StoredKeys.ts"
import type { Life } from "../Life.ts"
import type { Instant, Moment } from "../PartitionTime.ts"
import type { CoreOptions, ReadRequest, Snapshot } from "../protocol.ts"
import type { PageRequest } from "../timers/TimerPages.ts"

export interface CheckpointSideOptions {
  readonly options: CoreOptions
  readonly memory: ActorMemory
  readonly now: Moment
  readonly life: () => Life
}

export class CheckpointSide {
  private readonly shared: CheckpointSideOptions
  private readonly options: CoreOptions

  constructor(shared: CheckpointSideOptions) {
    this.shared = shared
    this.options = shared.options
  }

  get newest(): CheckpointRecord | undefined {
    return this.shared.life().loader.newestCheckpoint
  }

  /** The next read from the checkpoints, if one may start now. */
  takeRead(now: Instant): ReadRequest | undefined {
    const batch = this.shared.life().loader.take()
    if (batch !== undefined) return { _tag: "Actors", batch }
    const { memory } = this.shared
    const { pages, timers } = this.shared.life()
    const time = Math.max(this.shared.life().head.now, now.wall)
    if (memory.isReplaying) return undefined
    if (!pages.isWanted(timers, time, now.monotonic)) {
      const { stored } = memory.keys
      return stored.isWanted(now.monotonic) ? { _tag: "Keys", page: stored.ask() } : undefined
    }
    // Until the page has come, no actor with a timer leaves memory: the page may be older than that timer.
    memory.keepsTimers = true
    return { _tag: "Timers", page: pages.ask(timers, this.newest?.sequence ?? 0, now.monotonic) }
  }

  /** Stores the rows of a batch; undefined when they could not be read. */
  loaded(batch: LoadBatch, rows: ReadonlyArray<ActorRow> | undefined, now: Instant): void {
    this.shared.now.set(now)
    this.shared.life().loader.at(now.monotonic)
    if (rows === undefined) this.shared.life().loader.failed(batch)
    else this.shared.life().loader.loaded(batch, rows)
  }

  /** Adds a page of timers; undefined when it could not be read. */
  paged(page: PageRequest, rows: ReadonlyArray<TimerRow> | undefined, now: Instant): void {
    if (!this.shared.life().pages.ended(page, rows !== undefined, now.monotonic)) return
    this.shared.memory.keepsTimers = false
    const isInMemory = (row: TimerRow): boolean => {
      const index = this.options.registry.actorIndex(row.kind)
      const cell = this.shared.memory.organizations.get(row.organization)?.cell(index, row.key)
      return cell !== undefined && (cell.loaded || cell.unreadable !== undefined)
    }
    if (rows !== undefined) this.shared.life().timers.addPage(rows, rows.length === page.limit, isInMemory)
    this.options.host.wake()
  }

  /** Adds a page of stored idempotency keys; undefined when it could not be read. */
  keysPaged(page: KeyPageRequest, rows: ReadonlyArray<ExpiryRow> | undefined, now: Instant): void {
    this.shared.memory.keys.stored.took(page, rows, now.monotonic)
  }

  /** The actors' states at the head, by reference; undefined when nothing has happened since the newest checkpoint. */
  snapshot(): Snapshot | undefined {
    if (this.shared.life().head.sequence <= (this.newest?.sequence ?? 0)) return undefined
    const actors: Array<SnapshotActor> = []
    for (const cell of this.shared.memory.dirty)
      actors.push({ cell, state: cell.state, wakeAt: cell.wakeAt, kept: cell.unreadable?.row })
    const keys = this.shared.memory.keys.all()
    const keyActor = this.options.registry.actors[this.options.registry.keyIndex]!
    const { head } = this.shared.life()
    const { epoch, hash, now, number, sequence } = head
    const record = { partition: this.options.partition, sequence, hash, epoch, number, now, ...placesOf(head) }
    const level = this.options.level?.() ?? Number.POSITIVE_INFINITY
    const rows = {
      *[Symbol.iterator]() {
        for (const actor of actors) yield rowOf(actor, sequence, level)
        for (const key of keys) yield rowOfKey(keyActor, key, sequence)
      }
    }
    return { record, rows, count: actors.length + keys.count, bytes: this.shared.life().pace.bytesSince }
  }

  /**
   * Notes that a checkpoint is written. `coveredBytes` is the size of the frames that it covers and the previous one
   * did not.
   */
  saved(record: CheckpointRecord, count: number, coveredBytes: number): void {
    assert(record.sequence <= this.shared.life().head.sequence, "a checkpoint is ahead of the head")
    const isFirst = this.newest === undefined
    this.shared.life().loader.useBase(record, isFirst && count === 0)
    this.shared.memory.saved(record.sequence)
    this.shared.memory.keys.stored.forget(record.now)
    this.shared.memory.shrink()
    this.shared.life().pace.saved(this.shared.life().head.sequence - record.sequence, coveredBytes)
    this.options.host.wake()
  }
}
