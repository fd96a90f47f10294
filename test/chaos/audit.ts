/**
 * Follows the logs while they are written, as they are purged behind: every frame in its place and in its chain, every decision
 * whole, in one frame and once. Folds what it reads by the rule itself, so that states and projection can be held against it.
 */
import { Effect, Stream } from "effect"
import { decodeFrame, type Frame, hashOf } from "../../src/engine/frame.ts"
import { emptyLogHash } from "../../src/engine/ports/Checkpoints.ts"
import type { Journal, Log, StoredFrame } from "../../src/engine/ports/Journal.ts"
import { type Decisions, known } from "./decisions.ts"
import { Account, type AccountState, Chest, emptyAccount, eventPlace, evolve, secondAccount } from "./model.ts"
import { SentAudit } from "./sent.ts"

/** How often a log's end is looked at. Frames stay for at least one checkpoint interval. */
const lookMillis = 100

/** A row that the projection must have. Account: 0 first, 1 second, 2 an event. */
export interface AuditedRows {
  readonly sequences: Array<number>
  readonly indexes: Array<number>
  readonly decisions: Array<number>
}

interface LogAudit {
  readonly log: Log
  next: number
  hash: string
  number: number
  epoch: number
  claims: number
  frames: number
  readonly rows: AuditedRows
}

/** Key of an account in the folded states. */
export const accountOf = (organization: string, account: string): string => `${organization} ${account}`

export class Audit {
  readonly states = new Map<string, AccountState>()
  readonly sent: SentAudit
  private readonly decisions: Decisions
  private readonly violation: (text: string) => void
  private logs: ReadonlyArray<LogAudit> = []
  /** Frames in which a decision was found, by its number: 0 or 1, or a violation. */
  private seen = new Uint8Array(0)

  constructor(decisions: Decisions, violation: (text: string) => void) {
    this.decisions = decisions
    this.violation = violation
    this.sent = new SentAudit(violation)
  }

