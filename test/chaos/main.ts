/**
 * `npm run test:chaos [-- --rounds n] [--seed text] [--pause seconds] [--hang seconds]`: the engine in real processes on real servers,
 * which are killed and stopped in random order. The exit code tells whether all was well.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { describeReport } from "./report.ts"
import { runChaos } from "./run.ts"

const usage = `Usage: npm run test:chaos [-- options]

  --rounds n        rounds of faults, 1 to 1000; default 20
  --seed text       repeats the order of an earlier run's faults; default: random
  --pause seconds   how long what is stopped stays so; default 12, longer than every timeout
  --hang seconds    how long PostgreSQL hangs in the tenth round and every twentieth after it; default 120`

const readArguments = () => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "20" },
      seed: { type: "string", default: randomBytes(4).toString("hex") },
      pause: { type: "string", default: "12" },
      hang: { type: "string", default: "120" },
      help: { type: "boolean", default: false }
    }
  })
  const rounds = Number(values.rounds)
  const pauseMillis = Number(values.pause) * 1_000
  const hangMillis = Number(values.hang) * 1_000
  if (!(hangMillis >= 1_000 && hangMillis <= 3_600_000)) throw new Error("--hang must be 1 to 3600")
  if (!(Number.isInteger(rounds) && rounds >= 1 && rounds <= 1_000)) throw new Error("--rounds must be 1 to 1000")
  if (!(pauseMillis >= 1_000 && pauseMillis <= 600_000)) throw new Error("--pause must be 1 to 600")
  return { ...values, rounds, pauseMillis, hangMillis }
}

const main = async (): Promise<number> => {
  let given: ReturnType<typeof readArguments>
  try {
    given = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
  const { hangMillis, help, pauseMillis, rounds, seed } = given
  if (help) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const tell = (line: string) => process.stdout.write(`${line}\n`)
  const run = runChaos({ rounds, seed, pauseMillis, hangMillis, checkpointMillis: 5_000, tell })
  const interrupted = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort())
  try {
    const report = await Effect.runPromise(run, { signal: interrupted.signal })
    tell(describeReport(report))
    return report.violationCount === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

process.exitCode = await main()
