/**
 * Mails handed to an SMTP server over pooled connections and signed with a key of 2,048 bits: by the mailer, as the hand-off calls it, or by nodemailer alone, with the same
 * connections, the same key and the same server, which is a thread of its own.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { Context, Effect, Layer, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { CaptureMailbox } from "../../../src/send/handoff/CaptureMailbox.ts"
import { MailTransport } from "../../../src/send/handoff/MailTransport.ts"
import { dkimSigner } from "../../../src/send/handoff/smtp/dkimSigner.ts"
import { SigningKeys } from "../../../src/send/handoff/smtp/SigningKeys.ts"
import { layerSmtp } from "../../../src/send/handoff/smtp/SmtpTransport.ts"
import type { Message } from "../../../src/send/Message.ts"
import { makeTargetGuard } from "../../../src/webhooks/target/targets.ts"
import { serveWorkload } from "./workload.ts"

export interface HandoffsLoad {
  readonly by: "mailer" | "nodemailer"
  readonly connections: number
  readonly warmUp: number
  readonly mails: number
}

const privateKey = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" }
}).privateKey

const text = "Your order has left our house. It will be with you tomorrow.\n".repeat(20)
const message: Message = {
  from: "Ann <ann@one.test>",
  to: ["bob@two.test"],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: "Your order",
  html: `<p>${text.replaceAll("\n", "</p>\n<p>")}</p>`,
  text,
  headers: {},
  tags: [],
  attachments: []
}

type HandOver = (number: number) => Effect.Effect<unknown>

/** Recipient domains differ, because no domain gets all connections. */
const recipientOf = (number: number): string => `bob${number}@domain${number % 25}.test`

const byMailer = (port: number, connections: number) =>
  Effect.gen(function* () {
    const layer = layerSmtp({
      url: Redacted.make(`smtp://127.0.0.1:${port}`),
      tls: "required",
      connections,
      guard: makeTargetGuard("public"),
      returnPaths: undefined,
      unsubscribeLinkOf: () => ""
    }).pipe(
      Layer.provide(CaptureMailbox.layerClosed),
      Layer.provide(
        Layer.effect(
          SigningKeys,
          Effect.map(dkimSigner("one.test", "a", privateKey), (signer) => ({ signerOf: () => Effect.succeed(signer) }))
        )
      )
    )
    const { live } = Context.get(yield* Layer.build(layer), MailTransport)
    while ((yield* live.waits) !== undefined) yield* Effect.sleep("5 millis")
    return (number: number) => {
      const to = recipientOf(number)
      const mail = { id: `em_${number}`, organization: "org_1", mode: "live", message, acceptedAt: 0 } as const
      return Effect.flatMap(
        live.deliver({ ...mail, message: { ...message, to: [to] } }, { from: "ann@one.test", to: [to] }),
        (answer) => (answer._tag === "Accepted" ? Effect.void : Effect.die(new Error(JSON.stringify(answer))))
      )
    }
  })

const byNodemailer = (port: number, connections: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        createTransport({
          pool: true,
          host: "127.0.0.1",
          port,
          maxConnections: connections,
          dkim: { domainName: "one.test", keySelector: "a", privateKey }
        })
      ),
      (pool) => Effect.sync(() => pool.close())
    ),
    (pool): HandOver =>
      (number) =>
        Effect.promise(() => {
          const { from, html, subject } = message
          return pool.sendMail({
            from,
            to: recipientOf(number),
            subject,
            html: html ?? "",
            text,
            messageId: `<em_${number}@one.test>`
          })
        })
  )

const prepare = ({ by, connections, mails, warmUp }: HandoffsLoad) =>
  Effect.gen(function* () {
    const sink = yield* Effect.acquireRelease(
      Effect.sync(() => new Worker(new URL("smtpSink.ts", import.meta.url))),
      (worker) => Effect.promise(() => worker.terminate())
    )
    const [port] = (yield* Effect.promise(() => once(sink, "message"))) as [number]
    const handOver: HandOver = yield* by === "mailer" ? byMailer(port, connections) : byNodemailer(port, connections)
    const run = (from: number, count: number) =>
      Effect.forEach(
        Array.from({ length: count }, (_, index) => from + index),
        handOver,
        {
          // As many as a few batches of the hand-off have under way.
          concurrency: connections * 4,
          discard: true
        }
      )
    yield* run(0, warmUp)
    return {
      measure: async () => {
        const begun = performance.now()
        await Effect.runPromise(run(warmUp, mails))
        return { perSecond: (mails * 1_000) / (performance.now() - begun) }
      }
    }
  })

serveWorkload(prepare)
