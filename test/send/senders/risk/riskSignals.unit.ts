/** Signals of a higher risk at sign-up and in the name of a domain, each alone and beside its innocent neighbour. */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { domainToASCII } from "node:url"
import { gunzipSync } from "node:zlib"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  domainSignals,
  type MailHosts,
  RiskSignals,
  type RiskSignalsOptions,
  riskOf,
  type SignUp,
  signUpSignals
} from "../../../../src/send/index.ts"

const signals = (options: RiskSignalsOptions & { readonly mailHosts?: ReadonlyMap<string, MailHosts> } = {}) =>
  Effect.provide(RiskSignals, RiskSignals.layerMemory(options))

const ofSignUp = (email: string | null, more: Partial<SignUp> = {}) =>
  Effect.flatMap(signals(), (risk) => risk.ofSignUp({ email, earlierOfDomain: () => Effect.succeed(0), ...more }))

const ofDomain = (domain: string, options: Parameters<typeof signals>[0] = {}) =>
  Effect.flatMap(signals(options), (risk) => risk.ofDomain(domain, "org_1"))

describe("[send 2.7] a sign-up", () => {
  it.effect.each([
    ["ann@gmail.com", ["free_address"]],
    ["Ann@GMAIL.com", ["free_address"]],
    ["ann@gmx.de", ["free_address"]],
    ["ann@mailinator.com", ["disposable_address"]],
    ["ann@box.mailinator.com", ["disposable_address"]],
    ["ann@yopmail.com", ["disposable_address"]],
    // A suffix that many share is on the list itself.
    ["ann@acme.net.ua", []],
    ["ann@acme.test", []],
    ["ann@notgmail.com", []],
    ["ann@gmail.com.acme.test", []],
    ["ann@localhost", []],
    [null, []]
  ] as const)("with the address %s has the signals %j", ([email, expected]) =>
    Effect.map(ofSignUp(email), (found) => assert.deepStrictEqual(found, expected))
  )

  it.effect("is the third of its address's domain, and the operator's word counts beside", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const earlier = (count: number) => ({
        earlierOfDomain: (domain: string) =>
          Effect.sync(() => {
            asked.push(domain)
            return count
          })
      })
      assert.deepStrictEqual(yield* ofSignUp("a@Bücher.test", earlier(1)), [])
      assert.deepStrictEqual(yield* ofSignUp("a@Bücher.test", earlier(2)), ["same_domain"])
      assert.deepStrictEqual(asked, ["xn--bcher-kva.test", "xn--bcher-kva.test"])
      assert.deepStrictEqual(yield* ofSignUp("a@gmail.com", { ...earlier(2), declared: "higher" }), [
        "declared",
        "free_address",
        "same_domain"
      ])
      assert.deepStrictEqual(yield* ofSignUp(null, { ...earlier(9), declared: "higher" }), ["declared"])
      assert.deepStrictEqual(yield* ofSignUp("a@one.test", { declared: "standard" }), [])
    })
  )

  it.effect("fails where the earlier ones cannot be counted", () =>
    Effect.gen(function* () {
      const risk = yield* signals()
      const failed = yield* Effect.flip(
        risk.ofSignUp({ email: "a@one.test", earlierOfDomain: () => Effect.fail("away") })
      )
      assert.strictEqual(failed, "away")
    })
  )
})

describe("a domain", () => {
  it.effect.each([
    ["one.top", ["top_level_domain"]],
    ["ONE.XYZ", ["top_level_domain"]],
    ["top.com", []],
    // Cyrillic а among Latin letters, whole words of a script, and Japanese.
    ["p\u0430ypal.com", ["mixed_scripts"]],
    [domainToASCII("p\u0430ypal.com"), ["mixed_scripts"]],
    ["яндекс.com", []],
    ["bücher-24.de", []],
    ["日本語のドメイン.jp", []],
    ["日本googleです.jp", []],
    ["αβγ-abc.com", ["mixed_scripts"]],
    ["shop.γ日.com", ["mixed_scripts"]],
    ["한국hangul.kr", []],
    ["กa.com", ["mixed_scripts"]]
  ] as const)("called %s has the signals %j", ([domain, expected]) =>
    Effect.map(ofDomain(domain), (found) => assert.deepStrictEqual(found, expected))
  )

  it.effect.each([
    ["acme-bank.com", true],
    ["acmebank.com", false],
    ["login.acme.test", true],
    ["acmeology.com", false],
    ["my-paypal-login.com", true],
    ["mypaypallogin.com", true],
    ["pay-pal.com", true],
    ["paypa1.com", true],
    ["pаypal.com", true],
    ["PÁYPAL.com", true],
    ["paypax.com", false]
  ] as const)("called %s has a word of a brand: %s", ([domain, expected]) =>
    Effect.map(ofDomain(domain, { brandWords: ["Acme", "PayPal"] }), (found) =>
      assert.strictEqual(found.includes("brand_word"), expected)
    )
  )

  it.effect("for which nobody takes mail has a signal; one of which nothing is known has none", () =>
    Effect.gen(function* () {
      const mailHosts = new Map<string, MailHosts>([
        ["none.test", "none"],
        ["some.test", "some"],
        ["unknown.test", "unknown"]
      ])
      const found = yield* Effect.forEach(["none.test", "some.test", "unknown.test", "else.test"], (domain) =>
        ofDomain(domain, { mailHosts })
      )
      assert.deepStrictEqual(found, [["no_mail_host"], [], [], []])
    })
  )

  it.effect("has all its signals in the order of their list", () =>
    Effect.map(
      ofDomain("pаypal-1.top", {
        brandWords: ["paypal"],
        mailHosts: new Map([
          ["xn--pypal-1-2fg.top", "none"],
          [domainToASCII("pаypal-1.top"), "none"]
        ])
      }),
      (found) => assert.deepStrictEqual(found, [...domainSignals])
    )
  )
})

describe("signals", () => {
  it("[platform 9.8] make a higher risk, each alone", () => {
    expect(riskOf([])).toBe("standard")
    for (const signal of [...signUpSignals, ...domainSignals]) expect(riskOf([signal])).toBe("higher")
  })

  it("of free addresses come from the list that the notice names", () => {
    const folder = new URL("../../../../src/send/data/", import.meta.url)
    const unpacked = gunzipSync(readFileSync(new URL("free-email-domains.json.gz", folder)))
    expect(readFileSync(new URL("NOTICE", folder), "utf8")).toContain(hash("sha256", unpacked))
    expect(JSON.parse(unpacked.toString("utf8")).length).toBeGreaterThan(14_000)
  })
})
