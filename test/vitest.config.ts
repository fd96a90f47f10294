import { defineConfig } from "vitest/config"
import { LongestFirst } from "./support/order.ts"
import { patienceMillis } from "./support/patience.ts"

/**
 * One project per kind of test; the file's suffix decides: `.unit` (pure), `.sim` (simulated time and faults),
 * `.it` (an adapter against its real server) and `.e2e` (the whole platform over HTTP or its command line).
 */
const kinds = ["unit", "sim", "it", "e2e"] as const
const needsServers = (kind: (typeof kinds)[number]) => kind === "it" || kind === "e2e"

// What a worker loads it finds compiled, like the commands that tests start.
process.env.NODE_COMPILE_CACHE ??= new URL("../node_modules/.cache/sluice-compiled", import.meta.url).pathname

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    // Most tests wait for servers rather than for a core.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/support/reporter.ts"],
    projects: kinds.map((kind) => ({
      test: {
        name: kind,
        root: new URL("..", import.meta.url).pathname,
        include: [`test/**/*.${kind}.ts`],
        // Files of a worker share what they import, which takes longer than most of them. None changes a module for another.
        isolate: false,
        setupFiles: ["./test/support/histories.ts"],
        // A set of seeds is one test.
        testTimeout: patienceMillis,
        hookTimeout: patienceMillis,
        ...(needsServers(kind) ? { globalSetup: ["./test/support/servers.ts"] } : {})
      }
    }))
  }
})
