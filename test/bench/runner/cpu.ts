/**
 * The CPU that others used while something was measured, from `/proc`: all that the machine was busy with, less what the
 * runner and everything it started (server, peer, generator, their databases) used. Elsewhere than on Linux nothing is
 * known and every round counts as quiet.
 */
import { readdirSync, readFileSync } from "node:fs"
import { cpus } from "node:os"

/** CPU of others during a part of a round, in cores: 1 is one core all the time. */
export interface Disturbance {
  /** Other processes of this machine. */
  readonly othersCores: number
  /** What the machine underneath a virtual one kept for itself. */
  readonly stolenCores: number
}

export const quiet: Disturbance = { othersCores: 0, stolenCores: 0 }

/** Ticks a second of the figures in `/proc`; the same on every architecture Linux runs Node on. */
const ticksPerSecond = 100

export interface Snapshot {
  readonly atMillis: number
  /** Ticks of all CPUs in user and kernel mode, without interrupts. */
  readonly busy: number
  readonly stolen: number
  /** Ticks by process, its own and those of its children that have ended. */
  readonly processes: ReadonlyMap<number, ProcessTime>
}

export interface ProcessTime {
  readonly parent: number
  readonly own: number
  readonly endedChildren: number
}

/** Reads one line of `/proc/<pid>/stat`; the name in brackets may hold anything. */
export const parseProcessTime = (stat: string): ProcessTime => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const ticks = (field: number) => Number(fields[field])
  return { parent: ticks(1), own: ticks(11) + ticks(12), endedChildren: ticks(13) + ticks(14) }
}

const snapshot = (): Snapshot => {
  const processes = new Map<number, ProcessTime>()
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      processes.set(Number(name), parseProcessTime(readFileSync(`/proc/${name}/stat`, "utf8")))
    } catch {
      // Ended between the listing and the reading.
    }
  }
  const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.trim().split(/\s+/)
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = ticks.map(Number)
  return { atMillis: performance.now(), busy: user + nice + system, stolen, processes }
}

/** The process and all that descend from it. */
const treeOf = (root: number, processes: Snapshot["processes"]): ReadonlySet<number> => {
  const tree = new Set([root])
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const [id, { parent }] of processes) if (tree.has(parent)) tree.add(id)
  }
  return tree
}

/** Ticks a process and its ended children used: a child's move to its parent when it ends, so the sum only grows. */
const totalOf = (time: ProcessTime | undefined): number => (time === undefined ? 0 : time.own + time.endedChildren)

/**
 * What others used between two snapshots. Two estimates, and the larger holds: the machine's busy time less ours, which
 * sees processes that came and went, and the sum over the living others, which is exact. The first one alone would
 * hide others on a kernel that counts our network interrupts apart from busy time but within our processes.
 */
export const othersBetween = (before: Snapshot, after: Snapshot, root: number): Disturbance => {
  const tree = treeOf(root, after.processes)
  let ours = 0
  let living = 0
  for (const [id, time] of after.processes) {
    if (tree.has(id)) ours += totalOf(time) - totalOf(before.processes.get(id))
    else living += time.own - (before.processes.get(id)?.own ?? 0)
  }
  // One of ours that ended has left all its time with its parent, also what it used before.
  const treeBefore = treeOf(root, before.processes)
  for (const [id, time] of before.processes) {
    if (treeBefore.has(id) && !after.processes.has(id)) ours -= totalOf(time)
  }
  const ticks = ((after.atMillis - before.atMillis) / 1000) * ticksPerSecond
  const others = Math.max(after.busy - before.busy - ours, living, 0)
  return { othersCores: others / ticks, stolenCores: Math.max(after.stolen - before.stolen, 0) / ticks }
}

/** Runs something and tells what others used of the CPU meanwhile. */
export type WatchOthers = <A>(part: () => Promise<A>) => Promise<readonly [result: A, disturbance: Disturbance]>

export const watchOthers: WatchOthers = async (part) => {
  if (process.platform !== "linux") return [await part(), quiet]
  const before = snapshot()
  const result = await part()
  return [result, othersBetween(before, snapshot(), process.pid)]
}

/** CPU seconds that a process has used so far, its ended children not included. */
export const cpuSecondsOf = (id: number): number =>
  process.platform === "linux"
    ? parseProcessTime(readFileSync(`/proc/${id}/stat`, "utf8")).own / ticksPerSecond
    : Number.NaN

/** CPU seconds that a process and all that descend from it have used so far, the ended ones included. */
export const treeCpuSeconds = (root: number): number => {
  if (process.platform !== "linux") return Number.NaN
  const { processes } = snapshot()
  let ticks = 0
  for (const id of treeOf(root, processes)) ticks += totalOf(processes.get(id))
  return ticks / ticksPerSecond
}

/** Largest memory a process has had so far, in megabytes of a million bytes. */
export const peakMegabytesOf = (id: number): number => {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))
  return line === null ? Number.NaN : (Number(line[1]) * 1024) / 1e6
}

/** The memory that a process has now, in megabytes of a million bytes. */
export const residentMegabytesOf = (id: number): number => {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))
  return line === null ? Number.NaN : (Number(line[1]) * 1024) / 1e6
}

/** The machine in one line. */
export const machine = (): string => {
  const processors = cpus()
  return `${processors[0]?.model.trim() ?? "unknown CPU"}, ${processors.length} cores, Node ${process.versions.node}, ${process.platform}-${process.arch}`
}
