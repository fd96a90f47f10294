/** Return paths: what they name comes back, nobody else can make one, and mail systems can carry them. */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { readVerp, verpOf } from "../../../../src/send/index.ts"

const key = Buffer.alloc(32, 7)
const digits = "abcdefghijklmnopqrstuvwxyz234567"

const Text = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,32}$/))
const Uuid = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/))
const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
const runs = { arbitrary: { runs: 200 } }

const tokenOf = (address: string): string => address.slice("bounce+".length, address.lastIndexOf("@"))

describe("[send 2.10] a return path", () => {
  it.prop(
    "names the email and the recipient, however mail systems write it",
    [Schema.Union([Text, Uuid]), Index],
    ([emailId, recipientIndex]) => {
      const target = { emailId, recipientIndex }
      const address = verpOf(target, "bounce.example.com", key)
      expect(address).toMatch(/^bounce\+[a-z2-7]+@bounce\.example\.com$/)
      expect(address.lastIndexOf("@")).toBeLessThanOrEqual(64)
      expect(readVerp(address, key)).toEqual(target)
      expect(readVerp(address.toUpperCase(), key)).toEqual(target)
    },
    runs
  )

  it.prop(
    "with one digit changed, left out, added or moved names nothing",
    [Schema.Union([Text, Uuid]), Index, Place, Place],
    ([emailId, recipientIndex, place, other]) => {
      const token = tokenOf(verpOf({ emailId, recipientIndex }, "example.com", key))
      const at = place % token.length
      const digit = digits[(digits.indexOf(token[at]!) + 1 + (other % 31)) % 32]!
      const forged = [
        `${token.slice(0, at)}${digit}${token.slice(at + 1)}`,
        `${token.slice(0, at)}${token.slice(at + 1)}`,
        `${token.slice(0, at)}${digit}${token.slice(at)}`,
        `${token}${digit}`
      ]
      for (const one of forged) expect(readVerp(`bounce+${one}@example.com`, key)).toBeNull()
    },
    runs
  )

  it.prop(
    "of another key names nothing",
    [Text, Index],
    ([emailId, recipientIndex]) => {
      const address = verpOf({ emailId, recipientIndex }, "example.com", key)
      expect(readVerp(address, Buffer.alloc(32, 8))).toBeNull()
    },
    runs
  )

  it.prop("that was drawn names nothing", [Schema.String], ([text]) => {
    expect(readVerp(text, key)).toBeNull()
    expect(readVerp(`bounce+${text}@example.com`, key)).toBeNull()
  })

  it("made of drawn digits of every length names nothing", () => {
    for (let length = 0; length <= 60; length++) {
      const token = [...randomBytes(length)].map((byte) => digits[byte % 32]).join("")
      expect(readVerp(`bounce+${token}@example.com`, key)).toBeNull()
    }
  })

  it("is the same for the same target, as it was in the first version", () => {
    expect(
      verpOf({ emailId: "em_5pVbXq2nLr8sWc1yTzKd3M", recipientIndex: 3 }, "example.com", key)
    ).toMatchInlineSnapshot(`"bounce+hu37zuvlnpk3jzox4wfttlsj4zj3xgaga6wruqn3a6fxlevs@example.com"`)
  })

  it.each([
    ["", 0, key],
    ["a b", 0, key],
    ["é", 0, key],
    ["x".repeat(33), 0, key],
    ["x", -1, key],
    ["x", 256, key],
    ["x", 0.5, key],
    ["x", 0, Buffer.alloc(15)]
  ])("is not made for the email %j, the recipient %d and the key %o", (emailId, recipientIndex, given) => {
    expect(() => verpOf({ emailId, recipientIndex }, "example.com", given)).toThrow(/must/)
  })
})
