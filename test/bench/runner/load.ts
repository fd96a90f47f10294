/**
 * HTTP load: wrk where it is on the path, else autocannon, each in a process of its own so that its CPU is not the
 * server's. Closed loop: every connection sends its next request when it has the answer to the last. An answer other
 * than 2xx or 3xx, or a lost connection, fails the measurement, since refusals are cheap and would flatter the figure.
 */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Standing } from "./benchmark.ts"
import { type Child, ChildFailed, finished } from "./child.ts"
import { cpuSecondsOf } from "./cpu.ts"
import type { Workbench } from "./workbench.ts"

/** Connections kept open by every HTTP row. */
export const connections = 64
/** Load before the measurement, until the JIT compilers have settled. */
export const warmUpSeconds = 3
/** Load of one turn. */
export const measuredSeconds = 2
/** Turns of each side in a round, in which it is one process. */
export const turns = 6
/** Time an answer may take. */
export const answerTimeoutSeconds = 10

export interface Load {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON to post; without it the load reads. */
  readonly body?: string
  readonly seconds: number
}

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
  /** Answers that were refusals. */
  readonly refused: number
  /** Requests without an answer: connections that broke or took longer than `answerTimeoutSeconds`. */
  readonly lost: number
}

interface Generator {
  readonly name: string
  readonly open: (workbench: Workbench) => {
    readonly run: (load: Load) => Promise<LoadResult>
    readonly close: () => Promise<void>
  }
}

const wrkUnits: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

/** Reads what `wrk --latency` prints. */
export const parseWrk = (text: string): LoadResult => {
  const percentile = (of: number): number => {
    const match = new RegExp(`^\\s*${of}%\\s+([0-9.]+)(us|ms|s|m)\\s*$`, "m").exec(text)
    if (match === null) throw new ChildFailed(`wrk printed no ${of}th percentile:\n${text}`)
    return Number(match[1]) * wrkUnits[match[2]!]!
  }
  const rate = /^Requests\/sec:\s+([0-9.]+)\s*$/m.exec(text)
  if (rate === null) throw new ChildFailed(`wrk printed no rate:\n${text}`)
  const refused = /Non-2xx or 3xx responses:\s+(\d+)/.exec(text)
  const lost = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)
  return {
    requestsPerSecond: Number(rate[1]),
    p50Millis: percentile(50),
    p99Millis: percentile(99),
    refused: Number(refused?.[1] ?? 0),
    lost: lost?.slice(1).reduce((sum, count) => sum + Number(count), 0) ?? 0
  }
}

/** wrk takes a method and a body from a script only. Its long quotes begin at a level that the body does not end. */
const postScript = (folder: string, body: string): string => {
  const path = join(folder, "post.lua")
  const lines = [
    `wrk.method = "POST"`,
    `wrk.headers["Content-Type"] = "application/json"`,
    `wrk.body = [==[${body}]==]`
  ]
  writeFileSync(path, lines.join("\n"))
  return path
}

const wrk = (version: string): Generator => ({
  name: version,
  open: (workbench) => ({
    run: async (load) => {
      const headers = Object.entries(load.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`])
      const posts = load.body === undefined ? [] : ["-s", postScript(workbench.folder, load.body)]
      const child = workbench.start("wrk", [
        ...["-t", "1", "-c", `${connections}`, "-d", `${load.seconds}s`, "--latency"],
        ...["--timeout", `${answerTimeoutSeconds}s`],
        ...headers,
        ...posts,
        load.url
      ])
      return parseWrk(await finished(child, "wrk"))
    },
    close: async () => {}
  })
})

const autocannon: Generator = {
  name: "autocannon",
  open: (workbench) => {
    const script = new URL("../peers/autocannon.ts", import.meta.url).pathname
    const child = workbench.start(process.execPath, [script], { channel: true })
    return {
      // The script answers with a LoadResult.
      run: async (load) => (await child.ask({ ...load, connections })) as LoadResult,
      close: () => child.stop()
    }
  }
}

/** The generator of this machine. */
export const findGenerator = (): Generator => {
  const found = spawnSync("wrk", ["-v"], { encoding: "utf8" })
  const version = /^wrk \S+/.exec(found.stdout ?? "")
  return version === null ? autocannon : wrk(version[0])
}

/** What a turn measures beside the generator's own figures. */
export interface HttpSample extends Record<string, number> {
  readonly requestsPerSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
  /** CPU that the server's process used a request. Where the generator is what limits the rate this still tells. */
  readonly serverCpuMicros: number
  /** CPU of the server's process over the measurement, in cores; well below 1 means that it waited for requests. */
  readonly serverCores: number
}

/**
 * Warms up one address of a server that is ready, for turns of load. The server stops with it, when it does not come so far too.
 */
export const standUnderLoad = async (
  workbench: Workbench,
  server: Child,
  load: Omit<Load, "seconds">,
  stopServer: () => Promise<void>
): Promise<Standing<HttpSample>> => {
  const generator = findGenerator().open(workbench)
  const run = async (seconds: number) => {
    const result = await generator.run({ ...load, seconds })
    const { lost, refused } = result
    if (lost + refused > 0) {
      throw new ChildFailed(`${load.url}: ${refused} requests refused, ${lost} lost\n${server.output()}`)
    }
    return result
  }
  const stop = async () => {
    await generator.close()
    await stopServer()
  }
  try {
    await run(warmUpSeconds)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    measure: async ({ watched }) => {
      const cpuBefore = cpuSecondsOf(server.pid)
      const started = performance.now()
      const { p50Millis, p99Millis, requestsPerSecond } = await watched(() => run(measuredSeconds))
      const seconds = (performance.now() - started) / 1000
      const cpuSeconds = cpuSecondsOf(server.pid) - cpuBefore
      const serverCpuMicros = (cpuSeconds * 1e6) / (requestsPerSecond * seconds)
      return { requestsPerSecond, p50Millis, p99Millis, serverCpuMicros, serverCores: cpuSeconds / seconds }
    },
    stop
  }
}

/** Cores below which a server counts as kept waiting by the generator. */
const waitingBelowCores = 0.9

/**
 * The generator's name and, where it could not keep a side busy, a warning: then the slower server looks better than it
 * is, and only the CPU a request compares the two.
 */
export const loadNote = (rounds: ReadonlyArray<Readonly<Record<string, HttpSample>>>): string => {
  const waiting = Object.keys(rounds[0] ?? {}).filter(
    (side) => rounds.filter((round) => round[side]!.serverCores < waitingBelowCores).length * 2 > rounds.length
  )
  const name = `${findGenerator().name}, ${connections} connections`
  return waiting.length === 0 ? name : `${name}, which kept ${waiting.join(" and ")} waiting`
}
