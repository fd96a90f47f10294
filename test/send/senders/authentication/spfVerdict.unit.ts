/** Specifications of the sentences about SPF records: given a zone, when it is checked, then status and sentence. */
import { describe, expect, it } from "vitest"
import { parseRelaySpf } from "../../../../src/send/senders/authentication/relaySpf.ts"
import { domain, verdictsIn, type Zone } from "./zone.ts"

/** Given the domain's own record, and what else there is. */
const given = (record: string, more: Zone = {}, relay?: string) => {
  const relaySpf = relay === undefined ? undefined : parseRelaySpf(relay)!
  const then = (status: string, message: RegExp) => {
    const { spf } = verdictsIn({ [domain]: { texts: [record] }, ...more }, { relaySpf })
    expect([spf.status, spf.message]).toEqual([status, expect.stringMatching(message)])
    return spf
  }
  return { then }
}

const relayZone: Zone = { "spf.relay.example": { texts: ["v=spf1 ip4:203.0.113.0/24 -all"] } }
const includes = "include:spf.relay.example"

describe("a domain without one usable SPF record", () => {
  it("is told the record to set, with the relay where it is known", () => {
    const { spf } = verdictsIn({ [domain]: { texts: ["google-site-verification=1"] } })
    expect(spf).toMatchObject({ name: domain, status: "missing", advised: "v=spf1 mx ~all" })
    const known = verdictsIn({}, { relaySpf: parseRelaySpf(`${includes}, 203.0.113.7`)! }).spf
    expect(known.advised).toBe(`v=spf1 ${includes} ip4:203.0.113.7 ~all`)
    expect(known.message).toContain(known.advised)
  })

  it("is told that several are none", () => {
    const { spf } = verdictsIn({ [domain]: { texts: ["v=spf1 -all", "V=SPF1 mx -all"] } })
    expect(spf).toMatchObject({ status: "invalid", message: expect.stringContaining("several SPF records") })
  })

  it("is told that nobody answered, and not that nothing is there", () => {
    expect(verdictsIn({ [domain]: "silent" }).spf.status).toBe("unknown")
    given(`v=spf1 ${includes} -all`, { "spf.relay.example": "silent" }).then("unknown", /for spf\.relay\.example/)
  })

  it.each([
    ["v=spf1 ipv4:192.0.2.1 -all", "ipv4:192.0.2.1"],
    ["v=spf1 ip4:192.0.2.300 -all", "ip4:192.0.2.300"],
    ["v=spf1 ip4:192.0.2.0/33 -all", "ip4:192.0.2.0/33"],
    ["v=spf1 ip4:2001:db8::1 -all", "ip4:2001:db8::1"],
    ["v=spf1 ip6:2001:db8::/0129 -all", "ip6:2001:db8::/0129"],
    ["v=spf1 include -all", "include"],
    ["v=spf1 include:example -all", "include:example"],
    ["v=spf1 include:a..example -all", "include:a..example"],
    ["v=spf1 a/33 -all", "a/33"],
    ["v=spf1 all:x.example", "all:x.example"],
    ["v=spf1 mx\t-all", "mx?-all"],
    ["v=spf1 exists:%{z}.example -all", "exists:%{z}.example"],
    ["v=spf1 redirect=", "redirect="],
    ["v=spf1 redirect=a.example redirect=b.example", "redirect= twice"],
    ["v=spf1 - all", "-"]
  ])("is told the part that is not valid: %s", (record, part) =>
    expect(given(record).then("invalid", /not valid/).message).toContain(part))
})

