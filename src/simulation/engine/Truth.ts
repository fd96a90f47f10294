/**
 * Keeps the stored truth: every frame that any log of the simulation ever stored, decoded, folded decision by decision,
 * and kept after purges and losses. The checkers compare everything else with it. Needs no service.
 */
import type { AnyActor } from "../../engine/Actor.ts"
import type { ActorAddress } from "../../engine/address.ts"
import { decodeFrame, type Frame, type FrameActor, type FrameRecord, hashOf } from "../../engine/frame.ts"
import { isInternalKind } from "../../engine/internalActor.ts"
import type { StoredFrame } from "../../engine/ports/Journal.ts"
import type { SimulatedProcess } from "../kernel/World.ts"
import type { Decided } from "./Decisions.ts"

/** A stored frame and its origin. See {@link engineCheckers}. */
export interface Commit {
  readonly partition: number
  readonly sequence: number
  readonly frame: Frame
  readonly hash: string
  readonly bytes: number
  /** Virtual time, milliseconds. */
  readonly at: number
  /** Undefined for the frames a log begins with. */
  readonly process: SimulatedProcess | undefined
  readonly identity: string
  /** The decisions whose facts it holds, in their order. */
  readonly decisions: ReadonlyArray<Decided>
  /** The mismatch between the frame and its decisions; undefined when all fits. */
  readonly problem: string | undefined
}

/** An actor's state after a decision. See {@link engineCheckers}. */
export class Moment {
  readonly sequence: number
  readonly at: number
  /** The engine's time in its frame, milliseconds since the Unix epoch; 0 for the initial state. */
  readonly now: number
  readonly state: unknown
  /** The oracle's model after the same decision. */
  readonly model: unknown
  private readonly actor: AnyActor
  private text: string | undefined = undefined

  constructor(
    actor: AnyActor,
    { at, now, sequence }: Pick<Moment, "sequence" | "at" | "now">,
    state: unknown,
    model: unknown
  ) {
    this.actor = actor
    this.sequence = sequence
    this.at = at
    this.now = now
    this.state = state
    this.model = model
  }

  /** The state in its JSON form, by which states are compared. Made when it is first asked for. */
  get json(): string {
    this.text ??= jsonOf(this.actor, this.state)
    return this.text
  }
}

/** All states of an actor. The first one is its initial state. See {@link engineCheckers}. */
export interface ActorHistory extends ActorAddress {
  readonly partition: number
  readonly actor: AnyActor
  readonly moments: Array<Moment>
}

export const nameOf = (address: ActorAddress): string => `${address.organization}/${address.kind}/${address.key}`

const within = <K, V>(map: Map<string, Map<K, V>>, key: string): Map<K, V> => {
  let found = map.get(key)
  if (found === undefined) {
    found = new Map()
    map.set(key, found)
  }
  return found
}

/** The decisions of the last run of a drain, which repeats the decisions of an earlier run. */
const lastRun = (drafted: ReadonlyArray<Decided>): ReadonlyArray<Decided> => {
  const begins = drafted.findLastIndex(({ frame }, at) => at > 0 && frame.command <= drafted[at - 1]!.frame.command)
  return begins === -1 ? drafted : drafted.slice(begins)
}

/** The stored frames of a scenario, and the states that follow from them. See {@link engineCheckers}. */
export class Truth {
  /** By partition. */
  readonly commits: Array<Array<Commit>>
  /** The latest time of a frame that was ever written; 0 without one. */
  latestFrameTime = 0
  /** By organization, then kind, then key. */
  private readonly byName = new Map<string, Map<string, Map<string, ActorHistory>>>()
  private readonly actors: ReadonlyMap<string, AnyActor>
  private readonly initialModel: (actor: AnyActor, key: string) => unknown
  private readonly partitionOf: (organization: string) => number

  constructor(
    partitions: number,
    actors: ReadonlyArray<AnyActor>,
    initialModel: (actor: AnyActor, key: string) => unknown,
    partitionOf: (organization: string) => number
  ) {
    this.commits = Array.from({ length: partitions }, () => [])
    this.actors = new Map(actors.map((actor) => [actor.kind, actor]))
    this.initialModel = initialModel
    this.partitionOf = partitionOf
  }

  /** Adds a frame that a log has just stored. */
  commit(
    partition: number,
    stored: StoredFrame,
    at: number,
    process: SimulatedProcess | undefined,
    drafted: ReadonlyArray<Decided>
  ): Commit {
    const frame = decodeFrame(stored.bytes)
    const { decisions, problem } = this.match(frame, drafted)
    const commit: Commit = {
      partition,
      sequence: stored.sequence,
      frame,
      hash: hashOf(stored.bytes),
      bytes: stored.bytes.length,
      at,
      process,
      identity: stored.identity,
      decisions,
      problem
    }
    this.commits[partition]!.push(commit)
    this.latestFrameTime = Math.max(this.latestFrameTime, commit.frame.now)
    this.fold(commit)
    return commit
  }

  last(partition: number): Commit | undefined {
    const commits = this.commits[partition]!
    return commits[commits.length - 1]
  }

