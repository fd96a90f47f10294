/**
 * Computes the needs of a load: CPU, flushes, bytes and machines from measured unit costs. `docs/capacity.md` shows what it answers, and a
 * test holds the two together.
 */

/** What one of a kind costs. Times are microseconds of CPU, sizes bytes. */
export interface UnitCost {
  /** In Sluice's processes. */
  readonly nodeMicros: number
  /** In one NATS server that leads its log. */
  readonly natsMicros: number
  readonly postgresMicros: number
  /** What it adds to the log, until the log is purged. */
  readonly logBytes: number
  /** What it leaves in the database. */
  readonly databaseBytes: number
}

/** What is counted. A `rare` decision is one of an actor that is asked so seldom that its row of a checkpoint comes with it. */
export const kinds = ["request", "decision", "rare", "event", "delivery", "send"] as const
export type Kind = (typeof kinds)[number]

export interface Units {
  readonly costs: Readonly<Record<Kind, UnitCost>>
  /** An organization that does nothing: what it keeps in the database. */
  readonly organizationBytes: number
  /** An organization that is in memory. */
  readonly residentBytes: number
  /** Frames that one NATS server flushes in a second, over all logs. */
  readonly framesPerSecond: number
  /** Decisions of one partition in a second, with many callers. */
  readonly partitionPerSecond: number
}

/** What happens in a second, on average, and how much more at the peak. */
export interface Load {
  readonly name: string
  readonly perSecond: Readonly<Partial<Record<Kind, number>>>
  readonly organizations: number
  /** Share of the organizations that are in memory at a time. */
  readonly residentShare: number
  /** How long events and emails are kept, days. */
  readonly keptDays: number
  /** The peak over the average. */
  readonly peak: number
}

/** A machine that is bought. */
export interface Machine {
  readonly cores: number
  /** How much of its cores may be busy at the peak. */
  readonly busy: number
  readonly memoryBytes: number
}

export interface Needs {
  readonly nodeCores: number
  readonly nodes: number
  readonly natsCores: number
  /** Servers that hold three copies. */
  readonly natsServers: number
  readonly postgresCores: number
  readonly partitions: number
  readonly framesPerSecond: number
  readonly logBytesPerDay: number
  readonly databaseBytes: number
  readonly residentBytes: number
  /** What runs out first, and of what size it is: 1 is as much as one of its kind can. */
  readonly limit: { readonly what: string; readonly share: number }
}

const secondsPerDay = 86_400

/** Cores of PostgreSQL that one server has at the most. */
const postgresMaximumCores = 64

/** Bytes that one PostgreSQL server holds at the most, with backups that can still be made. */
const postgresMaximumBytes = 32e12

/** Decisions that share a frame at the least under load: a drain takes what has come while the frame before was flushed. */
const decisionsPerFrame = 16

/** Copies of a log: every one of them writes and flushes it. */
const copies = 3

const sumOver = (load: Load, of: (kind: Kind) => number): number =>
  kinds.reduce((sum, kind) => sum + (load.perSecond[kind] ?? 0) * of(kind), 0)

/** What a load takes of machines of a kind. */
export const needsOf = (load: Load, units: Units, machine: Machine): Needs => {
  const { costs } = units
  const cores = (of: (cost: UnitCost) => number) => (load.peak * sumOver(load, (kind) => of(costs[kind]))) / 1e6
  const nodeCores = cores(({ nodeMicros }) => nodeMicros)
  const natsCores = copies * cores(({ natsMicros }) => natsMicros)
  const postgresCores = cores(({ postgresMicros }) => postgresMicros)
  const usable = machine.cores * machine.busy
  // Requests that only read decide nothing; the others are counted as the decisions that they are.
  const decisions = load.peak * sumOver(load, (kind) => (kind === "request" || kind === "delivery" ? 0 : 1))
  const partitions = Math.max(8, Math.ceil(decisions / (units.partitionPerSecond * machine.busy)))
  const framesPerSecond = decisions / decisionsPerFrame
  const residentBytes = load.organizations * load.residentShare * units.residentBytes
  const nodes = Math.max(
    2,
    Math.ceil(nodeCores / usable),
    Math.ceil(residentBytes / (machine.memoryBytes * machine.busy))
  )
  const databaseBytes =
    load.organizations * units.organizationBytes +
    load.keptDays * secondsPerDay * sumOver(load, (kind) => costs[kind].databaseBytes)
  const shares = [
    { what: "flushes of one group of NATS servers", share: framesPerSecond / units.framesPerSecond },
    { what: "cores of one PostgreSQL", share: postgresCores / (postgresMaximumCores * machine.busy) },
    { what: "disk of one PostgreSQL", share: databaseBytes / postgresMaximumBytes },
    { what: "partitions of one deployment (4,096)", share: partitions / 4_096 }
  ]
  return {
    nodeCores,
    nodes,
    natsCores,
    natsServers:
      copies * Math.max(1, Math.ceil(framesPerSecond / units.framesPerSecond), Math.ceil(natsCores / copies / usable)),
    postgresCores,
    partitions,
    framesPerSecond,
    logBytesPerDay: secondsPerDay * sumOver(load, (kind) => costs[kind].logBytes),
    databaseBytes,
    residentBytes,
    limit: shares.reduce((worst, one) => (one.share > worst.share ? one : worst))
  }
}
