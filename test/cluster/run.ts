/**
 * Rounds of faults on three machines under load, and the audit: no answered decision is lost or doubled, epochs rise, every partition is served
 * again after each fault.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { describeViolations, type Means } from "../support/longRun.ts"
import { untilInterrupted } from "../support/runFolder.ts"
import { hammer } from "./caps.ts"
import {
  adminKey,
  type Deployment,
  type Node,
  openDeployment,
  partitions,
  servedBy,
  until,
  untilReady
} from "./deployment.ts"
import { type Load, makeOrganizations, startLoad } from "./load.ts"

/** As many as make it likely that every partition has one. */
const organizationCount = 24

/** Longer than a node may be silent, three times over. */
const frozenMillis = 9_000
const cutMillis = 6_000

/** For how long two of three servers are away while a node starts. */
const electionMillis = 4_000

/** What a partition may take to be served again; judged by `npm run test:cluster` alone. */
const processBoundMillis = 5_000
const machineBoundMillis = 15_000

interface Fault {
  readonly name: string
  readonly boundMillis: number
  /** Whether every partition stays with its owner, who serves on. */
  readonly movesNothing?: true
  readonly happen: (deployment: Deployment, victim: Node) => Promise<void>
}

const restart = async (node: Node) => {
  node.sluice.start()
  await untilReady(node)
}

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a node is killed",
    boundMillis: processBoundMillis,
    happen: async (_, { sluice, ...victim }) => {
      await sluice.end("SIGKILL")
      await pause(cutMillis)
      await restart({ sluice, ...victim })
    }
  },
  {
    name: "a node is stopped",
    boundMillis: processBoundMillis,
    happen: async (_, victim) => {
      await victim.sluice.end("SIGTERM")
      await restart(victim)
    }
  },
  {
    name: "a node stands still",
    boundMillis: machineBoundMillis,
    happen: async (_, victim) => {
      victim.sluice.signal("SIGSTOP")
      await pause(frozenMillis)
      victim.sluice.signal("SIGCONT")
    }
  },
  {
    name: "a machine's cable is pulled",
    boundMillis: machineBoundMillis,
    happen: async (_, { machine }) => {
      await machine.cable(false)
      await pause(cutMillis)
      await machine.cable(true)
    }
  },
  {
    name: "a machine hears nothing",
    boundMillis: machineBoundMillis,
    happen: async (_, { machine }) => {
      await machine.cut("in")
      await pause(cutMillis)
      await machine.cut("none")
    }
  },
  {
    name: "a machine is not heard",
    boundMillis: machineBoundMillis,
    happen: async (_, { machine }) => {
      await machine.cut("out")
      await pause(cutMillis)
      await machine.cut("none")
    }
  },
  {
    name: "PostgreSQL is restarted",
    boundMillis: processBoundMillis,
    movesNothing: true,
    happen: ({ door }) => door.shutFor(2_000)
  },
  {
    name: "the sessions in PostgreSQL are ended",
    boundMillis: processBoundMillis,
    movesNothing: true,
    happen: async ({ door }) => door.endSessions()
  },
  {
    name: "a machine dies, with its NATS server",
    boundMillis: machineBoundMillis,
    happen: async (_, victim) => {
      await Promise.all([victim.sluice.end("SIGKILL"), victim.nats.end("SIGKILL")])
      await pause(cutMillis)
      victim.nats.start()
      // The node starts while the servers still elect.
      await restart(victim)
    }
  },
  {
    name: "a node starts during an election",
    boundMillis: machineBoundMillis + electionMillis,
    happen: async ({ nodes }, victim) => {
      await victim.sluice.end("SIGTERM")
      const others = nodes.filter((node) => node !== victim)
      // Two of three servers: nothing is led until they are back and have elected.
      await Promise.all(others.map(({ nats }) => nats.end("SIGKILL")))
      victim.sluice.start()
      await pause(electionMillis)
      for (const { nats } of others) nats.start()
      await untilReady(victim)
    }
  },
  {
    name: "a third of what a machine sends is lost",
    boundMillis: machineBoundMillis,
    happen: async (_, { machine }) => {
      if (!(await machine.lose(30))) return
      await pause(cutMillis)
      await machine.lose(0)
    }
  }
]

