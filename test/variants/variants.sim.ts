/**
 * The means of `npm run test:variants` work: a few variants are noticed by the simulators, what is no replacement is refused, and the program as
 * it is passes. All variants are for that command.
 */
import { describe, expect, it } from "@effect/vitest"
import { tryFinder } from "./runner/run.ts"
import { assertFits, type Finder, NotFoundOnce, type Replacement, replaceIn } from "./runner/variant.ts"
import { variants } from "./variants.ts"

const simulation: Finder = { kind: "simulation" }
const deliveries: Finder = { kind: "deliveries" }

const named = (name: string): Replacement => {
  const variant = variants.find((one) => one.name === name)
  if (variant === undefined) throw new Error(`there is no variant ${name}`)
  return variant
}

const replacement = (more: Partial<Replacement>): Replacement => ({
  name: "a variant",
  file: "src/webhooks/dispatcher/pace.ts",
  find: "export const firstLimit = 4",
  replace: "export const firstLimit = 5",
  ...more
})

describe("a variant", () => {
  it.each(
    variants.map((variant) => [variant.name, variant] as const)
  )("%s: fits the source as it is", (_name, variant) => {
    assertFits(variant)
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
})

describe("a replacement that does not fit", () => {
  it.each([
    ["is missing", replacement({ find: "export const firstLimit = 40" })],
    ["is there twice", replacement({ find: "export const" })],
    ["is empty", replacement({ find: "" })]
  ])("%s: is refused before anything runs", (_name, wrong) => {
    expect(() => assertFits(wrong)).toThrow(NotFoundOnce)
    expect(() => replaceIn("export const firstLimit = 4\nexport const", wrong)).toThrow(wrong.name)
  })

  it("is refused where it changes nothing, and where there is no such file", () => {
    expect(() => assertFits(replacement({ replace: "export const firstLimit = 4" }))).toThrow("changes nothing")
    expect(() => assertFits(replacement({ file: "src/webhooks/none.ts" }))).toThrow("none.ts")
  })

  it.each([
    ["by a simulator", deliveries, "export const firstLimit = 40"],
    [
      "by a test's loader",
      { kind: "unit", files: ["test/webhooks/dispatcher/pace.unit.ts"] } satisfies Finder,
      "export const"
    ]
  ])("stops the child, and counts as nobody's finding: %s", async (_name, finder, find) => {
    const { finding } = await tryFinder(finder, replacement({ find }), 5)
    expect(finding._tag).toBe("Unusable")
    expect(JSON.stringify(finding)).toContain("instead of once")
  })

  it("that is no program is nobody's finding either", async () => {
    const broken = replacement({ replace: "export const firstLimit = (" })
    for (const finder of [
      deliveries,
      { kind: "unit", files: ["test/webhooks/dispatcher/pace.unit.ts"] } satisfies Finder
    ])
      expect((await tryFinder(finder, broken, 5)).finding._tag).toBe("Unusable")
  })
})
