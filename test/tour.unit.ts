/**
 * The tour leads through the code as it is: each file of docs/tour.md exists, has its path as its link's text, and contains the name that
 * stands behind it. Each check is also shown a planted fault.
 */
import { existsSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"

const root = new URL("../", import.meta.url)
const tour = readFileSync(new URL("docs/tour.md", root), "utf8")

/** A word of a source: not a part of a longer one. */
const contains = (source: string, name: string): boolean =>
  new RegExp(String.raw`(?<![\w$])${name.replaceAll("$", String.raw`\$`)}(?![\w$])`).test(source)

/** The steps of a text that lead nowhere, each with its reason. */
const wrongSteps = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\[([^\]]+)\]\(\.\.\/src\/([^)]+)\)(?::\s+`([^`]+)`)?/g)].flatMap(([, title, path, name]) => {
    if (title !== path) return [`${title}: leads to ${path}`]
    const file = new URL(`src/${path}`, root)
    if (!existsSync(file)) return [`${path}: no such file`]
    if (name === undefined) return [`${path}: no name behind it`]
    return contains(readFileSync(file, "utf8"), name) ? [] : [`${path}: no ${name}`]
  })

describe("the tour", () => {
  it("names files that exist, and what they contain", () => {
    expect(wrongSteps(tour)).toEqual([])
  })

  it("has three walks of several steps", () => {
    const steps = tour
      .split(/^## /m)
      .slice(1)
      .map((walk) => walk.match(/^\d+\. \[/gm)?.length ?? 0)
    expect(steps).toHaveLength(3)
    for (const count of steps) expect(count).toBeGreaterThan(10)
  })

  it.each([
    [
      "a file that has moved",
      "1. [engine/Nowhere.ts](../src/engine/Nowhere.ts): `ask`",
      "engine/Nowhere.ts: no such file"
    ],
    [
      "a name that is gone",
      "1. [engine/address.ts](../src/engine/address.ts): `partitionsOf`",
      "engine/address.ts: no partitionsOf"
    ],
    [
      "a step without a name",
      "1. [engine/address.ts](../src/engine/address.ts) hashes",
      "engine/address.ts: no name behind it"
    ],
    ["another text", "1. [address.ts](../src/engine/address.ts): `fnv1a`", "address.ts: leads to engine/address.ts"]
  ])("is checked for %s", (_fault, text, reason) => {
    expect(wrongSteps(text)).toEqual([reason])
  })
})
