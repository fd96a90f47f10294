/** The links of a mail (docs/handoff.md, 3.4), and HTML in pieces. */
import { describe, expect, it } from "vitest"
import { htmlPieces, wordsOfHtml } from "../../../../src/send/handoff/mailbox/htmlPieces.ts"
import { linksOf, maximumLinks } from "../../../../src/send/handoff/mailbox/mailLinks.ts"

const urlsOf = (html: string | null, text: string | null = null) => linksOf({ html, text }).links.map(({ url }) => url)

describe("[handoff 3.4] links", () => {
  it("are those that one follows and those that are loaded, each once", () => {
    const html = `<A class=x HREF="https://a.test/?x=1&amp;y=2">a</A><img alt="" src='https://b.test/p.png'>
      <link href=https://c.test/s.css><a href="mailto:ann@a.test">m</a><a href="https://a.test/?x=1&#38;y=2">again</a>`
    expect(linksOf({ html, text: "See https://a.test/?x=1&y=2." })).toEqual({
      total: 4,
      links: [
        { url: "https://a.test/?x=1&y=2", kind: "link", in: ["html", "text"] },
        { url: "https://b.test/p.png", kind: "resource", in: ["html"] },
        { url: "https://c.test/s.css", kind: "resource", in: ["html"] },
        { url: "mailto:ann@a.test", kind: "link", in: ["html"] }
      ]
    })
  })

  it("of a text end before the punctuation of its sentence", () => {
    expect(urlsOf(null, "(see https://a.test/x). Or https://a.test/y_(z)! <https://a.test/q>")).toEqual([
      "https://a.test/x",
      "https://a.test/y_(z)",
      "https://a.test/q"
    ])
  })

  it("are never scripts, files or places in comments and styles", () => {
    expect(
      urlsOf(
        `<a href="javascript:alert(1)">x</a><a href="data:text/html,x">x</a><a href="file:///etc/passwd">x</a><a href="#top">x</a>
         <!-- <a href="https://a.test/comment"> --><style><a href="https://a.test/style"></style>`
      )
    ).toEqual([])
  })

  it("are bounded, and the rest is counted", () => {
    const html = Array.from({ length: maximumLinks + 7 }, (_, n) => `<a href="https://a.test/${n}">n</a>`).join("")
    const { links, total } = linksOf({ html, text: null })
    expect([links.length, total]).toEqual([maximumLinks, maximumLinks + 7])
  })

  it("are found in as many steps as the mail is long, whatever is in it", () => {
    const length = 200_000
    for (const part of ["<", '<a href="', "<style", "<!--", "a".repeat(9), "<a href='", "<a =", "((((", "https://"]) {
      const html = part.repeat(length / part.length)
      // A step for each pair of characters would take minutes, and the test would end without an answer.
      expect(linksOf({ html, text: html }).links.length).toBeLessThanOrEqual(maximumLinks)
      expect([...htmlPieces(html)].length).toBeLessThanOrEqual(html.length)
    }
  })
})

it("[handoff 3.2] words of HTML are those that somebody reads", () => {
  const html = "<TITLE>no</TITLE>İ<p>Gr&#252;&szlig; &lt;b&gt;</p><b>w</b>or<i>d</i><script>x</script ><!-- y -->z<br"
  expect(wordsOfHtml(html).trim().split(/\s+/)).toEqual(["İ", "Grü&szlig;", "<b>", "word", "z"])
})
