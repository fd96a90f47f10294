/**
 * Prints everything outside of a command's own output: help, usage errors, failures, and logs while a command runs.
 * Only results go to stdout, so that they can be piped; a failure is `sluice: <sentence>` on stderr.
 */
import { Cause, Console, Effect, Layer, Logger, References, Runtime } from "effect"
import { CliConfig, type CliError, CliOutput, GlobalFlag } from "effect/cli"
import { helpText } from "./help.ts"

const standard = CliOutput.defaultFormatter({ colors: false, globalFlags: "none" })

/**
 * Puts an error of the parser on one line. The parser writes suggestions on lines of their own, and schemas' names into
 * the text.
 */
const oneLine = (error: CliError.CliError): string =>
  standard
    .formatCliError(error)
    .replace(/\s*Did you mean this\?\s*/, "; did you mean ")
    .replace("Expected: Schema validation failed: ", "")
    .replaceAll(/\s*\n\s*/g, " or ")

const formatter: CliOutput.Formatter = {
  ...standard,
  formatHelpDoc: (help) => helpText(help),
  formatError: (error) => `sluice: ${standard.formatCliError(error)}`,
  formatErrors: (errors) => errors.map((error) => `sluice: ${oneLine(error)}`).join("\n"),
  formatVersion: (name, version) => `${name} ${version}`
}

/** Help is a result only when it was asked for. */
const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "Version":
        return Console.log(formatter.formatVersion(event.name, event.version))
      case "Help":
        return (event.reason === "Requested" ? Console.log : Console.error)(formatter.formatHelpDoc(event.helpDoc))
      case "InvalidInvocation":
        return Console.error(
          `${formatter.formatErrors(event.errors)}\nUsage: ${event.helpDoc.usage}\nSee ${event.commandPath.join(" ")} --help.`
        )
    }
  }
}

/** Prints warnings while a command works; `serve` has loggers of its own. */
const warnings = Logger.withConsoleError(
  Logger.make<unknown, string>(({ message, cause }) => {
    const words = Array.isArray(message) ? message : [message]
    const told = [...words, ...(cause.reasons.length === 0 ? [] : [Cause.squash(cause)])]
    return `sluice: ${told.map((part) => (part instanceof Error ? part.message : String(part))).join(": ")}`
  })
)

/** Prints an unforeseen error with its stack: a fault of this program, to be reported. */
export const reportDefect = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(Cause.squash(cause))
    ? Effect.void
    : Console.error(`sluice: This should not have happened; please report it.\n${Cause.pretty(cause)}`)

/** Help and errors as above, and no flags besides ours: `--log-level` is a setting like every other. */
export const layerTerminal: Layer.Layer<never> = Layer.mergeAll(
  CliOutput.layer(formatter),
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
  Logger.layer([warnings]),
  Layer.succeed(References.MinimumLogLevel, "Warn")
)
