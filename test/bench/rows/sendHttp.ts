/**
 * Sending over HTTP on real servers, with every acknowledged email on disk: single emails of about 2 kB with and without an Idempotency-Key, batches of 100, and an open loop.
 * Mailer and projections run beside it. The peer is a Fastify server that inserts into PostgreSQL (`peers/fastifySend.ts`).
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { makeAccount } from "../../sending/accounts.ts"
import { ask } from "../../support/ask.ts"
import { clockStartVariable, clockVariable, moveOn } from "../../support/movableClock.ts"
import type { SendPeerSettings } from "../peers/fastifySend.ts"
import { atLeast, atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"
import { type Child, ChildFailed, freePort } from "../runner/child.ts"
import { cpuSecondsOf } from "../runner/cpu.ts"
import { addressesOf, newDataFolder, startPlatform } from "../runner/platform.ts"
import type { Workbench } from "../runner/workbench.ts"
import type { LoopSample } from "../workloads/latencies.ts"
import { type SendsAccount, type SendsLoad, sendConnections } from "../workloads/sends.ts"
import type { Addresses } from "../workloads/servers.ts"
import { startWorkload } from "../workloads/workload.ts"

/** Accounts that send in turn, over all partitions. */
const accountCount = 16

/** After 5 s the program takes a third more CPU an email than after 20: V8 has not compiled what it runs. */
const warmUpSeconds = 20
const measuredSeconds = 8
const openPerSecond = 2_500
const emailsPerBatch = 100

const adminKey = `adm_${"Be5".repeat(10)}`
const hourMillis = 3_600_000

type Kind = Pick<SendsLoad, "emails" | "isKeyed" | "perSecond">

interface SendSample extends LoopSample {
  readonly emailsPerSecond: number
  /** CPU that the server's process used an email. */
  readonly serverCpuMicros: number
}

/** A data folder with accounts that have left probation, whose caps no load reaches: their first days were passed by a clock that was moved. */
export const establishedAccounts = (workbench: Workbench) =>
  workbench.once("established accounts", async () => {
    const dataFolder = newDataFolder(workbench, "sending")
    const socket = join(workbench.folder, "clock")
    const platform = await startPlatform(workbench, {
      dataFolder,
      program: new URL("../../support/movableClock.ts", import.meta.url).pathname,
      env: { SLUICE_ADMIN_KEY: adminKey, [clockVariable]: socket, [clockStartVariable]: `${-96 * hourMillis}` }
    })
    try {
      const place = await addressesOf(dataFolder)
      const accounts: Array<SendsAccount> = []
      for (let index = 0; index < accountCount; index++)
        accounts.push(
          await makeAccount(place, adminKey, { name: `bench${index}`, emailsPerHour: 5_000, dailyCap: 1e9 })
        )
      const stageOf = ({ key }: SendsAccount) =>
        ask<{ readonly trustStage: string }>(() => `${place.url}/v1/send/tenants`, { bearer: key })
      // Probation begins when it is first looked at.
      for (const account of accounts) await stageOf(account)
      await moveOn(socket, 74 * hourMillis)
      for (const account of accounts)
        while ((await stageOf(account)).trustStage !== "established")
          await new Promise((resolve) => setTimeout(resolve, 50))
      return { dataFolder, accounts }
    } finally {
      await platform.stop()
    }
  })

/** Loads a server that is ready. */
const measure = async (
  { watched, workbench }: Round,
  server: Child,
  load: Omit<SendsLoad, "seconds" | "warmUpSeconds">
): Promise<SendSample> => {
  const { child } = await startWorkload(workbench, "sends", { ...load, warmUpSeconds, seconds: measuredSeconds })
  try {
    const before = cpuSecondsOf(server.pid)
    // The workload's file names what it measures.
    const sample = (await watched(() => child.ask("measure"))) as LoopSample
    const cpuSeconds = cpuSecondsOf(server.pid) - before
    if (sample.refused > 0) throw new ChildFailed(`${sample.refused} requests were refused\n${child.output()}`)
    const emailsPerSecond = sample.perSecond * load.emails
    return { ...sample, emailsPerSecond, serverCpuMicros: (cpuSeconds * 1e6) / (emailsPerSecond * measuredSeconds) }
  } finally {
    await child.stop()
  }
}

