/** Measures decisions that are asked for at another node: none of them, half of them (two nodes), all of them. */
import { type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { ClosedSample } from "../workloads/closedLoop.ts"
import type { CrossingLoad } from "../workloads/crossing.ts"
import { runWithServers } from "../workloads/workload.ts"

const callers = 256

const crossing = (oneInCrosses: number) => (round: Round) =>
  runWithServers<ClosedSample>(round, "crossing", {
    partitions: 8,
    callers,
    oneInCrosses,
    warmUpSeconds: 1.5,
    seconds: 2.5
  } satisfies CrossingLoad)

interface Samples {
  readonly none: ClosedSample
  readonly half: ClosedSample
  readonly all: ClosedSample
}

const rowsOf = (side: keyof Samples, name: string) =>
  [
    {
      name: `${name}/per-second`,
      unit: "decisions/s",
      figure: (samples: Samples) => samples[side].perSecond,
      peer: ({ none }: Samples) => none.perSecond
    },
    {
      name: `${name}/cpu`,
      unit: "us",
      figure: (samples: Samples) => samples[side].microsPerDecision,
      note: (rounds: ReadonlyArray<Samples>) => {
        const ratios = rounds.map((round) => round[side].microsPerDecision / round.none.microsPerDecision)
        return `${(ratios.sort((a, b) => a - b)[ratios.length >> 1] ?? Number.NaN).toFixed(2)} of an ask that does not cross`
      }
    },
    { name: `${name}/p99`, unit: "ms", figure: (samples: Samples) => samples[side].p99Millis }
  ] as const

export const crossingBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "engine/crossing",
    sides: { none: crossing(0), half: crossing(2), all: crossing(1) },
    rows: [...rowsOf("half", "half"), ...rowsOf("all", "all")]
  })
]
