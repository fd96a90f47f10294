/** The mailer as the hand-off calls it, against a real SMTP server (docs/handoff.md, 2.1 to 2.4): what is on the wire, verified by a library that is not ours. */
import { generateKeyPairSync } from "node:crypto"
import { createServer, type Server } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { dkimVerify } from "mailauth"
import { readVerp } from "../../../../src/send/feedback/parse/index.ts"
import { CaptureMailbox } from "../../../../src/send/handoff/CaptureMailbox.ts"
import { MailTransport, plainAddress } from "../../../../src/send/handoff/MailTransport.ts"
import { dkimSigner } from "../../../../src/send/handoff/smtp/dkimSigner.ts"
import { SigningKeys } from "../../../../src/send/handoff/smtp/SigningKeys.ts"
import { layerSmtp, type SmtpTransportOptions } from "../../../../src/send/handoff/smtp/SmtpTransport.ts"
import { type Message, recipientsOf } from "../../../../src/send/Message.ts"
import { makeTargetGuard } from "../../../../src/webhooks/target/targets.ts"
import { until } from "../../../webhooks/until.ts"
import { messageTo } from "../messageTo.ts"
import { type RelayServer, startRelay } from "./relayServer.ts"

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "der" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" }
})

/** Only one.test is verified. */
const layerKeys = Layer.succeed(SigningKeys, {
  signerOf: (_account, domain) =>
    domain === "one.test" ? dkimSigner(domain, "sluice-a", privateKey) : Effect.succeed(undefined)
})

const verified = (raw: string) =>
  Effect.promise(async () => {
    const { results } = await dkimVerify(Buffer.from(raw, "latin1"), {
      resolver: async (name) =>
        name === "sluice-a._domainkey.one.test" ? [[`v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`]] : []
    })
    const [result] = results
    return {
      count: results.length,
      result: result?.status.result,
      aligned: result?.status.aligned,
      signed: result?.signingHeaders?.keys.toLowerCase().split(/\s*:\s*/) ?? []
    }
  })

const key = Buffer.from("32 bytes of the system's secrets")

const mailer = (server: RelayServer, options: Partial<SmtpTransportOptions> = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      layerSmtp({
        url: Redacted.make(`smtp://127.0.0.1:${server.port}`),
        tls: "required",
        guard: makeTargetGuard("any"),
        returnPaths: undefined,
        unsubscribeLinkOf: ({ address }) => `https://sluice.test/unsubscribe?token=${address}`,
        ...options
      }).pipe(Layer.provideMerge(Layer.merge(layerKeys, CaptureMailbox.layer)), Layer.provide(Logger.layer([])))
    )
    const { live, test } = Context.get(context, MailTransport)
    yield* until(Effect.map(live.waits, (reason) => reason === undefined))
    const mailOf = (message: Message) => ({
      mail: { id: "em_0123456789ABCDEFGHIJKL", organization: "org_1", mode: "live", message, acceptedAt: 0 } as const,
      envelope: { from: plainAddress(message.from), to: recipientsOf(message).map(plainAddress) }
    })
    const deliver = (message: Message) => {
      const { envelope, mail } = mailOf(message)
      return live.deliver(mail, envelope)
    }
    return { deliver, live, test, mailOf, mailbox: Context.get(context, CaptureMailbox) }
  })

const headersOf = (raw: string) =>
  new Map(
    raw
      .slice(0, raw.indexOf("\r\n\r\n"))
      .replaceAll(/\r\n[ \t]+/g, " ")
      .split("\r\n")
      .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)] as const)
  )

