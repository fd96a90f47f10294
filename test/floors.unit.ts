/**
 * The floors of the source (docs/CONTRIBUTING.md, "Where a thing goes"): every import goes down, one product sees another's index alone, and folders
 * that lie beside each other never import in a circle at run time. A new room is added to the table here, on its floor.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { describe, expect, it } from "vitest"

const root = new URL("../", import.meta.url).pathname

/** From the ground up. What stands on one floor may import what is below it, and of its own floor what makes no circle. */
const floors: ReadonlyArray<ReadonlyArray<string>> = [
  ["common", "config/kinds"],
  ["engine"],
  ["nats", "postgres", "embedded"],
  ["http"],
  ["limits", "platform", "windows"],
  ["directory", "telco", "talk", "events", "webhooks", "send", "billing"],
  ["admin", "api"],
  ["app", "config", "simulation"],
  ["cli"],
  ["entry points"],
  // A program for browsers, which imports types alone of what is below.
  ["console"]
]

const products: ReadonlySet<string> = new Set(floors[5])

/** Rooms that the simulation may import: it proves rules of the engine, without servers and without our products. */
const seenBySimulation: ReadonlySet<string> = new Set(["common", "engine", "simulation"])

/** Files that lie in no room: what the package exports or runs. */
const entryPoints: ReadonlySet<string> = new Set(["src/index.ts", "src/main.ts", "src/durable.ts", "src/embedded.ts"])

const floorOf = (room: string): number => floors.findIndex((rooms) => rooms.includes(room))

/** The room that a file of the source lies in; undefined for one outside every room. */
const roomOf = (file: string): string | undefined => {
  if (entryPoints.has(file)) return "entry points"
  if (file === "src/config/kinds.ts") return "config/kinds"
  const [, room, rest] = file.split("/")
  return rest !== undefined && floorOf(room!) !== -1 ? room : undefined
}

/** A file of the source that another one imports, and whether only its types. */
interface Import {
  readonly file: string
  readonly isTypes: boolean
}

/** A file and what it imports of the source. */
type Imports = ReadonlyMap<string, ReadonlyArray<Import>>

