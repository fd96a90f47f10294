/** Links of an email as its readers' programs see them, however they are written, and the work that hostile content costs. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { riskySignals, riskySignalsOf } from "../../../../src/send/index.ts"
import { examineContent, shorteners } from "../../../../src/send/rules/content/index.ts"
import { often } from "../../../support/often.ts"

const own = { senderDomain: "mail.own.co.uk", subject: "Hello" }
const ofHtml = (html: string) => riskySignalsOf({ ...own, html })
const ofText = (text: string) => riskySignalsOf({ ...own, text })

describe("[platform 9.4] a link to another domain", () => {
  it.each([
    `<a href="https://evil.com/login">x</a>`,
    `<a href='http://evil.com'>x</a>`,
    "<a href=https://evil.com>x</a>",
    `<A HREF = "HTTPS://EVIL.COM">x</A>`,
    `<a/href="//evil.com/x">x</a>`,
    String.raw`<a href="https:\\evil.com">x</a>`,
    String.raw`<a href="/\evil.com">x</a>`,
    `<a href="https:evil.com">x</a>`,
    `<a href="https://mail.own.co.uk@evil.com/">x</a>`,
    `<a href="https://mail.own.co.uk:pass@evil.com:8443/">x</a>`,
    `<a href="https://mail.own.co.uk%2f@evil.com/">x</a>`,
    `<a href="&#104;ttps&colon;&sol;&sol;evil.com">x</a>`,
    `<a href="&#x68;&#X74;tp://evil&period;com">x</a>`,
    `<a href="https://evil.com&#47;x">x</a>`,
    `<a href=" \n\thttps://evil.com">x</a>`,
    `<a href="ht\ntps://ev\til.com">x</a>`,
    `<a href="https://m%61il.%65vil.com">x</a>`,
    `<a href="https://bücher.de">x</a>`,
    `<a href="https://xn--bcher-kva.de">x</a>`,
    `<a href="https://evil。com">x</a>`,
    `<a href="https://192.0.2.7/x">x</a>`,
    `<a href="https://3221225991/x">x</a>`,
    `<a href="https://[2001:db8::1]/x">x</a>`,
    `<a href="https://own.co.uk.evil.com">x</a>`,
    `<a href="https://evilown.co.uk">x</a>`,
    `<a href="https://other.co.uk">x</a>`,
    `<a href="www.evil.com">x</a>`,
    `<a href="evil.com/login">x</a>`,
    `<a title=">" href="https://evil.com">x</a>`,
    `<a href="https://evil.com" href="https://own.co.uk">x</a>`,
    `<area href="https://evil.com">`,
    `<base href="https://evil.com"><a href="/login">x</a>`,
    `<form action="https://evil.com/take"><button>x</button></form>`,
    `<button formaction="https://evil.com/take">x</button>`,
    `<svg><a xlink:href="https://evil.com">x</a></svg>`,
    `<!--><a href="https://evil.com">x</a>-->`,
    `<!-- a --!><a href="https://evil.com">x</a>`,
    `</!-- a><a href="https://evil.com">x</a>`,
    `<!--[if mso]><a href="https://evil.com">x</a><![endif]-->`,
    `<style>a</style><a href="https://evil.com">x</a>`,
    `<title></title ><a href="https://evil.com">x</a>`,
    "<p>see https://evil.com/login</p>",
    "<p>see www.evil.com</p>",
    "<p>see evil.com/login</p>",
    "<p>2 < 3 https://evil.com</p>",
    `<a href="https://own.co.uk">x</a> https://evil.com`,
    "<p>https&#58;//evil.com</p>"
  ])("is found in %s", (html) => {
    expect(ofHtml(html)).toEqual(["foreign_link"])
  })

  it.each([
    "see https://evil.com/login.",
    "HTTP://EVIL.COM",
    "(https://evil.com)",
    "<https://evil.com>",
    "[here](https://evil.com)",
    "link:https://evil.com",
    "*www.evil.com*",
    "www.evil.com.",
    "a,www.evil.com",
    "evil.com/login",
    "„evil.com/login“",
    "https://mail.own.co.uk@evil.com/",
    "https://evil.com\nhttps://own.co.uk",
    "https://пример.рф"
  ])("is found in the text %j", (text) => {
    expect(ofText(text)).toEqual(["foreign_link"])
    expect(riskySignalsOf({ ...own, subject: text })).toEqual(["foreign_link"])
  })

  it.each([
    `<a href="https://own.co.uk/x">x</a>`,
    `<a href="https://MAIL.OWN.CO.UK./x">x</a>`,
    `<a href="https://www.own.co.uk/x">x</a>`,
    `<a href="https://a.b.own.co.uk/?next=https://evil.com">x</a>`,
    `<a href="/relative">x</a><a href="page.html">x</a><a href="#top">x</a><a href="">x</a><a href>x</a>`,
    `<a href="mailto:ann@evil.com">x</a><a href="tel:+1212">x</a><a href="cid:part1">x</a>`,
    `<a href="javascript:location='https://evil.com/'">x</a>`,
    `<a href="https://{{link}}">x</a>`,
    `<a href="https://localhost/x">x</a>`,
    `<img src="https://evil.com/x.png"><link href="https://fonts.evil.com/css" rel="stylesheet">`,
    `<!DOCTYPE html PUBLIC "-//W3C//DTD" "http://www.w3.org/TR/x.dtd"><html xmlns="http://www.w3.org/1999/xhtml">`,
    `<?xml version="1.0" href="https://evil.com"?>`,
    `<!-- <a href="https://evil.com">x</a> -->`,
    `<style>a { background: url(https://evil.com/x) } </style><script>"https://evil.com"</script>`,
    `<a href="https://own.co.uk/r?to=1">https://evil.com/page</a>`,
    `<a data-href="https://evil.com">x</a>`,
    `<a title="https://evil.com">x</a>`,
    `<a href="https://evil.com`,
    `<a href="https://evil.com" <`
  ])("is not seen in %s", (html) => {
    expect(ofHtml(html)).toEqual([])
  })

  it.each([
    "see https://own.co.uk/a and www.own.co.uk and shop.own.co.uk/x",
    "mail ann@evil.com, or and/or 3.5/5 or 1.2.3.4/8 or notes.txt/all or Node.js/Express",
    "https:// http://. https://@ https://: www. ...",
    "the end.Next sentence",
    "https://own.co.uk/to/https://evil.com"
  ])("is not seen in the text %j", (text) => {
    expect(ofText(text)).toEqual([])
  })

  it("takes no one's neighbours under a shared suffix for their own", () => {
    const ofSender = (senderDomain: string, host: string) =>
      riskySignalsOf({ senderDomain, subject: "", text: `https://${host}/` })
    expect(ofSender("ann.github.io", "bob.github.io")).toEqual(["foreign_link"])
    expect(ofSender("ann.github.io", "www.ann.github.io")).toEqual([])
    expect(ofSender("Bücher.DE", "shop.xn--bcher-kva.de")).toEqual([])
    expect(ofSender("co.uk", "other.co.uk")).toEqual([])
    expect(ofSender("one.test", "two.test")).toEqual(["foreign_link"])
    expect(ofSender("one.test", "www.one.test")).toEqual([])
  })
})

describe("[platform 9.4] a shortened link", () => {
  it.each([...shorteners])("of %s counts beside the foreign one", (host) => {
    expect(ofText(`https://${host}/Ab3`)).toEqual(["foreign_link", "shortened_link"])
    expect(ofHtml(`<a href="//www.${host.toUpperCase()}/Ab3">x</a>`)).toEqual(["foreign_link", "shortened_link"])
  })

  it("is none where the service itself sends, or where a name only ends like one", () => {
    expect(riskySignalsOf({ senderDomain: "bit.ly", subject: "", text: "https://bit.ly/Ab3" })).toEqual([])
    expect(ofText("https://rabbit.ly/Ab3 https://t.co.evil.com/")).toEqual(["foreign_link"])
  })

  it("is of one of at least 50 services, each written as hosts are", () => {
    expect(shorteners.size).toBeGreaterThanOrEqual(50)
    for (const host of shorteners) expect(new URL(`https://${host}`).hostname).toBe(host)
  })
})

describe("an email", () => {
  it("[send 2.8] has each signal once, however often and wherever its cause is", () => {
    const links = "https://bit.ly/1 https://evil.com https://tinyurl.com/2"
    const content = { ...own, subject: `Verify your account ${links}`, text: links, html: `<p>${links}</p>` }
    expect(riskySignalsOf(content)).toEqual(riskySignals)
    expect(riskySignalsOf({ ...own, html: null, text: null })).toEqual([])
    expect(riskySignalsOf(own)).toEqual([])
  })
})

/** What a reader may stumble over: beginnings without an end, runs of one character, and things inside of others. */
const fragments = [
  "<",
  ">",
  "</",
  "<!--",
  "-->",
  "--",
  "<!-->",
  "<a ",
  "<a href=",
  '<a href="',
  "'",
  '"',
  "=",
  "/",
  "\\",
  "</a>",
  "<style>",
  "</styl",
  "<title>",
  "</",
  "<!",
  "<?",
  "&",
  "&#",
  "&#x",
  "&amp;",
  "&colon",
  "1",
  "a",
  ".",
  ",",
  ":",
  "@",
  "%",
  "%e4%bd%a0",
  "http",
  "http://",
  "https://evil.com",
  "https://own.co.uk/",
  "www.",
  "//",
  " ",
  "\n",
  "\0",
  "\u200b",
  "é",
  "你",
  "\ud800",
  "😀",
  "xn--",
  "[",
  "]",
  "verify ",
  "account "
] as const

