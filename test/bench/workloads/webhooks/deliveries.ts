/** The common part of the sides of the webhook benchmarks: their orders, and the count of recorded deliveries. */
import type { Sample } from "../../runner/benchmark.ts"
import { treeCpuSeconds } from "../../runner/cpu.ts"

export interface DeliveryLoad {
  /** Of the sink. */
  readonly url: string
  /** For servers of its own. */
  readonly dataFolder: string
  /** Events that have been emitted or put in, and whose delivery is not recorded, at most. */
  readonly outstanding: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

export interface DeliverySample extends Sample {
  /** Deliveries whose outcome was recorded. */
  readonly perSecond: number
  /** CPU of the delivering process for each, in microseconds. */
  readonly cpuMicros: number
  /** CPU of it and its servers (database, log, queue) together. */
  readonly allCpuMicros: number
}

/** Counts what a running loop records from now on for a time. */
export const sampleDeliveries = async (recorded: () => number, seconds: number): Promise<DeliverySample> => {
  const before = recorded()
  const cpuBefore = process.cpuUsage()
  const allBefore = treeCpuSeconds(process.pid)
  const started = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const count = recorded() - before
  const elapsedSeconds = (performance.now() - started) / 1000
  const { system, user } = process.cpuUsage(cpuBefore)
  return {
    perSecond: count / elapsedSeconds,
    cpuMicros: (user + system) / count,
    allCpuMicros: ((treeCpuSeconds(process.pid) - allBefore) * 1e6) / count
  }
}

/** Fails the process: a loop that stands still would otherwise be measured as a slow one. */
export const failLoudly = (error: unknown): void => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exit(1)
}
