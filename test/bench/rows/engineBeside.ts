/**
 * Measures the cost of a decision with more beside it: an idempotency key, an actor that is new, a message to another organization. CPU alone, in memory.
 */
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import type { CpuOfAsksLoad, CpuOfAsksSample } from "../workloads/cpuOfAsks.ts"
import type { CpuOfMessagesLoad, CpuOfMessagesSample } from "../workloads/cpuOfMessages.ts"
import { runWorkload } from "../workloads/workload.ts"

const asks = { callers: 256, warmUpAsks: 60_000, asks: 150_000 }

const cpuOf = (ask: CpuOfAsksLoad["ask"]) => (round: Round) =>
  runWorkload<CpuOfAsksSample>(round, "cpuOfAsks", { ...asks, ask } satisfies CpuOfAsksLoad)

const transfers = { callers: 256, warmUp: 40_000, transfers: 100_000 }

const cpuOfTransfers = (way: CpuOfMessagesLoad["way"]) => (round: Round) =>
  runWorkload<CpuOfMessagesSample>(round, "cpuOfMessages", { ...transfers, way } satisfies CpuOfMessagesLoad)

export const engineBesideBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "engine/once",
    sides: { once: cpuOf("once"), plain: cpuOf("plain") },
    rows: [
      {
        name: "cpu",
        unit: "µs/decision",
        figure: ({ once }) => once.microsPerDecision,
        peer: ({ plain }) => plain.microsPerDecision,
        goal: atMost(1.4),
        note: `${asks.callers} callers, a new key each, in memory, over the same decisions without keys`
      }
    ]
  }),
  benchmark({
    name: "engine/fresh",
    sides: { fresh: cpuOf("fresh actor"), loaded: cpuOf("loaded actor") },
    rows: [
      {
        name: "cpu",
        unit: "µs/decision",
        figure: ({ fresh }) => fresh.microsPerDecision,
        peer: ({ loaded }) => loaded.microsPerDecision,
        note: `${asks.callers} callers, a new actor each that is claimed to be fresh, in memory, over the same actors looked for in the checkpoints`
      }
    ]
  }),
  benchmark({
    name: "engine/message",
    sides: { message: cpuOfTransfers("message"), asks: cpuOfTransfers("second ask") },
    rows: [
      {
        name: "cpu",
        unit: "µs/transfer",
        figure: ({ message }) => message.microsPerTransfer,
        peer: ({ asks }) => asks.microsPerTransfer,
        note: `${transfers.callers} callers, from each organization to the next, in memory, until it is decided there, over two plain asks`
      }
    ]
  })
]