const bounded = (content: { readonly subject: string; readonly html: string; readonly text: string }) => {
  const { signals, steps } = examineContent({ senderDomain: "own.co.uk", ...content })
  const length = content.subject.length + content.html.length + content.text.length
  // A character is read as markup, as a reference, as text and, twice, as part of a word.
  expect(steps).toBeLessThanOrEqual(5 * length + 16)
  expect(riskySignals.filter((kind) => signals.includes(kind))).toEqual(signals)
}

describe("hostile content", () => {
  it.prop(
    "costs no more steps than its length, five times",
    [Schema.Array(Schema.Literals(fragments)), Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_000 }))],
    ([parts, times]) => {
      const content = parts.join("").repeat(times).slice(0, 40_000)
      bounded({ subject: content, html: content, text: content })
    },
    { arbitrary: { runs: often(60) } }
  )

  it.each(fragments)("does so as a run of %j, and with each other fragment", (fragment) => {
    for (const other of fragments) {
      const content = `${fragment}${other}`.repeat(500)
      bounded({ subject: "", html: content, text: "" })
      bounded({ subject: "", html: `${fragment}${other.repeat(1_000)}`, text: "" })
    }
  })

  it("has hosts that are longer than any name refused before they are read as names", () => {
    // The punycode of such a label takes a time that grows with the square of its length.
    const label = Array.from({ length: 900 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join("")
    expect(ofHtml(`<a href="https://${label}.com">x</a>`)).toEqual([])
    expect(ofHtml(`<a href="https://${"a.".repeat(600)}com">x</a>`)).toEqual([])
    expect(ofHtml(`<a href="https://${"user".repeat(1_000)}@evil.com">x</a>`)).toEqual(["foreign_link"])
    expect(ofHtml(`<a href="https://${encodeURIComponent(label.slice(0, 10))}.com">x</a>`)).toEqual(["foreign_link"])
  })
})
