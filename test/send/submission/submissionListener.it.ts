/** Mail that applications submit by SMTP (docs/handoff.md, 7), by real clients to the real listener, on PostgreSQL and with the engine's log in memory. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createTransport, type SendMailOptions } from "nodemailer"
import { expect } from "vitest"
import { ApiKeys } from "../../../src/platform/ApiKeys.ts"
import { Authentication } from "../../../src/platform/Authentication.ts"
import { AcceptEmails } from "../../../src/send/emails/AcceptEmails.ts"
import { SendRate } from "../../../src/send/emails/SendRate.ts"
import { listenForSubmission } from "../../../src/send/submission/SubmissionListener.ts"
import { useSharedApi } from "../../support/sharedApi.ts"
import { inOneWindow, minuteMillis } from "../../support/windows.ts"
import { mail, useSendPlatform } from "../http/emailsPlatform.ts"
import { smtpClient } from "../listener/smtpClient.ts"

const platform = useSendPlatform()
const services = useSharedApi(({ services }) => services)

const fileOf = (name: string) => fileURLToPath(new URL(`../../nats/certificates/${name}`, import.meta.url))
const files = { certificate: fileOf("server.pem"), key: fileOf("server-key.pem") }

type Needed = Authentication | SendRate | AcceptEmails

const listening = (options: { readonly isPlain?: boolean; readonly accepts?: AcceptEmails["Service"] } = {}) =>
  Effect.suspend(() => {
    const given: Context.Context<Needed> = Context.pick(Authentication, SendRate, AcceptEmails)(services())
    return listenForSubmission({
      host: "127.0.0.1",
      port: 0,
      name: "mail.one.test",
      tls: options.isPlain === true ? undefined : files,
      isPlainAllowed: options.isPlain === true
    }).pipe(
      Effect.provide(options.accepts === undefined ? given : Context.add(given, AcceptEmails, options.accepts)),
      Effect.provide(Logger.layer([]))
    )
  })

const account = (options?: Parameters<ReturnType<typeof platform>["account"]>[0]) =>
  Effect.promise(() => platform().account(options))

/** Logs in on a listener without TLS. */
const loggedIn = (port: number, key: string) =>
  Effect.tap(smtpClient(port), ({ say }) =>
    Effect.map(say(`AUTH PLAIN ${Buffer.from(`\0sluice\0${key}`).toString("base64")}`), (answer) =>
      assert.match(answer, /^235 /)
    )
  )

const content = (id: string, text = "Hi Bob") =>
  `From: ${mail.from}\r\nTo: bob@two.test\r\nSubject: Hello\r\nMessage-ID: <${id}@one.test>\r\n\r\n${text}\r\n.`

/** Says a whole mail at once, and hears the answer to its content. */
const submitted = (client: Effect.Success<ReturnType<typeof smtpClient>>, data: string, to = ["bob@two.test"]) =>
  Effect.gen(function* () {
    yield* client.say("MAIL FROM:<ann@one.test>")
    for (const one of to) yield* client.say(`RCPT TO:<${one}>`)
    yield* client.say("DATA")
    return yield* client.say(data)
  })

/** Submits a mail as an application does, over TLS; answers the reply of the listener, of the last command where it refuses. */
const sentBy = (port: number, key: string, more: SendMailOptions) =>
  Effect.promise(async () => {
    const transport = createTransport({
      host: "127.0.0.1",
      port,
      requireTLS: true,
      auth: { user: "sluice", pass: key },
      tls: { ca: [readFileSync(fileOf("authority.pem"))], servername: "localhost" }
    })
    try {
      return (await transport.sendMail({ from: mail.from, to: "bob@two.test", subject: "Hello", text: "Hi", ...more }))
        .response
    } catch (error) {
      return (error as { readonly response?: string }).response ?? String(error)
    } finally {
      transport.close()
    }
  })

const idOf = (answer: string) => /em_\w{22}/.exec(answer)?.[0]

