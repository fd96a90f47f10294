/**
 * Webhook deliveries from the emitted event to the recorded outcome, to a sink on the same machine: beside a bare undici loop that signs
 * and posts the same bodies, a queue in PostgreSQL written by hand, and BullMQ on a Redis that syncs always. Then how soon an event is on its way,
 * what a long queue costs, and whether bad endpoints take anything from the good ones.
 */
import { rmSync } from "node:fs"
import { atLeast, atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed, freePort } from "../runner/child.ts"
import { newDataFolder } from "../runner/platform.ts"
import { longestCountedMillis } from "../workloads/latencies.ts"
import type { BacklogLoad, BacklogSample } from "../workloads/webhooks/backlog.ts"
import type { DeliverySample } from "../workloads/webhooks/deliveries.ts"
import { connections } from "../workloads/webhooks/events.ts"
import { redisMissing } from "../workloads/webhooks/redis.ts"
import type { SinkSample, SinkSettings } from "../workloads/webhooks/sink.ts"
import type { BadKind, OpenSample, SluiceLoad } from "../workloads/webhooks/sluice.ts"
import { runWorkload, startWorkload } from "../workloads/workload.ts"

const warmUpSeconds = 4
/** Of an open loop, which at its lower rate takes longer until what it runs is compiled. */
const openWarmUpSeconds = 10
const measuredSeconds = 5
/** Events on their way at most in the closed loops, and where they are more than an endpoint's window holds. */
const outstanding = 1_024
const beyondWindow = 4_096
/** Keys of the lines in the ordered loop. */
const orderedKeys = 10_000
/** Part of the throughput at which latencies are measured. */
const half = 0.5
const pending = 1_000_000
/** Longer than an attempt may take, so that some have ended. */
const backlogSeconds = 20
/** Of the fairness rows. */
const healthyEndpoints = 900
const hangingEndpoints = 50
const refusingEndpoints = 50
const fairnessSeconds = 60
/** Part of this machine's throughput that the healthy endpoints of the fairness rows are sent: a queue that only grows would tell nothing. */
const fairnessShare = 0.2
/** Of one organization, beside the healthy ones. */
const badEndpoints = 24

interface Target {
  readonly url: string
  /** For servers of the measurement's own. */
  readonly dataFolder: string
  /** What the sink has received since the last call. */
  readonly received: () => Promise<SinkSample>
}

/** Runs a part with a sink and an empty data folder of its own. */
const withSink = async <A>(
  { workbench }: Round,
  settings: SinkSettings,
  part: (target: Target) => Promise<A>
): Promise<A> => {
  const dataFolder = newDataFolder(workbench, `webhooks-${performance.now()}`)
  const { child, told: url } = await startWorkload<string>(workbench, "webhooks/sink", settings)
  try {
    // The sink's file names what it tells.
    return await part({ url, dataFolder, received: async () => (await child.ask("received")) as SinkSample })
  } finally {
    await child.stop()
    rmSync(dataFolder, { recursive: true, force: true })
  }
}

type Side = "bare" | "handWritten" | "bullmq" | "sluice"

const closedLoop = (round: Round, side: Side, load: Partial<SluiceLoad> = {}): Promise<DeliverySample> =>
  withSink(round, { remembers: false }, async ({ dataFolder, received, url }) => {
    const seconds = measuredSeconds
    const sample = await runWorkload<DeliverySample>(round, `webhooks/${side}`, {
      ...{ url, dataFolder, outstanding, warmUpSeconds, seconds },
      ...load
    })
    const answered = (await received()).received
    if (answered < sample.perSecond * seconds)
      throw new ChildFailed(`${side} counts more deliveries than the ${answered} that were answered`)
    return sample
  })

const peer = (side: Side) => (round: Round) => closedLoop(round, side)
const sluice = (load: Partial<SluiceLoad>) => (round: Round) =>
  closedLoop(round, "sluice", { endpoints: 1, inFlight: connections, ...load })

/** What the sink saw of events that were emitted at fixed times. */
interface OpenLoopSample extends OpenSample {
  readonly p50Millis: number
  readonly p99Millis: number
  readonly longestMillis: number
  readonly eventsPerSecond: number
}

