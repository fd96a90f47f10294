/**
 * `npm run test:send [-- --sends n] [--kills n] [--seed n]`: emails through the whole platform while it, its servers and its relay are killed again and again. The exit code tells
 * whether all of them were handed over, refused or held.
 */
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { describeReport } from "./report.ts"
import { runSends } from "./run.ts"

const usage = `Usage: npm run test:send [-- options]

  --sends n    emails that are to be accepted, 100 to 100,000; default 20000
  --kills n    how often something is killed, 0 to 100; default 12
  --seed n     repeats the moments of an earlier run's kills; default: random`

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
        sends: { type: "string", default: "20000" },
        kills: { type: "string", default: "12" },
        seed: { type: "string", default: String(randomInt(2 ** 32)) },
        help: { type: "boolean", default: false }
      }
    })
    if (values.help) {
      process.stdout.write(`${usage}\n`)
      return 0
    }
    const report = await runSends({
      sends: integer("sends", values.sends, 100, 100_000),
      kills: integer("kills", values.kills, 0, 100),
      seed: integer("seed", values.seed, 0, Number.MAX_SAFE_INTEGER),
      tell: (line) => process.stdout.write(`${line}\n`)
    })
    process.stdout.write(`${describeReport(report)}\n`)
    return report.violations.length === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
}

process.exitCode = await main()
