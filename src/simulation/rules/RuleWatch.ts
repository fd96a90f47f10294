/**
 * Watches a rule while it runs in the engine: exceptions of its functions, changes of values that are not its own,
 * reads of the machine, and different answers to the same question. The engine promises its users to refuse most of
 * that; a simulation names the function. Needs no service.
 */
import { isDeepStrictEqual } from "node:util"
import { type AnyActor, type DecideContext, Decision, WakeAgain } from "../../engine/Actor.ts"
import { describe } from "../../engine/describe.ts"
import { watchReads } from "./watchReads.ts"

/** Receives the fault of a rule; `isImpure` for one that makes the rule answer differently another time. */
export type Complain = (sentence: string, isImpure: boolean) => void

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

/** The JSON form of a value; undefined if its schema refuses it, which the engine reports itself. */
const encoded = (encode: (value: unknown) => unknown, value: unknown): unknown => {
  try {
    return encode(value)
  } catch {
    return undefined
  }
}

/** The comparable parts of a decision. */
const contentOf = (answer: unknown): unknown => {
  if (!(answer instanceof Decision)) return answer
  const others = answer.others.map(({ actor, facts, key }) => ({ kind: actor.kind, key, facts }))
  const messages = answer.messages.map(({ actor, command, key, organization }) => ({
    organization,
    kind: actor.kind,
    key,
    command
  }))
  const { accepted, events, facts, rejection, reply } = answer
  return { accepted, facts, reply, rejection, others, events, messages }
}

/** The answers of a scenario that are all compared with a second one; of later ones, every sixteenth is. */
const compared = 500
const comparedShare = 16

export class RuleWatch {
  private complain: Complain = () => {}
  private answers = 0

  /** Begins a scenario, with its receiver of complaints. */
  begin(complain: Complain): void {
    this.complain = complain
    this.answers = 0
  }

  /** Whether an answer is compared. A flood has thousands, and a comparison costs as much as the state is large. */
  private get isCompared(): boolean {
    this.answers++
    return this.answers <= compared || this.answers % comparedShare === 0
  }

  private impure(sentence: string): void {
    this.complain(sentence, true)
  }

  private broken(sentence: string): void {
    this.complain(sentence, false)
  }

  /** Wraps an actor so that it is watched. */
  of(actor: AnyActor): AnyActor {
    const { decide, evolve, touches, wake, wakeAt, wakeTouches } = actor.options
    const options = {
      ...actor.options,
      decide: (state: unknown, command: unknown, context: DecideContext) => {
        const before = encoded(actor.encodeCommand, command)
        const answer = this.deciding(actor, "decide", state, show(before), () => decide(state, command, context))
        const change = differenceOf(before, encoded(actor.encodeCommand, command))
        if (change !== undefined) this.impure(`${actor.kind}.decide changes its command, ${change}`)
        return answer
      },
      evolve: this.evolving(actor, evolve),
      ...(touches === undefined
        ? {}
        : { touches: this.pure(actor, "touches", touches as (...of: ReadonlyArray<unknown>) => unknown) }),
      ...(wakeTouches === undefined
        ? {}
        : { wakeTouches: this.pure(actor, "wakeTouches", wakeTouches as (...of: ReadonlyArray<unknown>) => unknown) }),
      ...(wakeAt === undefined
        ? {}
        : { wakeAt: this.pure(actor, "wakeAt", wakeAt as (...of: ReadonlyArray<unknown>) => unknown) }),
      ...(wake === undefined
        ? {}
        : {
            wake: (state: unknown, context: DecideContext) => {
              const answer: unknown = this.deciding(actor, "wake", state, "its wake", () => wake(state, context))
              this.checkWake(actor, answer, context.now)
              return answer
            }
          })
    }
    return { ...actor, options } as AnyActor
  }

  private readsOf(actor: AnyActor, name: string) {
    return (what: string) => this.impure(`${actor.kind}.${name} is not pure: it reads ${what}`)
  }

