import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { lineLimitBytes } from "../../../src/directory/files/limits.ts"
import { makeLineSplitter } from "../../../src/directory/files/lines.ts"

type Line = readonly [number, string] | readonly [number, { readonly malformed: string }]

/** Lines of `content`, pushed in pieces that end at `cuts`. */
const split = (content: Uint8Array, cuts: ReadonlyArray<number> = []) => {
  const lines: Array<Line> = []
  const splitter = makeLineSplitter({
    line: (text, number) => lines.push([number, text]),
    malformed: (reason, number) => lines.push([number, { malformed: reason }])
  })
  const places = [0, ...[...cuts].sort((a, b) => a - b), content.length]
  for (let i = 1; i < places.length; i++) splitter.push(content.subarray(places[i - 1], places[i]))
  return { lines, ...splitter.end() }
}

const bytes = (text: string) => Buffer.from(text)

describe("lines", () => {
  it("end with LF or CRLF, the last one perhaps with nothing", () => {
    assert.deepStrictEqual(split(bytes("a\r\nb\n\nc")), {
      lines: [
        [1, "a"],
        [2, "b"],
        [3, ""],
        [4, "c"]
      ],
      terminated: false
    })
    assert.deepStrictEqual(split(bytes("a\r\n")), { lines: [[1, "a"]], terminated: true })
    assert.deepStrictEqual(split(bytes("")), { lines: [], terminated: true })
  })

  it("lose a byte order mark at the very beginning only", () => {
    assert.deepStrictEqual(split(bytes("\ufeffa\n\ufeffb\n"), [1, 2]).lines, [
      [1, "a"],
      [2, "\ufeffb"]
    ])
  })

  it("that are not UTF-8 are malformed and do not touch their neighbours", () => {
    const content = Buffer.concat([bytes("Montréal\n"), Buffer.from("Montr\u00e9al\n", "latin1"), bytes("c\r\n")])
    assert.deepStrictEqual(split(content).lines, [
      [1, "Montréal"],
      [2, { malformed: "is not valid UTF-8" }],
      [3, "c"]
    ])
  })

  it("with control characters are malformed, tabs are not", () => {
    assert.deepStrictEqual(split(bytes("a\tb\nc\u0000d\ne\rf\r\ng\n")).lines, [
      [1, "a\tb"],
      [2, { malformed: "holds control characters" }],
      [3, { malformed: "holds control characters" }],
      [4, "g"]
    ])
  })

  it("may be as long as the limit and no longer, wherever the pieces are cut", () => {
    const longest = "x".repeat(lineLimitBytes)
    const content = bytes(`${longest}\r\n${longest}y\r\n${longest}${longest}${longest}\nend\n`)
    for (const cuts of [
      [],
      [1],
      [lineLimitBytes],
      [lineLimitBytes + 1],
      [10_000, 20_000, 30_000, content.length - 2]
    ]) {
      assert.deepStrictEqual(split(content, cuts).lines, [
        [1, longest],
        [2, { malformed: `is longer than ${lineLimitBytes} bytes` }],
        [3, { malformed: `is longer than ${lineLimitBytes} bytes` }],
        [4, "end"]
      ])
    }
  })

  it("that never end cost no memory and are one malformed line", () => {
    const piece = Buffer.alloc(65_536, "x")
    const lines: Array<string> = []
    const splitter = makeLineSplitter({ line: (text) => lines.push(text), malformed: (reason) => lines.push(reason) })
    for (let i = 0; i < 100; i++) splitter.push(piece)
    assert.isFalse(splitter.end().terminated)
    assert.deepStrictEqual(lines, [`is longer than ${lineLimitBytes} bytes`])
  })

  const piece = Schema.Literals(["a", "é", "\u{1f4de}", "\n", "\r\n", "\r", "\u0000", "\xff", '"', ",", "\ufeff"])
  it.prop(
    "do not depend on where the pieces are cut",
    [Arbitrary.array(Arbitrary.schema(piece), { maxLength: 60 }), Arbitrary.array(Arbitrary.schema(Schema.Natural))],
    ([pieces, cuts]) => {
      const content = Buffer.concat(pieces.map((text) => (text === "\xff" ? Buffer.from([0xff]) : bytes(text))))
      const places = cuts.map((cut) => (content.length === 0 ? 0 : cut % content.length))
      assert.deepStrictEqual(split(content, places), split(content))
    }
  )
})
