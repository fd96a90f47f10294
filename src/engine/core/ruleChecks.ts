/**
 * Checks a rule's answers before anything is appended (docs/architecture.md, rule 17): rules are users' code and are
 * not trusted. An answer that passes can be stored, folded again and checkpointed. Each function throws an error that
 * names the rule and its fault.
 */
import { type AnyActor, Decision, type Touched, type WakeAgain } from "../Actor.ts"
import { maximumNameLength } from "../address.ts"
import { Quarantined } from "../errors.ts"
import type { Cell } from "./actors/Organization.ts"

/** A rule's answer cannot be stored. */
export class RuleBroken extends Error {
  override readonly name = "RuleBroken"
}

/** A key is not valid. */
export class KeyInvalid extends RangeError {
  override readonly name = "KeyInvalid"
}

/** A command gives facts to an actor that it claims to be fresh, and that has had some. */
export class NotFresh extends Error {
  override readonly name = "NotFresh"

  constructor({ actor, key }: Cell) {
    super(`it claims that ${actor.kind} "${key}" is fresh, but that actor has had facts`)
  }
}

/** A command touches more actors than the process may hold, so it never finds room for them. */
export class MoreThanFit extends RangeError {
  override readonly name = "MoreThanFit"

  constructor(needed: number, maximumActors: number) {
    super(`it needs ${needed} actors in memory at once, and at most ${maximumActors} are held (maximumActors)`)
  }
}

/**
 * Checks that a key can pass through a database and a log: it is bounded, has no zero byte, and only whole characters.
 */
export const checkKey = (key: unknown): void => {
  if (typeof key !== "string") throw new KeyInvalid("the key of an actor is a string")
  if (key.length > maximumNameLength)
    throw new KeyInvalid(`the key of an actor has at most ${maximumNameLength} characters`)
  if (!key.isWellFormed()) throw new KeyInvalid("the key of an actor has half a surrogate pair in it")
  if (key.includes("\0")) throw new KeyInvalid("the key of an actor has a zero byte in it")
}

const nameOf = (value: unknown): string =>
  value instanceof Promise ? "a Promise: rules are synchronous" : value === undefined ? "nothing" : typeof value

/** Checks that `decide` or `wake` returned a decision. */
export const checkDecision = (actor: AnyActor, rule: "decide" | "wake", answer: unknown): void => {
  if (!(answer instanceof Decision))
    throw new RuleBroken(`${rule} of ${actor.kind} answered ${nameOf(answer)}, not Actor.decided or Actor.rejected`)
  const { events, facts, messages, others } = answer
  if (!(Array.isArray(facts) && Array.isArray(others) && Array.isArray(events) && Array.isArray(messages)))
    throw new RuleBroken(`${rule} of ${actor.kind}: facts, others, events and messages are arrays`)
}

/** Checks and returns the time that `wakeAgain` names. */
export const checkAgain = (actor: AnyActor, { time }: WakeAgain, now: number): number => {
  if (Number.isSafeInteger(time) && time > now) return time
  throw new RuleBroken(`wake of ${actor.kind} asks to be woken again at ${time}, not at a whole time after ${now}`)
}

/** Whether a decision has to be stored before it counts. */
export const storesAnything = ({ events, facts, messages, others }: Decision<unknown, unknown, unknown>): boolean =>
  facts.length > 0 || others.length > 0 || events.length > 0 || messages.length > 0

/** Checks a list of touched actors. */
export const checkTouches: (actor: AnyActor, answer: unknown) => asserts answer is ReadonlyArray<Touched> = (
  actor,
  answer
) => {
  if (!Array.isArray(answer)) throw new RuleBroken(`touches of ${actor.kind} answered ${nameOf(answer)}, not an array`)
}

/** Asks when an actor wants to be woken, and checks the answer; infinity for never. */
export const wakeAtOf = (actor: AnyActor, state: unknown): number => {
  const { wakeAt } = actor.options
  if (wakeAt === undefined) return Number.POSITIVE_INFINITY
  const at: unknown = wakeAt(state)
  if (at === undefined) return Number.POSITIVE_INFINITY
  if (typeof at !== "number" || Number.isNaN(at) || at === Number.NEGATIVE_INFINITY)
    throw new RuleBroken(
      `wakeAt of ${actor.kind} answered ${typeof at === "number" ? at : nameOf(at)}, not a time in milliseconds`
    )
  return at
}

/** Checks that a state's schema can write and read it. */
export const checkState = (actor: AnyActor, state: unknown): void => {
  const problem = actor.stateProblem(state)
  if (problem !== undefined)
    throw new RuleBroken(`evolve of ${actor.kind} answered a state that its schema refuses: ${problem}`)
}

/** Whether the state of an actor equals its initial one in meaning (`isOver`). A rule that throws here counts as no. */
export const isOver = (actor: AnyActor, state: unknown): boolean => {
  try {
    return actor.options.isOver?.(state) === true
  } catch {
    return false
  }
}

export const quarantined = (organization: string, reason: string): Quarantined =>
  new Quarantined({ organization, reason })

/** Parts of a command that the size estimate examines, and the count of each further list or object. */
const estimatedParts = 256
const partBytes = 8
const maximumEstimatedDepth = 64

/** Parts of the command being estimated that may still be examined. */
let partsLeft = 0

/** Estimates how many bytes a command holds in memory, with bounded work. */
export const estimateBytes = (command: unknown): number => {
  partsLeft = estimatedParts
  return typeof command === "string" ? command.length : bytesOf(command, 0)
}

const bytesOf = (value: unknown, depth: number): number => {
  if (typeof value === "string") return partBytes + value.length
  if (typeof value !== "object" || value === null) return partBytes
  if (ArrayBuffer.isView(value)) return partBytes + value.byteLength
  if (--partsLeft < 0 || depth > maximumEstimatedDepth)
    return partBytes + partBytes * (Array.isArray(value) ? value.length : 16)
  let bytes = partBytes
  if (Array.isArray(value)) {
    const looked = Math.min(value.length, estimatedParts)
    for (let index = 0; index < looked; index++) bytes += bytesOf(value[index], depth + 1)
    return bytes + (value.length - looked) * partBytes * 4
  }
  // Inherited members are counted too, where a command has any.
  for (const name in value) bytes += bytesOf((value as Record<string, unknown>)[name], depth + 1)
  return bytes
}
