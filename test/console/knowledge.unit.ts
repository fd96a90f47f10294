/** The console's words for how things are, beside a rule that looks at every case. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { knowledgeOf, type Source } from "../../src/console/knowledge.ts"

const loading: Source = { data: undefined, error: undefined, isLoading: true }
const there: Source = { data: [], error: undefined, isLoading: false }
const failed: Source = { data: undefined, error: "away", isLoading: false }
/** Its last answer is still shown. */
const stale: Source = { data: [], error: "away", isLoading: false }
/** The key may not ask for it. */
const unasked: Source = { data: undefined, error: undefined, isLoading: false }
const again: Source = { data: [], error: undefined, isLoading: true }

describe("how things are", () => {
  it.each([
    [[there, there], true, 0, "well"],
    [[there, unasked], true, 0, "well"],
    [[there, again], true, 0, "well"],
    [[there, loading], true, 0, "loading"],
    [[there, there], undefined, 0, "loading"],
    [[there, failed], true, 0, "unknown"],
    [[there, stale], true, 0, "unknown"],
    [[loading, failed], undefined, 0, "unknown"],
    [[there, there], false, 0, "unknown"],
    [[failed, there], false, 1, "alarms"]
  ] as const)("%j, ready %s, %s alarms: %s", (sources, isReady, alarms, known) => {
    expect(knowledgeOf(sources, isReady, alarms)).toBe(known)
  })

  const source = Arbitrary.schema(Schema.Literals(["loading", "there", "failed", "stale", "unasked", "again"]))
  const named = { loading, there, failed, stale, unasked, again }
  property.prop(
    "is well only where everything that is asked has answered last",
    { sources: Arbitrary.array(source), ready: Arbitrary.schema(Schema.Literals(["yes", "no", "?"])) },
    ({ ready, sources }) => {
      const isReady = ready === "?" ? undefined : ready === "yes"
      const known = knowledgeOf(
        sources.map((name) => named[name]),
        isReady,
        0
      )
      expect(known === "well").toBe(
        ready === "yes" && sources.every((name) => ["there", "unasked", "again"].includes(name))
      )
    }
  )
})