describe("a mail on the wire", () => {
  it.live("is signed with its domain's key, both headers of an unsubscription included", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const { deliver } = yield* mailer(server)
      const message = messageTo(["Bob <Bob@two.test>"], {
        cc: ["cy@two.test"],
        bcc: ["di@two.test"],
        subject: "Grüße, \u{1F600} und mehr, damit die Zeile länger wird als eine Zeile sein darf",
        html: `<p>${"äöü ".repeat(300)}</p>\n\n\n`,
        text: ". \n.dot  and   blanks \t \n\n\n",
        headers: {
          "List-Unsubscribe": "<https://one.test/u/1>, <mailto:leave@one.test>",
          "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
          "X-Own": "a   b"
        },
        attachments: [
          {
            filename: "a.bin",
            content: Buffer.alloc(3_000, 7).toString("base64"),
            path: null,
            contentType: null,
            contentId: null
          }
        ]
      })
      assert.deepStrictEqual(yield* deliver(message), { _tag: "Accepted" })
      const [taken] = server.taken
      const { signed, ...outcome } = yield* verified(taken!.raw)
      assert.deepStrictEqual(outcome, { count: 1, result: "pass", aligned: "one.test" })
      for (const name of [
        "from",
        "to",
        "cc",
        "subject",
        "mime-version",
        "content-type",
        "list-unsubscribe",
        "list-unsubscribe-post"
      ])
        assert.include(signed, name)
      // Relays write some of these anew.
      assert.notInclude(signed, "message-id")
      assert.notInclude(signed, "date")
      assert.deepStrictEqual(taken!.to, ["Bob@two.test", "cy@two.test", "di@two.test"])
      assert.strictEqual(taken!.from, "ann@one.test")
      const headers = headersOf(taken!.raw)
      assert.strictEqual(headers.get("message-id"), "<em_0123456789ABCDEFGHIJKL@one.test>")
      assert.isFalse(headers.has("bcc"))
      assert.notInclude(taken!.raw, "di@two.test")
    }).pipe(Effect.scoped)
  )

  it.live("is no longer good when somebody adds a sender or an unsubscription to it", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const { deliver } = yield* mailer(server)
      yield* deliver(messageTo(["bob@two.test"], { html: null }))
      const { raw } = server.taken[0]!
      assert.strictEqual((yield* verified(raw)).result, "pass")
      for (const added of ["From: eve@one.test", "Subject: Other", "List-Unsubscribe: <https://eve.test/>"])
        assert.strictEqual((yield* verified(`${added}\r\n${raw}`)).result, "fail", added)
      assert.strictEqual((yield* verified(raw.replace("Hello\r\n", "Hullo\r\n"))).result, "fail")
    }).pipe(Effect.scoped)
  )

  it.live("has no signature where its sender's domain is not verified", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const { deliver } = yield* mailer(server)
      assert.deepStrictEqual(yield* deliver(messageTo(["bob@two.test"], { from: "ann@other.test" })), {
        _tag: "Accepted"
      })
      assert.isFalse(headersOf(server.taken[0]!.raw).has("dkim-signature"))
    }).pipe(Effect.scoped)
  )

  it.live("goes to each recipient with a return path of its own, and the same bytes", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.rcptTo = (address) =>
        address.startsWith("gone") ? { code: 550, text: "5.1.1 No such user" } : undefined
      server.sabotage.ending = ([to]) => (to === "lost@two.test" ? "take and drop" : "take")
      const { deliver } = yield* mailer(server, { returnPaths: { domain: "bounces.sluice.test", key } })
      const message = messageTo(["bob@two.test", "gone@two.test"], { cc: ["lost@two.test"] })
      assert.deepStrictEqual(yield* deliver(message), {
        _tag: "Parted",
        parts: [
          { recipient: "bob@two.test", answer: { _tag: "Accepted" } },
          {
            recipient: "gone@two.test",
            answer: { _tag: "Permanent", code: "5.1.1", reason: "550 5.1.1 No such user", isReputation: false }
          },
          {
            recipient: "lost@two.test",
            answer: {
              _tag: "Unknown",
              reason: "The connection was lost before the relay had answered, so it may have the mail or not"
            }
          }
        ]
      })
      const targets = server.taken.map(({ from, to }) => [to[0], readVerp(from, key)])
      assert.sameDeepMembers(targets, [
        ["bob@two.test", { emailId: "em_0123456789ABCDEFGHIJKL", recipientIndex: 0 }],
        ["lost@two.test", { emailId: "em_0123456789ABCDEFGHIJKL", recipientIndex: 2 }]
      ])
      assert.isTrue(server.taken.every(({ from }) => from.endsWith("@bounces.sluice.test")))
      assert.strictEqual(server.taken[0]!.raw, server.taken[1]!.raw)
    }).pipe(Effect.scoped)
  )

  it.live("has a link of its own for each recipient to unsubscribe, where its sender asks for it", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const { deliver } = yield* mailer(server)
      const message = messageTo(["bob@two.test", "cy@two.test"], { headers: { "X-Sluice-Unsubscribe": "one-click" } })
      assert.deepStrictEqual(yield* deliver(message), { _tag: "Accepted" })
      assert.lengthOf(server.taken, 2)
      for (const { raw, to } of server.taken) {
        const { result, signed } = yield* verified(raw)
        assert.strictEqual(result, "pass")
        assert.includeMembers(signed, ["list-unsubscribe", "list-unsubscribe-post"])
        const headers = headersOf(raw)
        assert.strictEqual(headers.get("list-unsubscribe"), `<https://sluice.test/unsubscribe?token=${to[0]}>`)
        assert.strictEqual(headers.get("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
        assert.isFalse(headers.has("x-sluice-unsubscribe"))
      }
    }).pipe(Effect.scoped)
  )

  it.live("[handoff 2.6] of a test key goes to the local mailbox alone", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const { mailOf, mailbox, test } = yield* mailer(server)
      const { envelope, mail } = mailOf(messageTo(["bob@two.test"]))
      yield* test.deliver({ ...mail, mode: "test" }, envelope)
      assert.lengthOf(yield* mailbox.list, 1)
      assert.lengthOf(server.taken, 0)
    }).pipe(Effect.scoped)
  )
})

