import type { Reporter, TestCase, TestModule } from "vitest/node"

/** Files whose seconds are shown. */
const shownFiles = 10

/** Where nothing may be missing, a test that is not run counts as failed: continuous integration sets it. */
const mustRunAll = process.env.SLUICE_TEST_ALL === "1"

/**
 * What a test that was not run lacks, as `needing` says of it or of what it is part of; otherwise it was left out by its author. Undefined where its
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

const slowest = (modules: ReadonlyArray<TestModule>): ReadonlyArray<string> =>
  modules
    .map((module) => ({ module, millis: millisOf(module) }))
    .sort((one, other) => other.millis - one.millis)
    .slice(0, shownFiles)
    .map(({ module, millis }) => `${(millis / 1000).toFixed(1).padStart(8)} s  ${module.relativeModuleId}`)

/**
 * Closes a run with the files that took longest, what was not run and why, and the one line that continuous integration reads:
 * `N passed, N failed`.
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = unhandled.length
    const lacking = new Map<string, number>()
    for (const module of modules) {
      // A file that cannot be loaded has no tests to count, and must not look like a success.
      failed += module.errors().length
      // Nor has a suite whose preparation failed: its tests were not run.
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") passed++
        else if (state === "failed") failed++
        else {
          const lack = lackOf(test)
          if (lack !== undefined) lacking.set(lack, (lacking.get(lack) ?? 0) + 1)
        }
      }
    }
    const notRun = [...lacking].map(([what, count]) => `${count} not run: ${what}`)
    if (mustRunAll) for (const count of lacking.values()) failed += count
    const lines = ["Slowest files", ...slowest(modules), ...notRun, `${passed} passed, ${failed} failed`]
    // Written when the process ends, so that nothing of the other reporters comes after it.
    process.once("exit", () => {
      if (failed > 0) process.exitCode = 1
      process.stdout.write(`${lines.join("\n")}\n`)
    })
  }
}