describe("an SPF record", () => {
  it.each([
    "v=spf1 -all",
    "V=SPF1  MX  A:www.a.example/24//64 ~ALL ",
    "v=spf1 ip4:192.0.2.1 ip6:2001:db8::/32 -all",
    "v=spf1 ptr exists:%{ir}.%{l1r-}.rbl.a.example -all exp=why.a.example other=%{d}",
    "v=spf1 -all include:nowhere.example +all",
    `v=spf1 redirect=spf.relay.example.`
  ])("is as it should be: %s", (record) => {
    const there = { addresses: ["192.0.2.1"], mailHosts: ["mail.a.example"], texts: [record] }
    given(record, { ...relayZone, "www.a.example": there, [domain]: there }).then("pass", /as it should be/)
  })

  it("may need ten look-ups and not eleven, with those of the records that it includes", () => {
    const three = { texts: ["v=spf1 a:x.a.example a:x.a.example a:x.a.example ?all"] }
    const zone: Zone = { "t.a.example": three, "x.a.example": { addresses: ["192.0.2.1"] } }
    given("v=spf1 include:t.a.example include:t.a.example a:x.a.example ptr -all", zone).then("pass", /10 look-ups/)
    given("v=spf1 include:t.a.example include:t.a.example ptr ptr ptr -all", zone).then("invalid", /more than 10/)
    given("v=spf1 include:t.a.example include:t.a.example a:x.a.example ptr redirect=t.a.example", zone).then(
      "invalid",
      /more than 10/
    )
  })

  it("that includes itself needs too many", () => {
    given(`v=spf1 include:${domain} -all`).then("invalid", /more than 10/)
    given(`v=spf1 redirect=${domain}`).then("invalid", /more than 10/)
  })

  it("may look for two names that do not exist, and not for three", () => {
    given("v=spf1 a:x.a.example mx:x.a.example -all").then("pass", /2 look-ups/)
    given("v=spf1 a:x.a.example mx:x.a.example exists:x.a.example -all").then("invalid", /do not exist/)
  })

  it("names no included record that is missing, double or wrong", () => {
    given("v=spf1 include:gone.example -all").then("invalid", /refers to gone\.example/)
    given("v=spf1 redirect=gone.example").then("invalid", /refers to gone\.example/)
    given(`v=spf1 ${includes} -all`, { "spf.relay.example": { texts: ["v=spf1 spam"] } }).then(
      "invalid",
      /record of spf\.relay\.example is not valid/
    )
  })

  it("does not allow a name with more than ten mail hosts", () => {
    const mailHosts = Array.from({ length: 11 }, (_, at) => `m${at}.a.example`)
    given("v=spf1 mx:big.example -all", { "big.example": { mailHosts } }).then("invalid", /mail hosts of big\.example/)
  })

  it.each([
    "v=spf1 +all",
    "v=spf1 all",
    "v=spf1 ip4:0.0.0.0/0 -all",
    "v=spf1 include:open.example -all"
  ])("does not let everybody send: %s", (record) =>
    void given(record, { "open.example": { texts: ["v=spf1 all"] } }).then("invalid", /every server/))

  it.each(["v=spf1 mx", "v=spf1 mx ?all"])("should refuse somebody: %s", (record) =>
    void given(record, { [domain]: { texts: [record], mailHosts: ["mail.a.example"] } }).then("advice", /~all/))
})

describe("the relay", () => {
  it("is missing in a record that does not name it, and is put in", () => {
    const told = given("v=spf1 ip4:192.0.2.1 -all", relayZone, includes).then(
      "missing",
      /add "include:spf\.relay\.example"/
    )
    expect(told.advised).toBe(`v=spf1 ${includes} ip4:192.0.2.1 -all`)
    given(told.advised!, relayZone, includes).then("pass", /as it should be/)
  })

  it("is named directly, by an included record, or by the one that the record redirects to", () => {
    const zone = { ...relayZone, "all.a.example": { texts: [`v=spf1 ${includes} -all`] } }
    given("v=spf1 INCLUDE:SPF.relay.example. -all", zone, includes).then("pass", /./)
    given("v=spf1 include:all.a.example -all", zone, includes).then("pass", /./)
    given("v=spf1 redirect=all.a.example", zone, includes).then("pass", /./)
  })

  it("is not named behind all, by a refusal, or below one", () => {
    const zone = { ...relayZone, "all.a.example": { texts: [`v=spf1 ${includes} -all`] } }
    given(`v=spf1 -all ${includes}`, zone, includes).then("missing", /./)
    given(`v=spf1 -${includes} -all`, zone, includes).then("missing", /./)
    given("v=spf1 ?include:all.a.example -all", zone, includes).then("missing", /./)
  })

  it("is named by ranges that hold each of its own", () => {
    const relay = "203.0.113.64/26, ip6:2001:db8::7"
    given("v=spf1 ip4:203.0.113.0/24 ip6:2001:db8::/32 -all", {}, relay).then("pass", /./)
    given("v=spf1 ip4:203.0.113.64/27 ip6:2001:db8::/32 -all", {}, relay).then("missing", /./)
    given("v=spf1 ip4:203.0.113.0/24 -all", {}, relay).then("missing", /./)
    const host = { "out.a.example": { addresses: ["203.0.113.70", "2001:db8::7"] } }
    given("v=spf1 a:out.a.example/24 -all", host, relay).then("pass", /./)
    given("v=spf1 a:out.a.example -all", host, relay).then("missing", /./)
  })

  it("may be among hosts that nobody looks up here: that is advice", () => {
    given(`v=spf1 mx -all`, { [domain]: { texts: ["v=spf1 mx -all"], mailHosts: ["m.a.example"] } }, includes).then(
      "advice",
      /to be sure/
    )
  })

  it("belongs into the record of return paths, where mail has such", () => {
    const route = { relaySpf: parseRelaySpf(includes)!, returnPath: "bounces.example" }
    const { operators, spf } = verdictsIn({ [domain]: { texts: ["v=spf1 mx:m.example -all"] } }, route)
    expect(spf).toMatchObject({ name: domain, status: "pass" })
    expect(operators).toMatchObject({ name: "bounces.example", status: "missing" })
    expect(operators.message).toContain("The operator of this platform")
    expect(verdictsIn({}, route).spf).toMatchObject({ status: "advice", advised: `v=spf1 ${includes} ~all` })
    const whole = verdictsIn({ ...relayZone, "bounces.example": { texts: [`v=spf1 ${includes} -all`] } }, route)
    expect(whole.operators.status).toBe("pass")
  })

  it.each([
    "",
    "include:",
    "-include:spf.relay.example",
    "redirect=spf.relay.example",
    "include:%{d}.example",
    "mx"
  ])("is not %j", (text) => expect(parseRelaySpf(text)).toBeUndefined())
})
