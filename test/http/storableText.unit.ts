/** Which text the platform takes (docs/platform.md, 1.2), beside a check that looks at each character. */
import { it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { describe, expect, it as plain } from "vitest"
import { isStorable, mayBeUnstorable, targetProblem, unstorablePlace } from "../../src/http/storableText.ts"

/** By each code unit. */
const naively = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0 || (unit >= 0xdc00 && unit < 0xe000)) return false
    if (unit < 0xd800 || unit >= 0xe000) continue
    const next = text.charCodeAt(++at)
    if (!(next >= 0xdc00 && next < 0xe000)) return false
  }
  return true
}

/** Every text of a value, by recursion. */
const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsOf(inner)])
}

const units = Schema.Array(
  Schema.Literals(["a", "\0", "\ud83d", "\ude00", "\ud83d\ude00", "\\", '"', "é", "u0000", "\ud800", "\udfff"])
)
const text = Arbitrary.schema(units)

describe("[platform 1.2] text that can be stored", () => {
  it.prop("is what a check of each character says", { text }, ({ text }) => {
    const whole = text.join("")
    expect(isStorable(whole)).toBe(naively(whole))
  })

  it.prop("is looked for in every value and every name of a body", { one: text, other: text, name: text }, (given) => {
    const [one, other, name] = [given.one, given.other, given.name].map((parts) => parts.join(""))
    const value = { to: [{ [name!]: one, n: 1 }, null], subject: other }
    const all = textsOf(value).every(naively)
    expect(unstorablePlace(value) === undefined).toBe(all)
    // The quick look at the bytes lets nothing pass that the long one refuses.
    if (!all) expect(mayBeUnstorable(JSON.stringify(value))).toBe(true)
  })

  it.prop("is what a target's escapes are read as", { text }, ({ text }) => {
    const whole = text.join("")
    const bytes = Buffer.from(whole.toWellFormed())
    const escaped = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")
    expect(targetProblem(`/v1/${escaped}`) === undefined).toBe(!whole.includes("\0"))
    expect(targetProblem(`/v1/x?a=${escaped}&b`) === undefined).toBe(!whole.includes("\0"))
  })

  plain("says where the fault is", () => {
    expect(unstorablePlace({ a: [{ b: "x" }, { c: "\0" }] })).toBe("a.1.c")
    expect(unstorablePlace("\ud800")).toBe("")
    expect(targetProblem("/v1/x?a=1&name=%ed%a0%80")).toBe(
      "Invalid parameter 'name': \"%ed%a0%80\". Expected text without U+0000 and without half a surrogate pair, in UTF-8."
    )
    expect(targetProblem("/v1/caf%e9")).toMatch(/^The path is not well-formed: "\/v1\/caf%e9"/)
  })

  plain("and escapes that are none stand for themselves", () => {
    for (const target of ["/v1/x?a=100%", "/v1/x?a=%zz", "/v1/caf%c3%a9", "/v1/x"])
      expect(targetProblem(target)).toBeUndefined()
  })

  plain("is looked for at any depth", () => {
    let value: unknown = "\0"
    for (let depth = 0; depth < 100_000; depth++) value = [value]
    expect(unstorablePlace(value)).toMatch(/^0\.0\./)
  })
})
