/**
 * A run of overload (docs/platform.md, 8.5): `sluice serve` as its users run it. First its capacity is
 * measured, then five times as much is sent, of which one organization sends most, beside clients that are slow to send and
 * slow to read. What is answered, how late, and how much memory it takes is held against bounds; so is how soon it is over.
 */
import { execFile, fork } from "node:child_process"
import { readFile } from "node:fs/promises"
import { connect } from "node:net"
import { availableParallelism } from "node:os"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { usNpa } from "../cli/files.ts"
import { descendants } from "../cli/support.ts"
import { adminOf, makeUnlimited } from "../support/ask.ts"
import { KilledPlatform, makeSeededData } from "../support/killed.ts"
import { describeViolations, type Means } from "../support/longRun.ts"
import { type AtEnd, inRunFolder, timed } from "../support/runFolder.ts"
import type { Caller, CallerFigures, Flood, Flooded } from "./flood.ts"

const execute = promisify(execFile)

export interface OverloadRunOptions extends Means {
  readonly seconds: number
  readonly factor: number
  readonly connections: number
  readonly slow: number
  readonly behind: number
}

export interface OverloadReport {
  readonly violations: ReadonlyArray<string>
  readonly isPinned: boolean
  readonly capacity: number
  readonly flooded: Flooded
  readonly goodput: number
  /** The organizations that send within their shares. */
  readonly modest: { readonly accepted: number; readonly p99Millis: number }
  readonly healthMillis: number
  readonly residentMegabytes: number
  readonly recoveryMillis: number
}

const adminKey = `adm_${"Ov4".repeat(10)}`

/** What the run holds against what it saw. */
const leastGoodput = 0.9
const leastModest = 0.9
const mostMillis = 1_000
const mostMegabytes = 512
const mostRecoveryMillis = 5_000

/** Connections that find the capacity: enough to keep the server busy, few enough that none waits long. */
const capacityConnections = 64
const capacitySeconds = 8
const modestCount = 7
/** The part of all requests of the one that floods. */
const flooderShare = 0.86

/** Keeps processes on CPUs of their own, so that the flood takes none of the server's. False where that is impossible. */
const pin = async (pids: ReadonlyArray<number>, cpus: string): Promise<boolean> => {
  if (availableParallelism() < 2) return false
  try {
    for (const pid of pids) await execute("taskset", ["-a", "-c", "-p", cpus, `${pid}`])
    return true
  } catch {
    return false
  }
}

const flood = async (options: Flood, cpu: string, signal: AbortSignal | undefined): Promise<Flooded> => {
  const child = fork(new URL("flood.ts", import.meta.url), { ...(signal === undefined ? {} : { signal }) })
  await pin([child.pid!], cpu)
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`the flood has ended with ${code}`)))
    child.once("message", (flooded) => resolve(flooded as Flooded))
    child.send(options)
  })
}

/** Clients that never end a request, and clients that never read an answer. Returns their end. */
const slowClients = (port: number, count: number, key: string): (() => void) => {
  const sockets = Array.from({ length: count }, (_, index) => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    if (index % 2 === 0) {
      socket.write(`GET /v1/npa/${usNpa} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: `)
      const drip = setInterval(() => socket.write("z"), 1_000)
      socket.once("close", () => clearInterval(drip))
    } else {
      socket.pause()
      const request = `GET /v1/npa/${usNpa}?limit=100 HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key}\r\n\r\n`
      socket.write(request.repeat(50))
    }
    return socket
  })
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

/** Looks at health and memory until it is ended. */
const watch = (url: string, pid: number) => {
  let isOver = false
  const seen = { healthMillis: 0, residentMegabytes: 0, unhealthy: 0 }
  const looking = (async () => {
    while (!isOver) {
      const begun = performance.now()
      const isWell = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
        async (answer) => {
          await answer.text()
          return answer.status === 200
        },
        () => false
      )
      seen.healthMillis = Math.max(seen.healthMillis, performance.now() - begun)
      if (!isWell) seen.unhealthy++
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "")
      const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0)
      seen.residentMegabytes = Math.max(seen.residentMegabytes, Math.round(kilobytes / 1_024))
      await pause(250)
    }
  })()
  return async () => {
    isOver = true
    await looking
    return seen
  }
}

/** Milliseconds until ten look-ups in a row are quick again. */
const recovered = async (url: string, path: string, key: string): Promise<number> => {
  const begun = performance.now()
  let quick = 0
  while (quick < 10 && performance.now() - begun < 60_000) {
    const asked = performance.now()
    const answer = await fetch(`${url}${path}`, { headers: { "x-api-key": key } }).catch(() => undefined)
    await answer?.text()
    quick = answer?.status === 200 && performance.now() - asked < 100 ? quick + 1 : 0
  }
  return performance.now() - begun
}

const sum = (figures: ReadonlyArray<CallerFigures>, of: "accepted" | "sent"): number =>
  figures.reduce((total, one) => total + one[of], 0)

