/**
 * Emails on their way through the platform on real servers: at an even rate from HTTP to the relay, with what waits at both ends of the measurement, and what the process holds
 * while a million of them wait.
 */
import { query } from "../../cli/support.ts"
import { atLeast, atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { ChildFailed } from "../runner/child.ts"
import { cpuSecondsOf, peakMegabytesOf, residentMegabytesOf } from "../runner/cpu.ts"
import { type Platform, startPlatform } from "../runner/platform.ts"
import type { FillQueueLoad } from "../workloads/fillQueue.ts"
import type { SustainedLoad } from "../workloads/sustained.ts"
import { runWorkload, startWorkload } from "../workloads/workload.ts"
import { establishedAccounts } from "./sendHttp.ts"

const warmUpSeconds = 10
const sustainedSeconds = 30

type SustainedSample = Readonly<
  Record<
    | "acceptedPerSecond"
    | "takenPerSecond"
    | "backlogStart"
    | "backlogEnd"
    | "drainSeconds"
    | "left"
    | "refused"
    | "cpuMicros",
    number
  >
>

/** Starts the platform with the relay that a workload tells, and what the workload then measures. */
const withRelay = async <A>(
  { workbench }: Round,
  dataFolder: string,
  settings: SustainedLoad,
  env: Readonly<Record<string, string>>,
  use: (platform: Platform, measured: () => Promise<unknown>) => Promise<A>
): Promise<A> => {
  const { child, told: relayPort } = await startWorkload<number>(workbench, "sustained", settings)
  try {
    const platform = await startPlatform(workbench, {
      dataFolder,
      env: { SLUICE_SMTP_URL: `smtp://127.0.0.1:${relayPort}`, ...env }
    })
    try {
      return await use(platform, () => child.ask("measure"))
    } finally {
      await platform.stop()
    }
  } finally {
    await child.stop()
  }
}

const sustained =
  (perSecond: number) =>
  async (round: Round): Promise<SustainedSample> => {
    const { accounts, dataFolder } = await establishedAccounts(round.workbench)
    const load: SustainedLoad = { dataFolder, accounts, perSecond, warmUpSeconds, seconds: sustainedSeconds }
    return withRelay(round, dataFolder, load, {}, async ({ child }, measured) => {
      const before = cpuSecondsOf(child.pid)
      // The workload's file names what it measures.
      const sample = (await round.watched(measured)) as Omit<SustainedSample, "cpuMicros">
      if (sample.refused > 0 || sample.left > 0)
        throw new ChildFailed(`${sample.refused} were refused, and ${sample.left} have not arrived`)
      const mails = sample.acceptedPerSecond * (warmUpSeconds + sustainedSeconds)
      return { ...sample, cpuMicros: ((cpuSecondsOf(child.pid) - before) * 1e6) / mails }
    })
  }

/** A rate is sustained where what waits grows by less than a second's mail. */
const sustainedAt = (perSecond: number): Benchmark =>
  benchmark({
    name: `send/sustained/${perSecond}`,
    sides: { sluice: sustained(perSecond) },
    rows: [
      {
        name: "taken",
        unit: "mails/s",
        figure: ({ sluice }) => sluice.takenPerSecond,
        goal: atLeast(perSecond * 0.98),
        note: `${perSecond} requests/s of 2 kB over HTTP, each signed and taken by an SMTP server, over 10 connections, for ${sustainedSeconds} s`
      },
      {
        name: "backlog-start",
        unit: "mails",
        figure: ({ sluice }) => sluice.backlogStart,
        note: "accepted, and not arrived"
      },
      { name: "backlog-end", unit: "mails", figure: ({ sluice }) => sluice.backlogEnd },
      {
        name: "backlog-growth",
        unit: "mails",
        figure: ({ sluice }) => sluice.backlogEnd - sluice.backlogStart,
        goal: atMost(perSecond)
      },
      { name: "drain", unit: "s", figure: ({ sluice }) => sluice.drainSeconds, note: "until the last one had arrived" },
      { name: "cpu", unit: "us/mail", figure: ({ sluice }) => sluice.cpuMicros, note: "of the platform's process" }
    ]
  })

/** How many emails wait; fewer to try the row itself. */
const queued = Number(process.env.BENCH_QUEUED ?? 1_000_000)

/** How long the process hands over from the full queue while its memory is watched. */
const drainingSeconds = 20

type QueuedSample = Readonly<
  Record<
    | "waiting"
    | "fillSeconds"
    | "emptyMegabytes"
    | "fullMegabytes"
    | "peakMegabytes"
    | "startedMegabytes"
    | "drainingMegabytes"
    | "drainingPerSecond",
    number
  >
>

const waitingIn = async (platform: Platform): Promise<number> => {
  const [row] = await query<{ readonly count: string }>(await platform.postgresUrl(), "select count(*) from send_jobs")
  return Number(row!.count)
}

const pauseOf = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Fills the queue beside a relay that takes one mail in a second, starts the platform anew, and lets it hand over for a while. */
const fullQueue = async (round: Round): Promise<QueuedSample> => {
  const { accounts, dataFolder } = await establishedAccounts(round.workbench)
  const none: SustainedLoad = { dataFolder, accounts, perSecond: 0, warmUpSeconds: 0, seconds: 0 }
  const filled = await withRelay(round, dataFolder, none, { SLUICE_SMTP_RATE: "1" }, async (platform) => {
    const emptyMegabytes = residentMegabytesOf(platform.child.pid)
    const load: FillQueueLoad = { url: platform.url, accounts, emails: queued }
    const { seconds } = await runWorkload<{ readonly seconds: number }>(round, "fillQueue", load)
    // The reactor follows a moment later.
    for (let waiting = 0; waiting < queued * 0.99; waiting = await waitingIn(platform)) await pauseOf(1_000)
    await pauseOf(5_000)
    return {
      emptyMegabytes,
      fillSeconds: seconds,
      waiting: await waitingIn(platform),
      fullMegabytes: residentMegabytesOf(platform.child.pid),
      peakMegabytes: peakMegabytesOf(platform.child.pid)
    }
  })
  const started = await withRelay(round, dataFolder, none, {}, async (platform) => {
    const startedMegabytes = residentMegabytesOf(platform.child.pid)
    const before = await waitingIn(platform)
    await pauseOf(drainingSeconds * 1_000)
    return {
      startedMegabytes,
      drainingMegabytes: peakMegabytesOf(platform.child.pid),
      drainingPerSecond: (before - (await waitingIn(platform))) / drainingSeconds
    }
  })
  return { ...filled, ...started }
}

const megabytes = (name: keyof QueuedSample, note: string) => ({
  name,
  unit: "MB",
  figure: ({ sluice }: { readonly sluice: QueuedSample }) => sluice[name],
  note
})

export const sendQueueBenchmarks: ReadonlyArray<Benchmark> = [
  ...[100, 200, 400, 800].map(sustainedAt),
  benchmark({
    name: "send/queued",
    sides: { sluice: fullQueue },
    rounds: 1,
    rows: [
      {
        name: "waiting",
        unit: "mails",
        figure: ({ sluice }) => sluice.waiting,
        note: "in batches of 100 over HTTP, beside a relay that takes one in a second"
      },
      { name: "fill", unit: "mails/s", figure: ({ sluice }) => queued / sluice.fillSeconds },
      megabytes("emptyMegabytes", "resident, before"),
      megabytes("fullMegabytes", "resident, with all of them waiting"),
      megabytes("peakMegabytes", "the most while they came in"),
      megabytes("startedMegabytes", "resident, right after a start on the full queue"),
      {
        ...megabytes("drainingMegabytes", `the most in ${drainingSeconds} s of handing over from the full queue`),
        goal: atMost(1_024)
      },
      { name: "draining", unit: "mails/s", figure: ({ sluice }) => sluice.drainingPerSecond }
    ]
  })
]
