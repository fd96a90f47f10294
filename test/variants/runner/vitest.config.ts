/** The tests of `test/`, with this process's change made in the modules that they load. One file after the other: two variants run at a time. */
import { defineConfig, type ViteUserConfig } from "vitest/config"
import { root, sourceOf } from "./change.ts"

const changed = sourceOf()

const plugin: NonNullable<ViteUserConfig["plugins"]>[number] = {
  name: "variant",
  enforce: "pre",
  load: (id) => changed(id)
}

/** A test of a broken program may wait for ever; a test of the whole one takes a second, or some with servers. */
const kinds = {
  unit: { suffixes: ["unit", "sim"], patienceMillis: 20_000 },
  servers: { suffixes: ["it", "e2e"], patienceMillis: 120_000 }
}

export default defineConfig({
  test: {
    root,
    maxWorkers: 1,
    bail: 1,
    // It would hand a variant's modules to the next run.
    fsModuleCache: false,
    reporters: [new URL("reporter.ts", import.meta.url).pathname],
    projects: Object.entries(kinds).map(([name, { patienceMillis, suffixes }]) => ({
      plugins: [plugin],
      test: {
        name,
        root,
        // A test file has a process of its own in `npm test`, and needs none to notice something.
        isolate: false,
        include: suffixes.map((suffix) => `test/**/*.${suffix}.ts`),
        testTimeout: patienceMillis,
        hookTimeout: patienceMillis,
        ...(name === "servers" ? { globalSetup: ["./test/support/servers.ts"] } : {})
      }
    }))
  }
})
