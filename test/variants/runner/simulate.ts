/**
 * `node …/simulate.ts simulation|streams|followers|deliveries|mails|sending|owners seeds`: plays a simulator's corpus and then seeds from 0, until a checker
 * complains. Its last line of output is the finding.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { root } from "./change.ts"
import { type Finding, findingMark } from "./finding.ts"

interface Played {
  readonly violation: { readonly checker: string } | undefined
  readonly marks: { readonly counts: ReadonlyMap<string, number> }
}

interface Simulator {
  readonly corpus: string
  /** Plays a scenario of the corpus, from its text. */
  readonly saved: (text: string) => Played
  readonly seed: (seed: number) => Played
  /** What seeds must have reached, and how many of them it takes. */
  readonly required: ReadonlyArray<string>
  readonly requiredSeeds: number
}

const engine = async (): Promise<Simulator> => {
  const { fromJson, generate, play, requiredMarks } = await import("../../../src/simulation/index.ts")
  const { bank } = await import("../../simulation/bank/bank.ts")
  return {
    corpus: "test/simulation/corpus",
    saved: (text) => play(fromJson(text), bank),
    seed: (seed) => play(generate(bank, seed), bank),
    required: requiredMarks,
    requiredSeeds: 400
  }
}

const streams = async (): Promise<Simulator> => {
  const { fromJson, generate, play, requiredStreamMarks } = await import("../../../src/simulation/index.ts")
  const { streamedBank } = await import("../../simulation/bank/streamedBank.ts")
  return {
    corpus: "test/simulation/streams",
    saved: (text) => play(fromJson(text), streamedBank),
    seed: (seed) => play(generate(streamedBank, seed), streamedBank),
    required: requiredStreamMarks,
    requiredSeeds: 200
  }
}

const followers = async (): Promise<Simulator> => {
  const { fromJson, generate, play } = await import("../../../src/simulation/index.ts")
  const { followed, requiredFollowerMarks } = await import("../../simulation/followers/followed.ts")
  return {
    corpus: "test/simulation/followers",
    saved: (text) => play(fromJson(text), followed),
    seed: (seed) => play(generate(followed, seed), followed),
    required: requiredFollowerMarks,
    requiredSeeds: 200
  }
}

const deliveries = async (): Promise<Simulator> => {
  const { generate, play } = await import("../../simulation/webhooks/index.ts")
  return {
    corpus: "test/simulation/webhooks",
    saved: (text) => play(JSON.parse(text)),
    seed: (seed) => play(generate(seed)),
    required: [],
    requiredSeeds: 0
  }
}

const mails = async (): Promise<Simulator> => {
  const { fromJson, generate, play } = await import("../../simulation/handoff/index.ts")
  return {
    corpus: "test/simulation/handoff",
    saved: (text) => play(fromJson(text)),
    seed: (seed) => play(generate(seed)),
    required: [],
    requiredSeeds: 0
  }
}

/** Shorter scenarios than the engine's: days go by in each. */
const sendingSteps = 60

const sending = async (): Promise<Simulator> => {
  const { fromJson, generate, play } = await import("../../../src/simulation/index.ts")
  const { requiredSendMarks, sendAccounts } = await import("../../simulation/send/sendAccounts.ts")
  return {
    corpus: "test/simulation/send",
    saved: (text) => play(fromJson(text), sendAccounts),
    seed: (seed) => play(generate(sendAccounts, seed, sendingSteps), sendAccounts),
    required: requiredSendMarks,
    requiredSeeds: 150
  }
}

const owners = async (): Promise<Simulator> => {
  const { fromJson, generate, play, requiredMarks } = await import("../../simulation/owners/index.ts")
  return {
    corpus: "test/simulation/owners",
    saved: (text) => play(fromJson(text)),
    seed: (seed) => play(generate(seed)),
    required: requiredMarks,
    requiredSeeds: 2_000
  }
}

const find = (simulator: Simulator, seeds: number): Finding => {
  const folder = `${root}${simulator.corpus}/`
  const saved = existsSync(folder) ? readdirSync(folder) : []
  for (const name of saved.filter((file) => file.endsWith(".json"))) {
    const { violation } = simulator.saved(readFileSync(`${folder}${name}`, "utf8"))
    if (violation !== undefined) return { _tag: "Noticed", by: `${name}: ${violation.checker}` }
  }
  const reached = new Set<string>()
  for (let seed = 0; seed < seeds; seed++) {
    const { marks, violation } = simulator.seed(seed)
    if (violation !== undefined) return { _tag: "Noticed", by: `seed ${seed}: ${violation.checker}` }
    for (const mark of marks.counts.keys()) reached.add(mark)
  }
  const missing = simulator.required.filter((mark) => !reached.has(mark))
  if (seeds >= simulator.requiredSeeds && missing.length > 0)
    return { _tag: "Noticed", by: `never reached: ${missing.join(", ")}` }
  return { _tag: "Unnoticed" }
}

const [kind, seeds] = process.argv.slice(2)
const made: Readonly<Record<string, () => Promise<Simulator>>> = {
  simulation: engine,
  streams,
  followers,
  deliveries,
  mails,
  sending,
  owners
}
const simulator = await made[kind!]!()
let finding: Finding
try {
  finding = find(simulator, Number(seeds))
} catch (error) {
  // The modules have been loaded: this comes of what they do.
  finding = { _tag: "Noticed", by: `the simulator stopped: ${error instanceof Error ? error.message : String(error)}` }
}
process.stdout.write(`${findingMark}${JSON.stringify(finding)}\n`)
process.exit(0)
