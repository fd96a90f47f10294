/** The local mailbox: its bounds, its pages and the file of a mail (docs/handoff.md, 3). What a customer wrote must not run, and reaches nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import {
  type CapturedMail,
  CaptureMailbox,
  maximumCaptured,
  maximumCapturedCharacters
} from "../../../../src/send/handoff/CaptureMailbox.ts"
import type { OutgoingMail } from "../../../../src/send/handoff/MailTransport.ts"
import { emlOf, mailboxPages } from "../../../../src/send/handoff/mailbox/mailboxPages.ts"
import { escaped, listPage, mailPage, mailPolicy, pagePolicy } from "../../../../src/send/handoff/mailbox/mailPages.ts"
import type { Message } from "../../../../src/send/Message.ts"

const message: Message = {
  from: "Ann <ann@one.test>",
  to: ["bob@two.test"],
  cc: [],
  bcc: ["hidden@two.test"],
  replyTo: [],
  subject: "Hello",
  html: "<p>Hello</p>",
  text: "Hello",
  headers: {},
  tags: [],
  attachments: []
}

const mailOf = (id: string, more: Partial<Message> = {}): OutgoingMail => ({
  id,
  organization: "org_a",
  mode: "live",
  message: { ...message, ...more },
  acceptedAt: 1_700_000_000_000
})

const envelope = { from: "ann@one.test", to: ["bob@two.test", "hidden@two.test"] }

const capturedOf = (more: Partial<Message>): CapturedMail => ({ mail: mailOf("em_1", more), envelope, capturedAt: 0 })

describe("the mailbox", () => {
  it.effect("keeps the newest, each once", () =>
    Effect.gen(function* () {
      const { find, keep, list } = yield* CaptureMailbox
      for (let number = 0; number < maximumCaptured + 10; number++) yield* keep(mailOf(`em_${number}`), envelope)
      yield* keep(mailOf(`em_${maximumCaptured}`, { subject: "again" }), envelope)
      const mails = yield* list
      assert.lengthOf(mails, maximumCaptured)
      assert.strictEqual(mails[0]!.mail.id, `em_${maximumCaptured + 9}`)
      assert.strictEqual(mails.at(-1)!.mail.id, "em_10")
      assert.strictEqual((yield* find(`em_${maximumCaptured}`))!.mail.message.subject, "Hello")
      assert.isUndefined(yield* find("em_9"))
    }).pipe(Effect.provide(CaptureMailbox.layer))
  )

  it.effect("is bounded in characters, and keeps the newest however large it is", () =>
    Effect.gen(function* () {
      const { keep, list } = yield* CaptureMailbox
      const half = "x".repeat(maximumCapturedCharacters / 2)
      for (const id of ["a", "b", "c"]) yield* keep(mailOf(id, { text: half }), envelope)
      assert.deepStrictEqual(
        (yield* list).map(({ mail }) => mail.id),
        ["c"]
      )
      yield* keep(mailOf("d", { text: half + half + half }), envelope)
      assert.deepStrictEqual(
        (yield* list).map(({ mail }) => mail.id),
        ["d"]
      )
    }).pipe(Effect.provide(CaptureMailbox.layer))
  )

  it.effect("that is closed keeps nothing", () =>
    Effect.gen(function* () {
      const { find, keep, list } = yield* CaptureMailbox
      yield* keep(mailOf("a"), envelope)
      assert.deepStrictEqual([yield* list, yield* find("a")], [[], undefined])
    }).pipe(Effect.provide(CaptureMailbox.layerClosed))
  )
})

describe("the pages", () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='alert(1)'>`
  const captured = capturedOf({
    from: hostile,
    to: [hostile],
    cc: [hostile],
    bcc: [hostile],
    replyTo: [hostile],
    subject: hostile,
    text: hostile,
    html: hostile,
    headers: { [hostile]: hostile },
    tags: [{ name: hostile, value: hostile }],
    attachments: [{ filename: hostile, content: null, path: null, contentType: null, contentId: null }]
  })

  it("show what others wrote, and never as markup", () => {
    for (const page of [listPage([captured]), mailPage(captured)]) {
      assert.notInclude(page, "<script")
      assert.notInclude(page, "<img")
      assert.include(page, escaped(hostile))
    }
  })

  it("put the HTML of a mail into a frame that allows nothing", () => {
    assert.include(mailPage(captured), 'sandbox="" referrerpolicy="no-referrer" src="/dev/mailbox/em_1/html"')
    assert.match(mailPolicy, /^sandbox; default-src 'none'; /)
    assert.notMatch(mailPolicy, /script|allow-|https?:/)
    assert.notMatch(pagePolicy, /script|unsafe|https?:/)
  })

  it("say so where there is no mail", () => {
    assert.include(listPage([]), "No mail was handed over yet.")
  })
})

describe("over HTTP", () => {
  /** Asks the mailbox's routes with one mail in it. */
  const asking = <A>(body: (get: (path: string, accept?: string) => Promise<Response>) => Promise<A>) =>
    Effect.gen(function* () {
      const { keep } = yield* CaptureMailbox
      yield* keep(mailOf("em_1", { html: "<b>Hi</b><script>alert(1)</script>" }), envelope)
      const pages = yield* mailboxPages
      const routes = Layer.mergeAll(Layer.empty, ...pages.map(({ layer }) => layer))
      return yield* Effect.acquireUseRelease(
        Effect.sync(() => HttpRouter.toWebHandler(routes, { disableLogger: true })),
        ({ handler }) =>
          Effect.promise(() =>
            body((path, accept = "text/html") =>
              handler(new Request(`http://localhost${path}`, { headers: { accept } }))
            )
          ),
        ({ dispose }) => Effect.promise(dispose)
      )
    }).pipe(Effect.provide(CaptureMailbox.layer))

  it.effect("shows list and mail to people and to programs", () =>
    asking(async (get) => {
      for (const path of ["/dev/mailbox", "/dev/mailbox/em_1"]) {
        const page = await get(path)
        assert.strictEqual(page.status, 200)
        assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8")
        assert.strictEqual(page.headers.get("content-security-policy"), pagePolicy)
        assert.strictEqual(page.headers.get("x-content-type-options"), "nosniff")
        assert.notInclude(await page.text(), "<script")
      }
      const list = (await (await get("/dev/mailbox", "application/json")).json()) as {
        readonly data: ReadonlyArray<{ readonly capturedAt: string; readonly [field: string]: unknown }>
      }
      assert.deepStrictEqual(list.data, [
        {
          id: "em_1",
          organization: "org_a",
          mode: "live",
          from: "Ann <ann@one.test>",
          to: ["bob@two.test"],
          subject: "Hello",
          capturedAt: list.data[0]!.capturedAt,
          url: "/dev/mailbox/em_1"
        }
      ])
      const one = (await (await get("/dev/mailbox/em_1", "application/json")).json()) as {
        readonly envelope: object
        readonly message: Message
      }
      assert.deepStrictEqual(one.envelope, envelope)
      assert.strictEqual(one.message.text, "Hello")
    })
  )

  it.effect("gives the HTML alone as it was written, in a sandbox", () =>
    asking(async (get) => {
      const page = await get("/dev/mailbox/em_1/html")
      assert.strictEqual(page.headers.get("content-security-policy"), mailPolicy)
      assert.strictEqual(await page.text(), "<b>Hi</b><script>alert(1)</script>")
    })
  )

  it.effect("gives the file, and knows no other mail", () =>
    asking(async (get) => {
      const file = await get("/dev/mailbox/em_1.eml")
      assert.strictEqual(file.headers.get("content-type"), "message/rfc822")
      assert.strictEqual(file.headers.get("content-disposition"), 'attachment; filename="em_1.eml"')
      assert.include(await file.text(), "Subject: Hello\r\n")
      for (const path of ["em_2", "em_2.eml", "em_2/html", "%22%0d%0aX:y", "em_1%2fhtml"])
        assert.strictEqual((await get(`/dev/mailbox/${path}`)).status, 404, path)
    })
  )
})

