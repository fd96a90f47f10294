/**
 * Defines a scenario as data: the topology, the fault plan and the steps. It is drawn from a seed, can be shrunk, is
 * saved as JSON and plays the same each time. The fault plan names its occurrences one by one ("the third publish"), so
 * that a shrunk scenario keeps only those that matter.
 */
import { Schema } from "effect"
import { Count, faultOf, Seed } from "./scenarioText.ts"

/**
 * The operations of the ports at which something can go wrong. They are counted over the whole deployment, from 0. See
 * {@link generate}.
 */
export const operations = {
  publish: [
    "ack lost",
    "ack late",
    "disconnected after commit",
    "request lost",
    "request late",
    "delivered twice, first answer",
    "delivered twice, second answer",
    "stored, answered wrong sequence",
    "stored, answered wrong sequence without it",
    "not stored, answered wrong sequence without it",
    "no leader",
    "full",
    "too large",
    "refused",
    "crash before the request",
    "crash with the request under way",
    "crash after the commit",
    "crash at the ack",
    "crash between replies",
    "pause before the request",
    "pause after the commit"
  ],
  state: ["unavailable", "slow", "stale", "crash"],
  frameAt: ["unavailable", "stale"],
  read: ["unavailable", "cut off", "crash"],
  listCheckpoints: ["unavailable", "stale", "hangs"],
  save: ["lost", "answer lost", "slow", "hangs", "hangs and is written late", "crash before", "crash after"],
  load: ["unavailable", "slow", "hangs"],
  timers: ["unavailable", "hangs"],
  keys: ["unavailable", "hangs"],
  transact: [
    "unavailable",
    "effects fail",
    "answer lost",
    "slow",
    "hangs",
    "crash before the commit",
    "crash after the commit"
  ],
  lookup: ["unavailable", "hangs"],
  expire: ["unavailable", "hangs"],
  work: ["killed after the effect"],
  subscribe: ["cut off"],
  follow: ["unavailable", "hangs"],
  messages: ["cut off", "late"],
  ends: ["unavailable"],
  store: ["unavailable", "hangs", "late", "answer lost", "ids forgotten", "crash after"],
  dueJobs: ["unavailable", "hangs"],
  takeJobs: ["unavailable", "answer lost", "slow", "hangs", "crash after"],
  settleJob: ["unavailable", "answer lost", "slow", "hangs", "crash before", "crash after"],
  outside: [
    "unavailable",
    "declined",
    "fails after the effect",
    "hangs",
    "late",
    "answer lost",
    "crash before",
    "crash after"
  ]
} as const

/** The operations of a program's streams, which only some workloads have. */
export const streamOperations: ReadonlySet<Operation> = new Set(["follow", "messages", "ends", "store"])

/** The operations of workers, which only some workloads have. */
export const workerOperations: ReadonlySet<Operation> = new Set(["dueJobs", "takeJobs", "settleJob", "outside"])

/** An operation of a store that can fail. See {@link scenarios}. */
export type Operation = keyof typeof operations

/** One planned fault: the `nth` operation of its kind goes wrong like this. See {@link generate}. */
export const Fault = faultOf<Operation>(operations)
export interface Fault extends Schema.Schema.Type<typeof Fault> {}

/** The process of a step: the newest one, or an older one that still lives. */
export const Which = Schema.Literals(["newest", "older"])
export type Which = typeof Which.Type

/** The target of a step: a command of an actor in its JSON form, or nothing for a read of its durable state. */
export const Target = { organization: Schema.String, actor: Schema.String, key: Schema.String }

/**
 * A length of time that a rule uses, up to 300 years: its windows are months, while other counts of a scenario are
 * small.
 */
const LongMillis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000_000_000 }))

