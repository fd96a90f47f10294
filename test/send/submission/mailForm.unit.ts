/** Mails of other programs as requests to send (docs/platform.md, 9.18): each part of a mail, and drawn mails as nodemailer writes them. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import MailComposer from "nodemailer/lib/mail-composer/index.js"
import { readEmail } from "../../../src/send/emails/readMessage.ts"
import { formOfMail } from "../../../src/send/submission/mailForm.ts"
import { repeatedBy } from "../../../src/send/submission/SubmitMail.ts"

const lines = (...all: ReadonlyArray<string>): Buffer => Buffer.from(all.join("\r\n"))

const formOf = async (raw: Buffer, ...envelope: ReadonlyArray<string>) => (await run(raw, envelope)).form
const run = (raw: Buffer, envelope: ReadonlyArray<string>) => Effect.runPromise(formOfMail(raw, envelope))
const faultOf = async (raw: Buffer, ...envelope: ReadonlyArray<string>) => {
  const exit = await Effect.runPromise(Effect.flip(formOfMail(raw, envelope)))
  return [exit._tag, exit.message]
}

const head = ["From: Ann <ann@one.test>", "Subject: Hello"]

describe("[platform 9.18] a mail", () => {
  it("becomes a request with its text, subject and headers, and without those that the platform writes", async () => {
    const raw = lines(
      "Received: from a.test by b.test; Sat, 28 Nov 2026 04:00:00 +0000",
      "DKIM-Signature: v=1; a=rsa-sha256; b=x",
      "Date: Sat, 28 Nov 2026 04:00:00 +0000",
      "Message-ID: <1@one.test>",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=iso-8859-1",
      "Content-Transfer-Encoding: quoted-printable",
      "From: =?utf-8?q?Ann_=C3=84?= <ann@one.test>",
      "To: Bob B. <bob@two.test>",
      "Reply-To: help@one.test, =?utf-8?q?Cara=2C_C?= <cara@one.test>",
      "Subject: =?utf-8?b?SGVsbG8g8J+Yig==?=",
      "In-Reply-To: <0@two.test>",
      "X-Campaign: =?utf-8?q?fr=C3=BChling?=",
      "List-Unsubscribe: <https://one.test/u>,",
      " <mailto:u@one.test>",
      "",
      "Gr=FC=DFe",
      ""
    )
    expect(await run(raw, ["bob@two.test"])).toEqual({
      messageId: "<1@one.test>",
      form: {
        from: "Ann Ä <ann@one.test>",
        to: ['"Bob B." <bob@two.test>'],
        cc: [],
        bcc: [],
        reply_to: ["help@one.test", '"Cara, C" <cara@one.test>'],
        subject: "Hello 😊",
        text: "Grüße\n",
        headers: {
          "In-Reply-To": "<0@two.test>",
          "X-Campaign": "frühling",
          "List-Unsubscribe": "<https://one.test/u>, <mailto:u@one.test>"
        },
        attachments: []
      }
    })
  })

  it("goes to the recipients of its envelope alone, hidden unless it shows them", async () => {
    const raw = lines(
      ...head,
      "To: Bob <bob@TWO.test>, team: cara@two.test, dan@two.test;",
      "Cc: Eve <eve@two.test>",
      "Bcc: zoe@two.test",
      "",
      "Hi"
    )
    const form = await formOf(raw, "Bob@two.test", "dan@two.test", "eve@two.test", "fay@two.test")
    expect(form).toMatchObject({
      to: ["Bob <Bob@two.test>", "dan@two.test"],
      cc: ["Eve <eve@two.test>"],
      bcc: ["fay@two.test"]
    })
    expect(form.headers).toEqual({})
  })

  it("given no recipient in To, then those in Cc or the only one take its place, and several hidden ones are refused", async () => {
    const raw = lines(...head, "To: undisclosed-recipients:;", "Cc: bob@two.test", "", "Hi")
    expect(await formOf(raw, "bob@two.test", "cara@two.test")).toMatchObject({
      to: ["bob@two.test"],
      bcc: ["cara@two.test"]
    })
    expect(await formOf(raw, "cara@two.test")).toMatchObject({ to: ["cara@two.test"] })
    expect(await faultOf(raw, "cara@two.test", "dan@two.test")).toEqual([
      "MailUnreadable",
      expect.stringContaining("None of the 2 recipients is in 'To' or 'Cc'")
    ])
  })

  it("keeps attached mails, dates and files without a name, and has text if it has nothing else", async () => {
    const raw = lines(
      ...head,
      "To: bob@two.test",
      "Content-Type: multipart/mixed; boundary=x",
      "",
      "--x",
      "Content-Type: message/rfc822",
      "",
      "Subject: inside",
      "",
      "Not a text of this mail",
      "--x",
      "Content-Type: text/calendar; method=request",
      "",
      "BEGIN:VCALENDAR",
      "--x",
      'Content-Type: image/png; name="../a.png"',
      "Content-ID: <logo@one>",
      "Content-Transfer-Encoding: base64",
      "",
      "aGk=",
      "--x--",
      ""
    )
    const form = await formOf(raw, "bob@two.test")
    expect(form.text).toBe("")
    expect(form.attachments).toMatchObject([
      { filename: "message-1.eml", content_type: "message/rfc822" },
      { filename: "event-2.ics", content_type: "text/calendar; method=REQUEST; charset=utf-8" },
      { filename: ".._a.png", content_type: "image/png", content_id: "logo@one", content: "aGk=" }
    ])
  })

  it.each([
    ["no From", ["To: bob@two.test"], ["MailUnreadable", "Missing header 'From'."]],
    ["two senders", ["From: a@one.test, b@one.test"], ["MailUnreadable", "Expected one address in 'From'."]],
    ["a header twice", [...head, "X-A: 1", "x-a: 2"], ["MailUnreadable", "The header 'x-a' comes twice."]]
  ])("is refused with %s", async (_, headers, told) => {
    expect(await faultOf(lines(...headers, "", "Hi"), "bob@two.test")).toEqual(told)
  })

  it("is refused with too many lines, headers or depth, and with a text that is too long in UTF-8", async () => {
    const part = (depth: number): ReadonlyArray<string> =>
      depth === 0
        ? ["", "a"]
        : [`Content-Type: multipart/mixed; boundary=b${depth}`, "", `--b${depth}`, ...part(depth - 1), `--b${depth}--`]
    const isFault = async (raw: Buffer) => (await Effect.runPromiseExit(formOfMail(raw, ["bob@two.test"])))._tag
    expect(await faultOf(lines(...head, "", "\n".repeat(10_001)), "bob@two.test")).toEqual([
      "MailTooLarge",
      "The mail has more than 10000 lines."
    ])
    expect(await isFault(lines(...head, ...part(15)))).toBe("Success")
    expect(await faultOf(lines(...head, ...part(40)), "bob@two.test")).toMatchObject([
      "MailUnreadable",
      /cannot be read/
    ])
    expect(await faultOf(lines(...head, `X-A: ${"a".repeat(70_000)}`, "", "a"), "bob@two.test")).toMatchObject([
      "MailUnreadable",
      /headers have more than 65536 bytes/
    ])
    const cyrillic = Buffer.concat([
      lines(...head, "Content-Type: text/plain; charset=koi8-r", "", ""),
      Buffer.alloc(200_000, 0xc1)
    ])
    expect((await faultOf(cyrillic, "bob@two.test"))[0]).toBe("MailTooLarge")
  })

  it("is the same again with its bytes, its Message-ID and its recipients, in any order", () => {
    const raw = Buffer.from("a")
    const of = (messageId: string | undefined, text: string, ...recipients: ReadonlyArray<string>) =>
      repeatedBy(messageId, { raw: Buffer.from(text), recipients })
    const first = repeatedBy("<1@a>", { raw, recipients: ["a@b.com", "c@d.com"] })
    expect(of("<1@a>", "a", "C@D.com", "a@b.com")).toEqual(first)
    for (const other of [
      of("<2@a>", "a", "a@b.com", "c@d.com"),
      of("<1@a>", "b", "a@b.com", "c@d.com"),
      of("<1@a>", "a", "a@b.com")
    ])
      expect(other?.key).not.toBe(first?.key)
    expect(of(undefined, "a", "a@b.com")).toBeUndefined()
  })
})

describe("[platform 9.18] drawn mails as nodemailer writes them", () => {
  const word = Schema.Literals([
    "Hello",
    "frühling",
    "日本",
    "a.b",
    "=?q?",
    "😊",
    "--x",
    ".",
    "<b>x</b>",
    '"q"',
    "x".repeat(25)
  ])
  const Words = Schema.Array(word).check(Schema.isMinLength(1), Schema.isMaxLength(12))
  const Draw = Schema.Struct({
    name: Schema.Array(word).check(Schema.isMinLength(1), Schema.isMaxLength(4)),
    subject: Words,
    text: Schema.NullOr(Words),
    html: Schema.NullOr(Words),
    to: Schema.Literals([1, 2, 3]),
    cc: Schema.Literals([0, 1, 2]),
    bcc: Schema.Literals([0, 1, 2]),
    header: Words,
    files: Schema.Array(Schema.Struct({ name: word, bytes: Schema.Uint8Array })).check(Schema.isMaxLength(3))
  })
  const people = (field: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `P ${field}`, address: `${field}${index}@two.test` }))
  const shown = (all: ReadonlyArray<{ readonly name: string; readonly address: string }>) =>
    all.map(({ address, name }) => `${name} <${address}>`)
  const textOf = (given: string | null | undefined) => given?.replaceAll("\r\n", "\n").trimEnd()

  it.effect.prop("are what was written", [Draw], ([drawn]) =>
    Effect.gen(function* () {
      const [to, cc, bcc] = [people("to", drawn.to), people("cc", drawn.cc), people("bcc", drawn.bcc)]
      const files = drawn.files.map(({ bytes, name }, index) => ({
        filename: `${index}${name.replaceAll("/", "")}.bin`,
        content: Buffer.from(bytes)
      }))
      const text = drawn.text?.join("\n") ?? (drawn.html === null ? "only" : undefined)
      const raw = yield* Effect.promise(() =>
        new MailComposer({
          from: { name: drawn.name.join(" "), address: "ann@one.test" },
          to,
          cc,
          bcc,
          subject: drawn.subject.join(" "),
          text,
          html: drawn.html?.join("\n"),
          headers: { "X-Own": drawn.header.join(" ") },
          attachments: files
        })
          .compile()
          .build()
      )
      const envelope = [...bcc, ...cc, ...to].map(({ address }) => address)
      const exit = yield* Effect.exit(formOfMail(raw, envelope))
      if (Exit.isFailure(exit)) return expect(exit).toBe("a success")
      const { form } = exit.value
      expect(form).toMatchObject({
        to: shown(to),
        cc: shown(cc),
        bcc: bcc.map(({ address }) => address),
        subject: drawn.subject.join(" "),
        headers: { "X-Own": drawn.header.join(" ") }
      })
      expect(textOf(form.text)).toBe(textOf(text))
      expect(textOf(form.html)).toBe(textOf(drawn.html?.join("\n")))
      const checks = { mode: "live", now: 0, pathProblem: () => undefined } as const
      expect(Result.isSuccess(readEmail(form, checks))).toBe(true)
      const [, quoted, plain] = /^(?:"(.*)"|(.*)) <ann@one\.test>$/.exec(form.from) ?? []
      expect(quoted?.replaceAll(/\\(.)/g, "$1") ?? plain).toBe(drawn.name.join(" "))
      expect(form.attachments?.map(({ content, filename }) => [filename, content])).toEqual(
        files.map(({ content, filename }) => [filename, content.toString("base64")])
      )
    })
  )
})