  history(address: ActorAddress): ActorHistory {
    const { key, kind, organization } = address
    const ofOrganization = within(this.byName, organization)
    const ofKind = within(ofOrganization, kind)
    let found = ofKind.get(key)
    if (found === undefined) {
      const actor = this.actors.get(address.kind)!
      const first = new Moment(
        actor,
        { sequence: 0, at: Number.NEGATIVE_INFINITY, now: 0 },
        actor.options.initial(address.key),
        this.initialModel(actor, address.key)
      )
      found = { organization, kind, key, partition: this.partitionOf(organization), actor, moments: [first] }
      ofKind.set(key, found)
    }
    return found
  }

  /** The actors that a frame has changed. */
  *changedBy({ frame }: Commit): Generator<ActorHistory> {
    const seen = new Set<string>()
    for (const { actor, event, message } of frame.records) {
      if (event !== undefined || message !== undefined || seen.has(nameOf(actor))) continue
      seen.add(nameOf(actor))
      yield this.history(actor)
    }
  }

  /** The histories of an organization's actors, or of all. */
  *histories(organization: string | undefined): Generator<ActorHistory> {
    const all = organization === undefined ? this.byName.values() : [this.byName.get(organization)]
    for (const ofOrganization of all) for (const ofKind of ofOrganization?.values() ?? []) yield* ofKind.values()
  }

  /** The actors that want to be woken, by their last states. */
  *wanted(): Generator<{ readonly address: ActorAddress; readonly wakeAt: number; readonly json: string }> {
    for (const history of this.histories(undefined)) {
      const last = history.moments[history.moments.length - 1]!
      const wakeAt = history.actor.options.wakeAt?.(last.state)
      if (wakeAt !== undefined) yield { address: history, wakeAt, json: last.json }
    }
  }

  /** Whether any actor wants to be woken, by its last state. */
  wantsWakes(): boolean {
    return this.wanted().next().done === false
  }

  /** The newest moment at or before a frame. */
  at(address: ActorAddress, sequence: number): Moment {
    const { moments } = this.history(address)
    for (let index = moments.length - 1; index > 0; index--)
      if (moments[index]!.sequence <= sequence) return moments[index]!
    return moments[0]!
  }

  /** Finds the drafted decisions of a frame: each one's facts are in it in order. */
  private match(frame: Frame, drafted: ReadonlyArray<Decided>) {
    const decisions: Array<Decided> = []
    const texts = frame.records
      .filter(({ actor }) => !isInternalKind(actor.kind))
      .map(({ actor, event, fact, message }) =>
        JSON.stringify([actor.organization, actor.kind, actor.key, event ?? message ?? fact])
      )
    // A refused decision may look like a stored one: its answer was given earlier, or it comes after that one in the
    // same run of the drain, since the reason of its refusal (its claim is no longer true) is that one's fact.
    let end = 0
    for (const decision of lastRun(drafted)) {
      if (decision.isRefused || !decision.records.every((text, at) => texts[end + at] === text)) continue
      decisions.push(decision)
      end += decision.records.length
    }
    const problem =
      end === texts.length ? undefined : `record ${end} of ${texts.length} was decided by nobody: ${texts[end]}`
    return { decisions, problem }
  }

  private fold(commit: Commit): void {
    const { frame, sequence } = commit
    const ruled = frame.records.filter(({ actor }) => !isInternalKind(actor.kind))
    // Group by decision if the decisions are known, so that states between two decisions of a frame are known too.
    const groups: Array<{ readonly size: number; readonly decision: Decided | undefined }> =
      commit.problem === undefined && commit.decisions.length > 0
        ? commit.decisions.map((decision) => ({ size: decision.records.length, decision }))
        : ruled.map(() => ({ size: 1, decision: undefined }))
    for (const record of frame.records) if (isInternalKind(record.actor.kind)) this.foldInternal(commit, record)
    const begun = new Set<FrameActor>()
    let from = 0
    for (const { decision, size } of groups) {
      const changed = new Map<ActorHistory, unknown>()
      for (const { actor: name, event, fact, message } of ruled.slice(from, from + size)) {
        if (event !== undefined || message !== undefined) continue
        const history = this.history(name)
        const { options } = history.actor
        const isAnew = name.isFresh && !begun.has(name)
        begun.add(name)
        const known = changed.get(history)
        const last = history.moments[history.moments.length - 1]!.state
        const state = known ?? (isAnew ? options.initial(name.key) : last)
        const own = known === undefined && options.copy !== undefined ? options.copy(state) : state
        changed.set(history, options.evolve(own, history.actor.decodeFact(fact, name.version)))
      }
      from += size
      for (const [history, state] of changed) {
        const before = history.moments[history.moments.length - 1]!
        const model = decision?.step?.(history, before, frame.now) ?? before.model
        history.moments.push(new Moment(history.actor, { sequence, at: commit.at, now: frame.now }, state, model))
      }
    }
  }

  /** A fact of the engine's own, which no rule has decided. */
  private foldInternal({ at, frame, sequence }: Commit, { actor, fact }: FrameRecord): void {
    const history = this.history(actor)
    const before = history.moments[history.moments.length - 1]!
    const state = history.actor.options.evolve(before.state, history.actor.decodeFact(fact, actor.version))
    history.moments.push(new Moment(history.actor, { sequence, at, now: frame.now }, state, undefined))
  }
}

export const jsonOf = (actor: AnyActor, state: unknown): string => JSON.stringify(actor.encodeState(state))