export interface RoundReport {
  readonly fault: string
  readonly machine: string
  /** For each organization, the longest time without an answer. */
  readonly gaps: ReadonlyArray<number>
}

export interface Report {
  readonly rounds: ReadonlyArray<RoundReport>
  readonly answered: number
  readonly statuses: ReadonlyMap<number, number>
  readonly violations: ReadonlyArray<string>
  /** Rounds in which a partition took longer than it may, or moved without need; a machine that is too busy does that. */
  readonly late: ReadonlyArray<string>
}

/** The epoch of each partition, asked of a node. */
const epochsOf = async (node: Node): Promise<ReadonlyArray<number>> => {
  const answer = await fetch(`${node.adminUrl}/admin/v1/cluster`, { headers: { authorization: `Bearer ${adminKey}` } })
  const shown = (await answer.json()) as { readonly partitions: ReadonlyArray<{ readonly epoch: number | null }> }
  return shown.partitions.map(({ epoch }) => epoch ?? 0)
}

/** Waits until the partitions are spread over all nodes and every organization is answered by each of them. */
const untilWhole = async (deployment: Deployment, load: Load): Promise<void> => {
  await until(async () => {
    const served = await Promise.all(deployment.nodes.map(servedBy))
    return served.every((own) => own.length > 0) && new Set(served.flat()).size === partitions
  }, "the partitions are spread")
  const before = load.calls.map(({ answered }) => answered.size)
  // Each answer comes from another node than the one before.
  const wanted = 2 * deployment.nodes.length
  await until(
    () => load.calls.every(({ answered }, index) => answered.size >= before[index]! + wanted),
    "everybody is answered"
  )
}

/** What is wrong with what the event log holds. */
const audit = async (databaseUrl: string, load: Load): Promise<ReadonlyArray<string>> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const wrong: Array<string> = []
    const stored = async (id: string) => {
      const { rows } = await client.query<{ readonly tn: string }>(
        `select substring(body from '"tn":"([0-9]{10})"') as tn from events e where e.organization_id = $1`,
        [id]
      )
      return rows.map(({ tn }) => tn)
    }
    for (const { answered, asked, organization } of load.calls) {
      let found: ReadonlyArray<string> = []
      // The projection follows the log. Unanswered decisions are stored too, so their number alone says nothing.
      await until(
        async () => {
          found = await stored(organization.id)
          const known = new Set(found)
          return [...answered].every((tn) => known.has(tn))
        },
        "the events are stored",
        30_000
      ).catch(() => {})
      const set = new Set(found)
      const lost = [...answered].filter((tn) => !set.has(tn))
      if (lost.length > 0)
        wrong.push(`${lost.length} answered decisions of ${organization.id} are lost, such as ${lost[0]}`)
      if (set.size < found.length) wrong.push(`${found.length - set.size} decisions of ${organization.id} are doubled`)
      const strange = found.filter((tn) => !asked.has(tn))
      if (strange.length > 0)
        wrong.push(`${organization.id} has decisions that nobody asked for, such as ${strange[0]}`)
    }
    return wrong
  } finally {
    await client.end()
  }
}

export interface RunOptions extends Means {
  /** Which faults, in their order. */
  readonly faults: ReadonlyArray<Fault>
  /** A folder for what the nodes write. */
  readonly logs?: string | undefined
  /** How long a caller waits after each answer; without it, gaps are measured as closely as they can be. */
  readonly restMillis?: number
}

export const runCluster = async (options: RunOptions): Promise<Report> => {
  const deployment = await openDeployment(options.logs)
  try {
    return await untilInterrupted(options.signal, play(deployment, options))
  } finally {
    await deployment.close()
  }
}

