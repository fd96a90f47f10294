/**
 * A process that has the platform's stores and, where told so, the number directory on them: says what it holds and,
 * with the directory, when its index was there. The difference of the two is what the index costs. Runs under
 * `--expose-gc`, so that what is garbage does not count.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Effect, Layer, ManagedRuntime, Redacted, Schedule } from "effect"
import { layerStores } from "../../../src/app/layers.ts"
import { Directory } from "../../../src/directory/Directory.ts"

export interface IndexHostSettings {
  readonly postgresUrl: string
  readonly withIndex: boolean
}

export interface IndexHostReading extends Record<string, number> {
  /** From the start of this process. */
  readonly readySeconds: number
  /** JavaScript heap and buffers in use, in megabytes of a million bytes. */
  readonly liveMegabytes: number
  readonly residentMegabytes: number
}

/** How often the directory is asked whether it is there. */
const pollMillis = 5

/** Collections until the heap has settled: finalizers and compacting each take one. */
const collections = 4

const untilIndexed = Effect.gen(function* () {
  const directory = yield* Directory
  yield* Effect.repeat(directory.ready, { until: (ready) => ready, schedule: Schedule.spaced(pollMillis) })
})

const read = async ({ postgresUrl, withIndex }: IndexHostSettings): Promise<IndexHostReading> => {
  const stores = layerStores({ databaseUrl: Redacted.make(postgresUrl), maxConnections: 10 })
  const runtime = ManagedRuntime.make(withIndex ? Layer.provideMerge(Directory.layer, stores) : stores)
  // Without the directory this builds the stores; with it the layer's type is wider than what is asked for.
  if (withIndex) await runtime.runPromise(untilIndexed as Effect.Effect<void>)
  else await runtime.runPromise(Effect.void)
  const readySeconds = performance.now() / 1000
  for (let count = 0; count < collections; count++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const memory = process.memoryUsage()
  const reading = {
    readySeconds,
    liveMegabytes: (memory.heapUsed + memory.external) / 1e6,
    residentMegabytes: memory.rss / 1e6
  }
  await runtime.dispose()
  return reading
}

process.on("message", (settings: IndexHostSettings) => {
  read(settings).then(
    (reading) => process.send!(reading),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
})
process.on("SIGTERM", () => process.exit(0))
