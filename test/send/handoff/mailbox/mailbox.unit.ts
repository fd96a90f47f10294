/** The local mailbox: its bounds, its answers and the file of a mail (docs/handoff.md, 3). What a customer wrote must not run, and reaches nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import {
  CaptureMailbox,
  maximumCaptured,
  maximumCapturedCharacters
} from "../../../../src/send/handoff/CaptureMailbox.ts"
import type { OutgoingMail } from "../../../../src/send/handoff/MailTransport.ts"
import { attachmentPolicy } from "../../../../src/send/handoff/mailbox/attachmentFile.ts"
import { emlOf, mailboxPages } from "../../../../src/send/handoff/mailbox/mailboxPages.ts"
import { isOwnRequest } from "../../../../src/send/handoff/mailbox/mailboxRequest.ts"
import { mailPolicy } from "../../../../src/send/handoff/mailbox/mailHtml.ts"
import type { MailDetail, MailSummary } from "../../../../src/send/handoff/mailbox/mailShapes.ts"
import type { Message } from "../../../../src/send/Message.ts"
import { capturedOf, envelope, mailOf } from "./mailOf.ts"

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

/** Asks the mailbox's routes with these mails in it. */
const asking = <A>(
  mails: ReadonlyArray<OutgoingMail>,
  body: (ask: (path: string, init?: RequestInit) => Promise<Response>, mailbox: CaptureMailbox["Service"]) => Promise<A>
) =>
  Effect.gen(function* () {
    const mailbox = yield* CaptureMailbox
    for (const mail of mails) yield* mailbox.keep(mail, envelope)
    const pages = yield* mailboxPages({
      page: Effect.succeed(HttpServerResponse.text("the page")),
      guard: { open: () => Result.fail({ message: "no" }), prepare: () => Effect.void, lookup: () => undefined },
      publicHost: () => "mail.example.test"
    })
    const routes = Layer.mergeAll(Layer.empty, ...pages.map(({ layer }) => layer))
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => HttpRouter.toWebHandler(routes, { disableLogger: true })),
      ({ handler }) =>
        Effect.promise(() =>
          body((path, init = {}) => handler(new Request(`http://localhost/dev/mailbox${path}`, init)), mailbox)
        ),
      ({ dispose }) => Effect.promise(dispose)
    )
  }).pipe(Effect.scoped, Effect.provide(CaptureMailbox.layer))

interface Listed {
  readonly data: ReadonlyArray<MailSummary>
  readonly [field: string]: unknown
}

const bodyOf = async <A>(answer: Response): Promise<A> => (await answer.json()) as A

const errorIn = async (answer: Response): Promise<readonly [number, string, string]> => {
  const { error } = await bodyOf<{ readonly error: { readonly code: string; readonly message: string } }>(answer)
  return [answer.status, error.code, error.message]
}

