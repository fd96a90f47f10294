/**
 * The means of `npm run test:variants` work: each variant fits the source, a few are noticed by the simulators, what is no replacement is refused,
 * and the program as it is passes. All variants are for that command.
 */
import { spawnSync } from "node:child_process"
import { describe, expect, it } from "@effect/vitest"
import { root } from "./runner/change.ts"
import { environmentOf, tryFinder } from "./runner/run.ts"
import { type Finder, findersOf, locate, NotFoundOnce, type Replacement } from "./runner/variant.ts"
import { variants } from "./variants.ts"

const simulation: Finder = { kind: "simulation" }
const deliveries: Finder = { kind: "deliveries" }
const paceTests: Finder = { kind: "unit", files: ["test/webhooks/dispatcher/ConcurrencyLimit.unit.ts"] }

const named = (name: string): Replacement => {
  const variant = variants.find((one) => one.name === name)
  if (variant === undefined) throw new Error(`there is no variant ${name}`)
  return variant
}

const replacement = (more: Partial<Replacement>): Replacement => ({
  name: "a variant",
  find: "export const firstLimit = 4",
  replace: "export const firstLimit = 5",
  ...more
})

describe("a variant", () => {
  it.each(
    variants.map((variant) => [variant.name, variant] as const)
  )("%s: fits the source as it is, and its tests are there", (_name, variant) => {
    locate(variant)
    expect(findersOf(variant)).not.toEqual([])
  })

  it.each([
    ["engine: an answer does not wait for its frame", simulation],
    ["engine: a log is purged up to its newest checkpoint", simulation],
    ["webhooks: a retry does not wait", deliveries]
  ] as const)("%s: is noticed", async (name, finder) => {
    const { finding, isApplied } = await tryFinder(finder, named(name), 300)
    expect(isApplied).toBe(true)
    expect(finding._tag).toBe("Noticed")
  })

  it("that changes nothing a simulator looks at is not noticed", async () => {
    const { finding, isApplied } = await tryFinder(
      deliveries,
      replacement({ replace: "export const firstLimit = 4 + 0" }),
      5
    )
    expect(isApplied).toBe(true)
    expect(finding).toEqual({ _tag: "Unnoticed" })
  })

  it("is in the commands that a test runs, and the program as it is is not", () => {
    const change = locate({
      name: "another version",
      find: "const version: string = packageJson.version",
      replace: 'const version: string = "broken"'
    })
    const script = `import { sluice } from "${root}test/support/platform.ts"
      process.stdout.write((await sluice(["--version"], {})).stdout)`
    const said = [change, null].map((one) => {
      // The bundle is never broken, so it must not be started.
      const env = { ...environmentOf({ change: one, appliedFile: "/dev/null" }), SLUICE_TEST_PROGRAM: "/dev/null" }
      return spawnSync(process.execPath, ["--input-type=module", "-e", script], { env, encoding: "utf8" }).stdout
    })
    expect(said).toEqual(["sluice broken\n", expect.stringMatching(/^sluice \d+\.\d+\.\d+\n$/)])
  })
})

describe("a replacement", () => {
  it("is found whatever the comments and the layout", () => {
    const written = replacement({ find: "export  const\n  // How many.\n  firstLimit = /* four */ 4" })
    expect(locate(written)).toEqual(locate(replacement({})))
    expect(locate(written)).toMatchObject({ found: "export const firstLimit = 4" })
  })

  it.each([
    ["is missing", replacement({ find: "export const firstLimit = 40" })],
    ["is a part of a word", replacement({ find: "export const firstLim" })],
    ["is there twice", replacement({ find: "export const" })],
    ["is empty", replacement({ find: " // Nothing." })]
  ])("that %s is refused before anything runs", async (_name, wrong) => {
    expect(() => locate(wrong)).toThrow(NotFoundOnce)
    expect(() => locate(wrong)).toThrow(wrong.name)
    await expect(tryFinder(deliveries, wrong, 5)).rejects.toThrow(NotFoundOnce)
  })

  it("that changes comments or layout alone is refused", () => {
    expect(() => locate(replacement({ replace: "export const firstLimit =\n  4 // The same." }))).toThrow(
      "changes nothing"
    )
  })

  it("that is no program is nobody's finding", async () => {
    const broken = replacement({ replace: "export const firstLimit = (" })
    for (const finder of [deliveries, paceTests])
      expect((await tryFinder(finder, broken, 5)).finding._tag).toBe("Unusable")
  })
})

it.each([
  ["nowhere.unit", "0 test files"],
  ["rules.unit", "test files instead of one"]
])("a finder that is not one test is refused: %s", (name, says) => {
  expect(() => findersOf({ finders: [name] })).toThrow(says)
})
