/**
 * `npm run test:usage [-- --kills n] [--requests n] [--seed n]`: usage of a platform that is killed again and again, recounted from its log. The exit code tells whether the figures
 * are the same.
 */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { describeUsage, runUsage } from "./run.ts"

const usage = `Usage: npm run test:usage [-- options]

  --kills n      how often the platform is killed, 0 to 100; default 10
  --requests n   requests between two kills, 50 to 100,000; default 2000
  --seed n       repeats the moments of an earlier run's kills; default: random`

const integer = (name: string, text: string, minimum: number, maximum: number): number => {
  const value = Number(text)
  if (!(Number.isInteger(value) && value >= minimum && value <= maximum))
    throw new Error(`--${name} must be ${minimum} to ${maximum}`)
  return value
}

const main = async (): Promise<number> => {
  try {
    const { values } = parseArgs({
      options: {
        kills: { type: "string", default: "10" },
        requests: { type: "string", default: "2000" },
        seed: { type: "string", default: String(randomInt(2 ** 32)) },
        help: { type: "boolean", default: false }
      }
    })
    if (values.help) {
      process.stdout.write(`${usage}\n`)
      return 0
    }
    const report = await runUsage({
      kills: integer("kills", values.kills, 0, 100),
      requests: integer("requests", values.requests, 50, 100_000),
      seed: integer("seed", values.seed, 0, Number.MAX_SAFE_INTEGER),
      tell: (line) => process.stdout.write(`${line}\n`)
    })
    process.stdout.write(`${describeUsage(report)}\n`)
    return report.violations.length === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
}

process.exitCode = await main()