const openLoop = (
  round: Round,
  load: Partial<SluiceLoad> & Pick<SluiceLoad, "endpoints" | "seconds"> & { readonly eventsPerSecond: number }
): Promise<OpenLoopSample> =>
  withSink(round, { remembers: true }, async ({ dataFolder, received, url }) => {
    const { child } = await startWorkload(round.workbench, "webhooks/sluice", {
      ...{ url, dataFolder, outstanding, warmUpSeconds: openWarmUpSeconds },
      ...load
    })
    try {
      await received()
      const sample = (await round.watched(() => child.ask("measure"))) as OpenSample
      const { distinct, longestMillis, p50Millis, p99Millis } = await received()
      if (distinct !== sample.emitted)
        throw new ChildFailed(`${distinct} of ${sample.emitted} events have arrived at the sink`)
      return { ...sample, eventsPerSecond: load.eventsPerSecond, p50Millis, p99Millis, longestMillis }
    } finally {
      await child.stop()
    }
  })

const atHalf = async (round: Round): Promise<OpenLoopSample> => {
  const { perSecond } = await sluice({})(round)
  return openLoop(round, {
    endpoints: 1,
    inFlight: connections,
    eventsPerSecond: Math.round(perSecond * half),
    seconds: measuredSeconds
  })
}

const backlog = (round: Round): Promise<BacklogSample> =>
  withSink(round, { remembers: false }, ({ dataFolder, url }) => {
    const load: BacklogLoad = { url, dataFolder, pending, endpoints: 50, seconds: backlogSeconds }
    return runWorkload<BacklogSample>(round, "webhooks/backlog", load)
  })

/** Events a second for each healthy endpoint, the same in all rounds of a run: both sides of a ratio have it. */
const eventsPerEndpoint = (round: Round): Promise<number> =>
  round.workbench.once("pace of the fairness rows", async () => {
    const { perSecond } = await sluice({ endpoints: 100 })(round)
    return (perSecond * fairnessShare) / healthyEndpoints
  })

const fairness = (hanging: number, refusing: number) => async (round: Round) =>
  keptUp(
    await openLoop(round, {
      ...{ endpoints: healthyEndpoints, hanging, refusing },
      refusingUrl: `http://127.0.0.1:${await freePort()}`,
      eventsPerSecond: Math.round((healthyEndpoints + hanging + refusing) * (await eventsPerEndpoint(round))),
      seconds: fairnessSeconds
    })
  )

const fairnessOf = (kind?: BadKind) => async (round: Round) =>
  keptUp(
    await openLoop(round, {
      endpoints: healthyEndpoints,
      ...(kind === undefined ? {} : { bad: { endpoints: badEndpoints, kind } }),
      eventsPerSecond: Math.round((healthyEndpoints + (kind === undefined ? 0 : 1)) * (await eventsPerEndpoint(round))),
      seconds: fairnessSeconds
    })
  )

const keptUp = (sample: OpenLoopSample): OpenLoopSample => {
  // A ratio of two queues that only grow would say nothing.
  if (sample.p99Millis >= longestCountedMillis)
    throw new ChildFailed(`the machine cannot keep up with ${sample.eventsPerSecond} events/s: p99 of 2 s or more`)
  return sample
}

const refusedNote = (samples: ReadonlyArray<OpenLoopSample>): string => {
  const rates = samples.map(({ eventsPerSecond }) => eventsPerSecond)
  const refused = samples.reduce((sum, sample) => sum + sample.refused, 0)
  return `${Math.min(...rates)} to ${Math.max(...rates)} events/s, from the moment they were due; refused ${refused}`
}

/** What one organization with many bad endpoints takes from the healthy ones of others. */
const fairnessBeside = (kind: BadKind, what: string): Benchmark =>
  benchmark({
    name: `webhooks/fairness-${kind}`,
    rounds: 3,
    sides: { mixed: fairnessOf(kind), healthy: fairnessOf() },
    rows: [
      {
        name: "p99",
        unit: "ms",
        figure: ({ mixed }) => mixed.p99Millis,
        peer: ({ healthy }) => healthy.p99Millis,
        goal: atMost(2),
        note: (rounds) =>
          `${healthyEndpoints} healthy endpoints with ${badEndpoints} of one organization that ${what}, beside without; ${refusedNote(rounds.flatMap(({ healthy, mixed }) => [mixed, healthy]))}`
      },
      {
        name: "p50",
        unit: "ms",
        figure: ({ mixed }) => mixed.p50Millis,
        peer: ({ healthy }) => healthy.p50Millis
      }
    ]
  })

