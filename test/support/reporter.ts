import type { Reporter, TestModule } from "vitest/node"

/** Closes a run with the one line that continuous integration reads: `N passed, N failed`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = unhandled.length
    for (const module of modules) {
      // A file that cannot be loaded has no tests to count, and must not look like a success.
      failed += module.errors().length
      // Nor has a suite whose preparation failed: its tests were not run.
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const state = test.result().state
        if (state === "passed") passed++
        else if (state === "failed") failed++
      }
    }
    // Written when the process ends, so that nothing of the other reporters comes after it.
    process.once("exit", () => process.stdout.write(`${passed} passed, ${failed} failed\n`))
  }
}
