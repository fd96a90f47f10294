/** The command line of a run that kills servers: numbers as options, a seed that repeats it, a report, and an exit code that tells whether it found a violation. */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"

/** An option that is a whole number: what it is without being given, and its bounds. */
export type NumberOption = readonly [value: number, minimum: number, maximum: number]

interface KillRun<Name extends string, Report extends { readonly violations: ReadonlyArray<unknown> }> {
  readonly usage: string
  /** Beside `seed`, which is random where it is not given. */
  readonly options: Readonly<Record<Name, NumberOption>>
  readonly run: (
    options: Readonly<Record<Name | "seed", number>> & { readonly tell: (line: string) => void }
  ) => Promise<Report>
  readonly describe: (report: Report) => string
}

const integer = (name: string, text: string, [, minimum, maximum]: NumberOption): number => {
  const value = Number(text)
  if (!(Number.isInteger(value) && value >= minimum && value <= maximum))
    throw new Error(`--${name} must be ${minimum} to ${maximum}`)
  return value
}

/** Runs it by the process's arguments, and sets the exit code: 1 for violations, 2 where it could not run. */
export const killRun = async <Name extends string, Report extends { readonly violations: ReadonlyArray<unknown> }>({
  describe,
  options,
  run,
  usage
}: KillRun<Name, Report>): Promise<void> => {
  try {
    const all: Readonly<Record<string, NumberOption>> = {
      ...options,
      seed: [randomInt(2 ** 32), 0, Number.MAX_SAFE_INTEGER]
    }
    const { values } = parseArgs({
      options: {
        help: { type: "boolean", default: false },
        ...Object.fromEntries(
          Object.entries(all).map(([name, [value]]) => [name, { type: "string" as const, default: String(value) }])
        )
      }
    })
    const given: Readonly<Record<string, unknown>> = values
    if (given.help === true) {
      process.stdout.write(`${usage}\n`)
      return
    }
    const numbers = Object.fromEntries(
      Object.entries(all).map(([name, option]) => [name, integer(name, String(given[name]), option)])
      // Every option has become a number.
    ) as Readonly<Record<Name | "seed", number>>
    const report = await run({ ...numbers, tell: (line) => process.stdout.write(`${line}\n`) })
    process.stdout.write(`${describe(report)}\n`)
    process.exitCode = report.violations.length === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    process.exitCode = 2
  }
}
