/**
 * Mails of any content through the real client to a receiver that mends nothing: every line is short, ends in CRLF and has seven bits, and two verifiers find the signature good. A part of them by
 * default; `SLUICE_TEST_SEEDS=all` plays 10,000.
 */
import { generateKeyPairSync } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted, Result } from "effect"
import { dkimVerify } from "mailauth"
import PostalMime from "postal-mime"
import type { EmailForm } from "../../../../src/send/emails/forms.ts"
import { readEmail } from "../../../../src/send/emails/readMessage.ts"
import { CaptureMailbox } from "../../../../src/send/handoff/CaptureMailbox.ts"
import { MailTransport } from "../../../../src/send/handoff/MailTransport.ts"
import { dkimSigner } from "../../../../src/send/handoff/smtp/dkimSigner.ts"
import { SigningKeys } from "../../../../src/send/handoff/smtp/SigningKeys.ts"
import { layerSmtp } from "../../../../src/send/handoff/smtp/SmtpTransport.ts"
import type { Message } from "../../../../src/send/Message.ts"
import { Prng } from "../../../../src/simulation/kernel/Prng.ts"
import { makeTargetGuard } from "../../../../src/webhooks/target/targets.ts"
import { patienceMillis } from "../../../support/patience.ts"
import { until } from "../../../webhooks/until.ts"
import { dkimFault } from "./naiveDkim.ts"
import { startStrictReceiver } from "./strictReceiver.ts"

const isAll = process.env.SLUICE_TEST_SEEDS === "all"
const count = isAll ? 10_000 : 150

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 1024,
  publicKeyEncoding: { type: "spki", format: "der" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" }
})
const key = publicKey.toString("base64")

const pieces = [
  "one",
  " ",
  "  ",
  "\t",
  "\n",
  "\r",
  "\r\n",
  "\r\r\n",
  "\n\n\n",
  ".",
  "\r\n.\r\n",
  "\n.\n",
  "..",
  "From ",
  "=",
  "=20",
  "é",
  "ß",
  "日本",
  "😀",
  "\u00a0",
  "\u2028",
  "\x0b",
  "\x0c",
  "\x7f",
  "<p>",
  "</p>",
  "--",
  "\u0085",
  "~",
  "Subject: x"
]

class Drawn {
  readonly prng: Prng
  constructor(seed: number) {
    this.prng = new Prng(seed, "wire")
  }
  of<A>(all: ReadonlyArray<A>): A {
    return all[this.prng.int(0, all.length - 1)]!
  }
  text(most: number): string {
    const parts = Array.from({ length: this.prng.int(0, most) }, () => this.of(pieces))
    if (this.prng.chance(0.3))
      parts.splice(this.prng.int(0, parts.length), 0, this.of(["x", "é", "ab ", "."]).repeat(this.prng.int(900, 2_500)))
    return parts.join("")
  }
  line(most: number): string {
    return this.text(8)
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
      .slice(0, most)
      .toWellFormed()
  }
  attachment() {
    const name = this.of(["f.eml", "a.txt", "b.bin", "ü.mht", `${"n".repeat(200)}.pdf`, "x.mime"])
    const type = this.of([
      null,
      "message/rfc822",
      "text/plain",
      "multipart/mixed",
      "application/pdf",
      "message/partial; id=1",
      "text/html; charset=utf-8"
    ])
    const bytes = this.prng.chance(0.2)
      ? Buffer.from([0, 13, 255, 10, 13, 10])
      : Buffer.from(`From: a@x.example\n\n${this.text(12)}`)
    return { filename: name, content: bytes.toString("base64"), ...(type === null ? {} : { content_type: type }) }
  }
  form(): EmailForm {
    const { prng } = this
    const html = prng.chance(0.5) ? this.text(20) : null
    const headers = Object.fromEntries(
      ["X-Own", "List-Unsubscribe", "References", "X-Long"].flatMap((name) =>
        prng.chance(0.3) ? [[name, this.line(2_000)]] : []
      )
    )
    return {
      from: this.of([
        "ann@one.test",
        "Ann Lee <ann@one.test>",
        "Änn <ann@one.test>",
        `"${this.line(100).replaceAll(/["\\]/g, "")}" <ann@one.test>`
      ]),
      to: prng.chance(0.1)
        ? Array.from({ length: 50 }, (_, at) => `${"r".repeat(50)}${at}@two.test`)
        : ["bob@two.test"],
      subject: this.line(500),
      html,
      text: html === null || prng.chance(0.5) ? this.text(20) : null,
      headers,
      attachments: Array.from({ length: prng.chance(0.4) ? prng.int(1, 2) : 0 }, () => this.attachment())
    } as EmailForm
  }
}

