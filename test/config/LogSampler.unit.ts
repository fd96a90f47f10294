/** Which of many equal log lines are written, beside a model that remembers every line. */
import { it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { describe, expect, it as plain } from "vitest"
import { LogSampler, otherKind } from "../../src/config/LogSampler.ts"

const limits = { lines: 2, windowMillis: 100, kinds: 3 }

const step = Schema.Union([
  Schema.Struct({ line: Schema.Literals(["a", "b", "c"]), after: Schema.Literals([0, 1, 49, 50, 100, 250]) }),
  Schema.Struct({ line: Schema.Literal("due"), after: Schema.Literals([0, 1, 100]) })
])

/** Every line with its time; windows are counted anew from the first line each time. */
const naively = (
  lines: ReadonlyArray<{ readonly kind: string; readonly at: number; readonly isForgotten: boolean }>
) => {
  const last = lines.at(-1)!
  let start: number | undefined
  let written = 0
  let isWritten = false
  for (const { at, isForgotten, kind } of lines) {
    if (kind !== last.kind) continue
    if (start === undefined || isForgotten || at - start >= limits.windowMillis) {
      start = at
      written = 0
    }
    isWritten = written < limits.lines
    written++
  }
  return isWritten
}

describe("of equal log lines", () => {
  it.prop(
    "the first of each window are written, and every other one is counted once",
    { steps: Arbitrary.array(Arbitrary.schema(step), { maxLength: 60 }) },
    ({ steps }) => {
      const sampling = new LogSampler(limits)
      const lines: Array<{ kind: string; at: number; isForgotten: boolean }> = []
      const counted = new Map<string, number>()
      const leftOut = new Map<string, number>()
      let now = 1_000
      const tell = () => {
        for (const { count, kind } of sampling.due(now)) counted.set(kind, (counted.get(kind) ?? 0) + count)
      }
      for (const { after, line } of steps) {
        now += after
        if (line === "due") {
          tell()
          continue
        }
        lines.push({ kind: line, at: now, isForgotten: false })
        const isWritten = sampling.take(line, now)
        expect(isWritten).toBe(naively(lines))
        if (!isWritten) leftOut.set(line, (leftOut.get(line) ?? 0) + 1)
      }
      tell()
      expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(leftOut))
    }
  )

  plain("given a flood, when it has ended, then what was left out is told once", () => {
    const sampling = new LogSampler(limits)
    const written = Array.from({ length: 1_000 }, () => sampling.take("a", 0)).filter(Boolean)
    expect(written).toHaveLength(2)
    expect(sampling.due(50)).toEqual([{ kind: "a", count: 998 }])
    expect(sampling.due(200)).toEqual([])
    expect(sampling.take("a", 201)).toBe(true)
  })

  plain("given more kinds than are told apart, when another one comes, then it is one of the others", () => {
    const sampling = new LogSampler(limits)
    for (const kind of ["a", "b", "c"]) expect(sampling.take(kind, 0)).toBe(true)
    expect([sampling.take("d", 0), sampling.take("e", 0), sampling.take("f", 0)]).toEqual([true, true, false])
    expect(sampling.due(0)).toEqual([{ kind: otherKind, count: 1 }])
  })
})
