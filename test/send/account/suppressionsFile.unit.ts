/** Files of addresses for a suppression list (docs/platform.md, 9.15). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  isRefused,
  makeSuppressionsReader,
  maximumFileAddresses
} from "../../../src/send/account/suppressions/suppressionsFile.ts"

const read = (text: string, size = text.length) => {
  const reader = makeSuppressionsReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += Math.max(1, size)) reader.push(bytes.subarray(at, at + Math.max(1, size)))
  return reader.end()
}

describe("[platform 9.15] a file of addresses", () => {
  it("has them in its column for addresses, each once, and names the lines without one", () => {
    const { addresses, count } = read(
      [
        "status,E-Mail,reason",
        "x,Bob@Example.com,1",
        "",
        'x,"cara@EX\u00c4MPLE.com",1',
        "x,bob@example.com,1",
        "x,delivered@simulator.invalid,1",
        "x",
        'x,"open,1',
        "x,dan@example.org,1"
      ].join("\r\n")
    )
    expect(addresses).toEqual(["bob@example.com", "cara@xn--exmple-cua.com", "dan@example.org"])
    expect(count).toMatchObject({ addresses: 3, repeated: 1, isTooLong: false, malformed: { total: 3 } })
    expect(count.malformed.listed.map(({ line }) => line)).toEqual([6, 7, 8])
    expect(count.malformed.listed[0]).toEqual({ line: 6, reason: "has no address in column 2" })
    expect(isRefused(count)).toBe(false)
  })

  it("without a heading has them in its first column", () => {
    expect(read("bob@example.com,bounce\ncara@example.com").addresses).toEqual(["bob@example.com", "cara@example.com"])
  })

  it("is refused with nothing in it, with more wrong lines than addresses, and with too many addresses", () => {
    expect(isRefused(read("email\n").count)).toBe(true)
    expect(isRefused(read("a@b.com\nx\ny").count)).toBe(true)
    expect(isRefused(read("a@b.com\nx").count)).toBe(false)
    const many = (count: number) => Array.from({ length: count }, (_, index) => `a${index}@b.com`).join("\n")
    expect(isRefused(read(many(maximumFileAddresses)).count)).toBe(false)
    expect(read(many(maximumFileAddresses + 1)).count).toMatchObject({ addresses: 100_000, isTooLong: true })
  })

  const Line = Schema.Literals(["a@b.com", "A@B.com", "c@d.com,x", " e@f.com ", "none", "", "x@y", "ü@b.com"])

  it.prop(
    "is read the same in chunks of any size as by splitting it",
    [Schema.Array(Line), Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 }))],
    ([lines, size]) => {
      const known: Readonly<Record<string, string>> = {
        "a@b.com": "a@b.com",
        "A@B.com": "a@b.com",
        "c@d.com,x": "c@d.com",
        " e@f.com ": "e@f.com"
      }
      const wanted = lines.flatMap((line) => known[line] ?? [])
      const wrong = lines.flatMap((line, index) => (line === "" || known[line] !== undefined ? [] : [index + 1]))
      const { addresses, count } = read(lines.join("\n"), size)
      expect(addresses).toEqual([...new Set(wanted)])
      expect(count.repeated).toBe(wanted.length - new Set(wanted).size)
      expect(count.malformed.listed.map(({ line }) => line)).toEqual(wrong.slice(0, 100))
    }
  )
})
