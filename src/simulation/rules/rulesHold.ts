/**
 * Checks the duties of a user's own rules: they do not break or outgrow the engine's bounds, their wakes come to an
 * end, and statements about several actors together hold after every stored frame. It notes how much of them was
 * reached, and tells the story of a finding in the trace.
 */
import { maximumWakes } from "../../engine/limits.ts"
import { unboxed } from "../engine/boxedCommands.ts"
import type { Checker } from "../engine/Checker.ts"
import type { Simulation } from "../engine/Simulation.ts"
import { nameOf } from "../engine/Truth.ts"
import type { Together } from "../engine/Workload.ts"
import { floatSumIn } from "./floatSums.ts"
import type { RuleWatch } from "./RuleWatch.ts"
import { States } from "./States.ts"

/** Answers of the engine that only a rule can cause. */
const ruleErrors: ReadonlySet<string> = new Set([
  "CommandFailed",
  "CommandInvalid",
  "DecisionTooLarge",
  "StateTooLarge",
  "ReplyTooLarge",
  "Quarantined",
  "Defect"
])

/** Wakes of one actor within a second after which its rule counts as one that never ends. */
const endlessWakes = maximumWakes / 2
const endlessMillis = 1_000

/** Characters of a state that a story shows. */
const shownCharacters = 300

const short = (text: string): string => (text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text)

const tagOf = (command: unknown): string => {
  const tag = (command as { readonly _tag?: unknown } | null)?._tag
  return typeof tag === "string" ? tag : "commands"
}

/** The marks of a rule's reach. */
export const reachMark = (kind: string, what: string): string => `rule, ${kind}: ${what}`

/** The sentences about several actors: of each organization, and of all. */
const together = (simulation: Simulation, { each, all }: Together, violate: (message: string) => void) => {
  const check = (sentences: Together["each"], organization: string | undefined, now: number) => {
    const states = new States(simulation.truth, organization)
    for (const [sentence, holds] of Object.entries(sentences))
      if (!holds(states, { now, organization: organization ?? "" }))
        violate(`"${sentence}" does not hold${organization === undefined ? "" : ` for ${organization}`}`)
  }
  return (organizations: Iterable<string>, now: number) => {
    for (const organization of organizations) check(each, organization, now)
    check(all, undefined, now)
  }
}

/** The beginning of marks that hold a hint. */
export const hintMark = "rule, hint, "

/** A fraction in JSON that is so long as the sum of several can be. */
const longFraction = /\d\.\d{10}/

/** Hints about the last states of actors. */
const hintsOf = function* ({ truth, workload }: Simulation): Generator<string> {
  const kinds = new Set(workload.actors.map(({ kind }) => kind))
  for (const { kind, moments } of truth.histories(undefined)) {
    const { json } = moments[moments.length - 1]!
    if (!kinds.has(kind) || !longFraction.test(json)) continue
    const found = floatSumIn(JSON.parse(json))
    if (found !== undefined)
      yield `${kind}: ${found.path === "" ? "its state" : found.path} is ${found.value}, which looks like a sum of fractions that was to be ${found.near}: count money in whole cents`
  }
}

/** Complains about an actor that is woken without end. */
const wakesEnd = (violate: (message: string) => void) => {
  const last = new Map<string, { since: number; count: number }>()
  return (name: string, now: number) => {
    const found = last.get(name)
    if (found === undefined || now - found.since >= endlessMillis) {
      last.set(name, { since: now, count: 1 })
      return
    }
    if (++found.count === endlessWakes)
      violate(
        `${name} was woken ${endlessWakes} times within ${now - found.since} ms: its wake does not move wakeAt ahead, or moves it by too little`
      )
  }
}

/** Observes a scenario, and complains. */
export const rulesHold = (watch: RuleWatch, said: Together): Checker => ({
  name: "rules hold",
  make: (simulation, violate) => {
    // A rule runs many times with the same fault; one sentence is enough.
    const complain = (message: string) => {
      if (simulation.violations.length === 0) violate(message)
    }
    watch.begin(complain)
    const checkTogether = together(simulation, said, complain)
    const noteWake = wakesEnd(complain)
    const reached = (kind: string, command: unknown, isAccepted: boolean) =>
      simulation.marks.reach(reachMark(kind, `${tagOf(command)} ${isAccepted ? "accepted" : "rejected"}`))
    const asked = new WeakSet<object>()
    return {
      asked: ({ command }) => {
        if (typeof command === "object" && command !== null) asked.add(command)
      },
      // The commands of clients count when they are settled; all others come by message.
      decided: ({ accepted, command, kind }) => {
        if (typeof command === "object" && command !== null && !asked.has(command))
          reached(kind, unboxed(command), accepted)
      },
      committed: (commit) => {
        const organizations = new Set<string>()
        for (const history of simulation.truth.changedBy(commit)) {
          organizations.add(history.organization)
          const { moments } = history
          const from = moments.findIndex(({ sequence }) => sequence === commit.sequence)
          const before = moments[from - 1]
          if (before !== undefined)
            simulation.trace(
              () => `  ${nameOf(history)}: ${short(before.json)} -> ${short(moments[moments.length - 1]!.json)}`
            )
        }
        checkTogether(organizations, commit.frame.now)
      },
      healed: () => {
        for (const hint of hintsOf(simulation)) simulation.marks.reach(`${hintMark}${hint}`)
      },
      answered: ({ answer, operation }) => {
        if (answer?._tag === "Failed" && ruleErrors.has(answer.error))
          complain(
            `${nameOf({ ...operation })} answers ${tagOf(operation.command)} with ${answer.error}: ${answer.message}`
          )
      },
      settled: ({ answer, command, kind }) => {
        if (answer === undefined || answer._tag === "Failed") return
        reached(kind, command, answer._tag === "Replied")
      },
      woken: (woken) => {
        simulation.marks.reach(reachMark(woken.kind, "woken"))
        noteWake(nameOf(woken), woken.now)
      }
    }
  }
})
