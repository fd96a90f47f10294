/**
 * This is the worker's side of `sluice serve --workers`: it gets its seat, reports that it serves, and exchanges
 * metrics. Needs no service.
 */
import { Data, Duration, Effect, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { type FromWorker, isOurs, type Ready, type ToWorker, type WorkerSeat, workerVariable } from "./messages.ts"

/** How long the process above has to say something. */
const answerMillis = 10_000

/** How long all workers' metrics may take. */
const metricsMillis = 2_500

/** Whether this process was started by `sluice serve --workers`. */
export const isWorker = (): boolean => process.env[workerVariable] !== undefined && process.send !== undefined

/** A process says that it is a worker, and nobody has a seat for it. */
export class NoSeat extends Data.TaggedError("NoSeat") {
  override get message(): string {
    return `${workerVariable} is set, and no sluice serve --workers has started this process`
  }
}

const say = (message: FromWorker): void => {
  // The process above may just have ended; this one ends then too.
  process.send?.(message, undefined, undefined, () => {})
}

/** Asks something, and answers the first message that fits. */
const asking = <A>(question: FromWorker, read: (message: ToWorker) => A | undefined) =>
  Effect.callback<A>((resume) => {
    const listen = (message: unknown) => {
      const found = isOurs(message) ? read(message as ToWorker) : undefined
      if (found === undefined) return
      process.off("message", listen)
      resume(Effect.succeed(found))
    }
    process.on("message", listen)
    say(question)
    return Effect.sync(() => void process.off("message", listen))
  })

/** This worker's seat. */
export const takeSeat: Effect.Effect<WorkerSeat, NoSeat> = asking({ sluice: "sit" }, (message) =>
  message.sluice === "seat" ? message.seat : undefined
).pipe(Effect.timeoutOrElse({ duration: Duration.millis(answerMillis), orElse: () => new NoSeat() }))

/** Gives its own metrics whenever it is asked for them, until the process ends. */
export const giveMetrics = Effect.map(Effect.context<never>(), (context) => {
  process.on("message", (message) => {
    if (!isOurs(message) || message.sluice !== "collect") return
    const { id } = message as Extract<ToWorker, { readonly sluice: "collect" }>
    Effect.runForkWith(context)(Effect.map(PrometheusMetrics.format(), (text) => say({ sluice: "own", id, text })))
  })
})

/** Says that it serves. */
export const tellReady = (ready: Ready) => Effect.sync(() => say({ sluice: "ready", ready }))

let asked = 0

/** The metrics of all workers; its own where the others' do not come in time. */
export const allMetrics: Effect.Effect<string> = Effect.suspend(() => {
  const id = ++asked
  return asking({ sluice: "metrics", id }, (message) =>
    message.sluice === "collected" && message.id === id ? message.text : undefined
  ).pipe(
    Effect.timeoutOption(Duration.millis(metricsMillis)),
    Effect.flatMap(Option.match({ onNone: () => PrometheusMetrics.format(), onSome: Effect.succeed }))
  )
})
