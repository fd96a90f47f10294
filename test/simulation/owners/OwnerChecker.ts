/**
 * Checks the promises of several owners as a scenario goes: a caller with an acknowledgement finds its fact in the log once, what was said not to
 * be stored is nowhere, epochs rise and each has one writer, nothing is granted beyond an allowance, looks are fresh, and no partition runs
 * twice in a process or stops while nobody else has it.
 */
import { Effect } from "effect"
import { formatLevels } from "../../../src/common/formatLevels.ts"
import { decodeFrame } from "../../../src/engine/frame.ts"
import type { StoredFrame } from "../../../src/engine/ports/Journal.ts"
import { isRefusal } from "../../../src/simulation/engine/describeAnswer.ts"
import type { Answer } from "../../../src/simulation/engine/Operations.ts"
import { maximumStaleMillis } from "../../../src/simulation/engine/SimulatedJournal.ts"
import { Allowance, allowance, Book, type Line, type Lines, levelOf } from "./actors.ts"
import type { OwnersSimulation } from "./OwnersSimulation.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"

/** What a look may be behind the log: how long an owner trusts its memory, and how old the server's word may be. */
const freshMillis = 5_000 + maximumStaleMillis

/** A line that somebody wants stored. */
export interface Wish {
  readonly text: string
  readonly kind: "book" | "allowance"
  readonly organization: string
  readonly isOnce: boolean
  /** What the asker was told in the end; undefined while it waits. */
  answer: Answer | undefined
}

interface Stored {
  readonly partition: number
  readonly sequence: number
  readonly at: number
}

/** One time that a partition runs in a node. */
interface Life {
  /** Whether there is a reason to end it. */
  mayEnd: boolean
}

export class Promises {
  private readonly simulation: OwnersSimulation
  readonly wishes = new Map<string, Wish>()
  /** Where each line is in the log. */
  private readonly stored = new Map<string, Stored>()
  /** Lines by organization, in the log's order. */
  private readonly lines = new Map<string, Array<string>>()
  /** Lines whose facts need a later level of formats than the first. */
  private readonly marked = new Set<string>()
  private readonly grants = new Map<string, number>()
  private readonly replies = new Map<string, string>()
  private readonly epochs = new Map<number, { readonly epoch: number; readonly node: SimulatedNode | undefined }>()
  /** The lives of a partition in a node, by both names. */
  private readonly running = new Map<string, Set<Life>>()

  constructor(simulation: OwnersSimulation) {
    this.simulation = simulation
  }

  private violate(promise: string, message: string): void {
    this.simulation.violate(promise, message)
  }

  wish(wish: Wish): void {
    this.wishes.set(wish.text, wish)
  }

  committed(partition: number, { bytes, sequence }: StoredFrame, node: SimulatedNode | undefined) {
    const frame = decodeFrame(bytes)
    const before = this.epochs.get(partition)
    const where = `frame ${sequence} of partition ${partition}`
    if (frame.epoch < (before?.epoch ?? 0))
      return this.violate("epochs rise", `${where} is of epoch ${frame.epoch}, after ${before?.epoch}`)
    if (frame.epoch === before?.epoch && before.node !== node)
      return this.violate(
        "one writer per epoch",
        `${where} is of epoch ${frame.epoch}, which ${before.node?.name} began`
      )
    if (frame.epoch !== before?.epoch && frame.claim === undefined)
      return this.violate("epochs rise", `${where} begins epoch ${frame.epoch} and is no claim`)
    this.epochs.set(partition, { epoch: frame.epoch, node })
    this.simulation.roll.committed(partition, frame, node)
    for (const { actor, fact } of frame.records) {
      if (actor.kind !== Book.kind && actor.kind !== Allowance.kind) continue
      if (levelOf(fact) > formatLevels.first) this.marked.add((fact as Line).text)
      this.store((fact as Line).text, actor.organization, {
        partition,
        sequence,
        at: this.simulation.world.now
      })
    }
  }

