/** How long a program waits for `import "sluice"`, from the build as it is published, beside `import "effect"` alone. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { atMost, type Benchmark, benchmark, type Round } from "../runner/benchmark.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../../", import.meta.url))
const entry = (file: string) => `./dist/${file}`

/** The middle of some starts of a process of its own, in milliseconds. */
const starts = 9
const measured = async ({ watched }: Round, specifier: string) => {
  const program = `const from = performance.now(); await import(${JSON.stringify(specifier)}); console.log(performance.now() - from)`
  const millis: Array<number> = []
  await watched(async () => {
    for (let start = 0; start < starts; start++) {
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: root })
      millis.push(Number(stdout))
    }
  })
  return { millis: millis.sort((one, other) => one - other)[Math.floor(starts / 2)]! }
}

export const importBenchmarks: ReadonlyArray<Benchmark> = [
  benchmark({
    name: "import",
    unavailable: async () => (existsSync(`${root}dist/index.js`) ? undefined : "there is no build: npm run build"),
    rounds: 3,
    sides: {
      sluice: (round: Round) => measured(round, entry("index.js")),
      limits: (round: Round) => measured(round, entry("limits/index.js")),
      webhook: (round: Round) => measured(round, entry("webhooks/index.js")),
      effect: (round: Round) => measured(round, "effect")
    },
    rows: [
      {
        name: "sluice",
        unit: "ms",
        figure: ({ sluice }) => sluice.millis,
        peer: ({ effect }) => effect.millis,
        goal: atMost(1.5),
        note: "peer: effect alone"
      },
      {
        name: "sluice/limits",
        unit: "ms",
        figure: ({ limits }) => limits.millis,
        peer: ({ effect }) => effect.millis,
        goal: atMost(1.5)
      },
      {
        name: "sluice/webhook",
        unit: "ms",
        figure: ({ webhook }) => webhook.millis,
        peer: ({ effect }) => effect.millis,
        goal: atMost(1.5)
      }
    ]
  })
]
