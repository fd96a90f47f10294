/** A request to send is previewed where it may be refused or be a repeat, so that little is stored in vain. */
import { describe, expect, it } from "vitest"
import { maximumUnpreviewed, PreviewNeed } from "../../../src/send/emails/PreviewNeed.ts"
import type { Message } from "../../../src/send/Message.ts"

const message = (given: Partial<Message> = {}): Message => ({
  from: "a@b.test",
  to: ["c@d.test"],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Hello",
  html: null,
  text: "Hello",
  headers: {},
  tags: [],
  attachments: [],
  ...given
})

const file = { filename: "a.txt", content: "YQ==", path: null, contentType: null, contentId: null }

describe("the need of a preview", () => {
  it("ends with the first request that the account accepts, and begins again with a refusal", () => {
    const need = new PreviewNeed()
    expect(need.isNeeded("one", [message()], undefined)).toBe(true)
    need.answered("one", true)
    expect(need.isNeeded("one", [message()], undefined)).toBe(false)
    expect(need.isNeeded("two", [message()], undefined)).toBe(true)
    need.answered("one", false)
    expect(need.isNeeded("one", [message()], undefined)).toBe(true)
  })

  it("is there for a key that came before, also where that request was refused", () => {
    const need = new PreviewNeed()
    need.answered("one", true)
    expect(need.isNeeded("one", [message()], "k")).toBe(false)
    expect(need.isNeeded("one", [message()], "k")).toBe(true)
    expect(need.isNeeded("one", [message()], "other")).toBe(false)
    need.answered("two", true)
    expect(need.isNeeded("two", [message()], "k")).toBe(false)
  })

  it.each([
    ["an attachment", [message({ attachments: [file] })], true],
    ["a text at the bound", [message({ text: "x".repeat(maximumUnpreviewed) })], false],
    ["a text above the bound", [message({ text: "x".repeat(maximumUnpreviewed + 1) })], true],
    ["texts that are too long together", Array.from({ length: 100 }, () => message({ html: "x".repeat(700) })), true],
    ["long headers", [message({ headers: { "X-Long": "x".repeat(maximumUnpreviewed) } })], true],
    ["a hundred short mails", Array.from({ length: 100 }, () => message()), false]
  ])("depends on the size: %s", (_, messages, isNeeded) => {
    const need = new PreviewNeed()
    need.answered("one", true)
    expect(need.isNeeded("one", messages, undefined)).toBe(isNeeded)
  })

  it("keeps contents that are stored in vain to one for each accepted request, whatever comes", () => {
    const need = new PreviewNeed()
    let accepted = 0
    let inVain = 0
    for (let request = 0; request < 1_000; request++) {
      const isAccepted = request % 3 === 0
      const isPreviewed = need.isNeeded("one", [message()], undefined)
      if (isAccepted) accepted++
      else if (!isPreviewed) inVain++
      need.answered("one", isAccepted)
    }
    expect(inVain).toBeLessThanOrEqual(accepted)
    expect(inVain).toBeGreaterThan(0)
  })
})
