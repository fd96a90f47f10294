/**
 * Runs a command within the process of another program. Its types contain no Effect: a bundle contains an Effect of its
 * own, which does not know values of another copy.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { format } from "node:util"
import { Console, Effect } from "effect"
import { commandLine, exitCodeOf } from "./commandLine.ts"
import { Environment } from "./environment.ts"

/** The exit code that a process would have, and what it would have printed. */
export interface CommandOutput {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end, in the environment that is given and no other. */
export const runCommand = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Promise<CommandOutput> => {
  let stdout = ""
  let stderr = ""
  const toOutput = (...values: ReadonlyArray<unknown>) => {
    stdout += `${format(...values)}\n`
  }
  const toErrors = (...values: ReadonlyArray<unknown>) => {
    stderr += `${format(...values)}\n`
  }
  const console: Console.Console = Object.assign(Object.create(globalThis.console), {
    log: toOutput,
    info: toOutput,
    debug: toOutput,
    error: toErrors,
    warn: toErrors,
    trace: toErrors
  })
  const exit = await Effect.runPromiseExit(
    (await commandLine(args)).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(Environment, environment)
    )
  )
  return { code: exitCodeOf(exit, args), stdout, stderr }
}