const importsOf = (file: string, source: string): ReadonlyArray<Import> =>
  [
    ...source.matchAll(
      /(?:\b(?:import|export) (type )[^"';]*? from|\bfrom|\bimport|new URL)\s*\(?\s*"(\.[^"]+\.tsx?)"/g
    )
  ].map(([, types, specifier]) => ({
    file: normalize(join(dirname(file), specifier!)),
    isTypes: types !== undefined
  }))

/** What is wrong with one import, as a sentence. */
const faultOf = (file: string, { file: imported, isTypes }: Import): string | undefined => {
  const from = roomOf(file)
  const to = roomOf(imported)
  if (from === undefined || to === undefined || from === to) return undefined
  const tells = `${file} imports ${imported}: `
  if (from === "console" && !isTypes) return `${tells}the console is a browser's program and imports types alone`
  if (floorOf(to) > floorOf(from)) return `${tells}${to} stands above ${from}, and imports go down`
  if (products.has(from) && products.has(to) && imported !== `src/${to}/index.ts`)
    return `${tells}a product sees of another one only its index.ts`
  if (from === "simulation" && !seenBySimulation.has(to)) return `${tells}the simulation sees the engine alone`
  return undefined
}

const isInside = (folder: string, other: string): boolean => `${folder}/`.startsWith(`${other}/`)

/** Circles of folders, of which none lies inside another one, each with a file for each of its arrows. */
const circlesOf = (imports: Imports): ReadonlyArray<string> => {
  const arrows = new Map<string, Map<string, string>>()
  for (const [file, all] of imports) {
    for (const one of all) {
      const imported = one.file
      const from = dirname(file)
      const to = dirname(imported)
      // The browser's program has one room, whose views and frame know each other.
      if (roomOf(file) === "console") continue
      // An import that goes up is a fault already, and makes circles of everything between. One of types is erased: it orders nothing at run time.
      if (one.isTypes || isInside(from, to) || isInside(to, from) || faultOf(file, one) !== undefined) continue
      const own = arrows.get(from) ?? new Map<string, string>()
      arrows.set(from, own.set(to, own.get(to) ?? `${file} imports ${imported}`))
    }
  }
  const circles: Array<string> = []
  const done = new Set<string>()
  const visit = (folder: string, path: ReadonlyArray<string>): void => {
    const at = path.indexOf(folder)
    if (at !== -1) {
      const circle = [...path.slice(at), folder]
      const told = circle.slice(1).map((to, index) => arrows.get(circle[index]!)!.get(to))
      circles.push(`${circle.join(" -> ")} is a circle of folders: ${told.join(", ")}`)
      return
    }
    if (done.has(folder)) return
    for (const to of arrows.get(folder)?.keys() ?? []) visit(to, [...path, folder])
    done.add(folder)
  }
  for (const folder of arrows.keys()) visit(folder, [])
  return circles
}

/** Groups of files that import each other in circles, by what they import at run time or by types too. */
const groupsOf = (imports: Imports, withTypes: boolean): ReadonlyArray<ReadonlyArray<string>> => {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: Array<string> = []
  const open = new Set<string>()
  const groups: Array<ReadonlyArray<string>> = []
  const visit = (file: string): number => {
    const own = order.size
    order.set(file, own)
    stack.push(file)
    open.add(file)
    let low = own
    for (const { file: to, isTypes } of imports.get(file) ?? []) {
      if (isTypes && !withTypes) continue
      if (!order.has(to)) low = Math.min(low, visit(to))
      else if (open.has(to)) low = Math.min(low, lowest.get(to) ?? order.get(to)!)
    }
    lowest.set(file, low)
    if (low !== own) return low
    const group = stack.splice(stack.indexOf(file))
    for (const one of group) open.delete(one)
    if (group.length > 1) groups.push(group.sort())
    return low
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return groups
}

/** Groups of files that know each other's types. There should be fewer, not more. */
const maximumTypeGroups = 5

const faultsOf = (imports: Imports): ReadonlyArray<string> => [
  ...[...imports.keys()]
    .filter((file) => roomOf(file) === undefined)
    .map((file) => `${file} lies in no room: each has its floor in the table of this test`),
  ...[...imports].flatMap(([file, all]) => all.flatMap((imported) => faultOf(file, imported) ?? [])),
  ...circlesOf(imports)
]

const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => `src/${file}`)
const imports: Imports = new Map(sources.map((file) => [file, importsOf(file, readFileSync(join(root, file), "utf8"))]))

describe("the floors of the source", () => {
  it("every import goes down, between products by their index, and in no circle", () => {
    expect(sources.length).toBeGreaterThan(300)
    expect(faultsOf(imports)).toEqual([])
  })

  it("files import each other in no circle at run time, and by their types in few", () => {
    expect(groupsOf(imports, false)).toEqual([])
    expect(groupsOf(imports, true).length).toBeLessThanOrEqual(maximumTypeGroups)
  })

  it.each([
    ["of two files", { a: ["b"], b: ["a"], c: ["a"] }, [["a", "b"]]],
    ["of three files", { a: ["b"], b: ["c"], c: ["a", "d"], d: [] }, [["a", "b", "c"]]],
    [
      "apart",
      { a: ["b", "c"], b: ["a"], c: ["d"], d: ["c"] },
      [
        ["c", "d"],
        ["a", "b"]
      ]
    ]
  ])("sees a circle %s", (_, arrows, groups) => {
    const planted = new Map(
      Object.entries(arrows).map(([file, all]) => [file, all.map((to) => ({ file: to, isTypes: false }))])
    )
    expect(groupsOf(planted, false)).toEqual(groups)
  })

  it.each([
    [
      "src/http/edge.ts",
      `import { Health } from "../platform/Health.ts"`,
      "src/http/edge.ts imports src/platform/Health.ts: platform stands above http, and imports go down"
    ],
    [
      "src/engine/frame.ts",
      `const { sign } = await import("../webhooks/index.ts")`,
      "src/engine/frame.ts imports src/webhooks/index.ts: webhooks stands above engine, and imports go down"
    ],
    [
      "src/telco/Telco.ts",
      `import type { EventLog } from "../events/EventLog.ts"`,
      "src/telco/Telco.ts imports src/events/EventLog.ts: a product sees of another one only its index.ts"
    ],
    [
      "src/simulation/engine/play.ts",
      `export { Health } from "../../platform/Health.ts"`,
      "src/simulation/engine/play.ts imports src/platform/Health.ts: the simulation sees the engine alone"
    ],
    [
      "src/console/api.ts",
      `import { SluiceApi } from "../api/SluiceApi.ts"`,
      "src/console/api.ts imports src/api/SluiceApi.ts: the console is a browser's program and imports types alone"
    ],
    [
      "src/app/server.ts",
      `import type { Session } from "../console/session.ts"`,
      "src/app/server.ts imports src/console/session.ts: console stands above app, and imports go down"
    ],
    ["src/helpers.ts", "", "src/helpers.ts lies in no room: each has its floor in the table of this test"],
    ["src/util/helpers.ts", "", "src/util/helpers.ts lies in no room: each has its floor in the table of this test"],
    [
      "src/webhooks/target/targets.ts",
      `import { statusOf } from "../endpoint/model.ts"`,
      /src\/webhooks\/(endpoint|target) -> .* is a circle of folders: .*src\/webhooks\/target\/targets\.ts imports src\/webhooks\/endpoint\/model\.ts/
    ]
  ])("tells of a fault planted in %s", (file, line, sentence) => {
    const planted = new Map(imports).set(file, [...(imports.get(file) ?? []), ...importsOf(file, line)])
    expect(faultsOf(planted)).toEqual([expect.stringMatching(sentence)])
  })
})
