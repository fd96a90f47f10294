/**
 * `npm run test:capacity [-- --organizations n] [--seconds n]`: a deployment with many organizations under a skewed load, beside what the model of
 * `docs/capacity.md` says of it. The exit code tells whether CPU and bytes are within twice of the model.
 */
import { parseArgs } from "node:util"
import { runCapacity } from "./load.ts"
import { compare, describeCosts, describeMeasured } from "./report.ts"
import { runPlatform } from "./startPlatform.ts"

const usage = `Usage: npm run test:capacity [-- options]

  --organizations n   1000 to 10000000; default 1000000
  --seconds n         how long the skewed load goes on; default 30
  --callers n         asks at once under the skewed load; default 512
  --first-callers n   asks at once while every organization decides for the first time; default 4096
  --events n          look-ups of the platform, with and without an endpoint; default 5000
  --sends n           emails of the platform, at most 4900; default 1500`

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: {
      organizations: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "30" },
      callers: { type: "string", default: "512" },
      "first-callers": { type: "string", default: "4096" },
      events: { type: "string", default: "5000" },
      sends: { type: "string", default: "1500" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const organizations = Number(values.organizations)
  if (!(organizations >= 1_000 && organizations <= 10_000_000))
    throw new Error("--organizations must be 1000 to 10000000")
  const measured = await runCapacity(
    {
      organizations,
      seconds: Number(values.seconds),
      callers: Number(values.callers),
      firstCallers: Number(values["first-callers"]),
      partitions: 8
    },
    (line) => process.stdout.write(`${line}\n`)
  )
  process.stdout.write(`${describeMeasured(measured)}\n`)
  const costs = await runPlatform({ events: Number(values.events), sends: Number(values.sends) })
  process.stdout.write(`${describeCosts(costs)}\n`)
  const wrong = compare(measured)
  process.stdout.write(`${wrong.join("\n")}\n`)
  return wrong.some((line) => line.startsWith("beyond")) ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
  process.exitCode = 2
}
process.exit()