/** A step of a scenario. See {@link generate}. */
export const Step = Schema.Union([
  Schema.TaggedStruct("Command", {
    ...Target,
    command: Schema.Json,
    to: Which,
    /** Whether the command claims that its actor is fresh. */
    fresh: Schema.optionalKey(Schema.Boolean)
  }),
  /** A command under an idempotency key of the engine's. Its content is the digest. */
  Schema.TaggedStruct("Once", {
    ...Target,
    command: Schema.Json,
    to: Which,
    once: Schema.String,
    windowMillis: Schema.optionalKey(Count)
  }),
  /** Begins to load the actors that a command touches. */
  Schema.TaggedStruct("Prefetch", { ...Target, command: Schema.Json, to: Which }),
  /**
   * A command at a time that may matter: this long after a time in its actor's state (`wakeAt` among them; `time`
   * counts them from the latest, and beyond the earliest means the next hour, day or month), or a millisecond before or
   * after that. Immediately if it has passed.
   */
  Schema.TaggedStruct("Meet", {
    ...Target,
    command: Schema.Json,
    time: Count,
    afterMillis: LongMillis,
    edgeMillis: Schema.Literals([-1, 0, 1])
  }),
  /** A number of commands of an actor, drawn when they are asked. */
  Schema.TaggedStruct("Flood", { ...Target, draw: Count, count: Count }),
  /** Commands of an actor one after the other, each a millisecond before it would be woken. */
  Schema.TaggedStruct("Insist", { ...Target, commands: Schema.Array(Schema.Json), count: Count }),
  /** The same command of an earlier step once more, with the same idempotency key. */
  Schema.TaggedStruct("Repeat", { back: Count }),
  /** Many commands concurrently. */
  Schema.TaggedStruct("Burst", { ...Target, commands: Schema.Array(Schema.Json) }),
  /** Reads an actor's durable state. */
  Schema.TaggedStruct("Look", { ...Target, to: Which }),
  /** A client follows an actor from here on, or all of its kind, or lists the keys of its kind. */
  Schema.TaggedStruct("Follow", {
    ...Target,
    to: Which,
    what: Schema.Literals(["facts", "facts of all", "states", "keys"])
  }),
  Schema.TaggedStruct("AskLane", { organization: Schema.String, to: Which }),
  Schema.TaggedStruct("Signal", {
    organization: Schema.String,
    amount: Count,
    /** By the workload's own draw; a text is the data as it is. */
    kind: Schema.optionalKey(Schema.String),
    data: Schema.optionalKey(Schema.Json)
  }),
  /** A message comes into a stream of the program; a text is its data as it is, anything else in JSON. */
  Schema.TaggedStruct("Message", { subject: Schema.String, data: Schema.Json }),
  /** An operator builds a reactor anew. */
  Schema.TaggedStruct("Rebuild", { reactor: Schema.String }),
  Schema.TaggedStruct("Advance", { millis: Count }),
  /** Hours or days pass in one step, for all clocks, and timers notice. */
  Schema.TaggedStruct("Leap", { millis: Count }),
  Schema.TaggedStruct("Crash", { which: Which }),
  /** Stops the newest process gracefully and starts another. */
  Schema.TaggedStruct("Restart", {}),
  Schema.TaggedStruct("Pause", { which: Which }),
  /** Like a pause, but the monotonic clock stops meanwhile, as on a suspended machine. */
  Schema.TaggedStruct("Suspend", { which: Which }),
  Schema.TaggedStruct("Resume", {}),
  /** Starts one more process; `handover`: placement withdraws the partitions of the older ones. */
  Schema.TaggedStruct("SecondOwner", { handover: Schema.Boolean }),
  /** Moves a wall clock, also backwards. */
  Schema.TaggedStruct("ClockJump", { which: Which, millis: Schema.Int }),
  Schema.TaggedStruct("ClockStop", { which: Which }),
  Schema.TaggedStruct("ClockGo", {}),
  Schema.TaggedStruct("Outage", { of: Schema.Literals(["log", "database", "hanging database"]), millis: Count }),
  Schema.TaggedStruct("Checkpoint", { which: Which }),
  /** An operator purges by hand the frames that the second-newest checkpoint and all cursors cover. */
  Schema.TaggedStruct("Purge", {}),
  /**
   * All processes die and the log loses its last frames, as a block file that was cut short does; then a process
   * starts.
   */
  Schema.TaggedStruct("LoseTail", { frames: Count }),
  /** All processes die and a frame that must be replayed has changed on the disk; then a process starts. */
  Schema.TaggedStruct("CorruptFrame", { back: Count }),
  /** All faults stop, as at the end of every scenario, and the rest plays without them. */
  Schema.TaggedStruct("Heal", {})
])
export type Step = typeof Step.Type

/** The deployment. See {@link generate}. */
export const Topology = Schema.Struct({
  /** Replicas of the log: 1 answers a re-sent frame with a wrong sequence, 3 with `duplicate`. */
  replicas: Schema.Literals([1, 3]),
  partitions: Count,
  /** See `WorldOptions`. */
  disorder: Schema.Number,
  sliceOperations: Count,
  dragMicros: Count,
  /** The longest usual way of a message, microseconds. */
  latencyMicros: Count,
  /** Bytes that a log holds. */
  logBytes: Count,
  /** Frames of an older version of the program that the log begins with. */
  oldFrames: Count,
  mailboxCapacity: Count,
  maximumActors: Count,
  maximumLaneActors: Count,
  checkpointFrames: Count,
  checkpointMillis: Count,
  idleMillis: Count,
  feedFrames: Count,
  /** Concurrent transactions of reactors in a process. Saved scenarios of earlier versions name none. */
  concurrentTransactions: Schema.optionalKey(Count)
})
export interface Topology extends Schema.Schema.Type<typeof Topology> {}

/** The input of a play: a seed, a deployment, steps and faults. Saved by `toJson`. See {@link generate}. */
export const Scenario = Schema.Struct({
  /** The seed that the scenario was drawn from, and of all draws of the event loop. */
  seed: Seed,
  /** Name of the workload whose commands it has. */
  workload: Schema.String,
  topology: Topology,
  faults: Schema.Array(Fault),
  steps: Schema.Array(Step)
})
export interface Scenario extends Schema.Schema.Type<typeof Scenario> {}

const codec = Schema.toCodecJson(Scenario)

/**
 * Reads a saved scenario. Throws when the text is not a scenario.
 *
 * @example
 * ```ts
 * import { readFileSync } from "node:fs"
 * import { fromJson, play, type Workload } from "sluice/simulation"
 *
 * // Whether a saved finding is still one.
 * export const isFound = (file: string, workload: Workload) =>
 *   play(fromJson(readFileSync(file, "utf8")), workload).violation !== undefined
 * ```
 */
export const fromJson = (text: string): Scenario => Schema.decodeUnknownSync(codec)(JSON.parse(text))

/**
 * The text of a scenario to be saved.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs"
 * import { type Scenario, toJson } from "sluice/simulation"
 *
 * export const save = (file: string, scenario: Scenario) => writeFileSync(file, toJson(scenario))
 * ```
 */
export const toJson = (scenario: Scenario): string => {
  const { faults, steps, ...rest } = scenario
  const lines = (values: ReadonlyArray<unknown>) =>
    values.length === 0 ? "[]" : `[\n${values.map((value) => `    ${JSON.stringify(value)}`).join(",\n")}\n  ]`
  const head = JSON.stringify(rest, undefined, 2).slice(0, -2)
  return `${head},\n  "faults": ${lines(faults)},\n  "steps": ${lines(steps)}\n}\n`
}
