/**
 * Reports how much of a user's rules a simulation has reached: silence says little about a command that was never
 * accepted. Pure.
 */
import { eventuallyMark } from "../engine/Deadlines.ts"
import type { Marks } from "../engine/Marks.ts"
import type { Workload } from "../engine/Workload.ts"
import { hintMark, reachMark } from "./rulesHold.ts"
import { tagsOf } from "./tags.ts"

/** The part of a rule that a campaign has reached. It says nothing about the rest. See {@link describeReport}. */
export interface Reach {
  /** How often each command was accepted and rejected, by kind and `_tag`. */
  readonly commands: ReadonlyArray<{
    readonly kind: string
    readonly command: string
    readonly accepted: number
    readonly rejected: number
  }>
  /** How often actors were woken, by kind, for kinds that can be. */
  readonly wakes: Readonly<Record<string, number>>
  /** How often the time of a sentence of `eventually` has begun, and how often it was kept. */
  readonly eventually: ReadonlyArray<{
    readonly kind: string
    readonly sentence: string
    readonly begun: number
    readonly kept: number
  }>
  /** Processes that began, and so recovered stored data. */
  readonly restarts: number
  /** How often a reactor was built anew. */
  readonly rebuilds: number
  /** How often actors were read from the checkpoints after they had left memory. */
  readonly reads: number
  /** How often time has jumped to one that matters. */
  readonly jumps: number
  /** Hints about states that are right by all sentences, and may be meant otherwise: one for each field. */
  readonly hints: ReadonlyArray<string>
  /** The unreached parts, as sentences. */
  readonly warnings: ReadonlyArray<string>
}

/** The reached part of a workload's rules. */
export const reachOf = (workload: Workload, { counts }: Marks): Reach => {
  const count = (mark: string) => counts.get(mark) ?? 0
  const kinds = new Set(workload.commands.map(({ actor }) => actor.kind))
  const asked = workload.actors.filter(({ kind }) => kinds.has(kind))
  const commands = asked.flatMap(({ kind, options }) =>
    tagsOf(options.command).map((tag) => ({
      kind,
      command: tag ?? "commands",
      accepted: count(reachMark(kind, `${tag ?? "commands"} accepted`)),
      rejected: count(reachMark(kind, `${tag ?? "commands"} rejected`))
    }))
  )
  const wakes = Object.fromEntries(
    workload.actors
      .filter(({ options }) => options.wake !== undefined)
      .map(({ kind }) => [kind, count(reachMark(kind, "woken"))])
  )
  const eventually = Object.entries(workload.eventually ?? {}).flatMap(([kind, sentences]) =>
    Object.keys(sentences).map((sentence) => ({
      kind,
      sentence,
      begun: count(eventuallyMark(kind, sentence, "begun")),
      kept: count(eventuallyMark(kind, sentence, "kept"))
    }))
  )
  const warnings = [
    ...commands
      .filter(({ accepted }) => accepted === 0)
      .map(({ command, kind }) => `${kind} never accepted ${command}`),
    ...Object.entries(wakes).flatMap(([kind, woken]) => (woken === 0 ? [`${kind} was never woken`] : [])),
    ...eventually
      .filter(({ begun }) => begun === 0)
      .map(({ kind, sentence }) => `no state of ${kind} has begun the time of "${sentence}"`),
    ...(workload.ingests ?? [])
      .filter(({ name }) => count(`stream, decided: ${name}`) === 0)
      .map(({ name }) => `no fact is stored of a message of the ingest ${name}`),
    ...(workload.publishers ?? [])
      .filter(({ name }) => count(`stream, published: ${name}`) === 0)
      .map(({ name }) => `the publisher ${name} has published nothing`),
    ...(workload.workers ?? [])
      .filter(({ worker }) => count(`worker, done: ${worker.name}`) === 0)
      .map(({ worker }) => `the worker ${worker.name} has done no job`)
  ]
  return {
    commands,
    wakes,
    eventually,
    restarts: count("a process has begun"),
    rebuilds: count("a reactor was built anew"),
    reads: count("an actor was read again"),
    jumps: count("rule, time has jumped"),
    hints: hintsOf(counts),
    warnings
  }
}

/** The first hint about each field. */
const hintsOf = (counts: Marks["counts"]): ReadonlyArray<string> => {
  const hints = [...counts.keys()].flatMap((mark) => (mark.startsWith(hintMark) ? [mark.slice(hintMark.length)] : []))
  return [...new Map(hints.toReversed().map((hint) => [hint.split(" is ")[0]!, hint])).values()].toReversed()
}

/** Its lines, for people. */
export const describeReach = ({
  commands,
  eventually,
  hints,
  jumps,
  reads,
  rebuilds,
  restarts,
  wakes,
  warnings
}: Reach): ReadonlyArray<string> => [
  ...commands.map(
    ({ accepted, command, kind, rejected }) => `  ${kind} ${command}: ${accepted} accepted, ${rejected} rejected`
  ),
  ...Object.entries(wakes).map(([kind, woken]) => `  ${kind}: ${woken} wakes`),
  ...eventually.map(({ begun, kept, kind, sentence }) => `  ${kind}, "${sentence}": ${kept} of ${begun} times`),
  `  ${restarts} starts, ${reads} actors read again, ${jumps} jumps in time${rebuilds === 0 ? "" : `, ${rebuilds} reactors built anew`}`,
  ...hints.map((hint) => `  HINT: ${hint}`),
  ...warnings.map((warning) => `  WARNING: ${warning}`)
]