describe("[handoff 2.1] an account's turn at the connections", () => {
  it.live("comes before most of another account's slow mails, also where each recipient is handed over by itself", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      server.sabotage.workMillis = 30
      const { live, mailOf } = yield* mailer(server, {
        connections: 2,
        returnPaths: { domain: "bounces.sluice.test", key }
      })
      const slow = (index: number) => {
        const { envelope, mail } = mailOf(messageTo([0, 1, 2, 3].map((at) => `bob@slow${index}x${at}.test`)))
        return live.deliver({ ...mail, organization: "org_slow" }, envelope)
      }
      for (let index = 0; index < 15; index++) yield* Effect.forkChild(slow(index))
      yield* until(Effect.sync(() => server.taken.length >= 2))
      const { envelope, mail } = mailOf(messageTo(["quick@two.test"]))
      const before = server.taken.length
      assert.deepStrictEqual(yield* live.deliver({ ...mail, organization: "org_quick" }, envelope), {
        _tag: "Accepted"
      })
      const place = server.taken.findIndex(({ to }) => to[0] === "quick@two.test")
      // 60 mails were there before it. Those that have a connection go before it, and some while it is signed.
      assert.isBelow(place - before, 15)
      assert.isBelow(place, 30)
    }).pipe(Effect.scoped)
  )
})

describe("attachments by address", () => {
  const files = Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer(({ url }, answer) => {
        if (url === "/report.pdf") answer.end("%PDF-1.7")
        else if (url === "/moved") answer.writeHead(302, { location: "/report.pdf" }).end()
        else if (url === "/inside") answer.writeHead(302, { location: "http://127.0.0.1:1/" }).end()
        else if (url === "/loop") answer.writeHead(302, { location: "/loop" }).end()
        else if (url === "/busy") answer.writeHead(503).end()
        else if (url === "/large") {
          // Without a length, so that only counting tells.
          const chunk = Buffer.alloc(1024 * 1024)
          let left = 27
          const write = (): void => {
            if (left-- > 0) answer.write(chunk, write)
            else answer.end()
          }
          write()
        } else answer.writeHead(404).end()
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.closeAllConnections()).pipe(Effect.andThen(Effect.sync(() => server.close())))
  )

  it.live("[handoff 2.4] are fetched when the mail is handed over, which fails where they cannot be", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const address = (yield* files).address()
      const base = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
      const { deliver } = yield* mailer(server)
      const withPath = (path: string) =>
        deliver(
          messageTo(["bob@two.test"], {
            attachments: [{ filename: null, content: null, path: `${base}${path}`, contentType: null, contentId: null }]
          })
        )
      assert.deepStrictEqual(yield* withPath("/report.pdf"), { _tag: "Accepted" })
      assert.include(server.taken[0]!.raw, Buffer.from("%PDF-1.7").toString("base64"))
      assert.match(server.taken[0]!.raw, /filename="?report\.pdf/)
      assert.strictEqual((yield* verified(server.taken[0]!.raw)).result, "pass")
      assert.deepStrictEqual(yield* withPath("/moved"), { _tag: "Accepted" })
      const failed = (reason: string) => ({ _tag: "Failed", kind: "attachment", reason }) as const
      assert.deepStrictEqual(yield* withPath("/none"), failed("The address of an attachment answered 404"))
      assert.deepStrictEqual(
        yield* withPath("/large"),
        failed("The attachments that are given by addresses have more than 25 MB")
      )
      assert.deepStrictEqual(
        yield* withPath("/loop"),
        failed("The address of an attachment redirects more than 3 times")
      )
      assert.include(yield* withPath("/busy"), {
        _tag: "Temporary",
        reason: "The address of an attachment answered 503"
      })
      assert.lengthOf(server.taken, 2)
    }).pipe(Effect.scoped)
  )

  it.live("are never fetched from inside, by no way round", () =>
    Effect.gen(function* () {
      const server = yield* startRelay()
      const address = (yield* files).address()
      const port = typeof address === "object" ? address?.port : 0
      const resolve = async () => [{ address: "127.0.0.1", family: 4 }]
      const { deliver } = yield* mailer(server, { guard: makeTargetGuard("public", resolve) })
      for (const path of ["https://127.0.0.1/a", `https://files.one.test:${port}/report.pdf`, "http://one.test/a"]) {
        const answer = yield* deliver(
          messageTo(["bob@two.test"], {
            attachments: [{ filename: "a", content: null, path, contentType: null, contentId: null }]
          })
        )
        assert.include(answer, { _tag: "Failed", kind: "attachment" }, path)
      }
      assert.lengthOf(server.taken, 0)
    }).pipe(Effect.scoped)
  )
})
