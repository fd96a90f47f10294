/** The tables of docs/capacity.md are what the model answers for the costs that are written down there. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { needsOf } from "./model.ts"
import { tables } from "./tables.ts"
import { loads, machine, units } from "./units.ts"

const load = loads[0]!

describe("the model of capacity", () => {
  it("takes twice the cores for twice the load, and never fewer than two nodes and three NATS servers", () => {
    const twice = {
      ...load,
      perSecond: Object.fromEntries(Object.entries(load.perSecond).map(([kind, count]) => [kind, 2 * count!]))
    }
    const [once, more] = [needsOf(load, units, machine), needsOf(twice, units, machine)]
    expect(more.nodeCores).toBeCloseTo(2 * once.nodeCores)
    expect(more.logBytesPerDay).toBeCloseTo(2 * once.logBytesPerDay)
    expect(more.nodes).toBeGreaterThanOrEqual(once.nodes)
    const nothing = needsOf({ ...load, perSecond: {} }, units, machine)
    expect([nothing.nodes, nothing.natsServers, nothing.nodeCores]).toEqual([2, 3, 0])
  })

  it("takes a node for memory alone", () => {
    const many = { ...load, perSecond: {}, organizations: 1e9, residentShare: 1 }
    const { nodes, residentBytes } = needsOf(many, units, machine)
    expect(nodes).toBe(Math.ceil(residentBytes / (machine.memoryBytes * machine.busy)))
  })

  it("is what docs/capacity.md shows", () => {
    const text = readFileSync(new URL("../../docs/capacity.md", import.meta.url), "utf8")
    for (const table of tables()) expect(text).toContain(table)
  })
})
