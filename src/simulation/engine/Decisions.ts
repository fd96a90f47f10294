/**
 * Watches the decisions of an engine: wraps the rules of actors so that every decision is noted with its state and the
 * frame it was drafted for. The rules themselves run unchanged. Needs no service.
 */
import { type AnyActor, type DecideContext, type Decision, WakeAgain } from "../../engine/Actor.ts"
import type { ActorAddress } from "../../engine/address.ts"
import { encodeEvent } from "../../engine/frame.ts"
import { takingBoxed } from "./boxedCommands.ts"
import { isRefusal } from "./describeAnswer.ts"
import type { Answer } from "./Operations.ts"
import { type ActorHistory, jsonOf, type Moment } from "./Truth.ts"

/** A decision as it was taken, durable or not. See {@link engineCheckers}. */
export interface Decided extends ActorAddress {
  readonly actor: AnyActor
  /** The very object of the ask, in a box if it is not an object (`unboxed`); undefined for a timer. */
  readonly command: unknown
  readonly accepted: boolean
  readonly reply: unknown
  readonly rejection: unknown
  readonly now: number
  /** The facts, events and messages as they must stand in the frame, as JSON with the actor's name. */
  readonly records: ReadonlyArray<string>
  /** The state behind it as JSON; kept only for decisions without facts, which need it. */
  readonly restsOn: string | undefined
  /** Place of the decision: which frame it was drafted for, and its index in the drain. */
  readonly frame: FramePlace
  /** Whether the engine has answered the caller that nothing of it is stored. */
  isRefused: boolean
  /** Sequence of the frame that holds it. */
  storedAt: number | undefined
  /** Moves the oracle's model; set for actors that have one. */
  step: ((history: ActorHistory, before: Moment, now: number) => unknown) | undefined
}

/** A wake as a process ran it, durable or not. See {@link engineCheckers}. */
export interface Woken extends ActorAddress {
  /** Must not be changed. */
  readonly state: unknown
  /** When that state wants to be woken. */
  readonly wakeAt: number | undefined
  readonly now: number
  /** The time that `wakeAgain` has named. */
  readonly againAt: number | undefined
}

/** The place of a frame in the logs. See {@link engineCheckers}. */
export interface FramePlace {
  readonly partition: number
  readonly epoch: number
  readonly number: number
  readonly command: number
}

/** Reads the place back from an id that was derived from it (docs/architecture.md, rule 8). */
export const placeOf = (id: string): FramePlace => {
  const bits = (from: number, to: number) => Number.parseInt(id.slice(from, to), 16)
  const high = bits(14, 18) & 0x0fff
  const first = bits(19, 23) & 0x3fff
  const second = bits(24, 28)
  const third = bits(28, 32)
  return {
    partition: bits(0, 4),
    epoch: bits(4, 8) * 0x1_0000 + bits(9, 13),
    number: high * 0x1_0000_0000 + first * 0x4_0000 + second * 4 + (third >>> 14),
    command: third & 0x0fff
  }
}

/** The decisions of one process that are drafted but not stored yet, by partition. See {@link engineCheckers}. */
export class Decisions {
  private readonly drafts = new Map<number, Array<Decided>>()
  /**
   * Drafts that were sent. If something is decided for the same frame number afterwards, the log has refused the sent
   * frame and this is a new one.
   */
  private readonly sent = new WeakSet<ReadonlyArray<Decided>>()
  /** The latest decision upon each command object. */
  readonly ofCommand = new Map<unknown, Decided>()
  private readonly onDecided: (decided: Decided) => void
  private readonly onWoken: (woken: Woken) => void

  constructor(onDecided: (decided: Decided) => void, onWoken: (woken: Woken) => void) {
    this.onDecided = onDecided
    this.onWoken = onWoken
  }

  /** Wraps an actor so that it is watched. */
  watch(actor: AnyActor): AnyActor {
    const taking = takingBoxed(actor)
    const { decide, wake } = taking.options
    return {
      ...taking,
      options: {
        ...taking.options,
        decide: (state: unknown, command: unknown, context: DecideContext) => {
          const decision = decide(state, command, context)
          this.note(actor, state, command, context, decision)
          return decision
        },
        ...(wake === undefined
          ? {}
          : {
              wake: (state: unknown, context: DecideContext) => {
                const answer = wake(state, context)
                const againAt = answer instanceof WakeAgain ? answer.time : undefined
                const wakeAt = actor.options.wakeAt!(state)
                this.onWoken({ ...context.self, state, wakeAt, now: context.now, againAt })
                if (!(answer instanceof WakeAgain)) this.note(actor, state, undefined, context, answer)
                return answer
              }
            })
      }
    }
  }

  /** Notes the answer to a command. Returns the last decision about it, if it was decided. */
  answered(command: unknown, answer: Answer): Decided | undefined {
    const decided = this.ofCommand.get(command)
    if (decided !== undefined && isRefusal(answer)) decided.isRefused = true
    return decided
  }

  /** The decisions drafted for a frame that is now on its way, in order. */
  draftedFor(partition: number, epoch: number, number: number): ReadonlyArray<Decided> {
    const drafts = this.drafts.get(partition)
    if (drafts === undefined) return []
    this.sent.add(drafts)
    return drafts.filter(
      (draft) => draft.frame.epoch === epoch && draft.frame.number === number && draft.records.length > 0
    )
  }

  private note(
    actor: AnyActor,
    state: unknown,
    command: unknown,
    context: DecideContext,
    decision: Decision<unknown, unknown, unknown>
  ): void {
    const { key, kind, organization } = context.self
    const records: Array<string> = []
    let restsOn: string | undefined
    try {
      if (decision.accepted) {
        for (const fact of decision.facts) {
          records.push(JSON.stringify([organization, kind, key, actor.encodeFact(fact)]))
        }
        for (const other of decision.others) {
          for (const fact of other.facts) {
            records.push(JSON.stringify([organization, other.actor.kind, other.key, other.actor.encodeFact(fact)]))
          }
        }
        for (const event of decision.events) {
          records.push(JSON.stringify([organization, kind, key, JSON.parse(encodeEvent(event))]))
        }
        for (const message of decision.messages) {
          const command = message.actor.encodeCommand(message.command)
          const receiver = { organization: message.organization, kind: message.actor.kind, key: message.key }
          records.push(
            JSON.stringify([organization, kind, key, { ...receiver, version: message.actor.version, command }])
          )
        }
      }
      if (records.length === 0) restsOn = jsonOf(actor, state)
    } catch {
      // The engine itself reports a value that cannot be encoded.
      return
    }
    const frame = placeOf(context.id(0))
    const decided: Decided = {
      organization,
      kind,
      key,
      actor,
      command,
      accepted: decision.accepted,
      reply: decision.reply,
      rejection: decision.rejection,
      now: context.now,
      records,
      restsOn,
      frame,
      isRefused: false,
      storedAt: undefined,
      step: undefined
    }
    let drafts = this.drafts.get(frame.partition)
    const last = drafts?.[drafts.length - 1]
    if (
      drafts === undefined ||
      last === undefined ||
      this.sent.has(drafts) ||
      last.frame.epoch !== frame.epoch ||
      last.frame.number !== frame.number
    ) {
      drafts = []
      this.drafts.set(frame.partition, drafts)
    } else {
      // A drain that is decided again starts over.
      while (drafts.length > 0 && drafts[drafts.length - 1]!.frame.command >= frame.command) drafts.pop()
    }
    drafts.push(decided)
    if (command !== undefined) this.ofCommand.set(command, decided)
    this.onDecided(decided)
  }
}