const toSluice =
  (kind: Kind) =>
  async (round: Round): Promise<SendSample> => {
    const { accounts, dataFolder } = await establishedAccounts(round.workbench)
    const platform = await startPlatform(round.workbench, { dataFolder })
    try {
      return await measure(round, platform.child, { ...kind, url: platform.url, accounts })
    } finally {
      await platform.stop()
    }
  }

const toFastify =
  (kind: Kind) =>
  async (round: Round): Promise<SendSample> => {
    const { workbench } = round
    const { accounts } = await establishedAccounts(workbench)
    const dataFolder = newDataFolder(workbench, `sending-${performance.now()}`)
    const { child: servers, told } = await startWorkload<Addresses>(workbench, "serversHost", { dataFolder })
    const port = await freePort()
    const script = new URL("../peers/fastifySend.ts", import.meta.url).pathname
    const peer = workbench.start(process.execPath, [script], { channel: true })
    try {
      await peer.ask({ port, accounts, databaseUrl: told.databaseUrl } satisfies SendPeerSettings)
      return await measure(round, peer, { ...kind, url: `http://127.0.0.1:${port}`, accounts })
    } finally {
      await peer.stop()
      await servers.stop()
      rmSync(dataFolder, { recursive: true, force: true })
    }
  }

const note = `${sendConnections} connections, ${accountCount} accounts, 8 partitions`

const closed = (name: string, kind: Kind, leastEmails: number): Benchmark =>
  benchmark({
    name: `send/http/${name}`,
    sides: { sluice: toSluice(kind), fastify: toFastify(kind) },
    rows: [
      {
        name: "throughput",
        unit: "emails/s",
        figure: ({ sluice }) => sluice.emailsPerSecond,
        goal: atLeast(leastEmails),
        note
      },
      {
        name: "beside-fastify",
        unit: "emails/s",
        figure: ({ sluice }) => sluice.emailsPerSecond,
        peer: ({ fastify }) => fastify.emailsPerSecond,
        note
      },
      {
        name: "p99",
        unit: "ms",
        figure: ({ sluice }) => sluice.p99Millis,
        ...(kind.emails === 1 ? { goal: atMost(50) } : {})
      },
      {
        name: "p99-beside-fastify",
        unit: "ms",
        figure: ({ sluice }) => sluice.p99Millis,
        peer: ({ fastify }) => fastify.p99Millis
      },
      {
        name: "cpu",
        unit: "us/email",
        figure: ({ sluice }) => sluice.serverCpuMicros,
        peer: ({ fastify }) => fastify.serverCpuMicros,
        note: "CPU of the server's process, mailer and projections included"
      }
    ]
  })

export const sendHttpBenchmarks: ReadonlyArray<Benchmark> = [
  closed("single", { emails: 1, isKeyed: false }, 3_500),
  closed("keyed", { emails: 1, isKeyed: true }, 3_500),
  closed("batch", { emails: emailsPerBatch, isKeyed: false }, 20_000),
  benchmark({
    name: "send/http/open",
    sides: {
      sluice: toSluice({ emails: 1, isKeyed: true, perSecond: openPerSecond }),
      fastify: toFastify({ emails: 1, isKeyed: true, perSecond: openPerSecond })
    },
    rows: [
      {
        name: "p99",
        unit: "ms",
        figure: ({ sluice }) => sluice.p99Millis,
        goal: atMost(100),
        note: `${openPerSecond} requests/s with keys, from when each was due; ${note}`
      },
      {
        name: "p99-beside-fastify",
        unit: "ms",
        figure: ({ sluice }) => sluice.p99Millis,
        peer: ({ fastify }) => fastify.p99Millis
      },
      {
        name: "rate",
        unit: "requests/s",
        figure: ({ sluice }) => sluice.perSecond,
        goal: atLeast(openPerSecond * 0.99)
      }
    ]
  })
]
