/** The mails with links, and the names of browsers in the list of sessions (docs/platform.md, 2.13 and 12.5). */
import { describe, expect, it } from "vitest"
import { browserOf } from "../../../src/platform/people/browserOf.ts"
import { invitationMail, nameInMail } from "../../../src/platform/people/memberMails.ts"

describe("an invitation's mail", () => {
  it("names organization, role and the link, and says how long it works", () => {
    const { subject, text } = invitationMail("Northwind", "viewer", "https://sluice.example/console#link=ml_1")
    expect(subject).toBe("Your invitation to Northwind on Sluice")
    expect(text).toContain("as a viewer, who reads and changes nothing")
    expect(text).toContain("once, for seven days:\n\nhttps://sluice.example/console#link=ml_1\n")
  })

  it.each([
    "evil.example",
    "see https://evil",
    "a@evil.test",
    "www.evil",
    "a/b",
    "  ",
    "\n"
  ])("shows no name that would become a link of its own: %j", (name) =>
    expect(nameInMail(name)).toBe("an organization"))

  it("keeps other names in one line, and cuts long ones", () => {
    expect(nameInMail("Müller & Söhne, Inc. 3")).toBe("Müller & Söhne, Inc. 3")
    expect(nameInMail("A\r\nBcc: x")).toBe("ABcc: x")
    expect(nameInMail("x".repeat(200))).toBe(`${"x".repeat(60)}…`)
  })
})

describe("the browser of a session", () => {
  it.each([
    ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
    ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"],
    ["Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605.1 Version/18.0 Safari/605.1", "Safari on macOS"],
    ["Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) CriOS/140.0 Safari/604.1", "Chrome on iOS"],
    ["curl/8.0", null],
    [undefined, null]
  ])("is told in words: %s", (agent, words) => expect(browserOf(agent)).toBe(words))
})
