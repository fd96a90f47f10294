/** Addresses of requests (docs/platform.md, 9.10), by example and beside the parser of RFC 5322. */
import { it as property } from "@effect/vitest"
import { Schema } from "effect"
import emailAddresses from "email-addresses"
import { describe, expect, it } from "vitest"
import { isSimulator, readAddress } from "../../../src/send/emails/addresses.ts"

describe("an address", () => {
  it.each([
    ["ann@one.test", "ann@one.test", "one.test"],
    [" ann@one.test ", "ann@one.test", "one.test"],
    ["<ann@one.test>", "ann@one.test", "one.test"],
    ["Ann <ann@one.test>", "Ann <ann@one.test>", "one.test"],
    ["Ann<ann@one.test>", "Ann <ann@one.test>", "one.test"],
    ["Änn Müller <a@b.com>", "Änn Müller <a@b.com>", "b.com"],
    ["😀 Party <a@b.com>", "😀 Party <a@b.com>", "b.com"],
    ['"Acme, Inc. (Sales)" <a@b.com>', '"Acme, Inc. (Sales)" <a@b.com>', "b.com"],
    ['"a \\"b\\"" <a@b.com>', '"a \\"b\\"" <a@b.com>', "b.com"],
    ["O'Brien <o'brien+1@b.com>", "O'Brien <o'brien+1@b.com>", "b.com"],
    ["Acme Inc. <a@b.com>", "Acme Inc. <a@b.com>", "b.com"],
    ["Dr. Ann O'Neil <a@b.com>", "Dr. Ann O'Neil <a@b.com>", "b.com"],
    ["J.R. Ünal . <a@b.com>", "J.R. Ünal . <a@b.com>", "b.com"],
    ["Ann@ONE.Test", "Ann@one.test", "one.test"],
    ["a@exämple.com", "a@xn--exmple-cua.com", "xn--exmple-cua.com"],
    ["a@ｂ.com", "a@b.com", "b.com"],
    ["a@mail.one.co.uk", "a@mail.one.co.uk", "mail.one.co.uk"]
  ])("%s is kept as %s", (given, text, domain) => {
    expect(readAddress(given)).toEqual({ text, domain })
  })

  it.each([
    "",
    "ann",
    "@one.test",
    "ann@",
    "ann@one",
    "ann@@one.test",
    "ann@one..test",
    "ann@one.test.",
    "ann@-one.test",
    "ann@one_two.test",
    "ann@co.uk",
    "ann@127.0.0.1",
    "ann@[127.0.0.1]",
    ".ann@one.test",
    "ann.@one.test",
    '"a b"@one.test',
    '"ann"@one.test',
    "änn@one.test",
    "ann@one.test, bob@two.test",
    "Friends: ann@one.test;",
    "Ann (at work) <ann@one.test>",
    "Acme, Inc. <ann@one.test>",
    "Ann <ann@one.test> x",
    "Ann <ann@one.test",
    "Ann\r\nBcc: x <ann@one.test>",
    "ann@one.test\r\nBcc: x@two.test",
    "ann@one.test\nx",
    "An\0n <ann@one.test>",
    "Ann\u2028 <ann@one.test>",
    "\u202emoc.live <ann@one.test>",
    "\ud800 <ann@one.test>",
    `${"a".repeat(65)}@one.test`,
    `a@${"b".repeat(64)}.test`,
    `a@${"b.".repeat(125)}test`,
    `${"x".repeat(400)} <ann@one.test>`,
    `${"(".repeat(150)}ann@one.test`
  ])("%j is none", (given) => {
    expect(readAddress(given)).toBeUndefined()
  })

  it("of the simulator is known by its domain", () => {
    expect(
      ["delivered+1@simulator.invalid", "a@simulator.invalid.test"].map((one) => isSimulator(readAddress(one)!))
    ).toEqual([true, false])
  })
})

const pieces = ["a", "B1", "ä", "😀", " ", ".", '"x, y"', "@", "<", '"', "\\", "'", "+", "(", ",", ":"] as const
const Pieces = Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(4))
const Domain = Schema.Literals(["b.com", "two.test", "mail.one.co.uk", "b", "b..com"])

describe("[platform 9.10] an address that is read", () => {
  let count = 0

  property.prop(
    "is one to the parser of RFC 5322 too, with the same parts",
    [Pieces, Pieces, Domain, Schema.Boolean],
    ([name, local, domain, isBare]) => {
      const address = `${local.join("")}@${domain}`
      const given = isBare ? address : `${name.join("")} <${address}>`
      const read = readAddress(given)
      if (read === undefined) return
      count++
      // A dot in a name is of the older grammar, which the parser knows where it is not strict.
      const strict = isBare || !name.includes(".")
      const parsed = emailAddresses({ input: given, oneResult: true, strict, rfc6532: true })
      // With `oneResult` it answers the one address.
      const mailbox = parsed as unknown as emailAddresses.ParsedMailbox | null
      expect([given, mailbox?.type, mailbox?.domain]).toEqual([given, "mailbox", read.domain])
      expect(read.text === mailbox!.address || read.text.endsWith(` <${mailbox!.address}>`), given).toBe(true)
    },
    { arbitrary: { runs: 2_000 } }
  )

  it("was one of the texts above now and then", () => {
    expect(count).toBeGreaterThan(20)
  })
})
