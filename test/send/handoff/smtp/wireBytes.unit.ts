/** The final bytes of a mail: ends of lines, short lines, and nothing else changed. */
import { describe, expect, it } from "vitest"
import { wireBytes } from "../../../../src/send/handoff/smtp/wireBytes.ts"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"

const wire = (text: string): string => wireBytes(Buffer.from(text, "latin1")).toString("latin1")

describe("[handoff 2.3] final bytes", () => {
  it.each([
    ["a: b\n\nx\ry\r\r\nz", "a: b\r\n\r\nx\r\ny\r\n\r\nz\r\n"],
    ["a: b\r\n\r\nx\r\n", "a: b\r\n\r\nx\r\n"]
  ])("end each line in CRLF: %j", (given, expected) => {
    expect(wire(given)).toBe(expected)
  })

  it("fold a header at its last blank, else where it must be, and break a line of a body", () => {
    const words = `a: ${"word ".repeat(300)}`
    const lines = wire(`${words}\nx: ${"y".repeat(1_500)}\n\n${"z".repeat(2_000)}`).split("\r\n")
    expect(lines.map((line) => line.length)).toEqual([997, 506, 2, 998, 504, 0, 998, 998, 4, 0])
    expect(lines[1]!.startsWith(" ")).toBe(true)
    expect(lines.slice(3, 5).every((line) => line.startsWith(" y"))).toBe(true)
  })

  it("have no line that is too long, whatever the text, and are the same when made again", () => {
    const prng = new Prng(7, "wire bytes")
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: prng.int(0, 30) }, () => {
        const part = ["\r", "\n", "\r\n", " ", "a: ", "\t", "\xe9"][prng.int(0, 6)]!
        return prng.chance(0.2) ? "x".repeat(prng.int(1, 1_200)) : part
      }).join("")
      const made = wire(text)
      const lines = made.split("\r\n")
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(998)
      expect(lines.some((line) => /[\r\n]/.test(line))).toBe(false)
      expect(made.endsWith("\r\n")).toBe(true)
      expect(wire(made)).toBe(made)
      expect(made.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""))
    }
  })
})
