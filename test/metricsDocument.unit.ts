/** docs/metrics.md names every metric of the source and no other, with its kind. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "vitest"

const root = new URL("../", import.meta.url).pathname

/** Where a metric is made: by its kind, by a helper that makes gauges, or as a counter of a request limiter. */
const made =
  /(?:Metric\.(counter|gauge|histogram)\(|(?<![A-Za-z.])(gauge)\(|(?<![A-Za-z])name:)\s*"((?:sluice|process|nodejs)_[a-z_]+)"/g

/** Made of other metrics, and explained above the tables. */
const explained = ["sluice_worker_up"]

const metricsOf = (text: string): ReadonlyArray<readonly [name: string, kind: string]> =>
  [...text.matchAll(made)].map(([, kind, helper, name]) => [name!, kind ?? helper ?? "counter"])

it("names every metric, and none that there is not", () => {
  const inSource = new Map(
    readdirSync(`${root}src`, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => metricsOf(readFileSync(`${root}src/${name}`, "utf8")))
  )
  const lines = readFileSync(`${root}docs/metrics.md`, "utf8").matchAll(
    /^\| `((?:sluice|process|nodejs)_[a-z_]+)` \| ([a-z]+) \|/gm
  )
  const inDocument = [...lines].map(([, name, kind]) => [name!, kind!] as const)
  expect(new Map(inDocument)).toEqual(inSource)
  expect(inDocument).toHaveLength(inSource.size)
  for (const name of explained) expect(inSource.has(name)).toBe(false)
})
