/**
 * `npm run test:capacity [-- --organizations n] [--seconds n]`: a deployment with many organizations under a skewed load, beside what the model of
 * `docs/capacity.md` says of it. The exit code tells whether CPU and bytes are within twice of the model.
 */
import { longRun, whole } from "../support/longRun.ts"
import { runCapacity } from "./load.ts"
import { runPlatform } from "./platform.ts"
import { compare, describeCosts, describeMeasured } from "./report.ts"

await longRun({
  script: "test:capacity",
  options: {
    organizations: whole("organizations", 1_000_000, 1_000, 10_000_000),
    seconds: whole("how long the skewed load goes on", 30, 1, 86_400),
    callers: whole("asks at once under the skewed load", 512, 1, 100_000),
    "first-callers": whole("asks at once while every organization decides for the first time", 4_096, 1, 100_000),
    events: whole("look-ups of the platform, with and without an endpoint", 5_000, 1, 1_000_000),
    sends: whole("emails of the platform", 1_500, 1, 4_900)
  },
  run: async ({ callers, events, "first-callers": firstCallers, organizations, seconds, sends, signal, tell }) => {
    const measured = await runCapacity({ organizations, seconds, callers, firstCallers, partitions: 8, signal, tell })
    tell(describeMeasured(measured))
    tell(describeCosts(await runPlatform({ events, sends, signal })))
    return compare(measured)
  },
  describe: (lines) => lines.join("\n"),
  failed: (lines) => lines.some((line) => line.startsWith("beyond"))
})
