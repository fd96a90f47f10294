/** The CPU that a process and what it started have used, by program, from `/proc`. */
import { readdirSync, readFileSync } from "node:fs"
import { parseProcessTime } from "../bench/runner/cpu.ts"

/** Ticks a second of `/proc`, in microseconds each. */
const tickMicros = 10_000

/** Microseconds since their starts. */
export interface ProgramCpu {
  readonly node: number
  readonly nats: number
  readonly postgres: number
}

export const cpuBelow = (root: number): ProgramCpu => {
  const all = new Map<number, { readonly parent: number; readonly micros: number; readonly name: string }>()
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8")
      const { endedChildren, own, parent } = parseProcessTime(stat)
      const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"))
      // The children of a node process that have ended may be of any program; a server's are its own.
      const micros = (own + (Number(entry) === root ? 0 : endedChildren)) * tickMicros
      all.set(Number(entry), { parent, micros, name })
    } catch {
      // Ended meanwhile.
    }
  }
  const isBelow = (id: number): boolean => {
    for (let at = id; at > 1; at = all.get(at)?.parent ?? 0) if (at === root) return true
    return false
  }
  const used = { node: 0, nats: 0, postgres: 0 }
  for (const [id, { micros, name }] of all) {
    if (!isBelow(id)) continue
    if (name.includes("nats")) used.nats += micros
    else if (name.startsWith("postgres")) used.postgres += micros
    else used.node += micros
  }
  return used
}