const judge = (report: Omit<OverloadReport, "violations">, unhealthy: number): ReadonlyArray<string> => {
  const { flooded, goodput, healthMillis, modest, recoveryMillis, residentMegabytes } = report
  const { all } = flooded
  return [
    ...(goodput < leastGoodput ? [`goodput is ${goodput.toFixed(2)} of the capacity, less than ${leastGoodput}`] : []),
    ...(all.p99Millis > mostMillis ? [`accepted requests took ${Math.round(all.p99Millis)} ms (p99)`] : []),
    ...(modest.accepted < leastModest
      ? [`organizations within their shares had ${modest.accepted.toFixed(2)} of their requests accepted`]
      : []),
    ...(all.withoutRetryAfter > 0 ? [`${all.withoutRetryAfter} refusals had no Retry-After`] : []),
    ...(all.failed > 0 ? [`${all.failed} requests were answered otherwise, or never`] : []),
    ...(unhealthy > 0 ? [`${unhealthy} looks at its health failed`] : []),
    ...(healthMillis > mostMillis ? [`its health took ${Math.round(healthMillis)} ms`] : []),
    ...(residentMegabytes > mostMegabytes ? [`it took ${residentMegabytes} MB of memory`] : []),
    ...(recoveryMillis > mostRecoveryMillis ? [`it took ${Math.round(recoveryMillis)} ms to recover`] : [])
  ]
}

const run = async (options: OverloadRunOptions, folder: string, atEnd: AtEnd): Promise<OverloadReport> => {
  const { behind, connections, factor, seconds, signal, slow } = options
  const { say } = timed(options.tell)
  const data = await makeSeededData(folder, atEnd)
  const platform = new KilledPlatform({
    folder: data,
    environment: { SLUICE_ADMIN_KEY: adminKey, SLUICE_DEMO: "off" }
  })
  atEnd(() => platform.stop())
  await platform.start()
  const servers = await descendants(platform.pid)
  const isPinned = await pin([platform.pid, ...servers.map(({ pid }) => pid)], "0")
  const admin = adminOf(platform, adminKey)
  const names = ["flooder", ...Array.from({ length: modestCount }, (_, index) => `modest${index + 1}`)]
  const callers: Array<Caller> = []
  for (const name of names) {
    const organization = await makeUnlimited(admin, { name })
    const { key } = await admin<{ readonly key: string }>("POST", `/organizations/${organization}/keys`, {
      services: ["telco", "directory"],
      scopes: ["*"]
    })
    callers.push({ name, key, share: name === "flooder" ? flooderShare : (1 - flooderShare) / modestCount })
  }
  const port = Number(new URL(platform.url).port)
  // Look-ups, each of which is a fact of the log. Reads of the directory are answered from memory and never refused.
  const paths = Array.from({ length: 100 }, (_, index) => `/v1/telco/lookup/${usNpa}2000${100 + index}`)
  const closed = {
    port,
    paths,
    connections: capacityConnections,
    behind: 1,
    perSecond: undefined,
    seconds: capacitySeconds
  }
  const even = callers.map((caller) => ({ ...caller, share: 1 / callers.length }))
  // V8 compiles what it runs.
  await flood({ ...closed, callers: even }, "1", signal)
  const measured = await flood({ ...closed, callers: even }, "1", signal)
  const capacity = measured.all.accepted / measured.seconds
  say(`capacity ${Math.round(capacity)} requests a second, p99 ${measured.all.p99Millis.toFixed(0)} ms`)
  const endSlow = slowClients(port, slow, callers[1]!.key)
  atEnd(endSlow)
  const end = watch(platform.url, platform.pid)
  const flooded = await flood(
    { port, paths, connections, callers, behind, perSecond: capacity * factor, seconds },
    "1",
    signal
  )
  const recoveryMillis = await recovered(platform.url, paths[0]!, callers[1]!.key)
  const { unhealthy, ...seen } = await end()
  endSlow()
  const modestFigures = names.slice(1).map((name) => flooded.callers[name]!)
  const report = {
    isPinned,
    capacity,
    flooded,
    goodput: flooded.all.accepted / flooded.seconds / capacity,
    modest: {
      accepted: sum(modestFigures, "accepted") / sum(modestFigures, "sent"),
      p99Millis: Math.max(...modestFigures.map(({ p99Millis }) => p99Millis))
    },
    ...seen,
    recoveryMillis
  }
  return { ...report, violations: judge(report, unhealthy) }
}

/** Runs it in a folder of its own. */
export const runOverload = (options: OverloadRunOptions): Promise<OverloadReport> =>
  inRunFolder("overload", options.signal, (folder, atEnd) => run(options, folder, atEnd))

export const describeOverload = (report: OverloadReport): string => {
  const { capacity, flooded, goodput, healthMillis, isPinned, modest, recoveryMillis, residentMegabytes } = report
  const { all, seconds } = flooded
  return [
    `capacity ${Math.round(capacity)} requests a second${isPinned ? "" : " (not on CPUs of its own)"}`,
    `sent ${Math.round(all.sent / seconds)} a second: ${all.accepted} accepted, ${all.refused} refused, ${all.failed} failed`,
    `goodput ${goodput.toFixed(2)} of the capacity; accepted p50 ${all.p50Millis.toFixed(0)} ms, p99 ${all.p99Millis.toFixed(0)} ms`,
    `organizations within their shares: ${(modest.accepted * 100).toFixed(1)} % accepted, p99 ${modest.p99Millis.toFixed(0)} ms`,
    `health within ${healthMillis.toFixed(0)} ms, ${residentMegabytes} MB, quick again after ${recoveryMillis.toFixed(0)} ms`,
    describeViolations(report.violations, "within all bounds")
  ].join("\n")
}
