/**
 * Prepares the platform before it listens: waits for its partitions, and fills empty tables. Reports its progress on
 * stderr.
 */
import { Console, Context, Effect, Stream } from "effect"
import { Ingestions } from "../directory/Ingestions.ts"
import { Engine } from "../engine/Engine.ts"
import { modes } from "../send/index.ts"
import { Domains } from "../send/senders/domains/Domains.ts"

export const seconds = (millis: number) => `${(millis / 1000).toFixed(1)} s`

/**
 * Whether a start tells its progress by the log: where lines of the log are JSON and programs read them, text between
 * them would be a fault.
 */
export const ProgressIsLogged = Context.Reference<boolean>("sluice/cli/ProgressIsLogged", {
  defaultValue: () => false
})

export const progress = (line: string): Effect.Effect<void> =>
  Effect.flatMap(ProgressIsLogged, (isLogged) => (isLogged ? Effect.logInfo(line) : Console.error(`  ${line}`)))

/** The verified domain of the demo organization, in both modes (docs/platform.md, 2.7). */
const demoDomain = "demo.test"

export const addDemoDomain = Effect.fnUntraced(function* (organizationId: string) {
  const domains = yield* Domains
  yield* Effect.forEach(modes, (mode) => domains.vouchFor({ organizationId, mode }, demoDomain), { discard: true })
})

/**
 * How long a start waits for its partitions. Those that do not serve then are named beside the address and in
 * `/readyz`.
 */
const partitionsTimeoutMillis = 10_000

export const awaitPartitions = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.ready.pipe(Effect.timeout(partitionsTimeoutMillis), Effect.ignore)
})

/** Loads the bundled files of every kind that was never ingested. */
export const loadBundled = Effect.gen(function* () {
  const ingestions = yield* Ingestions
  yield* ingestions.runBundled.pipe(
    Stream.runForEach((event) => {
      switch (event._tag) {
        case "Progress":
          return Effect.void
        case "Ingested":
          return progress(
            `Loaded ${event.read.toLocaleString("en-US")} records of ${event.kind}${event.publicationDate === null ? "" : `, published ${event.publicationDate}`} (${seconds(event.durationMillis)})`
          )
        case "Skipped":
        case "Failed":
          return progress(
            `The bundled ${event.source} was not loaded: ${event._tag === "Failed" ? event.message : event.reason}`
          )
      }
    })
  )
})
