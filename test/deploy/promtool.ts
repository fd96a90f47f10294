/** Runs `promtool`, which the Debian package `prometheus` brings, on the alert rules of `deploy/monitoring` and on texts of metrics. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const rulesFile = new URL("../../deploy/monitoring/rules.yaml", import.meta.url).pathname

/** Samples of one series, a minute apart, in promtool's notation: `1x5` is a 1 that stays for five more minutes, `0+3x5` grows by 3. */
export interface Series {
  readonly series: string
  readonly values: string
}

/** Samples over time, and the alerts that fire at some minutes; no other fires then. */
export interface AlertCase {
  readonly name: string
  readonly input: ReadonlyArray<Series>
  readonly firing: Readonly<Record<number, ReadonlyArray<string>>>
}

/** Runs promtool to its end. */
const promtool = (args: ReadonlyArray<string>, input = ""): { readonly ok: boolean; readonly output: string } => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { input, encoding: "utf8" })
  return { ok: status === 0, output: `${stdout}${stderr}` }
}

export const checkRules = () => promtool(["check", "rules", rulesFile])

/** Checks names, types and descriptions of an exposition. */
export const checkMetrics = (text: string) => promtool(["check", "metrics"], text)

/** The test's form for promtool; JSON is YAML, too. */
const testOf = ({ firing, input, name }: AlertCase) => ({
  name,
  interval: "1m",
  input_series: input,
  promql_expr_test: Object.entries(firing).map(([minute, alerts]) => ({
    expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${minute}m`,
    exp_samples: [...alerts].sort().map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
  }))
})

/** Evaluates the rules over the cases. */
export const testRules = (cases: ReadonlyArray<AlertCase>) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-rules-"))
  try {
    const file = join(folder, "tests.json")
    const tests = cases.map(testOf)
    writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests }))
    return promtool(["test", "rules", file])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
