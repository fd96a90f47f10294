/**
 * Inspects the processes of this machine: tells a process from a later one with the same number, and finds servers that
 * outlived their parent. Linux is read from /proc, other systems through `ps`. Needs no service.
 */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { readdir, readFile, readlink } from "node:fs/promises"
import { promisify } from "node:util"
import { Effect } from "effect"

export interface ProcessInfo {
  readonly pid: number
  /** Tells two processes with one number apart: equal only for the same process of the same boot. */
  readonly startedAt: string
  /** Unix seconds of the start, to compare with times written by others; undefined where unknown. */
  readonly startedAtSeconds: number | undefined
  /** The program and its arguments; one element where the system gives only one line of text. */
  readonly command: ReadonlyArray<string>
}

/** Kernel clock ticks per second as /proc shows them to every program on Linux, whatever the kernel's own rate. */
const ticksPerSecond = 100

const run = promisify(execFile)

const linux = process.platform === "linux"

interface Boot {
  readonly id: string
  readonly seconds: number | undefined
}

let boot: Promise<Boot> | undefined

const readBoot = async (): Promise<Boot> => {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "")
  const stat = await readFile("/proc/stat", "utf8").catch(() => "")
  const seconds = /^btime (\d+)$/m.exec(stat)?.[1]
  return { id: id.trim().slice(0, 8), seconds: seconds === undefined ? undefined : Number(seconds) }
}

const lookLinux = async (pid: number): Promise<ProcessInfo | undefined> => {
  try {
    boot ??= readBoot()
    const [{ id, seconds }, stat, commandLine] = await Promise.all([
      boot,
      readFile(`/proc/${pid}/stat`, "latin1"),
      readFile(`/proc/${pid}/cmdline`, "utf8")
    ])
    // The second field is the program's name in parentheses, which may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const state = fields[0]
    const ticks = fields[19]
    // A zombie has ended, but its parent has not asked for its exit yet, which in a container may never happen.
    if (ticks === undefined || state === "Z" || state === "X") return undefined
    return {
      pid,
      startedAt: `${id}:${ticks}`,
      startedAtSeconds: seconds === undefined ? undefined : seconds + Number(ticks) / ticksPerSecond,
      command: commandLine.replace(/\0+$/, "").split("\0")
    }
  } catch {
    return undefined
  }
}

/** `ps -o lstart` prints five words, such as `Fri Nov 20 10:31:54 2026`. */
const psLine = /^\s*(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/

const psInfo = (line: string): ReadonlyArray<ProcessInfo> => {
  const match = psLine.exec(line)
  if (match === null || match[2]!.startsWith("Z")) return []
  const started = Date.parse(match[3]!)
  return [
    {
      pid: Number(match[1]),
      startedAt: match[3]!.replace(/\s+/g, " "),
      startedAtSeconds: Number.isNaN(started) ? undefined : started / 1000,
      command: [match[4]!]
    }
  ]
}

/** Lists processes through `ps`, as on every system but Linux; exported so that a test can hold it against /proc. */
export const listWithPs = async (pid?: number): Promise<ReadonlyArray<ProcessInfo>> => {
  const which = pid === undefined ? ["-ax"] : ["-p", `${pid}`]
  const { stdout } = await run("ps", [...which, "-o", "pid=,stat=,lstart=,command="], {
    env: { PATH: process.env.PATH, LC_ALL: "C" },
    maxBuffer: 16 * 1024 * 1024
  }).catch(() => ({ stdout: "" }))
  return stdout.split("\n").flatMap(psInfo)
}

/** The live process of that number; undefined if there is none (a zombie is none). */
export const lookAt = (pid: number): Effect.Effect<ProcessInfo | undefined> =>
  Effect.promise(async () => (linux ? lookLinux(pid) : (await listWithPs(pid))[0]))

/** Whether a number is taken, even by a zombie. */
export const isTaken = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** The command line of a process as /proc has it; empty where there is none, or none that this user may see. */
const commandLineOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1")
  } catch {
    return ""
  }
}

/** Live processes that this user may see and whose command line contains the text, in one of its arguments. */
export const processesNaming = (text: string): Effect.Effect<ReadonlyArray<ProcessInfo>> =>
  Effect.promise(async () => {
    if (!linux) return (await listWithPs()).filter(({ command }) => command.some((part) => part.includes(text)))
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)
    // Read in one go: the kernel answers from memory, and a thread for each of hundreds of reads costs a start 50 ms.
    const named = pids.filter((pid) => commandLineOf(pid).includes(text))
    const found = await Promise.all(named.map(lookLinux))
    return found.filter((info) => info !== undefined)
  })

/** Whether that very process still lives. */
export const isAlive = (process: Pick<ProcessInfo, "pid" | "startedAt">): Effect.Effect<boolean> =>
  Effect.map(lookAt(process.pid), (now) => now?.startedAt === process.startedAt)

/** A process's working folder; undefined where the system does not say. */
export const workingFolder = (pid: number): Effect.Effect<string | undefined> =>
  Effect.promise(() => (linux ? readlink(`/proc/${pid}/cwd`).catch(() => undefined) : Promise.resolve(undefined)))

/** Sends a signal if that very process still lives; says whether it was sent. */
export const signal = (target: Pick<ProcessInfo, "pid" | "startedAt">, name: NodeJS.Signals): Effect.Effect<boolean> =>
  Effect.map(isAlive(target), (alive) => {
    if (!alive) return false
    try {
      process.kill(target.pid, name)
      return true
    } catch {
      return false
    }
  })
