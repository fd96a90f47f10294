/** The listener for bounces, spoken to by a real SMTP client: whom it takes mail for, what it bounds, and what it answers while reports cannot be counted. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { createTransport } from "nodemailer"
import { vi } from "vitest"
import { listenForBounces } from "../../../../src/send/feedback/intake/BounceListener.ts"
import { FeedbackIntake, IntakeUnavailable } from "../../../../src/send/feedback/intake/FeedbackIntake.ts"
import { readVerp, type VerpTarget, verpOf } from "../../../../src/send/feedback/parse/index.ts"
import type { ListenerTlsFiles } from "../../../../src/send/listener/listenerTls.ts"
import { ReportIntake } from "../../../../src/send/senders/reports/ReportIntake.ts"
import { patienceMillis } from "../../../support/patience.ts"
import { smtpClient } from "../../listener/smtpClient.ts"

const key = Buffer.from("32 bytes of the system's secrets")
const path = verpOf({ emailId: "em_1", recipientIndex: 0 }, "bounces.test", key)

interface Taken {
  readonly raw: string
  readonly targets: ReadonlyArray<VerpTarget>
}

const never = () => false

const listening = (
  isAway: () => boolean = never,
  tls?: ListenerTlsFiles,
  logger = Logger.layer([]),
  isFull: () => boolean = never
) =>
  Effect.gen(function* () {
    const taken: Array<Taken> = []
    const intake = Layer.succeed(FeedbackIntake, {
      targetOf: (address) => readVerp(address, key),
      take: (raw, targets) =>
        Effect.suspend(() => {
          if (isAway()) return Effect.fail(new IntakeUnavailable({ message: "away" }))
          taken.push({ raw: Buffer.from(raw).toString("latin1"), targets })
          return Effect.succeed("taken" as const)
        }),
      takeFile: () => Effect.succeed("none")
    })
    const reported: Array<string> = []
    const reports = Layer.succeed(ReportIntake, {
      take: (raw, address) =>
        Effect.sync(() => {
          reported.push(`${address}: ${raw.byteLength}`)
          return isFull() ? "full" : "taken"
        })
    })
    const port = yield* listenForBounces({
      host: "127.0.0.1",
      port: 0,
      domain: "bounces.test",
      tls,
      feedbackAddresses: ["fbl@bounces.test", "loop@one.test"]
    }).pipe(Effect.provide(Layer.merge(intake, reports)), Effect.provide(logger))
    return { port, taken, reported }
  })

const certificates = new URL("../../../nats/certificates/", import.meta.url)
const fileOf = (name: string) => fileURLToPath(new URL(name, certificates))

/** Brings a mail by a mail system that demands TLS and verifies the certificate; answers what it is refused with, or undefined. */
const brought = (port: number, authority: string) =>
  Effect.map(
    Effect.result(
      Effect.tryPromise({
        try: () =>
          createTransport({
            host: "127.0.0.1",
            port,
            requireTLS: true,
            tls: { ca: [readFileSync(authority)], servername: "localhost" }
          }).sendMail({ envelope: { from: false, to: path }, raw: "Subject: secret\r\n\r\na" }),
        catch: String
      })
    ),
    (result) => (result._tag === "Failure" ? result.failure : undefined)
  )

