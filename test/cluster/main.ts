/**
 * `npm run test:cluster [-- --rounds n] [--fault text]`: three machines as network namespaces, each with a NATS server and a node, under load and faults. Needs root. The
 * exit code tells whether nothing was lost and every partition came back in time.
 */
import { parseArgs } from "node:util"
import { describeReport, faults, runCluster } from "./run.ts"

const usage = `Usage: npm run test:cluster [-- options]

  --rounds n     rounds of faults, 1 to 1000; default 20
  --fault text   only faults whose name has this in it; default: all, one after the other
  --logs folder  what the nodes write goes to files there`

const main = async (): Promise<number> => {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: "string", default: "20" },
        fault: { type: "string", default: "" },
        logs: { type: "string" },
        help: { type: "boolean", default: false }
      }
    })
    if (values.help) {
      process.stdout.write(`${usage}\n`)
      return 0
    }
    const rounds = Number(values.rounds)
    if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 1_000)) throw new Error("--rounds must be 1 to 1000")
    const chosen = faults.filter(({ name }) => name.includes(values.fault))
    if (chosen.length === 0) throw new Error(`no fault has "${values.fault}" in its name`)
    const report = await runCluster({
      faults: Array.from({ length: rounds }, (_, round) => chosen[round % chosen.length]!),
      logs: values.logs,
      tell: (line) => process.stdout.write(`${line}\n`)
    })
    process.stdout.write(`${describeReport(report)}\n`)
    return report.violations.length + report.late.length === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
}

process.exitCode = await main()
