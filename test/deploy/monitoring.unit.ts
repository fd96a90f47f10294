/**
 * The alert rules and the dashboard (docs/runbook.md): they ask for metrics that there are, each alert has a section of the runbook and figures
 * that raise it and that do not, and promtool evaluates them.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { needing } from "../support/needs.ts"
import { alertCases, testedAlerts } from "./alertCases.ts"
import { checkRules, testRules } from "./promtool.ts"

const root = new URL("../../", import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), "utf8")

const rules = read("deploy/monitoring/rules.yaml")
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}
const { panels } = JSON.parse(read("deploy/monitoring/dashboard.json")) as { readonly panels: ReadonlyArray<Panel> }
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Kinds by the names of docs/metrics.md, which a test compares with the source. */
const kinds = new Map(
  [...read("docs/metrics.md").matchAll(/^\| `([a-z_]+)` \| ([a-z]+) \|/gm)].map(([, name, kind]) => [name!, kind!])
)

/** Names in an expression that no series has. */
const unknownIn = (expression: string): ReadonlyArray<string> =>
  [...expression.matchAll(/\b(?:sluice|process|nodejs)_[a-z_]+\b/g)]
    .map(([name]) => name)
    .filter((name) => {
      const family = name.replace(/_(?:bucket|sum|count)$/, "")
      return kinds.get(name) === "histogram" || !(kinds.has(name) || kinds.get(family) === "histogram")
    })

/** Counters whose value alone is asked for, which says nothing. */
const bareCountersIn = (expression: string): ReadonlyArray<string> =>
  [...expression.matchAll(/\b((?:sluice|process|nodejs)_[a-z_]+)(?:\{[^}]*\})?(?!\w|\{|\[|(?:\{[^}]*\})\[)/g)]
    .map(([, name]) => name!)
    .filter((name) => kinds.get(name) === "counter")

describe("the rules", () => {
  it("ask for metrics that there are, and for rates of counters", () => {
    expect(unknownIn(rules)).toEqual([])
    expect(bareCountersIn(rules)).toEqual([])
    // A planted fault of each kind.
    expect(unknownIn("sluice_made_up > 0 and sluice_append_millis > 1")).toEqual([
      "sluice_made_up",
      "sluice_append_millis"
    ])
    expect(bareCountersIn('sluice_poison_total{partition="1"} > 0')).toEqual(["sluice_poison_total"])
  })

  it("have names of their own, a section of the runbook, and a case that a test plays", () => {
    expect(alerts.length).toBeGreaterThan(20)
    expect(new Set(alerts).size).toBe(alerts.length)
    const sections = [...read("docs/runbook.md").matchAll(/^### (\w+)$/gm)].map(([, name]) => name!)
    expect(sections).toEqual(alerts)
    const links = [...rules.matchAll(/runbook_url: docs\/runbook\.md#(\w+)/g)].map(([, anchor]) => anchor!)
    expect(links).toEqual(alerts.map((name) => name.toLowerCase()))
    expect(rules.match(/summary: /g)).toHaveLength(alerts.length)
    expect([...testedAlerts].sort()).toEqual([...alerts].sort())
  })

  it("[platform 8.2] fire in an incident, and not beside one", needing("promtool"), () => {
    expect(checkRules()).toMatchObject({ ok: true })
    const { ok, output } = testRules(alertCases)
    expect(ok, output).toBe(true)
    // An expectation that does not hold is seen.
    const [quiet] = alertCases.filter(({ name }) => name === "SluiceNotReady does not fire")
    expect(testRules([{ ...quiet!, firing: { 8: ["SluiceNotReady"] } }]).ok).toBe(false)
  })
})

describe("the dashboard", () => {
  it("asks for metrics that there are, and for rates of counters", () => {
    expect(expressions.length).toBeGreaterThan(20)
    for (const expression of expressions) {
      expect(unknownIn(expression), expression).toEqual([])
      expect(bareCountersIn(expression), expression).toEqual([])
    }
  })

  it("has panels that lie beside each other", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const one of panels) {
      expect(one.gridPos.x + one.gridPos.w, one.title).toBeLessThanOrEqual(24)
      const under = panels.filter(
        ({ gridPos: { h, w, x, y }, id }) =>
          id !== one.id &&
          x < one.gridPos.x + one.gridPos.w &&
          one.gridPos.x < x + w &&
          y < one.gridPos.y + one.gridPos.h &&
          one.gridPos.y < y + h
      )
      expect(under, one.title).toEqual([])
    }
  })
})
