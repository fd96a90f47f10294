/**
 * Sends logs to stderr, readable on a terminal and as JSON elsewhere, and traces, metrics and logs to an OTLP collector
 * if one is configured. Secrets are `Redacted` before they could be logged, and the edge logs paths, never queries.
 */
import { Cause, Duration, Effect, Layer, Logger, LogLevel, Metric, Redacted, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { version } from "../common/version.ts"
import { LogSampler, samplingLimits } from "./LogSampler.ts"
import type { Config } from "./settings.ts"

const levels: Record<Config["logLevel"], LogLevel.LogLevel> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None"
}

/** Whether log lines are JSON: by choice, or where no terminal shows them. */
export const logsAsJson = ({ logFormat }: Config): boolean =>
  (logFormat ?? (process.stderr.isTTY ? "pretty" : "json")) === "json"

/** `name=value,name=value`, as OpenTelemetry's own variable is written. */
const parseHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at === -1 ? [] : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]]
    })
  )

/** Leaves out lines below a warning while `isQuiet` holds. */
const quietWhile = (isQuiet: () => boolean, logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    if (!isQuiet() || !LogLevel.isLessThan(options.logLevel, "Warn")) logger.log(options)
  })

/** Most lines that wait for the end of a start; more are logged as they come. */
const maximumHeld = 200

/** A start that is going on, which holds lines back. */
export interface StartWatch {
  readonly isStarting: () => boolean
  readonly onReady: (listener: () => void) => void
  /** Ends it; held lines are written. */
  readonly ready: () => void
  /** Ends it also where the effect fails or is interrupted: the lines before a failure tell most about it. */
  readonly watched: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Makes the watch of one start. */
export const watchStart = (): StartWatch => {
  let starting = true
  const listeners: Array<() => void> = []
  const ready = () => {
    starting = false
    for (const listener of listeners.splice(0)) listener()
  }
  return {
    isStarting: () => starting,
    onReady: (listener) => listeners.push(listener),
    ready,
    watched: Effect.onError(() => Effect.sync(ready))
  }
}

/** Keeps lines below a warning until a start has ended: programs read its output line by line. */
export const heldWhile = (
  isHeld: () => boolean,
  onReady: (listener: () => void) => void,
  logger: Logger.Logger<unknown, void>
): Logger.Logger<unknown, void> => {
  const held: Array<Logger.Options<unknown>> = []
  onReady(() => {
    for (const line of held.splice(0)) logger.log(line)
  })
  return Logger.make((options) => {
    if (isHeld() && LogLevel.isLessThan(options.logLevel, "Warn") && held.length < maximumHeld) held.push(options)
    else logger.log(options)
  })
}

/** The line about lines that were left out; it is never left out itself. */
const leftOutMessage = "Log lines were left out"

/** Differences between lines of one kind. */
const particulars = /[0-9a-f]{8,}|\d+/gi

const keptKindCharacters = 200

const partOf = (part: unknown): string => (part instanceof Error ? `${part.name} ${part.message}` : String(part))

const textOf = (message: unknown): string => (Array.isArray(message) ? message.map(partOf).join(" ") : partOf(message))

const faultOf = (cause: Cause.Cause<unknown>): string => {
  if (cause.reasons.length === 0) return ""
  return partOf(Cause.squash(cause))
}

/**
 * The kind of a line, as far as an outage makes many: warnings, errors and answers of failed requests. Undefined for
 * one that is always written.
 */
const kindOf = (
  { cause, fiber, logLevel, message }: Logger.Options<unknown>,
  hasAccessLog: boolean
): string | undefined => {
  const text = textOf(message)
  if (text === leftOutMessage) return undefined
  const { status } = fiber.getRef(References.CurrentLogAnnotations) as { readonly status?: unknown }
  const isFailedRequest = typeof status === "number" && status >= 500
  if (isFailedRequest ? hasAccessLog : LogLevel.isLessThan(logLevel, "Warn")) return undefined
  return `${logLevel} ${text} ${isFailedRequest ? status : ""} ${faultOf(cause)}`
    .replaceAll(particulars, "#")
    .slice(0, keptKindCharacters)
    .trim()
}

/** Writes of each kind of line as many as the sampling says. With an access log each request has its line. */
export const sampled = (
  sampling: LogSampler,
  logger: Logger.Logger<unknown, void>,
  hasAccessLog = false
): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    const kind = kindOf(options, hasAccessLog)
    if (kind === undefined || sampling.take(kind, options.date.getTime())) logger.log(options)
  })

/** Tells what was left out, once in each window and at the end. */
const layerLeftOut = (sampling: LogSampler): Layer.Layer<never> => {
  const counter = Metric.counter("sluice_log_lines_left_out_total", {
    description: "Log lines that were counted and not written, because many of their kind came in a short time",
    incremental: true
  })
  const tell = Effect.clockWith((clock) =>
    Effect.forEach(
      sampling.due(clock.currentTimeMillisUnsafe()),
      ({ count, kind }) =>
        Effect.andThen(
          Metric.update(counter, count),
          Effect.annotateLogs(Effect.logWarning(leftOutMessage), { count, like: kind })
        ),
      { discard: true }
    )
  )
  return Layer.effectDiscard(
    Effect.gen(function* () {
      yield* Metric.update(counter, 0)
      yield* Effect.addFinalizer(() => tell)
      yield* Effect.forkScoped(
        Effect.forever(Effect.andThen(Effect.sleep(Duration.millis(samplingLimits.windowMillis)), tell))
      )
    })
  )
}

/**
 * Loggers, least level and exporters of the configuration. A start tells its own progress: where that is text and
 * nobody has asked for another form or level, what is merely noted joins when it is over.
 */
export const layerObservability = (
  config: Config,
  isStarting: () => boolean = () => false,
  onReady: (listener: () => void) => void = () => {}
): Layer.Layer<never> => {
  const pretty = !logsAsJson(config)
  // Where its progress is text, JSON between its lines would be for nobody.
  const isText = pretty || config.development === "on"
  const isQuiet = () => isText && config.logFormat === undefined && config.logLevel === "info" && isStarting()
  const sampling = new LogSampler()
  const loggers = Layer.mergeAll(
    // The JSON logger does not know `LogToStderr`.
    Logger.layer([
      sampled(
        sampling,
        pretty
          ? quietWhile(isQuiet, Logger.consolePretty())
          : heldWhile(isQuiet, onReady, Logger.withConsoleError(Logger.formatJson)),
        config.accessLog === "on"
      )
    ]),
    Layer.succeed(References.LogToStderr, true),
    Layer.succeed(References.MinimumLogLevel, levels[config.logLevel])
  )
  const logs = Layer.provideMerge(layerLeftOut(sampling), loggers)
  // Without a collector, spans would only cost time.
  if (config.otlpEndpoint === undefined) return Layer.merge(logs, Layer.succeed(References.TracerEnabled, false))
  return Otlp.layerJson({
    baseUrl: config.otlpEndpoint,
    resource: { serviceName: "sluice", serviceVersion: version },
    headers: config.otlpHeaders === undefined ? undefined : parseHeaders(Redacted.value(config.otlpHeaders))
  }).pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(logs)) as Layer.Layer<never>
}