const play = async (deployment: Deployment, options: RunOptions): Promise<Report> => {
  const { nodes } = deployment
  const organizations = await makeOrganizations(nodes[0]!, organizationCount)
  const load = startLoad(nodes, organizations, options.restMillis)
  const violations: Array<string> = []
  const late: Array<string> = []
  const rounds: Array<RoundReport> = []
  await untilWhole(deployment, load)
  let epochs = await epochsOf(nodes[0]!)
  for (const [index, fault] of options.faults.entries()) {
    const victim = nodes[index % nodes.length]!
    const capped = await hammer(nodes, index)
    load.takeGaps()
    load.takeRefusals()
    await fault.happen(deployment, victim)
    const { wrong } = await capped.done
    if (wrong !== undefined) violations.push(`${fault.name}: ${wrong}`)
    try {
      await untilWhole(deployment, load)
    } catch (error) {
      violations.push(`${fault.name} (${victim.machine.name}): ${(error as Error).message}`)
      for (const node of nodes) options.tell(`--- ${node.machine.name}\n${node.sluice.output.slice(-4_000)}`)
      break
    }
    const now = await epochsOf(nodes[(index + 1) % nodes.length]!)
    if (now.some((epoch, partition) => epoch < epochs[partition]!))
      violations.push(`${fault.name}: an epoch went back, from ${epochs.join(" ")} to ${now.join(" ")}`)
    if (fault.movesNothing === true && now.some((epoch, partition) => epoch > epochs[partition]!))
      late.push(`${fault.name}: owners have changed, epochs went from ${epochs.join(" ")} to ${now.join(" ")}`)
    epochs = now
    const gaps = load.takeGaps()
    rounds.push({ fault: fault.name, machine: victim.machine.name, gaps })
    const worst = Math.max(...gaps)
    if (worst > fault.boundMillis) late.push(`${fault.name}: ${worst} ms, ${fault.boundMillis} may pass`)
    options.tell(`  ${index + 1}. ${fault.name} (${victim.machine.name}): ${histogram(gaps)}`)
    for (const [said, count] of load.takeRefusals()) options.tell(`     ${count} times 503: ${said}`)
    options.tell(`     epochs ${epochs.join(" ")}`)
  }
  await load.stop()
  violations.push(...(await audit(deployment.databaseUrl, load)))
  const statuses = new Map<number, number>()
  for (const own of load.calls) {
    if (own.unhelpful > 0) violations.push(`${own.organization.id} got ${own.unhelpful} times 503 without Retry-After`)
    for (const [status, count] of own.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count)
  }
  for (const [status, count] of statuses)
    if (![0, 200, 503].includes(status)) violations.push(`${count} requests were answered ${status}`)
  const answered = load.calls.reduce((sum, own) => sum + own.answered.size, 0)
  return { rounds, answered, statuses, violations, late }
}

const bounds = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 15_000] as const

/** How many organizations had which longest gap. */
const histogram = (gaps: ReadonlyArray<number>): string => {
  const parts: Array<string> = []
  let from = 0
  for (const to of [...bounds, Number.POSITIVE_INFINITY]) {
    const count = gaps.filter((gap) => gap >= from && gap < to).length
    if (count > 0) parts.push(`${count} ${to === Number.POSITIVE_INFINITY ? `over ${from}` : `under ${to}`} ms`)
    from = to
  }
  return `${parts.join(", ")}; longest ${Math.max(...gaps)} ms`
}

export const describeReport = ({ answered, late, rounds, statuses, violations }: Report): string =>
  [
    `${rounds.length} rounds, ${answered} decisions answered; ${[...statuses].map(([status, count]) => `${status === 0 ? "no answer" : status}: ${count}`).join(", ")}`,
    ...(rounds.length === 0
      ? []
      : [`longest gaps without an answer: ${histogram(rounds.flatMap(({ gaps }) => gaps))}`]),
    ...late.map((line) => `late: ${line}`),
    describeViolations(violations, "no violation")
  ].join("\n")
