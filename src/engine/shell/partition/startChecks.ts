/**
 * Checks, before an engine starts its partitions, that its configuration can work, and that the stores belong to one
 * deployment with that number of partitions (docs/architecture.md, rule 18).
 */
import { Context, Duration, Effect, Option, Schedule } from "effect"
import type { EngineConfig } from "../../config.ts"
import { EngineRefused } from "../../errors.ts"
import { type Ingest, ingestsProblem } from "../../ingestRules.ts"
import { maximumFrameBytes } from "../../limits.ts"
import type { Deployment } from "../../ports/Checkpoints.ts"
import { ProgramStreams } from "../../ports/ProgramStreams.ts"
import { type Pace, paceProblem } from "../../reactorPace.ts"
import type { EngineContext } from "./EngineContext.ts"
import { checkLogs } from "./ownLogs.ts"

/** The most partitions of a deployment. */
const maximumPartitions = 4_096

/** Attempts to read the deployment's number of partitions at the start, and the pause between them. */
const fixAttempts = 10
const fixPauseMillis = 500

/** Refuses a configuration that cannot work. */
export const checkConfig = (
  config: EngineConfig,
  maximumMessageBytes: number,
  reactors: ReadonlyArray<{ readonly name: string; readonly pace?: Pace }>
): Effect.Effect<void, EngineRefused> => {
  const refuse = (message: string) => Effect.fail(new EngineRefused({ message }))
  for (const [name, value] of Object.entries(config)) {
    const least = name === "logKeepMillis" ? 0 : 1
    if (!Number.isSafeInteger(value) || value < least)
      return refuse(`${name} must be an integer from ${least}, not ${value}`)
  }
  if (config.partitions > maximumPartitions)
    return refuse(`partitions must be at most ${maximumPartitions}, not ${config.partitions}`)
  if (maximumMessageBytes < maximumFrameBytes) {
    return refuse(
      `the log takes messages of ${maximumMessageBytes} bytes, frames need ${maximumFrameBytes}: raise the server's max_payload`
    )
  }
  const names = new Set(reactors.map((reactor) => reactor.name))
  if (names.size !== reactors.length) return refuse("two reactors have the same name")
  for (const { name, pace } of reactors) {
    const problem = pace === undefined ? undefined : paceProblem(pace)
    if (problem !== undefined) return refuse(`the pace of reactor ${name}: ${problem}`)
  }
  return Effect.void
}

const noStreams = "ingests need the program's streams: provide ProgramStreams, in memory those of Streams.layerMemory"

/** Refuses ingests that cannot work. Returns the program's streams, if they are provided. */
export const checkIngests = (
  ingests: ReadonlyArray<Ingest>,
  services: Context.Context<never>
): Effect.Effect<ProgramStreams["Service"] | undefined, EngineRefused> => {
  const streams = Option.getOrUndefined(Context.getOption(services, ProgramStreams))
  const problem = ingestsProblem(ingests) ?? (ingests.length > 0 && streams === undefined ? noStreams : undefined)
  return problem === undefined ? Effect.succeed(streams) : Effect.fail(new EngineRefused({ message: problem }))
}

/** Reads the deployment's id, and refuses stores that do not fit it or the configured number of partitions. */
export const checkDeployment = Effect.fnUntraced(function* (
  stores: Pick<EngineContext, "journal" | "checkpoints" | "cursors">,
  config: EngineConfig
): Effect.fn.Return<Deployment, EngineRefused> {
  const { checkpoints } = stores
  const inForce = yield* patiently(checkpoints.fixPartitions(config.partitions), "the number of partitions")
  if (inForce !== config.partitions) {
    return yield* new EngineRefused({
      message: `this deployment was started with ${inForce} partitions, and that number is fixed; ${config.partitions} are configured`
    })
  }
  const deployment = yield* patiently(checkpoints.deployment, "the deployment's id")
  if (deployment === undefined) return yield* new EngineRefused({ message: "the deployment has no id" })
  yield* Effect.mapError(
    checkLogs(stores, deployment, config.partitions),
    ({ message }) => new EngineRefused({ message })
  )
  return deployment
})

const patiently = <A>(effect: Effect.Effect<A, { readonly message: string }>, what: string) =>
  Effect.mapError(
    Effect.retry(effect, { times: fixAttempts, schedule: Schedule.spaced(Duration.millis(fixPauseMillis)) }),
    (error) => new EngineRefused({ message: `${what} cannot be read: ${error.message}` })
  )