  /** Opens the logs and follows them until the scope ends. What cannot be read is read later. */
  follow = Effect.fnUntraced(function* (this: Audit, journal: Journal["Service"], partitions: number) {
    const logs: Array<LogAudit> = []
    for (let partition = 0; partition < partitions; partition++) {
      const rows = { sequences: [], indexes: [], decisions: [] }
      const log = yield* journal.open(partition)
      logs.push({ log, next: 1, hash: emptyLogHash, number: 0, epoch: 0, claims: 0, frames: 0, rows })
    }
    this.logs = logs
    for (const one of logs) {
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.catchTag(this.readOn(one), "JournalUnavailable", () => Effect.void),
            Effect.sleep(lookMillis)
          )
        ).pipe(
          Effect.catchTag("JournalGap", (gap) =>
            Effect.sync(() => this.violation(`the log could not be followed: ${gap.message}, the auditor was too slow`))
          )
        )
      )
    }
  })

  get frames(): number {
    return this.logs.reduce((sum, one) => sum + one.frames, 0)
  }

  get claims(): number {
    return this.logs.reduce((sum, one) => sum + one.claims, 0)
  }

  get records(): number {
    return this.logs.reduce((sum, one) => sum + one.rows.decisions.length, 0)
  }

  rowsOf(partition: number): AuditedRows {
    return this.logs[partition]!.rows
  }

  /** Decisions in the logs. */
  get decisionCount(): number {
    return this.seen.reduce((sum, times) => sum + times, 0)
  }

  /** Reads everything that is in the logs now, and says how many frames were purged meanwhile. Only when nobody writes. */
  catchUp = Effect.fnUntraced(function* (this: Audit) {
    let purged = 0
    for (const one of this.logs) {
      const state = yield* one.log.state
      while (one.next <= state.lastSequence) yield* Effect.sleep(lookMillis)
      purged += state.firstSequence - 1
    }
    return purged
  })

  /** Holds every decision against what its callers were told. */
  compare(): { readonly acknowledged: number; readonly storedUnacknowledged: number; readonly lost: number } {
    let acknowledged = 0
    let storedUnacknowledged = 0
    let lost = 0
    for (let decision = 0; decision < this.decisions.count; decision++) {
      const stored = (this.seen[decision] ?? 0) > 0
      const what = this.decisions.knownOf(decision)
      if (what === known.acknowledged) {
        acknowledged++
        if (!stored) this.violation(`decision ${decision} was acknowledged and is not in the log`)
      } else if (stored) {
        storedUnacknowledged++
        if (what === known.refused)
          this.violation(`decision ${decision} is in the log, and its caller was told that nothing was stored`)
      } else lost++
    }
    return { acknowledged, storedUnacknowledged, lost }
  }

  private readOn(one: LogAudit) {
    return Effect.gen({ self: this }, function* () {
      const { firstSequence, lastSequence } = yield* one.log.state
      if (lastSequence < one.next) return
      if (firstSequence > one.next) {
        this.violation(
          `frames ${one.next} to ${firstSequence - 1} of partition ${one.log.partition} were purged before the auditor read them`
        )
        return yield* Effect.never
      }
      yield* Stream.runForEach(one.log.read(one.next, lastSequence), (batch) =>
        Effect.sync(() => {
          for (const stored of batch) this.take(one, stored)
        })
      )
    })
  }

  private take(one: LogAudit, stored: StoredFrame): void {
    const frame = decodeFrame(stored.bytes)
    const at = `frame ${stored.sequence} of partition ${one.log.partition}`
    if (stored.sequence !== one.next) this.violation(`${at} came where ${one.next} was due`)
    if (frame.previousHash !== one.hash) this.violation(`${at} does not follow the one before it`)
    if (frame.number !== one.number + 1) this.violation(`${at} has number ${frame.number} after ${one.number}`)
    const epoch = frame.claim === undefined ? one.epoch : one.epoch + 1
    if (frame.epoch !== epoch) this.violation(`${at} is of epoch ${frame.epoch}, claimed was ${epoch}`)
    one.next = stored.sequence + 1
    one.hash = hashOf(stored.bytes)
    one.number = frame.number
    one.epoch = frame.epoch
    one.frames++
    if (frame.claim !== undefined) one.claims++
    this.apply(one, stored.sequence, at, frame)
  }

  private apply(one: LogAudit, sequence: number, at: string, frame: Frame): void {
    const { decisions, rows } = { decisions: this.decisions, rows: one.rows }
    const found = new Map<number, Set<string>>()
    for (const [index, { actor, event, fact, message }] of frame.records.entries()) {
      if (message !== undefined) this.sent.send(actor.organization, message)
      if (actor.kind === Chest.kind) this.sent.take(actor.organization, fact as { decision: number; amount: number })
      if (message !== undefined || actor.kind !== Account.kind) continue
      const booked = (event?.data ?? fact) as { readonly decision: number; readonly amount: number }
      const { decision } = booked
      const place = event === undefined ? actor.key : eventPlace
      if (!(decision >= 0 && decision < decisions.count)) {
        this.violation(`${at} has decision ${decision}, which nobody asked for`)
        continue
      }
      if (decisions.get(decision).organization !== actor.organization)
        this.violation(`${at} has decision ${decision} in ${actor.organization}`)
      const places = found.get(decision) ?? new Set()
      if (places.has(place)) this.violation(`${at} has decision ${decision} twice`)
      found.set(decision, places.add(place))
      rows.sequences.push(sequence)
      rows.indexes.push(index)
      rows.decisions.push(decision)
      if (event !== undefined) continue
      const account = accountOf(actor.organization, actor.key)
      this.states.set(account, evolve(this.states.get(account) ?? emptyAccount, booked))
    }
    for (const [decision, places] of found) {
      const asked = decisions.get(decision)
      const whole =
        places.size === decisions.recordsOf(decision) &&
        places.has(secondAccount) === asked.transfer &&
        places.has(eventPlace) === asked.announce
      if (!whole) this.violation(`${at} has a part of decision ${decision} only: ${[...places].join(", ")}`)
      if (this.seen.length < decisions.count) {
        const seen = new Uint8Array(Math.max(decisions.count, this.seen.length * 2, 65_536))
        seen.set(this.seen)
        this.seen = seen
      }
      this.seen[decision]!++
      if (this.seen[decision]! > 1) this.violation(`${at} has decision ${decision}, which an earlier frame has too`)
    }
  }
}
