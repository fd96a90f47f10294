/**
 * Runs a command within the process of another program. Its types contain no Effect: a bundle contains an Effect of its
 * own, which does not know values of another copy.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { format } from "node:util"
import { Console, Effect, Fiber, Metric } from "effect"
import { commandLine, exitCodeOf } from "./commandLine.ts"
import { Environment } from "./environment.ts"

/** The exit code that a process would have, and what it would have printed. */
export interface CommandOutput {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command that runs, and goes on until it ends or is interrupted. */
export interface RunningCommand {
  readonly stdout: () => string
  readonly stderr: () => string
  readonly finished: Promise<CommandOutput>
  /** Ends it as a signal would end its process. */
  readonly interrupt: () => void
}

/** Starts a command in the environment that is given and no other. `onOutput` is called after each text that it prints. */
export const startCommand = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  onOutput: () => void = () => {}
): Promise<RunningCommand> => {
  let stdout = ""
  let stderr = ""
  const toOutput = (...values: ReadonlyArray<unknown>) => {
    stdout += `${format(...values)}\n`
    onOutput()
  }
  const toErrors = (...values: ReadonlyArray<unknown>) => {
    stderr += `${format(...values)}\n`
    onOutput()
  }
  const console: Console.Console = Object.assign(Object.create(globalThis.console), {
    log: toOutput,
    info: toOutput,
    debug: toOutput,
    error: toErrors,
    warn: toErrors,
    trace: toErrors
  })
  const fiber = Effect.runFork(
    (await commandLine(args)).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(Environment, environment),
      // A process counts for itself.
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  )
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    finished: Effect.runPromise(Fiber.await(fiber)).then((exit) => ({ code: exitCodeOf(exit, args), stdout, stderr })),
    interrupt: () => fiber.interruptUnsafe()
  }
}

/** Runs a command to its end, in the environment that is given and no other. */
export const runCommand = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Promise<CommandOutput> => (await startCommand(args, environment)).finished
