/** Sealing of signing secrets: what opens again, what does not, and the forms in which keys are given. */
import { createDecipheriv, randomBytes } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { parseSecretsKeys, type SecretsKeys, seal, unseal } from "../../src/common/secretsKeys.ts"

const keysOf = (...texts: ReadonlyArray<string>): SecretsKeys => parseSecretsKeys(texts.join(","))!
const bytes = randomBytes(32)
const one = bytes.toString("base64")
const other = randomBytes(32).toString("hex")

describe("keys", () => {
  it("are 32 bytes in base64, base64url or hexadecimal: the same bytes are the same key", () => {
    const forms = [one, one.slice(0, -1), bytes.toString("base64url"), bytes.toString("hex")]
    expect(new Set(forms.map((form) => keysOf(form)[0].id)).size).toBe(1)
    expect(keysOf(` ${one} , ${other} `).map(({ id }) => id)).toEqual([keysOf(one)[0].id, keysOf(other)[0].id])
  })

  it.each([
    "",
    ",",
    `${one},`,
    "password",
    one.slice(1),
    `${one}AAAA`,
    other.slice(2),
    `${other}00`,
    "é".repeat(43)
  ])("%s is none", (text) => expect(parseSecretsKeys(text)).toBeUndefined())

  it("have an id that tells nothing of them", () => {
    const [{ id }] = keysOf(one)
    expect(id).toMatch(/^[0-9a-f]{8}$/)
    expect(bytes.toString("hex")).not.toContain(id)
  })
})

describe("a sealed secret", () => {
  const text = Arbitrary.schema(Schema.String)

  it.prop("opens to what was sealed, under its key and for what it is about only", { text, about: text }, (given) => {
    const secret = given.text.toWellFormed()
    const sealed = seal(keysOf(one), secret, given.about)
    expect(unseal(keysOf(one), sealed, given.about)).toBe(secret)
    expect(unseal(keysOf(other), sealed, given.about)).toBeUndefined()
    expect(unseal(keysOf(one), sealed, `${given.about}x`)).toBeUndefined()
  })

  it("opens after another key was put first, and not once its own is gone", () => {
    const sealed = seal(keysOf(one), "whsec_1", "a")
    expect(unseal(keysOf(other, one), sealed, "a")).toBe("whsec_1")
    expect(seal(keysOf(other, one), "whsec_1", "a").keyId).toBe(keysOf(other)[0].id)
    expect(unseal(keysOf(other), sealed, "a")).toBeUndefined()
  })

  it("does not open with any bit changed, nor cut short", () => {
    const sealed = seal(keysOf(one), "whsec_1", "a")
    const whole = Buffer.from(sealed.ciphertext, "base64url")
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const changed = Buffer.from(whole)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(unseal(keysOf(one), { ...sealed, ciphertext: changed.toString("base64url") }, "a")).toBeUndefined()
    }
    for (let length = 0; length < whole.length; length++) {
      const ciphertext = whole.subarray(0, length).toString("base64url")
      expect(unseal(keysOf(one), { ...sealed, ciphertext }, "a")).toBeUndefined()
    }
  })

  it("is AES-256-GCM with a nonce of its own each time", () => {
    const [first, second] = [seal(keysOf(one), "whsec_1", "a"), seal(keysOf(one), "whsec_1", "a")]
    expect(first.ciphertext).not.toBe(second.ciphertext)
    const whole = Buffer.from(first.ciphertext, "base64url")
    const decipher = createDecipheriv("aes-256-gcm", bytes, whole.subarray(0, 12)).setAAD(Buffer.from("a"))
    decipher.setAuthTag(whole.subarray(-16))
    expect(Buffer.concat([decipher.update(whole.subarray(12, -16)), decipher.final()]).toString()).toBe("whsec_1")
  })
})
