/** Measures several nodes: two of them against one, and the time until another serves the partitions of a killed one. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { atMost, type Benchmark, benchmark, type Round, type Sample } from "../runner/benchmark.ts"
import { type Child, freePort, untilReady } from "../runner/child.ts"
import { newDataFolder, program } from "../runner/platform.ts"
import type { NodesLoad, NodesSample } from "../workloads/nodes.ts"
import type { Addresses } from "../workloads/servers.ts"
import { runWithServers, startWorkload } from "../workloads/workload.ts"

const partitions = 8
const callers = 256

const decisions = (nodes: number) => (round: Round) =>
  runWithServers<NodesSample>(round, "nodes", {
    nodes,
    partitions,
    callers,
    warmUpSeconds: 1.5,
    seconds: 2.5
  } satisfies NodesLoad)

/** How many times a node is killed. */
const kills = 20

/** How often a node is asked what it serves. */
const pollMillis = 20

/** A node that serves nothing for so long is a failure. */
const patienceMillis = 60_000

const names = ["one", "two"] as const

interface Node {
  readonly child: Child
  readonly url: string
}

const startNode = async ({ workbench }: Round, home: string, name: string, servers: Addresses): Promise<Node> => {
  const port = await freePort()
  const child = workbench.start(process.execPath, [program, "serve", "--cluster"], {
    env: {
      SLUICE_DEVELOPMENT: "on",
      DATABASE_URL: servers.databaseUrl,
      NATS_URL: servers.natsUrl,
      SLUICE_DATA_DIR: join(home, name),
      SLUICE_DEMO: "off",
      SLUICE_LOG_LEVEL: "warn",
      SLUICE_LOG_MAX_BYTES: `${64 * 1024 * 1024}`,
      SLUICE_NODE: name,
      SLUICE_PARTITIONS: `${partitions}`,
      SLUICE_PORT: `${port}`,
      SLUICE_SECRETS_KEY: "5e".repeat(32),
      // Nobody is there.
      SLUICE_SMTP_URL: "smtp://127.0.0.1:9"
    }
  })
  const url = `http://127.0.0.1:${port}`
  await untilReady(child, `${url}/readyz`)
  return { child, url }
}

/** The partitions that a node serves, as it says itself. */
const servedBy = async ({ url }: Node): Promise<ReadonlyArray<number>> => {
  const { checks } = (await (await fetch(`${url}/readyz`)).json()) as {
    readonly checks: { readonly cluster: { readonly detail: string } }
  }
  const listed = /serves partitions? ([\d, ]+) of/.exec(checks.cluster.detail)?.[1]
  return listed === undefined ? [] : listed.split(", ").map(Number)
}

/** Waits for a condition; answers how long that took. */
const until = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
  const begunAt = performance.now()
  while (!(await holds())) {
    if (performance.now() - begunAt > patienceMillis) throw new Error(`${what} took more than ${patienceMillis} ms`)
    await new Promise((resolve) => setTimeout(resolve, pollMillis))
  }
  return performance.now() - begunAt
}

interface TakeoverSample extends Sample {
  readonly medianMillis: number
  readonly worstMillis: number
}

/** Kills one of two nodes again and again, and waits each time until the other one serves everything. */
const takeovers = async (round: Round): Promise<TakeoverSample> => {
  const home = newDataFolder(round.workbench, `takeovers-${performance.now()}`)
  const { child: host, told: servers } = await startWorkload<Addresses>(round.workbench, "serversHost", {
    dataFolder: newDataFolder(round.workbench, `takeover-servers-${performance.now()}`)
  })
  const nodes: Array<Node> = []
  try {
    // One after the other: the first one makes the tables.
    for (const name of names) nodes.push(await startNode(round, home, name, servers))
    const isSpread = async () => {
      const own = await Promise.all(nodes.map(servedBy))
      return own.every(({ length }) => length > 0) && new Set(own.flat()).size === partitions
    }
    const times: Array<number> = []
    for (let kill = 0; kill < kills; kill++) {
      await until("spreading the partitions", isSpread)
      const victim = kill % names.length
      const other = nodes[1 - victim]!
      process.kill(nodes[victim]!.child.pid, "SIGKILL")
      times.push(await until("a takeover", async () => (await servedBy(other)).length === partitions))
      await nodes[victim]!.child.exited
      nodes[victim] = await startNode(round, home, names[victim]!, servers)
    }
    times.sort((left, right) => left - right)
    return { medianMillis: times[kills >> 1]!, worstMillis: times.at(-1)!, leastMillis: times[0]! }
  } finally {
    for (const { child } of nodes) await child.stop()
    await host.stop()
    rmSync(home, { recursive: true, force: true })
  }
}

interface Samples {
  readonly one: NodesSample
  readonly two: NodesSample
}

const share = (rounds: ReadonlyArray<Samples>): string => {
  const shares = rounds.map(({ two }) => two.crossed).sort((left, right) => left - right)
  return `${Math.round(100 * (shares[shares.length >> 1] ?? Number.NaN))} % of the asks cross`
}

export const nodesBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "nodes/two-against-one",
    sides: { one: decisions(1), two: decisions(2) },
    rows: [
      {
        name: "cpu",
        unit: "us",
        figure: ({ two }) => two.microsPerDecision,
        peer: ({ one }) => one.microsPerDecision,
        goal: atMost(1.15),
        note: share
      },
      {
        name: "per-second",
        unit: "decisions/s",
        figure: ({ two }) => two.perSecond,
        peer: ({ one }) => one.perSecond
      },
      { name: "p99", unit: "ms", figure: ({ two }) => two.p99Millis, peer: ({ one }) => one.p99Millis }
    ]
  }),
  benchmark({
    name: "nodes/takeover",
    rounds: 1,
    sides: { sluice: takeovers },
    rows: [
      {
        name: "median",
        unit: "ms",
        figure: ({ sluice }) => sluice.medianMillis,
        note: `${kills} times one of two nodes is killed with SIGKILL, until the other one serves all ${partitions} partitions`
      },
      { name: "worst", unit: "ms", figure: ({ sluice }) => sluice.worstMillis, goal: atMost(5_000), over: "worst" }
    ]
  })
]
