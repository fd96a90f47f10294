import { relative } from "node:path"
import type { SerializedError } from "vitest"
import type { Reporter, TestCase, TestModule, TestSpecification } from "vitest/node"

/** Files whose seconds are shown. */
const shownFiles = 10

/** Where nothing may be missing, a test that is not run counts as failed: continuous integration sets it. */
const mustRunAll = process.env.SLUICE_TEST_ALL === "1"

/** The outcome of a file's latest run. */
interface FileOutcome {
  readonly file: string
  readonly millis: number
  readonly passed: number
  readonly failed: number
  /** Counts of tests that were not run, by what they lack. */
  readonly lacking: ReadonlyMap<string, number>
  readonly firstFailure: string | undefined
}

/**
 * Names what a test that was not run lacks, as `needing` says of it or of what it is part of; otherwise its author left it out. Undefined where its
 * preparation failed, which counts as a failure.
 */
const lackOf = (test: TestCase): string | undefined => {
  let part: TestCase | TestCase["parent"] = test
  for (; part.type !== "module"; part = part.parent) {
    const { lacks } = part.meta()
    if (lacks !== undefined) return lacks
    if (part.type === "suite" && part.errors().length > 0) return undefined
  }
  return part.errors().length > 0 ? undefined : `left out in ${part.relativeModuleId}`
}

const millisOf = (module: TestModule): number => {
  const { collectDuration, duration, prepareDuration, setupDuration } = module.diagnostic()
  return collectDuration + duration + prepareDuration + setupDuration
}

const firstLine = (error: SerializedError | undefined): string =>
  (error?.message ?? "failed without a message").split("\n", 1)[0]!

const sum = (counts: Iterable<number>): number => [...counts].reduce((total, count) => total + count, 0)

/** An error outside of any test says which file ran then, where it is known. */
const fileOf = (error: SerializedError): string | undefined => {
  const path = error.VITEST_TEST_PATH as unknown
  return typeof path === "string" ? relative(process.cwd(), path) : undefined
}

const outcomeOf = (module: TestModule, unhandled: ReadonlyArray<SerializedError>): FileOutcome => {
  const file = module.relativeModuleId
  const suites = [...module.children.allSuites()]
  // A file that cannot be loaded has no tests to count, nor has a suite whose preparation failed: their errors count instead.
  const errors = [...module.errors(), ...suites.flatMap((suite) => suite.errors()), ...unhandled]
  let firstFailure = errors.length === 0 ? undefined : firstLine(errors[0])
  let passed = 0
  let failed = errors.length
  const lacking = new Map<string, number>()
  for (const test of module.children.allTests()) {
    const { errors: found, state } = test.result()
    if (state === "passed") passed++
    else if (state === "failed") {
      failed++
      firstFailure ??= `${test.fullName}: ${firstLine(found?.[0])}`
    } else {
      const lack = lackOf(test)
      if (lack !== undefined) lacking.set(lack, (lacking.get(lack) ?? 0) + 1)
    }
  }
  return { file, millis: millisOf(module), passed, failed, lacking, firstFailure }
}

/**
 * Closes a run with the slowest files, with what was not run and why, with the files that failed and then passed alone (`unsteady`), and with the one
 * line that continuous integration reads: `N passed, N failed`. A file that runs again counts as it ended the last time (test/main.ts).
 */
export default class SummaryReporter implements Reporter {
  private readonly outcomes = new Map<string, FileOutcome>()
  private readonly firstFailures = new Map<string, string>()
  /** Errors that no file is known to have caused. */
  private strayErrors = 0
  private isAnnounced = false

  onTestRunStart(specifications: ReadonlyArray<TestSpecification>): void {
    for (const { moduleId } of specifications) this.outcomes.delete(relative(process.cwd(), moduleId))
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>): void {
    const files = new Set(modules.map((module) => module.relativeModuleId))
    for (const module of modules) {
      const own = unhandled.filter((error) => fileOf(error) === module.relativeModuleId)
      const outcome = outcomeOf(module, own)
      this.outcomes.set(outcome.file, outcome)
      if (outcome.firstFailure !== undefined && !this.firstFailures.has(outcome.file))
        this.firstFailures.set(outcome.file, outcome.firstFailure)
    }
    this.strayErrors += unhandled.filter((error) => !files.has(fileOf(error) ?? "")).length
    if (this.isAnnounced) return
    this.isAnnounced = true
    // Written when the process ends, so that nothing of the other reporters comes after it.
    process.once("exit", () => this.close())
  }

  /** Files that did not pass, by their paths from the repository. */
  get failedFiles(): ReadonlyArray<string> {
    return [...this.outcomes.values()].filter(({ failed }) => failed > 0).map(({ file }) => file)
  }

  private get lacking(): ReadonlyMap<string, number> {
    const lacking = new Map<string, number>()
    for (const outcome of this.outcomes.values())
      for (const [what, count] of outcome.lacking) lacking.set(what, (lacking.get(what) ?? 0) + count)
    return lacking
  }

  /** Tests that failed, errors outside of tests, and, where nothing may be missing, tests that were not run. */
  get failed(): number {
    const failed = sum([...this.outcomes.values()].map((outcome) => outcome.failed))
    return failed + this.strayErrors + (mustRunAll ? sum(this.lacking.values()) : 0)
  }

  private close(): void {
    const { failed, lacking } = this
    const outcomes = [...this.outcomes.values()]
    const passed = sum(outcomes.map((outcome) => outcome.passed))
    const slowest = outcomes.toSorted((one, other) => other.millis - one.millis).slice(0, shownFiles)
    const passedAlone = outcomes.filter((outcome) => outcome.failed === 0 && this.firstFailures.has(outcome.file))
    const lines = [
      "Slowest files",
      ...slowest.map(({ file, millis }) => `${(millis / 1000).toFixed(1).padStart(8)} s  ${file}`),
      ...[...lacking].map(([what, count]) => `${count} not run: ${what}`),
      ...passedAlone.map(({ file }) => `unsteady: ${file}: ${this.firstFailures.get(file)}`),
      `${passed} passed, ${failed} failed`
    ]
    if (failed > 0) process.exitCode = 1
    process.stdout.write(`${lines.join("\n")}\n`)
  }
}
