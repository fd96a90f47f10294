/**
 * A platform process for tests: holds the data folder, starts the servers that are wanted and says on its standard
 * output, one JSON line each, what happened. Stops in order when its standard input ends, and can be killed.
 */
import { Effect, Redacted } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import type { PlatformOptions, PlatformReport } from "./support.ts"

const options = JSON.parse(process.argv[2]!) as PlatformOptions
const say = (report: PlatformReport) => Effect.sync(() => void process.stdout.write(`${JSON.stringify(report)}\n`))
const inputEnds = Effect.callback<void>((resume) => {
  process.stdin.once("end", () => resume(Effect.void))
  process.stdin.resume()
})

const program = Effect.gen(function* () {
  const folder = yield* openDataFolder(options.path)
  if (options.atMillis !== undefined) yield* Effect.sleep(Math.max(0, options.atMillis - Date.now()))
  yield* folder.hold({ purpose: "sluice serve" })
  yield* say({ _tag: "Holding", pid: process.pid })
  const embedded = yield* startEmbedded(folder, {
    postgres: options.postgres === true ? {} : undefined,
    nats: options.nats === true ? {} : undefined,
    progress: (line) => say({ _tag: "Progress", line }),
    testing: {
      ...(options.endWithParent === undefined ? {} : { endWithParent: options.endWithParent }),
      ...(options.postgresPackageFolder === undefined ? {} : { postgresPackageFolder: options.postgresPackageFolder })
    }
  })
  yield* folder.publish({
    version: "0.0.0",
    apiUrl: "http://127.0.0.1:1",
    postgresUrl: embedded.postgresUrl ?? Redacted.make(""),
    natsUrl: embedded.natsUrl ?? Redacted.make("")
  })
  yield* say({
    _tag: "Ready",
    postgresUrl: embedded.postgresUrl === undefined ? undefined : Redacted.value(embedded.postgresUrl),
    natsUrl: embedded.natsUrl === undefined ? undefined : Redacted.value(embedded.natsUrl)
  })
  yield* inputEnds
})

await Effect.runPromise(
  Effect.scoped(program).pipe(
    Effect.catch((error) => say({ _tag: "Failed", error: error._tag, message: error.message })),
    Effect.andThen(say({ _tag: "Stopped" }))
  )
)
// Standard input keeps the process alive otherwise.
process.exit(0)