/** Messages that requests may have, and some of before requests were checked as they are now. */
const messageOf = (seed: number): Message | undefined => {
  const drawn = new Drawn(seed)
  const read = readEmail(drawn.form(), { mode: "live", now: 0, pathProblem: () => undefined })
  if (Result.isFailure(read)) return undefined
  const { message } = read.success
  return drawn.prng.chance(0.1)
    ? { ...message, headers: { ...message.headers, "X-Before": "a".repeat(1_500) } }
    : message
}

const mailer = (port: number) =>
  Effect.gen(function* () {
    const keys = Layer.succeed(SigningKeys, { signerOf: (_account, domain) => dkimSigner(domain, "a", privateKey) })
    const context = yield* Layer.build(
      layerSmtp({
        url: Redacted.make(`smtp://127.0.0.1:${port}`),
        tls: "required",
        guard: makeTargetGuard("any"),
        returnPaths: undefined,
        unsubscribeLinkOf: () => "https://sluice.test/u"
      }).pipe(Layer.provideMerge(Layer.merge(keys, CaptureMailbox.layer)), Layer.provide(Logger.layer([])))
    )
    const { live } = Context.get(context, MailTransport)
    yield* until(Effect.map(live.waits, (reason) => reason === undefined))
    return live
  })

const verifiedBytes = async (mail: Buffer): Promise<string | undefined> => {
  const { results } = await dkimVerify(mail, {
    resolver: async () => [[`v=DKIM1; k=rsa; p=${key}`]],
    minBitLength: 1024
  })
  const [one] = results
  if (one?.status.result !== "pass") return `mailauth: ${one?.status.result} ${one?.status.comment ?? ""}`
  return dkimFault(mail, key)
}

/** Whether each attachment has come as it was given, but for the ends of lines of attached mails. */
const lostAttachment = async (mail: Buffer, { attachments }: Message): Promise<string | undefined> => {
  const { attachments: come } = await PostalMime.parse(mail, { forceRfc822Attachments: true })
  const plain = (bytes: Uint8Array) =>
    Buffer.from(bytes)
      .toString("latin1")
      .replaceAll(/\r\n|\r|\n/g, "\n")
      .trimEnd()
  for (const [index, { content, filename }] of attachments.entries()) {
    const given = Buffer.from(content ?? "", "base64")
    const one = come[index]?.content
    const bytes = typeof one === "string" ? Buffer.from(one) : Buffer.from(new Uint8Array(one ?? new ArrayBuffer(0)))
    if (!bytes.equals(given) && plain(bytes) !== plain(given)) return `attachment ${index}, ${filename}, differs`
  }
  return undefined
}

it.live(
  `[handoff 2.3] mails of any content (${count}) have short lines of seven bits and good signatures on the wire`,
  () =>
    Effect.gen(function* () {
      const receiver = yield* startStrictReceiver
      const live = yield* mailer(receiver.port)
      let played = 0
      for (let seed = 0; played < count; seed++) {
        const message = messageOf(seed)
        if (message === undefined) continue
        played++
        const mail = { id: `em_${seed}`, organization: "org_1", mode: "live", message, acceptedAt: 0 } as const
        const answer = yield* live.deliver(mail, { from: "ann@one.test", to: ["bob@two.test"] })
        assert.strictEqual(answer._tag, "Accepted", `seed ${seed}`)
        const raw = receiver.mails.at(-1)!
        assert.deepStrictEqual(receiver.faults, [], `seed ${seed}`)
        assert.isUndefined(yield* Effect.promise(() => verifiedBytes(raw)), `seed ${seed}`)
        assert.isUndefined(yield* Effect.promise(() => lostAttachment(raw, message)), `seed ${seed}`)
        receiver.mails.length = 0
      }
    }).pipe(Effect.scoped),
  isAll ? 900_000 : patienceMillis
)
