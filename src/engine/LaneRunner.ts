/**
 * Runs a partition's lanes: decided synchronously on arrival, outside mailbox and append (architecture, rule 15). An ask waits only while the
 * actors it reads are loaded or the partition's ownership is confirmed. A state is dropped only when it has ended.
 */
import { Exit } from "effect"
import type { ActorOfState } from "./Actor.ts"
import type { ActorAddress } from "./address.ts"
import { type AskError, CommandFailed, CommandInvalid, Overloaded } from "./errors.ts"
import type { AnyLane, LaneContext } from "./Lane.ts"
import { load } from "./loading.ts"
import { LaneCell, type Organization, type Resume } from "./memory.ts"
import type { Partition } from "./Partition.ts"
import { describe } from "./poison.ts"

const retryAfterMillis = 1_000

/** Lane asks that wait, and the states that one sweep looks at for room. */
export const maximumWaitingAsks = 8_192

interface WaitingAsk {
  readonly organization: string
  readonly laneIndex: number
  readonly key: string
  readonly command: unknown
  readonly resume: Resume
}

class RunnerContext implements LaneContext {
  readonly now: number
  private readonly partition: Partition
  private readonly organization: Organization
  private readonly lane: AnyLane
  private readonly cell: LaneCell

  constructor(partition: Partition, organization: Organization, lane: AnyLane, cell: LaneCell, now: number) {
    this.partition = partition
    this.organization = organization
    this.lane = lane
    this.cell = cell
    this.now = now
  }

  get self(): ActorAddress {
    return { organization: this.organization.name, kind: this.lane.kind, key: this.cell.key }
  }

  // A property and not a method, so that a rule may take the context apart.
  readonly read = <State>(actor: ActorOfState<State>, key = ""): State => {
    const index = this.partition.parts.registry.actorIndex(actor.kind)
    for (const name of this.cell.touched) {
      if (name.actorIndex === index && name.key === key) return this.organization.cell(index, key)!.state as State
    }
    throw new Error(`the lane does not name ${actor.kind} "${key}" among the actors it touches`)
  }
}

export class LaneRunner {
  private readonly partition: Partition
  private waiting: Array<WaitingAsk> = []
  private lastSweepAt = Number.NEGATIVE_INFINITY

  constructor(partition: Partition) {
    this.partition = partition
  }

  get hasWaiting(): boolean {
    return this.waiting.length > 0
  }

  /** Decides at once where possible; otherwise `resume` is called later. */
  ask(
    organization: string,
    laneIndex: number,
    key: string,
    command: unknown,
    resume: Resume
  ): Exit.Exit<unknown, AskError> | undefined {
    const { partition } = this
    if (partition.status._tag !== "Serving") return Exit.fail(partition.notServing())
    const answer = this.decide(organization, laneIndex, key, command)
    if (answer !== undefined) return answer
    if (this.waiting.length >= maximumWaitingAsks) return this.overloaded()
    this.waiting.push({ organization, laneIndex, key, command, resume })
    partition.wakeup.notify()
    return undefined
  }

  /** Tries the waiting asks again: after a loading, and after ownership was confirmed. */
  retry(): void {
    if (this.waiting.length === 0) return
    const asks = this.waiting
    this.waiting = []
    for (const ask of asks) {
      const answer = this.decide(ask.organization, ask.laneIndex, ask.key, ask.command)
      if (answer === undefined) this.waiting.push(ask)
      else ask.resume(answer)
    }
  }

  /** Forgets the asks that wait, which the partition has answered before it drops its memory. */
  dropWaiting(): void {
    this.waiting = []
  }

  failWaiting(error: AskError): void {
    const asks = this.waiting
    this.waiting = []
    for (const ask of asks) ask.resume(Exit.fail(error))
  }

  /** Drops states that have ended. */
  sweep(now: number): void {
    const { memory, parts } = this.partition
    const early = parts.sabotage.has("lane-evicted-early")
    this.lastSweepAt = now
    for (const organization of [...memory.organizations.values()]) {
      for (const [laneIndex, cells] of organization.lanes.entries()) {
        if (cells === undefined) continue
        const { keepUntil } = parts.registry.lanes[laneIndex]!.options
        for (const cell of [...cells.values()]) {
          if (early || keepUntil(cell.state) <= now) memory.removeLane(organization, laneIndex, cell.key)
        }
      }
    }
  }

  /** The exit, or undefined when it has to wait. */
  private decide(
    organizationName: string,
    laneIndex: number,
    key: string,
    command: unknown
  ): Exit.Exit<unknown, AskError> | undefined {
    const { partition } = this
    const lane = partition.parts.registry.lanes[laneIndex]!
    const nanos = partition.nanos()
    if (!partition.isFresh(nanos)) return undefined
    if (partition.wantsRenewal(nanos)) partition.renewSoon()
    const now = partition.currentTime()
    if (now === undefined) return Exit.fail(partition.notServing())
    const organization = partition.memory.organization(organizationName)
    if (organization === undefined) {
      return Exit.fail(new CommandInvalid({ kind: lane.kind, reason: "the organization's name is not one" }))
    }
    try {
      const cell = organization.lanes[laneIndex]?.get(key) ?? this.make(organization, lane, laneIndex, key, now)
      if (cell === undefined) {
        partition.memory.releaseOrganization(organization)
        return this.overloaded()
      }
      for (const name of cell.touched) {
        const read = partition.memory.cell(organization, name.actorIndex, name.key)
        read.used = true
        if (read.loaded) continue
        // one request at a time: the cell may have been asked for by an earlier ask that still waits
        if (organization.loading > 0 || !load(partition, read)) return undefined
      }
      return Exit.succeed(
        lane.options.decide(cell.state, command, new RunnerContext(partition, organization, lane, cell, now))
      )
    } catch (cause) {
      partition.metrics.poison()
      partition.memory.releaseOrganization(organization)
      return Exit.fail(new CommandFailed({ kind: lane.kind, reason: describe(cause) }))
    }
  }

  private make(
    organization: Organization,
    lane: AnyLane,
    laneIndex: number,
    key: string,
    now: number
  ): LaneCell | undefined {
    const { memory, parts } = this.partition
    if (memory.laneCount >= parts.config.maximumLaneActors) {
      // at most one sweep a second for room, since it looks at all states
      if (now - this.lastSweepAt >= 1_000) this.sweep(now)
      if (memory.laneCount >= parts.config.maximumLaneActors) return undefined
      memory.organizations.set(organization.name, organization)
    }
    const self = { organization: organization.name, kind: lane.kind, key }
    const touched = (lane.options.touches?.(self) ?? []).map((name) => {
      const actorIndex = parts.registry.actorIndex(name.actor.kind)
      if (actorIndex < 0) throw new Error(`${name.actor.kind} is not an actor of this engine`)
      return { actorIndex, key: name.key }
    })
    const cell = new LaneCell(key, lane.options.initial(key), touched)
    let cells = organization.lanes[laneIndex]
    if (cells === undefined) {
      cells = new Map()
      organization.lanes[laneIndex] = cells
    }
    cells.set(key, cell)
    organization.laneCount++
    memory.laneCount++
    return cell
  }

  private overloaded(): Exit.Exit<never, AskError> {
    return Exit.fail(new Overloaded({ partition: this.partition.id, retryAfterMillis }))
  }
}