describe("the file of a mail", () => {
  const textOf = (more: Partial<Message>) => Effect.map(emlOf(capturedOf(more)), (bytes) => bytes.toString())

  it.effect("has the headers, both bodies and the attachments, and no hidden recipient", () =>
    Effect.gen(function* () {
      const text = yield* textOf({
        subject: "Grüße",
        headers: { "X-Number": "7" },
        attachments: [
          { filename: "a.txt", content: "aGVsbG8=", path: null, contentType: "text/plain", contentId: null },
          { filename: "b.txt", content: null, path: "https://one.test/b.txt", contentType: null, contentId: null }
        ]
      })
      for (const part of [
        "From: Ann <ann@one.test>\r\n",
        "To: bob@two.test\r\n",
        "Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\n",
        "X-Number: 7\r\n",
        "Message-ID: <em_1@sluice.invalid>\r\n",
        "<p>Hello</p>",
        "aGVsbG8="
      ])
        assert.include(text, part)
      assert.notInclude(text, "hidden@two.test")
      assert.notInclude(text, "b.txt")
    })
  )

  it.effect("gets no header through a line break, and reads no file", () =>
    Effect.gen(function* () {
      const text = yield* textOf({
        subject: "one\r\nX-Injected: yes",
        from: "Ann <ann@one.test>\r\nX-Injected: yes",
        headers: { "X-Mine": "a\r\nX-Injected: yes" },
        html: "file:///etc/passwd",
        text: "/etc/passwd"
      })
      assert.notMatch(text, /^X-Injected/m)
      assert.notInclude(text, "root:")
    })
  )
})