  /** Runs `decide` or `wake`, twice where the first answer is one. */
  private deciding<A>(actor: AnyActor, name: string, state: unknown, what: string, run: () => A): A {
    const isCompared = this.isCompared
    const before = isCompared ? encoded(actor.encodeState, state) : undefined
    let answer: A
    try {
      answer = watchReads(this.readsOf(actor, name), run)
    } catch (cause) {
      const shown = show(before ?? encoded(actor.encodeState, state))
      this.broken(`${actor.kind}.${name} throws on ${what} in the state ${shown}: ${describe(cause)}`)
      throw cause
    }
    this.checkFacts(actor, name, answer)
    if (!isCompared) return answer
    const difference = differenceOf(contentOf(answer), contentOf(this.again(run)))
    if (difference !== undefined)
      this.impure(
        `${actor.kind}.${name} is not pure: asked twice for ${what} in the same state, it answers ${difference}`
      )
    const change = differenceOf(before, encoded(actor.encodeState, state))
    if (change !== undefined) this.impure(`${actor.kind}.${name} changes the state that it decides upon, ${change}`)
    return answer
  }

  /** The answer of a second run. */
  private again(run: () => unknown): unknown {
    try {
      return run()
    } catch (cause) {
      return describe(cause)
    }
  }

  /** Whether the decision's values can be written at all. */
  private checkFacts(actor: AnyActor, name: string, answer: unknown): void {
    if (!(answer instanceof Decision)) return
    const check = (of: AnyActor, facts: ReadonlyArray<unknown>) => {
      for (const fact of facts)
        try {
          of.encodeFact(fact)
        } catch (cause) {
          this.broken(
            `${actor.kind}.${name} gives a fact that the schema of ${of.kind} refuses, ${show(fact)}: ${describe(cause)}`
          )
        }
    }
    check(actor, answer.facts)
    for (const other of answer.others) check(other.actor, other.facts)
  }

  private checkWake(actor: AnyActor, answer: unknown, now: number): void {
    if (answer instanceof WakeAgain) {
      const { time } = answer
      if (!Number.isInteger(time) || time <= now)
        this.broken(`${actor.kind}.wake asks to be woken again at ${time}, which does not come after now, ${now}`)
      return
    }
    if (!(answer instanceof Decision)) return
    if (!answer.accepted || answer.facts.length + answer.others.length === 0)
      this.broken(
        `${actor.kind}.wake decides nothing, so that its actor is not woken any more until a command changes it: it needs a fact, or wakeAgain`
      )
  }

  private evolving(actor: AnyActor, evolve: (state: unknown, fact: unknown) => unknown) {
    const reads = this.readsOf(actor, "evolve")
    const isInPlace = actor.options.copy !== undefined
    return (state: unknown, fact: unknown): unknown => {
      const isCompared = this.isCompared
      const factBefore = encoded(actor.encodeFact, fact)
      const before: unknown = isInPlace || !isCompared ? undefined : encoded(actor.encodeState, state)
      let next: unknown
      try {
        next = watchReads(reads, () => evolve(state, fact))
      } catch (cause) {
        this.broken(`${actor.kind}.evolve throws on the fact ${show(factBefore)}: ${describe(cause)}`)
        throw cause
      }
      const factChange = differenceOf(factBefore, encoded(actor.encodeFact, fact))
      if (factChange !== undefined) this.impure(`${actor.kind}.evolve changes its fact, ${factChange}`)
      // A state that is changed in place has one chance only.
      if (isInPlace || !isCompared) return next
      const change = differenceOf(before, encoded(actor.encodeState, state))
      if (change !== undefined)
        this.impure(`${actor.kind}.evolve changes the state that it is given, without \`copy\`: ${change}`)
      const difference = change === undefined ? differenceOf(next, evolve(state, fact)) : undefined
      if (difference !== undefined)
        this.impure(`${actor.kind}.evolve is not pure: with the same fact it makes ${difference}`)
      return next
    }
  }

  private pure(actor: AnyActor, name: string, run: (...of: ReadonlyArray<unknown>) => unknown) {
    const reads = this.readsOf(actor, name)
    return (...of: ReadonlyArray<unknown>): unknown => {
      let answer: unknown
      try {
        answer = watchReads(reads, () => run(...of))
      } catch (cause) {
        this.broken(`${actor.kind}.${name} throws: ${describe(cause)}`)
        throw cause
      }
      return answer
    }
  }
}

const showValue = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The first place at which two values differ, with both values; undefined when they are equal. */
export const differenceOf = (left: unknown, right: unknown, at = ""): string | undefined => {
  if (isDeepStrictEqual(left, right)) return undefined
  if (isRecord(left) && isRecord(right))
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const found = differenceOf(left[name], right[name], at === "" ? name : `${at}.${name}`)
      if (found !== undefined) return found
    }
  return `${at === "" ? "" : `${at}: `}${showValue(left)} and ${showValue(right)}`
}