describe("the listener", () => {
  it.live("takes mail for return paths of ours, whatever their case, and for nobody else", () =>
    Effect.gen(function* () {
      const { port, taken } = yield* listening()
      const { say } = yield* smtpClient(port)
      assert.match(yield* say("MAIL FROM:<>"), /^250 /)
      const other = verpOf(
        { emailId: "em_1", recipientIndex: 0 },
        "bounces.test",
        Buffer.from("another key of 32 bytes at least")
      )
      for (const address of [
        "postmaster@bounces.test",
        "bounce+abc@bounces.test",
        other,
        path.replace("bounces.test", "two.test"),
        "x"
      ])
        assert.match(yield* say(`RCPT TO:<${address}>`), /^5\d\d /, address)
      assert.match(yield* say(`RCPT TO:<${path.toUpperCase()}>`), /^250 /)
      assert.match(yield* say("DATA"), /^354 /)
      assert.match(yield* say("Subject: a\r\n\r\n..dot\r\n."), /^250 /)
      assert.deepStrictEqual(taken, [
        { raw: "Subject: a\r\n\r\n.dot\r\n", targets: [{ emailId: "em_1", recipientIndex: 0 }] }
      ])
      assert.match(yield* say("AUTH PLAIN AGEAYg=="), /^5\d\d /)
    }).pipe(Effect.scoped)
  )

  it.live("[handoff 6.1] takes mail for the addresses of feedback loops, which names no email", () =>
    Effect.gen(function* () {
      const { port, taken } = yield* listening()
      const { say } = yield* smtpClient(port)
      yield* say("MAIL FROM:<staff@provider.test>")
      for (const address of ["FBL@bounces.test", "loop@one.test"])
        assert.match(yield* say(`RCPT TO:<${address}>`), /^250 /, address)
      for (const address of ["loop@bounces.test", "fbl@one.test"])
        assert.match(yield* say(`RCPT TO:<${address}>`), /^550 /, address)
      yield* say("DATA")
      assert.match(yield* say("Subject: a\r\n\r\na\r\n."), /^250 /)
      assert.deepStrictEqual(taken, [{ raw: "Subject: a\r\n\r\na\r\n", targets: [] }])
    }).pipe(Effect.scoped)
  )

  it.live("reads the beginning of a long mail alone", () =>
    Effect.gen(function* () {
      const { port, taken } = yield* listening()
      const { say } = yield* smtpClient(port)
      yield* say("MAIL FROM:<>")
      yield* say(`RCPT TO:<${path}>`)
      yield* say("DATA")
      assert.match(yield* say(`${`${"x".repeat(70)}\r\n`.repeat(30_000)}.`), /^250 /)
      assert.lengthOf(taken[0]!.raw, 262_144)
    }).pipe(Effect.scoped)
  )

  it.live("is told again what it could not count", () =>
    Effect.gen(function* () {
      let isAway = true
      const { port, taken } = yield* listening(() => isAway)
      const { say } = yield* smtpClient(port)
      const send = Effect.gen(function* () {
        yield* say("MAIL FROM:<>")
        yield* say(`RCPT TO:<${path}>`)
        yield* say("DATA")
        return yield* say("a\r\n.")
      })
      assert.match(yield* send, /^451 /)
      isAway = false
      assert.match(yield* send, /^250 /)
      assert.lengthOf(taken, 1)
    }).pipe(Effect.scoped)
  )

  it.live("takes mail over TLS with its certificate, and without for who does not ask for it", () =>
    Effect.gen(function* () {
      const files = { certificate: fileOf("server.pem"), key: fileOf("server-key.pem") }
      const { port, taken } = yield* listening(undefined, files)
      assert.isUndefined(yield* brought(port, fileOf("authority.pem")))
      assert.deepStrictEqual(taken, [
        { raw: "Subject: secret\r\n\r\na\r\n", targets: [{ emailId: "em_1", recipientIndex: 0 }] }
      ])
      const { say } = yield* smtpClient(port)
      assert.match(yield* say("MAIL FROM:<>"), /^250 /)
      assert.match(yield* say("RCPT TO:<postmaster@bounces.test>"), /^550 /)
      const { port: plain } = yield* listening()
      assert.include(yield* brought(plain, fileOf("authority.pem")), "STARTTLS")
    }).pipe(Effect.scoped)
  )

  it.effect("offers a renewed certificate, and keeps the old one where the new files cannot be used", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "sluice-certificates-"))),
        (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
      )
      const used = { certificate: join(folder, "used.pem"), key: join(folder, "used-key.pem") }
      const use = (certificate: string, key: string) => {
        copyFileSync(certificate, used.certificate)
        copyFileSync(key, used.key)
      }
      const renewed = fileURLToPath(new URL("certificates/renewed.pem", import.meta.url))
      use(fileOf("server.pem"), fileOf("server-key.pem"))
      const told: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void told.push(String(message)))])
      const { port } = yield* listening(undefined, used, logger)
      assert.isUndefined(yield* brought(port, fileOf("authority.pem")))
      /** An hour goes by, and the listener says what it has found. */
      const anHour = Effect.gen(function* () {
        const before = told.length
        yield* TestClock.adjust("1 hour")
        yield* Effect.promise(() => vi.waitUntil(() => told.length > before, { timeout: patienceMillis }))
      })
      writeFileSync(used.certificate, "nothing")
      yield* anHour
      assert.include(told.at(-1), "are not a certificate and its key")
      assert.isUndefined(yield* brought(port, fileOf("authority.pem")))
      use(renewed, renewed.replace(".pem", "-key.pem"))
      yield* anHour
      assert.include(told.at(-1), "offers its new certificate")
      assert.isDefined(yield* brought(port, fileOf("authority.pem")))
      assert.isUndefined(yield* brought(port, renewed))
    }).pipe(Effect.scoped)
  )

  it.live("does not begin with files that are no certificate and its key", () =>
    Effect.gen(function* () {
      const refused = (files: ListenerTlsFiles) =>
        Effect.map(Effect.flip(listening(undefined, files)), (error) => error.message)
      const key = fileOf("server-key.pem")
      assert.include(yield* refused({ certificate: fileOf("none.pem"), key }), "none.pem cannot be read (ENOENT)")
      assert.include(yield* refused({ certificate: key, key }), "are not a certificate and its key in PEM")
      assert.include(yield* refused({ certificate: fileOf("authority.pem"), key }), "mismatch")
    }).pipe(Effect.scoped)
  )

  it.live("[handoff 6.4] takes reports about domains whole, which go to nobody else", () =>
    Effect.gen(function* () {
      let isFull = false
      const { port, reported, taken } = yield* listening(undefined, undefined, undefined, () => isFull)
      const { say } = yield* smtpClient(port)
      const begin = (to: string) => Effect.andThen(say("MAIL FROM:<noreply@reporter.test>"), say(`RCPT TO:<${to}>`))
      const bring = Effect.fnUntraced(function* (to: string, mail: string) {
        yield* begin(to)
        yield* say("DATA")
        return yield* say(`${mail}.`)
      })
      const line = `${"x".repeat(70)}\r\n`
      assert.match(yield* bring("DMARC-Reports@bounces.test", line.repeat(20_000)), /^250 /)
      assert.match(yield* bring("tls-reports@bounces.test", line), /^250 /)
      assert.match(yield* bring("dmarc-reports@bounces.test", line.repeat(25_000)), /^552 /)
      assert.deepStrictEqual(reported, ["127.0.0.1: 1440000", "127.0.0.1: 72"])
      isFull = true
      assert.match(yield* bring("dmarc-reports@bounces.test", line), /^451 /)
      assert.match(yield* begin("dmarc-reports@bounces.test"), /^250 /)
      assert.match(yield* say(`RCPT TO:<${path}>`), /^452 /)
      yield* say("RSET")
      assert.match(yield* begin(path), /^250 /)
      assert.match(yield* say("RCPT TO:<dmarc-reports@bounces.test>"), /^452 /)
      for (const address of ["dmarc-reports@one.test", "reports@bounces.test"])
        assert.match(yield* say(`RCPT TO:<${address}>`), /^550 /, address)
      assert.lengthOf(taken, 0)
    }).pipe(Effect.scoped)
  )

  it.live("keeps no place for a report whose connection has ended", () =>
    Effect.gen(function* () {
      const { port, reported } = yield* listening()
      const begin = Effect.fnUntraced(function* () {
        const client = yield* smtpClient(port)
        yield* client.say("MAIL FROM:<>")
        yield* client.say("RCPT TO:<dmarc-reports@bounces.test>")
        assert.match(yield* client.say("DATA"), /^354 /)
        return client
      })
      // More than there is room for, a few at a time.
      for (let round = 0; round < 3; round++)
        yield* Effect.scoped(Effect.forEach(Array.from({ length: 6 }), begin, { concurrency: 6 }))
      // The listener may hear of their ends a moment later.
      let answer = ""
      for (let attempt = 0; attempt < 10 && !answer.startsWith("250 "); attempt++)
        answer = yield* Effect.scoped(Effect.flatMap(begin(), ({ say }) => say("a\r\n.")))
      assert.match(answer, /^250 /)
      assert.lengthOf(reported, 1)
    }).pipe(Effect.scoped)
  )

  it.live("has few reports of one network in a minute", () =>
    Effect.gen(function* () {
      const { port } = yield* listening()
      const { say } = yield* smtpClient(port)
      const answers: Array<string> = []
      // A minute may end in between, and then another one begins.
      for (let mail = 0; mail < 65; mail++) {
        yield* say("MAIL FROM:<>")
        answers.push((yield* say("RCPT TO:<dmarc-reports@bounces.test>")).slice(0, 3))
        yield* say("RSET")
      }
      assert.strictEqual(answers[0], "250")
      assert.include(answers, "450")
    }).pipe(Effect.scoped)
  )

  it.live("has few connections for one address", () =>
    Effect.gen(function* () {
      const { port } = yield* listening()
      yield* Effect.forEach(Array.from({ length: 10 }), () => smtpClient(port))
      const refused = yield* smtpClient(port)
      assert.strictEqual(yield* refused.say("NOOP"), "")
    }).pipe(Effect.scoped)
  )
})