describe("[handoff 7] mail of an application", () => {
  it.live("is accepted over TLS with all that it has, and once under its Message-ID", () =>
    Effect.gen(function* () {
      const { ask, key } = yield* account()
      const port = yield* listening()
      const more = {
        to: "Bob <bob@two.test>",
        cc: "cara@two.test",
        bcc: "dan@two.test",
        replyTo: "help@one.test",
        html: "<p>Grüße</p>",
        headers: { "X-Campaign": "spring", "List-Unsubscribe": "<https://one.test/u>" },
        attachments: [{ filename: "a.txt", content: "an attachment" }]
      }
      const raw = `From: ${mail.from}\r\nTo: bob@two.test\r\nMessage-ID: <raw@one.test>\r\n\r\nHi`
      const envelope = { from: "ann@one.test", to: "bob@two.test" }
      const answer = yield* sentBy(port, key, more)
      assert.match(answer, /^250 2\.0\.0 em_\w{22} queued$/)
      const first = yield* sentBy(port, key, { raw, envelope })
      assert.strictEqual(yield* sentBy(port, key, { raw, envelope }), first)
      const shown = yield* Effect.promise(() => ask("GET", `/v1/send/emails/${idOf(answer)}`))
      expect(shown.body).toMatchObject({
        from: mail.from,
        to: ["Bob <bob@two.test>"],
        cc: ["cara@two.test"],
        bcc: ["dan@two.test"],
        reply_to: ["help@one.test"],
        subject: "Hello",
        html: expect.stringContaining("<p>Grüße</p>"),
        text: expect.stringContaining("Hi"),
        state: "queued"
      })
      const caps = (yield* Effect.promise(() => ask("GET", "/v1/send/tenants"))).body
      expect(caps).toMatchObject({ caps: { emailsPerMonth: { used: 2 } } })
    }).pipe(Effect.scoped)
  )

  it.live("that many connections bring at once is accepted once, and another mail under its Message-ID as well", () =>
    Effect.gen(function* () {
      const { ask, key } = yield* account({ mode: "test" })
      const port = yield* listening({ isPlain: true })
      const clients = yield* Effect.forEach(Array.from({ length: 6 }), () => loggedIn(port, key), { concurrency: 6 })
      const answers = yield* Effect.forEach(clients, (client) => submitted(client, content("same")), { concurrency: 6 })
      assert.strictEqual(new Set(answers).size, 1)
      assert.match(answers[0]!, /^250 2\.0\.0 em_/)
      const [client] = clients
      const others = [
        yield* submitted(client!, content("same", "Hi again")),
        yield* submitted(client!, content("same"), ["cara@two.test"])
      ]
      assert.strictEqual(new Set([...answers, ...others].map(idOf)).size, 3)
      const caps = (yield* Effect.promise(() => ask("GET", "/v1/send/tenants"))).body
      expect(caps).toMatchObject({ mode: "test", caps: { emailsPerMonth: { used: 3 } } })
    }).pipe(Effect.scoped)
  )

  it.live("is taken in one piece (PIPELINING), in UTF-8, and for an internationalized domain", () =>
    Effect.gen(function* () {
      const { ask, key } = yield* account()
      const port = yield* listening({ isPlain: true })
      const { hear, say, socket } = yield* loggedIn(port, key)
      const utf8 = `From: ${mail.from}\r\nTo: <bob@exämple.com>\r\nSubject: Grüße\r\n\r\n..ä\r\n`
      socket.write(
        `MAIL FROM:<> BODY=8BITMIME SMTPUTF8\r\nRCPT TO:<bob@exämple.com>\r\nRCPT TO:<bób@two.test>\r\nDATA\r\n${utf8}.\r\nNOOP\r\n`
      )
      const heard = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => hear)
      expect(heard.map(([line]) => line?.slice(0, 9))).toEqual([
        "250 Accep",
        "250 Accep",
        "553 5.6.7",
        "354 End d",
        "250 2.0.0",
        "250 OK"
      ])
      const shown = yield* Effect.promise(() => ask("GET", `/v1/send/emails/${idOf(heard[4]![0]!)}`))
      expect(shown.body).toMatchObject({ to: ["bob@xn--exmple-cua.com"], subject: "Grüße", text: ".ä\n" })
      assert.match(yield* say("QUIT"), /^221 /)
    }).pipe(Effect.scoped)
  )

  it.live("[platform 9.18] is refused with the code for its fault, and nothing of it counts", () =>
    Effect.gen(function* () {
      const { ask, key, limits, suppress, tell } = yield* account()
      const port = yield* listening({ isPlain: true })
      const client = yield* loggedIn(port, key)
      const { say } = client
      const from = (sender: string) => `From: ${sender}\r\nTo: bob@two.test\r\n\r\nHi\r\n.`
      assert.match(yield* say("MAIL FROM:<ann@one.test> SIZE=241665"), /^552 /)
      assert.match(yield* submitted(client, from("ann@other.test")), /^550 5\.7\.1 The sender "ann@other\.test" is not/)
      assert.match(yield* submitted(client, "To: bob@two.test\r\n\r\nHi\r\n."), /^554 5\.6\.0 Missing header 'From'/)
      assert.match(yield* submitted(client, from("ann@one.test\r\nX-Sluice-Route: a")), /^554 5\.6\.0 .*X-Sluice-Route/)
      const large = `From: ann@one.test\r\n\r\n${`${"x".repeat(70)}\r\n`.repeat(3_400)}.`
      assert.match(yield* submitted(client, large), /^552 5\.3\.4 .*241664/)
      yield* say("MAIL FROM:<ann@one.test>")
      assert.match(yield* say("RCPT TO:<delivered@simulator.invalid>"), /^550 5\.1\.1 .*test keys/)
      assert.match(yield* say("RCPT TO:<bob@localhost>"), /^553 5\.1\.3 /)
      for (let index = 0; index < 50; index++) assert.match(yield* say(`RCPT TO:<b${index}@two.test>`), /^250 /)
      assert.match(yield* say("RCPT TO:<B7@two.test>"), /^250 /)
      assert.match(yield* say("RCPT TO:<more@two.test>"), /^452 4\.5\.3 /)
      yield* say("RSET")
      yield* Effect.promise(() => suppress("bob@two.test"))
      assert.match(yield* submitted(client, content("a")), /^250 2\.0\.0 em_\w+ suppressed$/)
      yield* Effect.promise(() => limits({ probation: { emailsPerHour: 1, emailsPerDay: 1, domainsPerHour: 1 } }))
      const cara = (id: string) => content(id).replace("bob@", "cara@")
      assert.match(yield* submitted(client, cara("b"), ["cara@two.test"]), /^250 /)
      assert.match(
        yield* submitted(client, cara("c"), ["cara@two.test"]),
        /^452 4\.7\.1 .*Retry after \d+ s\. It resets at \d{4}-\d\d-\d\dT/
      )
      yield* Effect.promise(() => limits({ emailsPerMonth: 1 }))
      assert.match(yield* submitted(client, cara("d"), ["cara@two.test"]), /^452 4\.7\.1 .*It ends at \d{4}-\d\d-01T/)
      // A repeat of what was accepted is answered all the same.
      assert.match(yield* submitted(client, cara("b"), ["cara@two.test"]), /^250 /)
      yield* Effect.promise(() =>
        tell({ _tag: "SetLimits", custom: { emailsPerMonth: null, probation: null, requestsPerMinute: null } })
      )
      const caps = (yield* Effect.promise(() => ask("GET", "/v1/send/tenants"))).body
      expect(caps).toMatchObject({ caps: { emailsPerMonth: { used: 1 } } })
    }).pipe(Effect.scoped)
  )

  it.live("counts for the limit of its key, together with requests over HTTP", () =>
    Effect.gen(function* () {
      const port = yield* listening({ isPlain: true })
      const answers = yield* Effect.promise(() =>
        inOneWindow(minuteMillis, async () => {
          const { ask, key, limits } = await platform().account()
          await limits({ requestsPerMinute: 2 })
          const both = await Effect.runPromise(
            Effect.flatMap(loggedIn(port, key), (client) =>
              Effect.gen(function* () {
                const first = yield* submitted(client, content("a"))
                yield* Effect.promise(() => ask("POST", "/v1/send/emails", mail))
                return [first, yield* submitted(client, content("b"))]
              })
            ).pipe(Effect.scoped)
          )
          return both.map((line) => line.replaceAll(/\d+ s\./g, "n s."))
        })
      )
      assert.match(answers[0]!, /^250 /)
      assert.strictEqual(answers[1], "452 4.7.1 The limit of 2 requests per minute is reached. Retry after n s.")
    }).pipe(Effect.scoped)
  )

  it.live("is refused while its account is paused, and after its key was revoked, on an open connection too", () =>
    Effect.gen(function* () {
      const { key, newKey, organization, sent, tell } = yield* account()
      const port = yield* listening({ isPlain: true })
      const client = yield* loggedIn(port, key)
      const risky = { subject: "Verify your account", text: "https://bit.ly/3x" }
      for (const _ of [1, 2]) yield* Effect.promise(() => sent(risky))
      yield* Effect.promise(() => tell({ _tag: "Check" }))
      assert.match(yield* submitted(client, content("a")), /^550 5\.7\.1 Sending is paused/)
      const second = yield* Effect.promise(() => newKey())
      const other = yield* loggedIn(port, second)
      const apiKeys = Context.get(services(), ApiKeys)
      for (const { id: keyId } of (yield* apiKeys.list({ organizationId: organization, limit: 10, cursor: undefined }))
        .data)
        yield* apiKeys.revoke(keyId)
      assert.match(yield* submitted(other, content("b")), /^535 5\.7\.8 Invalid API key/)
    }).pipe(Effect.scoped)
  )
})

