/** Names of domains, the records that they need, and what a look at those makes of a domain. */
import { describe, expect, it } from "vitest"
import { normalizedAddress } from "../../../../src/send/senders/addresses/model.ts"
import { afterCheck } from "../../../../src/send/senders/domains/checkResult.ts"
import { hasDkim, hasOwnership, type Seen, shownRecords } from "../../../../src/send/senders/domains/dnsRecords.ts"
import {
  checkingMillis,
  firstCheckMillis,
  longestCheckMillis,
  recheckMillis
} from "../../../../src/send/senders/domains/limits.ts"
import { type Domain, statusOf } from "../../../../src/send/senders/domains/model.ts"
import { normalizedDomain } from "../../../../src/send/senders/domains/normalizedDomain.ts"

const begun = Date.UTC(2026, 0, 1)

const domain: Domain = {
  organizationId: "org_a",
  mode: "live",
  id: "dom_a",
  name: "a.example",
  region: null,
  token: "token",
  selector: "sluice-a",
  publicKey: "MIIB+/=",
  stage: "pending",
  proof: null,
  records: { ownership: "pending", dkim: "pending" },
  authentication: null,
  createdAt: begun,
  verifiedAt: null,
  checkedAt: null,
  checkAt: begun + firstCheckMillis,
  checks: 0,
  checksSince: begun
}

const seen = (ownership: Seen, dkim: Seen) => ({ ownership, dkim })

/** A life of looks, each when it is due, until none is. */
const pausesOf = (first: Domain, answer: Seen): { readonly pauses: ReadonlyArray<number>; readonly last: Domain } => {
  const pauses: Array<number> = []
  let current = first
  for (let now = current.checkAt; now !== null && pauses.length < 1_000; now = current.checkAt) {
    current = { ...current, ...afterCheck(current, seen(answer, answer), now) }
    if (current.checkAt !== null) pauses.push(current.checkAt - now)
  }
  return { pauses, last: current }
}

describe("a name", () => {
  it.each([
    ["Example.COM", "example.com"],
    ["example.com.", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["a.b-c.example", "a.b-c.example"]
  ])("%s is kept as %s", (given, kept) => expect(normalizedDomain(given)).toBe(kept))

  it.each([
    "",
    ".",
    "com",
    "-a.example",
    "a-.example",
    "a..example",
    "a_b.example",
    "a b.example",
    "http://a.example",
    "a.example/",
    "a.example:25",
    "ann@a.example",
    "%61.example",
    "127.1",
    "192.0.2.1",
    "[::1]",
    "a.example\u0000",
    `${"a".repeat(64)}.example`,
    "a.".repeat(120).concat("example")
  ])("%j is none of a domain", (given) => expect(normalizedDomain(given)).toBeUndefined())

  it.each([
    ["Ann@Example.com", "ann@example.com"],
    ["a+b.c@bücher.example", "a+b.c@xn--bcher-kva.example"]
  ])("%s is kept as the address %s", (given, kept) => expect(normalizedAddress(given)).toBe(kept))

  it.each([
    "ann",
    "@a.example",
    '"a"@a.example',
    "a@b@a.example",
    ".a@a.example",
    "a.@a.example",
    `${"a".repeat(65)}@a.example`
  ])("%j is no address", (given) => expect(normalizedAddress(given)).toBeUndefined())
})

describe("a record", () => {
  const [ownership, dkim] = shownRecords(domain, domain.records, "v=spf1 mx ~all")

  it("is found among others, in several strings, with blanks, and with tags of the owner's", () => {
    expect(hasOwnership(domain, [["v=spf1 -all"], [ownership!.value.slice(0, 9), ownership!.value.slice(9)]])).toBe(
      true
    )
    expect(hasDkim(domain, [[dkim!.value]])).toBe(true)
    expect(hasDkim(domain, [["v=DKIM1;k=rsa; t=s ; p=MII", "B+/ ="]])).toBe(true)
    expect(hasDkim(domain, [["p=MIIB+/="]])).toBe(true)
  })

  it("of another token, key or kind of key is not it", () => {
    expect(hasOwnership(domain, [["sluice-verification=other"], ["sluice-verification=token2"], []])).toBe(false)
    expect(hasDkim(domain, [["v=DKIM1; k=rsa; p=MIIB"], ["v=DKIM1; k=rsa; p="], ["k=ed25519; p=MIIB+/="]])).toBe(false)
    expect(hasDkim(domain, [["v=DKIM2; p=MIIB+/="], ["nothing"], []])).toBe(false)
  })
})

describe("a look", () => {
  it("verifies a domain that has both records, and no other", () => {
    expect(afterCheck(domain, seen("found", "found"), begun)).toEqual({
      stage: "verified",
      records: { ownership: "verified", dkim: "verified" },
      checkedAt: begun,
      checkAt: begun + recheckMillis,
      checks: 0
    })
    for (const one of ["missing", "unknown"] as const)
      expect(afterCheck(domain, seen("found", one), begun)).toMatchObject({
        stage: "pending",
        records: { ownership: "verified", dkim: "pending" }
      })
  })

  it("comes after twice the pause each time, hourly at last, for three days", () => {
    const { last, pauses } = pausesOf(domain, "missing")
    expect(pauses.slice(0, 7)).toEqual([1, 2, 4, 8, 16, 32, 60].map((minutes) => minutes * firstCheckMillis))
    expect(new Set(pauses.slice(6))).toEqual(new Set([longestCheckMillis]))
    expect([last.stage, last.records, last.checkAt]).toEqual(["failed", { ownership: "failed", dkim: "failed" }, null])
    expect(last.checkedAt! - begun).toBeGreaterThanOrEqual(checkingMillis)
    expect(last.checkedAt! - begun).toBeLessThanOrEqual(checkingMillis + longestCheckMillis)
  })

  it("at a verified domain never takes it back, tells what is lost, and soon looks again", () => {
    const verified: Domain = { ...domain, ...afterCheck(domain, seen("found", "found"), begun), proof: "dns" }
    const later = begun + 100 * recheckMillis
    const lost: Domain = { ...verified, ...afterCheck(verified, seen("missing", "found"), later) }
    expect([statusOf(lost), lost.records.ownership, lost.checkAt]).toEqual([
      "partially_failed",
      "temporary_failure",
      later + firstCheckMillis
    ])
    const found = { ...lost, ...afterCheck(lost, seen("found", "found"), later + firstCheckMillis) }
    expect([statusOf(found), found.checkAt! - found.checkedAt!]).toEqual(["verified", recheckMillis])
  })

  it("without an answer changes no record", () => {
    const verified: Domain = { ...domain, ...afterCheck(domain, seen("found", "found"), begun), proof: "dns" }
    expect(afterCheck(verified, seen("unknown", "unknown"), begun + 1)).toMatchObject({
      stage: "verified",
      records: verified.records,
      checkAt: begun + 1 + recheckMillis
    })
  })

  it("at a domain that an operator vouched for loses nothing that was never there", () => {
    const vouched: Domain = { ...domain, stage: "verified", proof: "unchecked" }
    const after: Domain = { ...vouched, ...afterCheck(vouched, seen("missing", "missing"), begun) }
    expect([statusOf(after), after.records.dkim]).toEqual(["verified", "pending"])
  })
})