export const webhooksBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "webhooks/throughput",
    sides: {
      sluice: sluice({}),
      handWritten: peer("handWritten"),
      bare: peer("bare"),
      hundred: sluice({ endpoints: 100 }),
      backlogged: sluice({ outstanding: beyondWindow }),
      ordered: sluice({ keys: orderedKeys })
    },
    rows: [
      {
        name: "over-hand-written",
        unit: "deliveries/s",
        figure: ({ sluice }) => sluice.perSecond,
        peer: ({ handWritten }) => handWritten.perSecond,
        goal: atLeast(0.5),
        note: `1 endpoint, ${connections} connections, ${outstanding} events on their way`
      },
      {
        name: "over-bare-undici",
        unit: "deliveries/s",
        figure: ({ sluice }) => sluice.perSecond,
        peer: ({ bare }) => bare.perSecond,
        goal: atLeast(0.15)
      },
      {
        name: "100-endpoints",
        unit: "deliveries/s",
        figure: ({ hundred }) => hundred.perSecond,
        peer: ({ handWritten }) => handWritten.perSecond,
        note: "of 100 organizations; beside the queue written by hand"
      },
      {
        name: "backlogged",
        unit: "deliveries/s",
        figure: ({ backlogged }) => backlogged.perSecond,
        peer: ({ handWritten }) => handWritten.perSecond,
        note: `${beyondWindow} events on their way, more than an endpoint's window; beside the queue written by hand`
      },
      {
        name: "ordered",
        unit: "deliveries/s",
        figure: ({ ordered }) => ordered.perSecond,
        peer: ({ sluice }) => sluice.perSecond,
        goal: atLeast(0.7),
        note: `in lines of ${orderedKeys.toLocaleString("en")} keys, drawn at random; beside without order`
      },
      {
        name: "cpu",
        unit: "us/delivery",
        figure: ({ sluice }) => sluice.cpuMicros,
        peer: ({ handWritten }) => handWritten.cpuMicros,
        note: "CPU of the process; beside the queue written by hand"
      },
      {
        name: "cpu-with-servers",
        unit: "us/delivery",
        figure: ({ sluice }) => sluice.allCpuMicros,
        peer: ({ handWritten }) => handWritten.allCpuMicros,
        note: "with PostgreSQL and the log"
      }
    ]
  }),
  benchmark({
    name: "webhooks/bullmq",
    unavailable: redisMissing,
    sides: { sluice: sluice({}), bullmq: peer("bullmq") },
    rows: [
      {
        name: "throughput",
        unit: "deliveries/s",
        figure: ({ sluice }) => sluice.perSecond,
        peer: ({ bullmq }) => bullmq.perSecond,
        goal: atLeast(1),
        note: "Redis with appendfsync always"
      },
      {
        name: "cpu-with-servers",
        unit: "us/delivery",
        figure: ({ sluice }) => sluice.allCpuMicros,
        peer: ({ bullmq }) => bullmq.allCpuMicros
      }
    ]
  }),
  benchmark({
    name: "webhooks/first-attempt",
    sides: { sluice: atHalf },
    rows: [
      {
        name: "p50",
        unit: "ms",
        figure: ({ sluice }) => sluice.p50Millis,
        goal: atMost(10),
        note: (rounds) => refusedNote(rounds.map(({ sluice }) => sluice))
      },
      { name: "p99", unit: "ms", figure: ({ sluice }) => sluice.p99Millis, goal: atMost(50) }
    ]
  }),
  benchmark({
    name: "webhooks/memory",
    rounds: 3,
    sides: { sluice: backlog },
    rows: [
      {
        name: "1,000,000-pending",
        unit: "MB",
        figure: ({ sluice }) => sluice.pendingMegabytes - sluice.idleMegabytes,
        goal: atMost(100),
        note: "the most above idle in 20 s; 50 endpoints that never answer"
      }
    ]
  }),
  benchmark({
    name: "webhooks/fairness",
    rounds: 3,
    sides: { mixed: fairness(hangingEndpoints, refusingEndpoints), healthy: fairness(0, 0) },
    rows: [
      {
        name: "p99",
        unit: "ms",
        figure: ({ mixed }) => mixed.p99Millis,
        peer: ({ healthy }) => healthy.p99Millis,
        goal: atMost(2),
        note: (rounds) =>
          `${healthyEndpoints} healthy endpoints with ${hangingEndpoints} that hang and ${refusingEndpoints} that refuse, beside without; ${refusedNote(rounds.flatMap(({ healthy, mixed }) => [mixed, healthy]))}`
      },
      {
        name: "p50",
        unit: "ms",
        figure: ({ mixed }) => mixed.p50Millis,
        peer: ({ healthy }) => healthy.p50Millis
      }
    ]
  }),
  fairnessBeside("warmed", "answered at first and hang"),
  fairnessBeside("slow", "take 1.2 s for each answer"),
  fairnessBeside("dead", "have names of which no name server answers")
]
