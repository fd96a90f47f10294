/**
 * Durable decisions of the engine on a nats-server that syncs always: a closed loop beside bare fenced publishes of the same
 * facts, one message each, an open loop, and asks without facts. Callers and engine share a process, as in the platform.
 */
import { atLeast, atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { EngineLoad, EngineSample } from "../workloads/engine.ts"
import type { LoopSample } from "../workloads/latencies.ts"
import type { PublishLoad } from "../workloads/publishes.ts"
import { runWithServers } from "../workloads/workload.ts"

/** Callers of the closed loops, and organizations of the open ones. */
const callers = 256
const warmUpSeconds = 1.5
const measuredSeconds = 2.5
const duePerSecond = 20_000
/** A closed loop of 256 callers may take so long, an open one at 20,000 a second so long. */
const closedMillis = 40
const openMillis = 10

const engine = (load: Pick<EngineLoad, "partitions" | "ask" | "duePerSecond">) => (round: Round) =>
  runWithServers<EngineSample>(round, "engine", {
    ...load,
    callers,
    warmUpSeconds,
    seconds: measuredSeconds
  } satisfies EngineLoad)

const publishes = (inFlight: number) => (round: Round) =>
  runWithServers<LoopSample>(round, "publishes", {
    inFlight,
    warmUpSeconds,
    seconds: measuredSeconds
  } satisfies PublishLoad)

const closed = (partitions: number) => engine({ partitions, ask: "Admit" })
const open = (partitions: number) => engine({ partitions, ask: "Admit", duePerSecond })

interface ClosedSamples {
  readonly p1: EngineSample
  readonly p4: EngineSample
  readonly p8: EngineSample
  readonly p16: EngineSample
  readonly one: LoopSample
  readonly many: LoopSample
}

/** Rows of one number of partitions: beside one publish in flight, beside 256, and the slowest percent. */
const closedRows = (side: "p1" | "p4" | "p8" | "p16", overOne?: number, overMany?: number) => {
  const partitions = side.slice(1)
  const note = (rounds: ReadonlyArray<ClosedSamples>) => {
    const facts = rounds.map((round) => round[side].perSecond / round[side].framesPerSecond).sort((a, b) => a - b)
    return `${callers} callers, ${facts[facts.length >> 1]!.toFixed(0)} facts a frame`
  }
  const perSecond = { unit: "decisions/s", figure: (samples: ClosedSamples) => samples[side].perSecond }
  return [
    {
      ...perSecond,
      name: `${partitions}/over-1-in-flight`,
      peer: ({ one }: ClosedSamples) => one.perSecond,
      ...(overOne === undefined ? {} : { goal: atLeast(overOne) }),
      note
    },
    {
      ...perSecond,
      name: `${partitions}/over-256-in-flight`,
      peer: ({ many }: ClosedSamples) => many.perSecond,
      ...(overMany === undefined ? {} : { goal: atLeast(overMany) })
    },
    {
      name: `${partitions}/p99`,
      unit: "ms",
      figure: (samples: ClosedSamples) => samples[side].p99Millis,
      goal: atMost(closedMillis)
    }
  ] as const
}

interface OpenSamples {
  readonly p1: EngineSample
  readonly p4: EngineSample
  readonly p8: EngineSample
}

const openRows = (side: keyof OpenSamples) =>
  [
    {
      name: `${side.slice(1)}/p50`,
      unit: "ms",
      figure: (samples: OpenSamples) => samples[side].p50Millis,
      note: (rounds: ReadonlyArray<OpenSamples>) =>
        `answered ${Math.round(Math.min(...rounds.map((round) => round[side].perSecond)))}/s at least of ${duePerSecond} due, refused ${rounds.reduce((sum, round) => sum + round[side].refused, 0)}`
    },
    {
      name: `${side.slice(1)}/p99`,
      unit: "ms",
      figure: (samples: OpenSamples) => samples[side].p99Millis,
      goal: atMost(openMillis)
    }
  ] as const

export const engineBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "engine/decisions",
    sides: {
      p1: closed(1),
      one: publishes(1),
      p4: closed(4),
      many: publishes(callers),
      p8: closed(8),
      p16: closed(16)
    },
    rows: [...closedRows("p1", 20, 10), ...closedRows("p4", 10, 6), ...closedRows("p8", 8), ...closedRows("p16")]
  }),
  benchmark({
    name: "engine/open-loop",
    sides: { p1: open(1), p4: open(4), p8: open(8) },
    rows: [...openRows("p1"), ...openRows("p4"), ...openRows("p8")]
  }),
  benchmark({
    name: "engine/asks",
    sides: { p8: engine({ partitions: 8, ask: "Look" }) },
    rows: [
      {
        name: "without-facts",
        unit: "asks/s",
        figure: ({ p8 }) => p8.perSecond,
        goal: atLeast(1_000_000),
        note: `${callers} callers, 8 partitions`
      }
    ]
  })
]
