/**
 * Logs to stderr, readable on a terminal and as JSON elsewhere; traces, metrics and logs also to an OTLP collector when
 * one is configured. Secrets are `Redacted` before they could be logged, and the edge logs paths, never queries.
 */
import { Layer, Logger, LogLevel, Redacted, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { version } from "../common/version.ts"
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

/** What is merely noted is left out while it is so. */
const quietWhile = (isQuiet: () => boolean, logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    if (!isQuiet() || !LogLevel.isLessThan(options.logLevel, "Warn")) logger.log(options)
  })

/**
 * Loggers, least level and exporters of the configuration. A start tells its own progress: on a terminal, where nobody
 * has asked for another form or level, what is merely noted joins when it is over.
 */
export const layerObservability = (config: Config, isStarting: () => boolean = () => false): Layer.Layer<never> => {
  const pretty = !logsAsJson(config)
  const isQuiet = () => config.logFormat === undefined && config.logLevel === "info" && isStarting()
  const logs = Layer.mergeAll(
    // The JSON logger does not know `LogToStderr`.
    Logger.layer([pretty ? quietWhile(isQuiet, Logger.consolePretty()) : Logger.withConsoleError(Logger.formatJson)]),
    Layer.succeed(References.LogToStderr, true),
    Layer.succeed(References.MinimumLogLevel, levels[config.logLevel])
  )
  // Without a collector, spans would only cost time.
  if (config.otlpEndpoint === undefined) return Layer.merge(logs, Layer.succeed(References.TracerEnabled, false))
  return Otlp.layerJson({
    baseUrl: config.otlpEndpoint,
    resource: { serviceName: "sluice", serviceVersion: version },
    headers: config.otlpHeaders === undefined ? undefined : parseHeaders(Redacted.value(config.otlpHeaders))
  }).pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(logs)) as Layer.Layer<never>
}