describe("[handoff 7.1] the listener for submission", () => {
  it.live("asks for TLS before a key, and for a key before a mail", () =>
    Effect.gen(function* () {
      const { key, newKey } = yield* account()
      const port = yield* listening()
      const { say, socket, hear } = yield* smtpClient(port)
      socket.write("EHLO two.test\r\n")
      const offered = (yield* hear).map((line) => line.slice(4))
      expect(offered).toEqual(expect.arrayContaining(["PIPELINING", "8BITMIME", "SMTPUTF8", "STARTTLS", "SIZE 241664"]))
      expect(offered.join()).not.toContain("AUTH")
      assert.match(yield* say("MAIL FROM:<ann@one.test>"), /^530 5\.7\.0 Must issue a STARTTLS/)
      assert.match(yield* say(`AUTH PLAIN ${Buffer.from(`\0a\0${key}`).toString("base64")}`), /^5\d\d /)
      assert.match(yield* say("XCLIENT ADDR=127.0.0.2"), /^5\d\d /)
      assert.match(yield* sentBy(port, `${key}a`, {}), /^535 5\.7\.8 Invalid API key/)
      const directory = yield* Effect.promise(() => newKey({ services: ["directory"] }))
      assert.match(yield* sentBy(port, directory, {}), /^535 5\.7\.8 .*send service/)
      const plain = yield* smtpClient(yield* listening({ isPlain: true }))
      assert.match(yield* plain.say("MAIL FROM:<ann@one.test>"), /^530 5\.7\.0 Authentication required/)
      const wrong = Buffer.from("\0a\0cs_live_0123456789012345678901").toString("base64")
      for (const code of ["535", "535", "421"]) {
        assert.match(yield* plain.say("AUTH LOGIN YQ=="), /^334 /)
        expect((yield* plain.say(Buffer.from(wrong).toString("base64"))).slice(0, 3)).toBe(code)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("ends a client that does not log in, and one that takes too long for a mail", () =>
    Effect.gen(function* () {
      const { key } = yield* account()
      const port = yield* listening({ isPlain: true })
      const [silent, slow] = [yield* smtpClient(port), yield* loggedIn(port, key)]
      yield* TestClock.adjust("30 seconds")
      expect(yield* silent.hear).toEqual(["421 4.4.2 The mail took too long, come again"])
      yield* slow.say("MAIL FROM:<ann@one.test>")
      yield* slow.say("RCPT TO:<bob@two.test>")
      yield* slow.say("DATA")
      slow.socket.write("From: ")
      yield* TestClock.adjust("90 seconds")
      expect(yield* slow.hear).toEqual(["421 4.4.2 The mail took too long, come again"])
    }).pipe(Effect.scoped)
  )

  it.live("at its end answers a mail that is complete, and ends other connections", () =>
    Effect.gen(function* () {
      const { key } = yield* account()
      const [asked, goes] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const real = Context.get(services(), AcceptEmails)
      const scope = yield* Scope.make()
      const port = yield* listening({
        isPlain: true,
        accepts: {
          ...real,
          send: (...given) =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.andThen(Deferred.await(goes)),
              Effect.andThen(real.send(...given))
            )
        }
      }).pipe(Scope.provide(scope))
      const [idle, busy] = [yield* loggedIn(port, key), yield* loggedIn(port, key)]
      yield* busy.say("MAIL FROM:<ann@one.test>")
      yield* busy.say("RCPT TO:<bob@two.test>")
      yield* busy.say("DATA")
      busy.socket.write(`${content("a")}\r\n`)
      yield* Deferred.await(asked)
      const ended = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      expect(yield* idle.hear).toEqual(["421 4.3.2 The platform stops, come again soon"])
      yield* Deferred.succeed(goes, undefined)
      assert.match((yield* busy.hear)[0]!, /^250 2\.0\.0 em_/)
      assert.match(yield* busy.say("NOOP"), /^421 /)
      for (const { socket } of [idle, busy]) socket.end()
      yield* Fiber.join(ended)
    }).pipe(Effect.scoped)
  )

  it.live("does not begin on a port that is taken, or with files that are no certificate", () =>
    Effect.gen(function* () {
      const port = yield* listening({ isPlain: true })
      const again = listenForSubmission({ host: "127.0.0.1", port, name: "a", isPlainAllowed: true })
      const wrong = listenForSubmission({
        host: "127.0.0.1",
        port: 0,
        name: "a",
        isPlainAllowed: false,
        tls: { certificate: fileOf("none.pem"), key: fileOf("server-key.pem") }
      })
      const messageOf = (listen: typeof again) =>
        Effect.map(Effect.result(Effect.provide(listen, Layer.succeedContext(services()))), (result) =>
          Result.isFailure(result) ? result.failure.message : "it listens"
        )
      assert.include(yield* messageOf(again), `127.0.0.1:${port}: EADDRINUSE. Choose another port`)
      assert.include(yield* messageOf(wrong), "The listener for submission cannot offer TLS: the certificate in ")
    }).pipe(Effect.scoped)
  )
})