describe("[handoff 3.1] over HTTP", () => {
  it.effect("the page is for people, and JSON for everybody else", () =>
    asking([mailOf("em_1")], async (ask) => {
      const accept = "text/html,application/xhtml+xml,*/*;q=0.8"
      for (const path of ["", "/em_1", "/em_gone", "?q=from:ann"])
        assert.strictEqual(await (await ask(path, { headers: { accept } })).text(), "the page")
      for (const path of ["", "/em_1"]) {
        const answer = await ask(path)
        assert.match(answer.headers.get("content-type")!, /^application\/json/)
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
    })
  )

  it.effect("the list has pages, and finds what is searched", () =>
    asking(
      Array.from({ length: 5 }, (_, n) => mailOf(`em_${n}`, { subject: n % 2 === 0 ? "Even" : "Odd" })),
      async (ask) => {
        const first = await bodyOf<Listed>(await ask("?q=subject:even&limit=2"))
        assert.deepStrictEqual(
          first.data.map(({ id }) => id),
          ["em_4", "em_2"]
        )
        assert.deepInclude(first, { matched: 3, total: 5, unread: 5, gone: 0 })
        const next = await bodyOf<Listed>(await ask(`?q=subject:even&limit=2&cursor=${first.nextCursor}`))
        assert.deepStrictEqual([next.data.map(({ id }) => id), next.nextCursor], [["em_0"], null])
        assert.deepStrictEqual(await errorIn(await ask("?q=is:odd")), [
          400,
          "invalid_request",
          "'is:' takes unread, read, live, test; it has 'odd'."
        ])
        assert.strictEqual((await ask("?query=x")).status, 400)
        assert.strictEqual((await ask("?limit=501")).status, 400)
      }
    )
  )

  it.effect("mails are read, unread and deleted by id, by search, and all only when that is said", () =>
    asking([mailOf("em_1"), mailOf("em_2"), mailOf("em_3", { subject: "Other" })], async (ask) => {
      const stateOf = async () =>
        (await bodyOf<Listed>(await ask(""))).data.map(({ id, read }) => `${id}${read ? " read" : ""}`)
      const change = async (method: string, path: string) => bodyOf<object>(await ask(path, { method }))
      assert.deepStrictEqual(await change("PATCH", "?id=em_1&id=em_2&id=em_9&read=true"), { changed: 2 })
      assert.deepStrictEqual(await stateOf(), ["em_3", "em_2 read", "em_1 read"])
      assert.deepStrictEqual(await change("PATCH", "?all=true&read=false"), { changed: 3 })
      assert.deepStrictEqual(await change("DELETE", "?q=subject:other"), { deleted: 1 })
      for (const path of ["", "?all=false", "?all=true&id=em_1", "?read=true"])
        assert.strictEqual((await ask(path, { method: "DELETE" })).status, 400, path)
      assert.strictEqual((await ask("?id=em_1", { method: "PATCH" })).status, 400)
      assert.deepStrictEqual(await stateOf(), ["em_2", "em_1"])
      assert.deepStrictEqual(await change("DELETE", "?all=true"), { deleted: 2 })
      assert.deepStrictEqual(await stateOf(), [])
    })
  )

  it.effect("a mail has its parts by address, and no bytes of attachments in JSON", () =>
    asking(
      [
        mailOf("em_1", {
          headers: { "X-Note": "Grüße" },
          attachments: [
            { filename: 'ü "x".txt', content: "aGVsbG8=", path: null, contentType: "text/html", contentId: null },
            { filename: "a.png", content: "aGVsbG8=", path: null, contentType: null, contentId: null },
            { filename: "b", content: null, path: "https://one.test/b", contentType: null, contentId: null }
          ]
        })
      ],
      async (ask) => {
        const mail = await bodyOf<MailDetail>(await ask("/em_1"))
        assert.deepStrictEqual(
          mail.attachments.map(({ bytes, contentType, opens }) => [contentType, bytes, opens]),
          [
            ["text/html", 5, false],
            ["image/png", 5, true],
            ["application/octet-stream", null, false]
          ]
        )
        assert.deepInclude(mail.allHeaders, { name: "X-Note", value: "Grüße" })
        assert.deepStrictEqual(mail.envelope, envelope)
        const typeOf = async (path: string) => {
          const { headers, status } = await ask(path)
          assert.strictEqual(headers.get("content-security-policy"), status === 200 ? attachmentPolicy : null)
          return [status, headers.get("content-type"), headers.get("content-disposition")]
        }
        assert.deepStrictEqual(await typeOf("/em_1/attachments/0"), [
          200,
          "application/octet-stream",
          `attachment; filename="_ _x_.txt"; filename*=UTF-8''%C3%BC%20%22x%22.txt`
        ])
        assert.deepStrictEqual((await typeOf("/em_1/attachments/1")).slice(0, 2), [200, "image/png"])
        assert.match((await typeOf("/em_1/attachments/1?download=true"))[2] as string, /^attachment;/)
        for (const path of ["/2", "/3", "/x", "/-1", "/0?download=yes"])
          assert.include([400, 404], (await ask(`/em_1/attachments${path}`)).status, path)
        assert.match(await (await ask("/em_1/source")).text(), /^Subject: Hello\r$/m)
      }
    )
  )

  it.effect(
    "the HTML is as it was written, in a sandbox, with pictures of its own and others if they are asked for",
    () =>
      asking(
        [
          mailOf("em_1", {
            html: `<b>Hi</b><script>alert(1)</script><img src="cid:a"><img src="cid:b">`,
            attachments: [
              { filename: "a.png", content: "AAAA", path: null, contentType: null, contentId: "a" },
              { filename: "b.html", content: "AAAA", path: null, contentType: "text/html", contentId: "b" }
            ]
          }),
          mailOf("em_2", { html: null })
        ],
        async (ask) => {
          const page = await ask("/em_1/html")
          assert.strictEqual(page.headers.get("content-security-policy"), mailPolicy("own"))
          assert.strictEqual(
            await page.text(),
            `<b>Hi</b><script>alert(1)</script><img src="data:image/png;base64,AAAA"><img src="cid:b">`
          )
          const remote = await ask("/em_1/html?images=remote")
          assert.match(remote.headers.get("content-security-policy")!, /^sandbox; default-src 'none'; .* https: http:;/)
          assert.strictEqual((await ask("/em_1/html?images=all")).status, 400)
          assert.strictEqual((await ask("/em_2/html")).status, 404)
          for (const policy of [mailPolicy("own"), mailPolicy("remote")]) {
            assert.match(policy, /^sandbox; default-src 'none'; /)
            assert.notMatch(policy, /script|allow-/)
          }
        }
      )
  )

  it.effect("gives the file, and knows no other mail", () =>
    asking([mailOf("em_1")], async (ask) => {
      const file = await ask("/em_1.eml")
      assert.strictEqual(file.headers.get("content-type"), "message/rfc822")
      assert.strictEqual(file.headers.get("content-disposition"), 'attachment; filename="em_1.eml"')
      assert.include(await file.text(), "Subject: Hello\r\n")
      for (const path of ["em_2", "em_2.eml", "em_2/html", "em_2/source", "em_2/links", "%22%0d%0aX:y", "em_1%2fhtml"])
        assert.strictEqual((await ask(`/${path}`)).status, 404, path)
    })
  )

  it.effect("the newest mail is there when it comes, and only one that comes after the beginning", () =>
    asking([mailOf("em_1")], async (ask, mailbox) => {
      assert.strictEqual((await bodyOf<MailDetail>(await ask("/latest?q=to:bob@two.test"))).id, "em_1")
      assert.strictEqual((await ask("/latest?q=to:carol@")).status, 404)
      const since = new Date(Date.now() + 60_000).toISOString()
      assert.strictEqual((await ask(`/latest?since=${since}`)).status, 404)
      const waiting = ask("/latest?q=to:carol@&wait=9")
      await Effect.runPromise(mailbox.keep(mailOf("em_2"), envelope))
      await Effect.runPromise(mailbox.keep(mailOf("em_3", { to: ["carol@three.test"] }), envelope))
      assert.strictEqual((await bodyOf<MailDetail>(await waiting)).id, "em_3")
      for (const path of ["?wait=10", "?wait=x", "?since=yesterday", "?id=em_1"])
        assert.strictEqual((await ask(`/latest${path}`)).status, 400, path)
    })
  )

  it.effect("a page of another site reaches nothing, whatever it calls itself", () =>
    asking([mailOf("em_1")], async (ask) => {
      for (const [method, path, headers] of [
        ["GET", "", { host: "evil.example" }],
        ["GET", "/em_1.eml", { host: "evil.example:8080" }],
        ["DELETE", "?all=true", { host: "localhost:8080", origin: "https://evil.example" }],
        ["PATCH", "?all=true&read=true", { host: "localhost:8080", "sec-fetch-site": "cross-site" }],
        ["POST", "/em_1/links", { host: "localhost:8080", "sec-fetch-site": "same-site" }]
      ] as const)
        assert.strictEqual((await errorIn(await ask(path, { method, headers })))[1], "forbidden", `${method} ${path}`)
      assert.strictEqual((await bodyOf<Listed>(await ask(""))).total, 1)
    })
  )

  it("names of this machine are its own", () => {
    const isOwn = (host: string) => isOwnRequest("GET", { host }, "mail.example.test:8080")
    for (const host of [
      "localhost",
      "LOCALHOST:8080",
      "shop.localhost:80",
      "127.0.0.1:8080",
      "127.1.2.3",
      "[::1]:8080"
    ])
      assert.isTrue(isOwn(host), host)
    assert.isTrue(isOwn("mail.example.test:8080"))
    for (const host of ["", "localhost.evil.test", "127.0.0.1.evil.test", "10.0.0.1", "mail.example.test", "[::2]"])
      assert.isFalse(isOwn(host), host)
    const origin = { host: "127.0.0.1:8080", origin: "http://127.0.0.1:8080", "sec-fetch-site": "same-origin" }
    assert.isTrue(isOwnRequest("DELETE", origin, undefined))
    assert.isFalse(isOwnRequest("DELETE", { ...origin, origin: "http://127.0.0.1:9090" }, undefined))
  })
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
