/** Requests for portals, and the patterns that a portal allows (docs/platform.md, 6.14). */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { catalogue, matchesAny, parsePatterns, patternsBeyond } from "../../../src/events/index.ts"
import type { Principal } from "../../../src/platform/model.ts"
import { defaultPortalTypes, portalOf, portalPatternsProblem } from "../../../src/webhooks/http/portal.ts"

const now = Date.UTC(2026, 0, 1)
const hourMillis = 3_600_000

describe("a request for a portal", () => {
  it("lasts 8 hours by default, and 24 at most", () => {
    const end = (expiresAt?: number) =>
      Result.getOrUndefined(portalOf({ label: "ann", ...(expiresAt === undefined ? {} : { expiresAt }) }, now))
        ?.expiresAtMillis
    expect(end()).toBe(now + 8 * hourMillis)
    expect(end(now + 1)).toBe(now + 1)
    expect(end(now + 24 * hourMillis)).toBe(now + 24 * hourMillis)
    for (const expiresAt of [now, now - 1, now + 24 * hourMillis + 1, 0, -1, Number.MAX_SAFE_INTEGER])
      expect(end(expiresAt), String(expiresAt)).toBeUndefined()
  })

  it("names the fault of its types", () => {
    for (const types of [[], ["nobody.*"], ["telco"], Array.from({ length: 51 }, () => "*")]) {
      const { message } = Result.getOrThrow(Result.flip(portalOf({ label: "ann", types }, now)))
      expect(message).not.toContain("enabled_events")
    }
  })

  it("allows no event of the platform itself by default", () => {
    const patterns = Result.getOrThrow(parsePatterns(defaultPortalTypes))
    for (const [type, { service }] of Object.entries(catalogue))
      expect(matchesAny(patterns, { type, service }), type).toBe(service !== "platform")
  })
})

describe("the patterns of a portal's endpoint", () => {
  it.each([
    [["*"], ["*", "telco.*", "platform.webhook.paused"], []],
    [["telco.*"], ["telco.*", "telco.lookup.*", "telco.lookup.completed"], []],
    [["telco.*"], ["*", "send.*", "platform.*", "telco.lookup.completed"], ["*", "send.*", "platform.*"]],
    [
      ["telco.lookup.*"],
      ["telco.*", "telco.lookups.completed", "telco.lookup.completed"],
      ["telco.*", "telco.lookups.completed"]
    ],
    [["telco.lookup.completed"], ["telco.lookup.*", "telco.lookup.completed"], ["telco.lookup.*"]],
    [["send.email.sent", "talk.*"], ["send.email.sent", "talk.*", "send.email.*"], ["send.email.*"]],
    // All events of the platform have other beginnings too.
    [["platform.webhook.*"], ["platform.*"], ["platform.*"]],
    [[], ["telco.*"], ["telco.*"]]
  ])("that allows %j: of %j it refuses %j", (allowed, given, beyond) => {
    expect(patternsBeyond(allowed, given)).toEqual(beyond)
  })

  it("match no event that none of the allowed ones matches", () => {
    const texts = [
      "*",
      ...new Set(
        Object.keys(catalogue).flatMap((type) => {
          const parts = type.split(".")
          return [type, ...parts.slice(1).map((_, at) => `${parts.slice(0, at + 1).join(".")}.*`)]
        })
      )
    ]
    const parsed = new Map(texts.map((text) => [text, Result.getOrThrow(parsePatterns([text]))]))
    let allowing = 0
    for (const allowed of texts)
      for (const given of texts) {
        if (patternsBeyond([allowed], [given]).length > 0) continue
        allowing++
        for (const [type, { service }] of Object.entries(catalogue))
          if (matchesAny(parsed.get(given)!, { type, service }))
            expect(matchesAny(parsed.get(allowed)!, { type, service }), `${allowed} allows ${given}`).toBe(true)
      }
    // Each allows itself, and `*` all of them.
    expect(allowing).toBeGreaterThan(2 * texts.length - 2)
  })

  it("are bounded for a portal's session, and for nobody else", () => {
    const principal: Principal = {
      keyId: "key_1",
      organizationId: "org_1",
      mode: "live",
      plan: "team",
      sendPlan: "pro",
      services: new Set(),
      scopes: new Set(["*"]),
      expiresAtMillis: null
    }
    const session = { id: "ses_1", keyEndsAtMillis: null }
    expect(portalPatternsProblem(principal, ["*"])).toBeUndefined()
    expect(portalPatternsProblem({ ...principal, session }, ["*"])).toBeUndefined()
    const portal = { ...principal, session: { ...session, portal: { label: "ann", types: ["telco.*"] } } }
    expect(portalPatternsProblem(portal, ["telco.search.completed"])).toBeUndefined()
    expect(portalPatternsProblem(portal, ["telco.*", "*"])).toMatchObject({ field: "enabled_events" })
  })
})
