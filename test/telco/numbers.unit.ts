/** Numbers as people write them, and files of them, against what a person would say. */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { normalizeNumber } from "../../src/telco/numbers.ts"
import { isRefused, makeNumbersReader } from "../../src/telco/numbersFile.ts"

const digit = Schema.Literals(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
const ten = Arbitrary.array(Arbitrary.schema(digit), { minLength: 10, maxLength: 10 })
/** What nobody sees: directions, joiners, soft hyphens, selectors of forms. */
const invisible = [
  "\u200b",
  "\u202a",
  "\u202c",
  "\u2060",
  "\ufeff",
  "\u00ad",
  "\u200e",
  "\ufe0f",
  "\u2066",
  "\u{e0061}"
] as const
const gap = Arbitrary.schema(Schema.Literals(["", " ", "-", ".", "(", ") ", "–", "\u00a0", " / ", ...invisible]))
const gaps = Arbitrary.array(gap, { minLength: 11, maxLength: 11 })
const prefix = Arbitrary.schema(Schema.Literals(["", "1", "+1"]))
const character = Arbitrary.schema(
  Schema.Literals([..."0123456789", "+", "-", " ", "(", ")", ".", "a", "٣", "\u0000", ...invisible])
)

/** Looks at one character after the other. */
const naive = (text: string): string | undefined => {
  let digits = ""
  let plus = false
  for (const one of text) {
    if (one >= "0" && one <= "9") digits += one
    else if (one === "+") {
      if (plus || digits !== "") return undefined
      plus = true
    } else if (![..."-().– \u00a0/", ...invisible].includes(one)) return undefined
  }
  if (digits.length === 11 && digits.startsWith("1")) return digits.slice(1)
  return digits.length === 10 && !plus ? digits : undefined
}

describe("a number as people write it", () => {
  it.prop("whatever stands between the digits", { gaps, prefix, ten }, ({ gaps, prefix, ten }) => {
    const text = ten.map((one, index) => `${gaps[index]}${one}`).join("") + gaps[10]
    expect(normalizeNumber(`${prefix}${text}`)).toBe(ten.join(""))
  })

  it.prop(
    "and nothing else",
    { characters: Arbitrary.array(character, { maxLength: 16 }) },
    ({ characters }) => {
      const text = characters.join("")
      expect(normalizeNumber(text)).toBe(naive(text))
    },
    { arbitrary: { runs: 2_000 } }
  )

  it("no text is too long to be refused at once", () => {
    expect(normalizeNumber(`2125550123${" ".repeat(55)}`)).toBeUndefined()
    expect(normalizeNumber("-".repeat(10_000_000))).toBeUndefined()
  })
})

const read = (text: string | Uint8Array, chunkBytes = 7) => {
  const numbers: Array<string> = []
  const reader = makeNumbersReader((tn) => numbers.push(tn))
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes))
  return { ...reader.end(), found: numbers }
}

describe("a file of numbers", () => {
  const Line = Schema.Union([
    Schema.TaggedStruct("Number", {
      digits: Schema.Array(digit).check(Schema.isMinLength(10), Schema.isMaxLength(10))
    }),
    Schema.TaggedStruct("Empty", {}),
    Schema.TaggedStruct("Malformed", { text: Schema.Literals(["212", "x", '"2125550123', ",2125550123", "\u0001"]) })
  ])

  it.prop(
    "gives its numbers in order and counts its malformed lines, however it is cut",
    {
      lines: Arbitrary.array(Arbitrary.schema(Line), { maxLength: 40 }),
      chunk: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 }))),
      end: Arbitrary.schema(Schema.Literals(["\n", "\r\n"]))
    },
    ({ chunk, end, lines }) => {
      const texts = lines.map((line) =>
        line._tag === "Number" ? `${line.digits.join("")},more` : line._tag === "Empty" ? "" : line.text
      )
      const { found, malformed, numbers } = read(["tn", ...texts].join(end), chunk)
      const expected = lines.flatMap((line) => (line._tag === "Number" ? [line.digits.join("")] : []))
      expect(found).toEqual(expected)
      expect(numbers).toBe(expected.length)
      const bad = lines.flatMap(({ _tag }, index) => (_tag === "Malformed" ? [index + 2] : []))
      expect(malformed.total).toBe(bad.length)
      expect(malformed.listed.map(({ line }) => line)).toEqual(bad)
    }
  )

  it("begins with a heading or with a number; a malformed first line that holds a digit is no heading", () => {
    expect(read("number\n2125550123")).toMatchObject({ numbers: 1, malformed: { total: 0 } })
    expect(read("2125550123")).toMatchObject({ numbers: 1, malformed: { total: 0 } })
    expect(read("212555012\n2125550123")).toMatchObject({ numbers: 1, malformed: { listed: [{ line: 1 }] } })
    expect(read("2125550123\nnumber")).toMatchObject({ numbers: 1, malformed: { listed: [{ line: 2 }] } })
  })

  it("may hold one line without an end, which is not kept", () => {
    expect(read(`2125550123\n${"5".repeat(1_000_000)}\n2125550124`, 4_096)).toMatchObject({
      found: ["2125550123", "2125550124"],
      malformed: { total: 1 }
    })
  })

  it("has at most 100 malformed lines listed, all counted", () => {
    expect(read("212\n".repeat(250), 64).malformed).toMatchObject({ total: 250, listed: { length: 100 } })
  })

  it("is refused above 1 % malformed lines, and without any number", () => {
    const count = (numbers: number, total: number) => isRefused({ numbers, malformed: { total, listed: [] } })
    expect(count(99, 1)).toBe(false)
    expect(count(98, 1)).toBe(true)
    expect(count(198, 2)).toBe(false)
    expect(count(197, 2)).toBe(true)
    expect(count(1, 0)).toBe(false)
    expect(count(0, 0)).toBe(true)
  })
})
