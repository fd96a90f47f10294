import { describe, expect, it } from "vitest"
import { banner, bannerLine, coloured } from "../../src/cli/banner.ts"

const text = banner({
  title: ["Sluice 0.1.0 is ready (5.9 s)"],
  url: "http://127.0.0.1:8080",
  console: "http://127.0.0.1:8080/console#link=cl_1   (opens signed in, once)",
  hasMailbox: true,
  pid: 4711
})

describe("the banner", () => {
  it("has its addresses in one column, the mailbox's too, and says how to stop", () => {
    const lines = text.split("\n").filter((line) => line.startsWith("  "))
    expect(lines.map((line) => line.slice(0, 11).trimEnd())).toEqual([
      "  API",
      "  Docs",
      "  Console",
      "  Mailbox",
      "  Stop"
    ])
    expect(text).toContain("  Mailbox  http://127.0.0.1:8080/dev/mailbox\n  Stop     Ctrl-C, or kill 4711\n")
  })

  it("has no address of a mailbox where mail goes to a relay", () => {
    expect(
      banner({ title: ["x"], url: "http://a", console: "http://a/console", hasMailbox: false, pid: 1 })
    ).not.toContain("Mailbox")
  })

  it("says the same in colours", () => {
    const shown = coloured(`${bannerLine("Key", "sk_live_1   (shown this once)")}\n${text}`)
    expect(shown).toContain("\u001b[36msk_live_1\u001b[39m")
    expect(shown).toContain("\u001b[36mhttp://127.0.0.1:8080\u001b[39m")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
    expect(shown.replaceAll(/\u001b\[\d+m/g, "")).toBe(`${bannerLine("Key", "sk_live_1   (shown this once)")}\n${text}`)
  })
})
