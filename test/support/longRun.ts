/**
 * A program of `npm run test:…` that takes longer than a test should: options with their bounds, a run, a report, and an exit code. It is 0 where all was
 * well, 1 where not, 2 for options that cannot be, and 130 or 143 after a signal, at which the run ends what it has started. `playBriefly` is the same
 * run within a test.
 */
import { randomBytes, randomInt } from "node:crypto"
import { parseArgs } from "node:util"

/** An option: what it is without being given, and how its text is read. */
export interface Option<A> {
  readonly about: string
  readonly value: A
  /** What the usage calls the value, and says of its bounds and of what it is without being given. */
  readonly shown: readonly [kind: string, bounds: string, usually: string]
  /** Undefined for a text that is no such value. */
  readonly read: (text: string) => A | undefined
}

const shownNumber = (value: number): string => value.toLocaleString("en-US")

const numberOption = (
  about: string,
  value: number,
  [minimum, maximum]: readonly [number, number],
  isTaken: (value: number) => boolean
): Option<number> => ({
  about,
  value,
  shown: ["n", `${shownNumber(minimum)} to ${shownNumber(maximum)}`, shownNumber(value)],
  read: (text) => {
    const read = text.trim() === "" ? Number.NaN : Number(text)
    return isTaken(read) && read >= minimum && read <= maximum ? read : undefined
  }
})

/** A whole number within bounds. */
export const whole = (about: string, value: number, minimum: number, maximum: number): Option<number> =>
  numberOption(about, value, [minimum, maximum], Number.isInteger)

/** Seconds within bounds, parts of them too. */
export const seconds = (about: string, value: number, minimum: number, maximum: number): Option<number> =>
  numberOption(about, value, [minimum, maximum], Number.isFinite)

/** Any text; undefined without being given. */
export const text = (about: string): Option<string | undefined> => ({
  about,
  value: undefined,
  shown: ["text", "", ""],
  read: (given) => given
})

/** A number that repeats an earlier run's choices. */
export const numberedSeed: Option<number> = {
  ...whole("repeats the choices of an earlier run", randomInt(2 ** 32), 0, Number.MAX_SAFE_INTEGER),
  shown: ["n", "", "random"]
}

/** The same as a text. */
export const namedSeed: Option<string> = {
  about: "repeats the choices of an earlier run",
  value: randomBytes(4).toString("hex"),
  shown: ["text", "", "random"],
  read: (given) => given
}

type Table = Readonly<Record<string, Option<unknown>>>

/** The options as they were given. */
export type Given<Options extends Table> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer A> ? A : never
}

/** What a run may use beside its options. */
export interface Means {
  /** Told what happens, one line at a time. */
  readonly tell: (line: string) => void
  /** Aborted at a signal. */
  readonly signal?: AbortSignal | undefined
}

export interface LongRun<Options extends Table, Report> {
  /** Its script in `package.json`. */
  readonly script: string
  readonly options: Options
  readonly run: (given: Given<Options> & Means) => Promise<Report>
  readonly describe: (report: Report) => string
  readonly failed: (report: Report) => boolean
}

/** Options that cannot be, which a run may also find itself. */
export class BadOptions extends Error {
  override readonly name = "BadOptions"
}

/** Where its words go and its signals come from; another one in tests. */
export interface Terminal {
  readonly out: (line: string) => void
  readonly error: (line: string) => void
  readonly signals: { readonly once: (name: "SIGINT" | "SIGTERM", listener: () => void) => unknown }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

export const usageOf = (script: string, options: Table): string => {
  const names = Object.entries(options).map(([name, { shown }]) => `--${name} ${shown[0]}`)
  const width = Math.max(...names.map((name) => name.length)) + 3
  const lines = Object.values(options).map(({ about, shown: [, bounds, usually] }, index) => {
    const bounded = bounds === "" ? about : `${about}, ${bounds}`
    return `  ${names[index]!.padEnd(width)}${bounded}${usually === "" ? "" : `; default ${usually}`}`
  })
  return [`Usage: npm run ${script} [-- options]`, "", ...lines].join("\n")
}

/** The options; undefined where help is wanted. */
const readOptions = <Options extends Table>(
  options: Options,
  args: ReadonlyArray<string>
): Given<Options> | undefined => {
  const strings = Object.fromEntries(Object.keys(options).map((name) => [name, { type: "string" as const }]))
  const { values } = (() => {
    try {
      return parseArgs({ args: [...args], options: { help: { type: "boolean" as const }, ...strings } })
    } catch (error) {
      throw new BadOptions((error as Error).message)
    }
  })()
  const given: Readonly<Record<string, unknown>> = values
  if (given.help === true) return undefined
  const read = Object.entries(options).map(([name, option]) => {
    const written = given[name]
    if (typeof written !== "string") return [name, option.value] as const
    const value = option.read(written)
    if (value === undefined) throw new BadOptions(`--${name} must be ${option.shown[1]}`)
    return [name, value] as const
  })
  // Each was read by the option of its name.
  return Object.fromEntries(read) as Given<Options>
}

/** Runs it by the arguments, and answers the exit code. */
export const exitCodeOf = async <Options extends Table, Report>(
  { describe, failed, options, run, script }: LongRun<Options, Report>,
  args: ReadonlyArray<string>,
  { error, out, signals }: Terminal
): Promise<number> => {
  const interrupted = new AbortController()
  let signalled: keyof typeof exitCodes | undefined
  try {
    const given = readOptions(options, args)
    if (given === undefined) {
      out(usageOf(script, options))
      return 0
    }
    for (const name of ["SIGINT", "SIGTERM"] as const)
      signals.once(name, () => {
        signalled ??= name
        interrupted.abort()
      })
    const report = await run({ ...given, tell: out, signal: interrupted.signal })
    out(describe(report))
    return failed(report) ? 1 : 0
  } catch (cause) {
    if (signalled !== undefined) return exitCodes[signalled]
    error(cause instanceof Error ? cause.message : String(cause))
    if (!(cause instanceof BadOptions)) return 1
    error(`\n${usageOf(script, options)}`)
    return 2
  }
}

/** The whole of such a program: it ends the process. A second signal ends it at once. */
export const longRun = async <Options extends Table, Report>(program: LongRun<Options, Report>): Promise<never> => {
  const line = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(`${text}\n`)
  const code = await exitCodeOf(program, process.argv.slice(2), {
    out: line(process.stdout),
    error: line(process.stderr),
    signals: process
  })
  process.exit(code)
}

/** A run within a test: what it tells is printed together with its report, also where it fails. */
export const playBriefly = async <Report>(
  run: (means: Means) => Promise<Report>,
  describe: (report: Report) => string
): Promise<Report> => {
  const lines: Array<string> = []
  try {
    const report = await run({ tell: (line) => lines.push(line) })
    lines.push(describe(report))
    return report
  } finally {
    process.stdout.write(`${lines.join("\n")}\n`)
  }
}

/** Violations that a report shows. */
const shownViolations = 20

/** The end of a report: that all was well, or what was not. */
export const describeViolations = (
  violations: ReadonlyArray<string>,
  fine: string,
  count: number = violations.length
): string =>
  count === 0
    ? fine
    : [`${count} VIOLATIONS, among them:`, ...violations.slice(0, shownViolations).map((one) => `    ${one}`)].join(
        "\n"
      )
