/** The table of email states agrees with the document that shows it, and with the catalogue of events. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { isCatalogued } from "../../../src/events/index.ts"
import {
  emailStateTable,
  firstStates,
  lastEventOf,
  lastStates,
  shownStates
} from "../../../src/send/rules/emailStates.ts"

const document = readFileSync(new URL("../../../docs/platform/send.md", import.meta.url), "utf8")

/** The rows of the document's table: states, and the name that Resend's API has for them. */
const documented = new Map(
  [...document.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (`\w+`|the same) \| [^|]+ \|$/gm)].flatMap(([, states, last]) =>
    [...states!.matchAll(/`(\w+)`/g)].map(
      ([, state]) => [state!, last === "the same" ? state! : last!.slice(1, -1)] as const
    )
  )
)

describe("the states of an email", () => {
  it.each(shownStates.map((state) => [state]))("[9.11] %s has the document's name in Resend's API", (state) => {
    expect(documented.get(state)).toBe(lastEventOf(state))
  })

  it("[9.11] begin with an acceptance, and end before reports of recipients", () => {
    expect(firstStates).toEqual(["queued", "held", "scheduled", "suppressed"])
    expect([...lastStates]).toEqual(["suppressed", "canceled", "sent", "failed", "bounced"])
  })

  it("[5.2] have events of the catalogue", () => {
    for (const state of shownStates) {
      const { event } = emailStateTable[state]
      if (event !== null) expect(isCatalogued(event), event).toBe(true)
    }
  })
})
