/**
 * `npm test [-- files and options of vitest]`: runs the tests, then runs each file that failed again, alone and one after the other. A file that passes
 * then is listed as `unsteady` in the last lines and does not fail the run: it names a fault of the test or of the product that needs its repair, and
 * work that has nothing to do with it is not lost. A file that fails twice fails the run.
 */
import { fileURLToPath } from "node:url"
import { createVitest, parseCLI, type TestSpecification, type Vitest } from "vitest/node"
import SummaryReporter from "./support/reporter.ts"

/** More failed files than that are no accident of one test, and are not run again. */
const maximumRepeats = 20

const summary = new SummaryReporter()

const repeatFailed = async (vitest: Vitest, failed: ReadonlyArray<string>): Promise<void> => {
  const specifications: Array<TestSpecification> = (await vitest.globTestSpecifications()).filter(({ moduleId }) =>
    failed.some((file) => moduleId.endsWith(`/${file}`))
  )
  for (const specification of specifications) {
    process.stdout.write(`\nRunning again, alone: ${specification.moduleId}\n`)
    await vitest.runTestSpecifications([specification])
  }
}

const { filter, options } = parseCLI(["vitest", "run", ...process.argv.slice(2)])
const vitest = await createVitest("test", {
  ...options,
  watch: false,
  config: options.config ?? fileURLToPath(new URL("vitest.config.ts", import.meta.url)),
  reporters: [...(options.reporters === undefined ? ["default" as const] : [options.reporters].flat()), summary]
})
try {
  await vitest.start(filter)
  const failed = summary.failedFiles
  if (failed.length > 0 && failed.length <= maximumRepeats) await repeatFailed(vitest, failed)
  // The first run has set it, and the file that failed there may have passed since.
  process.exitCode = summary.failed > 0 ? 1 : 0
} finally {
  await vitest.close()
}
