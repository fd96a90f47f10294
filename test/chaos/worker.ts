/**
 * A process of its own that runs the engine durably (`sluice/durable`), answers the asks of its stdin on its stdout, and ends in
 * order on SIGTERM or with its driver. Errors of asks are answers; everything else that fails ends the process.
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Logger, Metric, References } from "effect"
import * as Durable from "../../src/durable.ts"
import { Engine } from "../../src/engine/Engine.ts"
import { Account, engineOptions } from "./model.ts"
import {
  type Answer,
  type Figures,
  lines,
  type Report,
  type Request,
  type WorkerSettings,
  workerVariable
} from "./protocol.ts"

const settings = JSON.parse(process.env[workerVariable] ?? "") as WorkerSettings

/** How often status and figures are looked at. */
const lookMillis = 50

let waiting: Array<string> = []

/** One write for everything that is reported in a turn. */
const report = (message: Report): void => {
  if (waiting.length === 0) {
    setImmediate(() => {
      const text = `${waiting.join("\n")}\n`
      waiting = []
      process.stdout.write(text)
    })
  }
  waiting.push(JSON.stringify(message))
}

const figures = Effect.map(Metric.snapshot, (snapshot): Figures => {
  const branches: Record<string, number> = {}
  const totals: Record<string, number> = {}
  for (const metric of snapshot) {
    if (metric.type !== "Counter" && metric.type !== "Gauge") continue
    const value = Number(metric.type === "Counter" ? metric.state.count : metric.state.value)
    const branch = (metric.attributes as Readonly<Record<string, string>> | undefined)?.branch
    if (metric.id === "sluice_append_outcomes_total" && branch !== undefined) {
      if (value > 0) branches[branch] = (branches[branch] ?? 0) + value
    } else totals[metric.id] = (totals[metric.id] ?? 0) + value
  }
  return {
    branches,
    fences: totals.sluice_fences_total ?? 0,
    restarts: totals.sluice_restarts_total ?? 0,
    replayedFrames: totals.sluice_replayed_frames ?? 0
  }
})

/** Reports what has changed, again and again. */
const observe = Effect.gen(function* () {
  const engine = yield* Engine
  let status = ""
  let seen = ""
  while (true) {
    const partitions = (yield* engine.status).map((one) => one.status._tag)
    if (partitions.join() !== status) report({ _tag: "Status", partitions })
    status = partitions.join()
    const now = yield* figures
    const text = JSON.stringify(now)
    if (text !== seen) report({ _tag: "Figures", figures: now })
    seen = text
    yield* Effect.sleep(lookMillis)
  }
})

const failed = (error: { readonly _tag: string; readonly message: string }): Answer => ({
  _tag: "Failed",
  error: error._tag,
  message: error.message
})

const program = Effect.gen(function* () {
  const engine = yield* Engine
  report({ _tag: "Started" })
  const answer = ({ account, command, number, organization }: Request) =>
    engine.ask(Account, { organization, key: account }, command).pipe(
      Effect.match({ onSuccess: (reply): Answer => reply, onFailure: failed }),
      Effect.map((answer) => report({ _tag: "Answer", number, answer }))
    )
  yield* Effect.forkScoped(observe)
  yield* Effect.callback<void>((resume) => {
    const take = lines((text) => void Effect.runFork(answer(JSON.parse(text) as Request)))
    process.stdin.setEncoding("utf8").on("data", take)
    process.stdin.once("end", () => resume(Effect.void))
  })
}).pipe(Effect.scoped)

const layer = Durable.layer(engineOptions(settings), {
  natsUrl: settings.natsUrl,
  databaseUrl: settings.databaseUrl
})

NodeRuntime.runMain(
  program.pipe(
    Effect.provide(layer),
    Effect.provide(
      Layer.mergeAll(
        Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]),
        Layer.succeed(References.MinimumLogLevel, "Info")
      )
    )
  )
)
