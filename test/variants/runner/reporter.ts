import type { Reporter, TestCase, TestModule } from "vitest/node"
import { type Finding, findingMark } from "./finding.ts"

/** Closes a run with one line for the runner of variants: what failed first, or that nothing did. */
export default class FindingReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<{ readonly message?: string }>): void {
    const finding = findingOf(modules, unhandled)
    process.once("exit", () => process.stdout.write(`${findingMark}${JSON.stringify(finding)}\n`))
  }
}

/** The first line of what a failed test says. */
const saidBy = (test: TestCase): string => {
  const [said = ""] = (test.result().errors?.[0]?.message ?? "").split("\n")
  return said === "" ? "" : ` (${said})`
}

const findingOf = (
  modules: ReadonlyArray<TestModule>,
  unhandled: ReadonlyArray<{ readonly message?: string }>
): Finding => {
  let passed = 0
  for (const module of modules) {
    // Not a finding: the replacement may be no program at all.
    const [error] = module.errors()
    if (error !== undefined) return { _tag: "Unusable", message: `${module.relativeModuleId}: ${error.message}` }
  }
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === "passed") passed++
      if (state === "failed") return { _tag: "Noticed", by: `${module.relativeModuleId}: ${test.name}${saidBy(test)}` }
    }
    for (const suite of module.children.allSuites())
      if (suite.errors().length > 0) return { _tag: "Noticed", by: `${module.relativeModuleId}: ${suite.name}` }
  }
  const [error] = unhandled
  if (error !== undefined) return { _tag: "Noticed", by: `unhandled: ${error.message}` }
  return passed === 0 ? { _tag: "Unusable", message: "no test was run" } : { _tag: "Unnoticed" }
}
