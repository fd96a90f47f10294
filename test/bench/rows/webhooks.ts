/**
 * Webhook deliveries to a sink on the same machine, beside a bare undici loop, a queue in PostgreSQL written by hand and BullMQ.
 */
import { rmSync } from "node:fs"
import { atLeast, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed } from "../runner/child.ts"
import { newDataFolder } from "../runner/platform.ts"
import type { DeliverySample } from "../workloads/webhooks/deliveries.ts"
import { redisMissing } from "../workloads/webhooks/redis.ts"
import type { SinkSample, SinkSettings } from "../workloads/webhooks/sink.ts"
import type { SluiceLoad } from "../workloads/webhooks/sluice.ts"
import { startWorkload } from "../workloads/workload.ts"

const warmUpSeconds = 3
const measuredSeconds = 5

/** Runs a part with a sink and an empty data folder of its own. */
const withSink = async <A>(
  { workbench }: Round,
  settings: SinkSettings,
  part: (url: string, dataFolder: string, sample: () => Promise<SinkSample>) => Promise<A>
): Promise<A> => {
  const dataFolder = newDataFolder(workbench, `webhooks-${performance.now()}`)
  const { child, told } = await startWorkload<string>(workbench, "webhooks/sink", settings)
  try {
    return await part(told, dataFolder, async () => (await child.ask("sample")) as SinkSample)
  } finally {
    await child.stop()
    rmSync(dataFolder, { recursive: true, force: true })
  }
}

const closedLoop = (
  round: Round,
  workload: "bare" | "handWritten" | "bullmq" | "sluice",
  more: Partial<SluiceLoad> = {}
): Promise<DeliverySample> =>
  withSink(round, { remembers: false }, async (url, dataFolder, sink) => {
    const load = { url, dataFolder, warmUpSeconds, seconds: measuredSeconds, ...more }
    const { child } = await startWorkload(round.workbench, `webhooks/${workload}`, load)
    try {
      const sample = (await round.watched(() => child.ask("measure"))) as DeliverySample
      const { received } = await sink()
      if (received < sample.perSecond * measuredSeconds)
        throw new ChildFailed(`${workload} counts more deliveries than the ${received} that the sink has received`)
      return sample
    } finally {
      await child.stop()
    }
  })

const sluice = (endpoints: number) => (round: Round) => closedLoop(round, "sluice", { endpoints })
const peer = (workload: "bare" | "handWritten" | "bullmq") => (round: Round) => closedLoop(round, workload)

export const webhooksBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "webhooks/throughput",
    sides: {
      one: sluice(1),
      handWritten: peer("handWritten"),
      hundred: sluice(100),
      bare: peer("bare")
    },
    rows: [
      {
        name: "over-hand-written",
        unit: "deliveries/s",
        figure: ({ one }) => one.perSecond,
        peer: ({ handWritten }) => handWritten.perSecond,
        goal: atLeast(0.5)
      }
    ]
  }),
  benchmark({
    name: "webhooks/bullmq",
    unavailable: redisMissing,
    sides: { bullmq: peer("bullmq") },
    rows: [{ name: "throughput", unit: "deliveries/s", figure: ({ bullmq }) => bullmq.perSecond }]
  })
]