  private store(text: string, organization: string, place: Stored) {
    const wish = this.wishes.get(text)
    if (wish === undefined) return this.violate("stored once", `${text} is stored, and nobody asked for it`)
    const before = this.stored.get(text)
    if (before !== undefined)
      return this.violate("stored once", `${text} is in frame ${before.sequence} and again in ${place.sequence}`)
    this.stored.set(text, place)
    if (wish.answer !== undefined && isRefusal(wish.answer))
      this.violate("answers are true", `${text} was answered ${describe(wish.answer)}, and is stored after that`)
    if (wish.kind === "book") {
      const lines = this.lines.get(organization) ?? []
      this.lines.set(organization, lines)
      lines.push(text)
      return
    }
    const granted = (this.grants.get(organization) ?? 0) + 1
    this.grants.set(organization, granted)
    if (granted > allowance)
      this.violate("allowances are kept", `${organization} was granted ${granted}, its allowance is ${allowance}`)
  }

  answered(wish: Wish, answer: Answer) {
    const { kind, organization, text } = wish
    const place = this.stored.get(text)
    if (answer._tag === "Replied") {
      if (place === undefined)
        return this.violate("answers are true", `${text} was answered ${String(answer.reply)}, and is not stored`)
      const name = `${organization} ${kind} ${String(answer.reply)}`
      const other = this.replies.get(name)
      if (other !== undefined && other !== text)
        return this.violate("answers are true", `${text} and ${other} were both answered ${String(answer.reply)}`)
      this.replies.set(name, text)
      if (kind === "book" && this.lines.get(organization)?.[Number(answer.reply) - 1] !== text)
        this.violate("answers are true", `${text} was answered ${String(answer.reply)}, and is another line`)
      return
    }
    if (answer._tag === "Rejected") {
      if (place !== undefined) this.violate("answers are true", `${text} was rejected, and is stored`)
      if ((this.grants.get(organization) ?? 0) < allowance)
        this.violate("allowances are kept", `${text} was rejected, and ${organization} has not used its allowance up`)
      return
    }
    // Under a key an earlier attempt may be stored that was not known of.
    if (isRefusal(answer) && place !== undefined && !wish.isOnce)
      this.violate("answers are true", `${text} was answered ${describe(answer)}, and is in frame ${place.sequence}`)
  }

  looked(organization: string, { marked = 0, texts }: Lines, startedAt: number) {
    const lines = this.lines.get(organization) ?? []
    const wrong = texts.findIndex((text, index) => text !== lines[index])
    if (wrong !== -1)
      return this.violate(
        "looks are true",
        `line ${wrong} of ${organization} is ${texts[wrong]}, the log has ${lines[wrong]}`
      )
    const inLog = texts.filter((text) => this.marked.has(text)).length
    if (inLog !== marked)
      return this.violate(
        "nothing is folded away",
        `${inLog} lines of ${organization} are marked, its state has ${marked}`
      )
    const missing = lines[texts.length]
    if (missing !== undefined && this.stored.get(missing)!.at < startedAt - freshMillis)
      this.violate(
        "looks are fresh",
        `a look at ${organization} does not show ${missing}, stored ${startedAt - this.stored.get(missing)!.at} ms before`
      )
  }

  /** Runs a partition in a node, and watches that it runs once and ends for a reason. */
  served(node: SimulatedNode, partition: number, serve: Effect.Effect<void>): Effect.Effect<void> {
    const name = `${node.name} ${partition}`
    return Effect.suspend(() => {
      const lives = this.running.get(name) ?? new Set()
      this.running.set(name, lives)
      if (lives.size > 0)
        this.violate("a partition runs once", `${node.name} runs partition ${partition} a second time`)
      const life: Life = { mayEnd: node.isTaken(partition) || node.toEnd.has(partition) }
      lives.add(life)
      return Effect.ensuring(
        serve,
        Effect.sync(() => {
          lives.delete(life)
          if (!life.mayEnd && !node.isLeaving)
            this.violate("nobody stops alone", `${node.name} stops partition ${partition}, which nobody else has taken`)
        })
      )
    })
  }

  /** The node was told for certain that a partition is not its own, or another one has noted that it has taken it. */
  mayStop(node: SimulatedNode, partition: number): void {
    for (const life of this.running.get(`${node.name} ${partition}`) ?? []) life.mayEnd = true
  }

  healed(): void {
    for (const wish of this.wishes.values()) {
      if (wish.answer === undefined) this.violate("everything is answered", `${wish.text} was never answered`)
      else if (wish.isOnce && wish.answer._tag === "Replied" && !this.stored.has(wish.text))
        this.violate("answers are true", `${wish.text} was answered, and is not stored`)
    }
  }
}

const describe = (answer: Answer): string =>
  answer._tag === "Failed" ? `${answer.error}, ${answer.message}` : answer._tag
