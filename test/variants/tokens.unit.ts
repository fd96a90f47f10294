import { describe, expect, it } from "@effect/vitest"
import { spansOf, tokensOf } from "./runner/tokens.ts"

const textsOf = (source: string) => tokensOf(source).map(({ text }) => text)

const foundIn = (source: string, sought: string) =>
  spansOf(tokensOf(source), tokensOf(sought)).map(({ end, start }) => source.slice(start, end))

describe("tokens", () => {
  it.each([
    ["comments", "a /* b */ + // c\n d", "a + d"],
    ["layout", "f(\n  a,\n  b\n)", "f(a, b)"],
    ["a comment behind a division", "a / b // c\n/ d", "a / b / d"]
  ])("do without %s", (_name, source, same) => {
    expect(textsOf(source)).toEqual(textsOf(same))
  })

  it.each([
    ["a string", '"http://a" + b'],
    ["a string with quotes", `"it's // \\" /*" + b`],
    ["a template", `\`http://\${a}/*\` + b`],
    ["a template in a template", `\`\${a ? \`//\${b}\` : \`/*\`} //\` + b`],
    ["a regular expression", "x = /[/*]\\/\\/'`/ + b"]
  ])("are no comments within %s", (_name, source) => {
    expect(textsOf(source).slice(-2)).toEqual(["+", "b"])
  })

  it("end a comment behind a template with braces", () => {
    expect(textsOf(`\`\${{ a: 1 }}\` // b\nc`).at(-1)).toBe("c")
  })

  it("of a statement are those of code", () => {
    const part = `set a = \${b} where c = 'd'`
    expect(foundIn(`sql\`update t\n  ${part}\``, part)).toEqual([part])
  })

  it("are found as often as they are there, and whole", () => {
    expect(foundIn("one(a); one(a) ; ones(a)", "one(a)")).toEqual(["one(a)", "one(a)"])
    expect(foundIn("one(a)", "")).toEqual([])
  })
})
