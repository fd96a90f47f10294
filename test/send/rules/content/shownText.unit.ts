/** Headers as mail programs show them, and that subjects are judged so. */
import { describe, expect, it } from "vitest"
import { riskySignalsOf } from "../../../../src/send/rules/content/index.ts"
import { shownText } from "../../../../src/send/rules/content/riskyContent.ts"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")
const quoted = (text: string) =>
  [...Buffer.from(text)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("")

describe("[platform 9.4] a subject is judged as it is shown", () => {
  it.each([
    ["plain", "plain"],
    [`=?utf-8?B?${base64("Verify your account")}?=`, "Verify your account"],
    [`=?UTF-8?q?Verify_your=20account?=`, "Verify your account"],
    ["=?utf-8?q?Verify your account?=", "Verify your account"],
    ["=?us-ascii*en?Q?Verify?= =?us-ascii?Q?_it?=", "Verify it"],
    [`Re: =?utf-8?B?${base64("a")}?= b =?utf-8?B?${base64("c")}?=`, "Re: a b c"],
    ["Ver=?utf-8?q?ify?=", "Verify"],
    ["=?utf-8?Q?=C3?= =?utf-8?Q?=A4?=", "ä"],
    ["=?iso-8859-1?Q?=E4?=", "ä"],
    ["=?koi8-r?B?8NLJ18XU?=", "Привет"],
    ["=?no-such-charset?Q?Verify?=", "Verify"],
    ["=?utf-8?x?Verify?=", "=?utf-8?x?Verify?="],
    ["=?utf-8?B?", "=?utf-8?B?"],
    ["\u202etnuocca ruoy yfireV", "Verify your account"],
    ["a \u202ecb\u202c d", "a bc d"]
  ])("%j is shown as %j", (given, expected) => {
    expect(shownText(given)).toBe(expected)
  })

  it("finds the signs of a subject however it is written", () => {
    const prng = new Prng(11, "encoded words")
    const words = ["Verify", " ", "your", " ", "account", " ", "at", " ", "https://evil.test/x"]
    for (let round = 0; round < 500; round++) {
      let isWord = false
      const subject = words
        .map((word) => {
          const form = prng.int(0, 2)
          // A blank beside an encoded word is shown; one between two of them is none, so it stands inside.
          const wasWord = isWord
          isWord = form > 0
          if (form === 0) return word
          return `${wasWord ? " " : ""}=?utf-8?${form === 1 ? `B?${base64(word)}` : `q?${quoted(word)}`}?=`
        })
        .join("")
      // Blanks alone between two encoded words would go.
      const isShown = shownText(subject) === words.join("")
      if (!isShown) continue
      expect(riskySignalsOf({ senderDomain: "one.com", subject }), subject).toEqual([
        "foreign_link",
        "verification_subject"
      ])
    }
    expect(
      riskySignalsOf({ senderDomain: "one.com", subject: `=?utf-8?B?${base64("Verify your account")}?=` })
    ).toEqual(["verification_subject"])
    expect(riskySignalsOf({ senderDomain: "one.com", subject: `=?utf-8?B?${base64("Your invoice")}?=` })).toEqual([])
  })

  it("takes time by the length alone", () => {
    for (const text of ["=?utf-8?q?", "=?a?b?c?= ", "\u202e", "=?"]) {
      const long = text.repeat(100_000 / text.length)
      expect(shownText(long).length).toBeLessThanOrEqual(long.length)
    }
  })
})
