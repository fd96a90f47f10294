/**
 * A relay: pooled connections to one SMTP server, and whether it can be reached (docs/handoff.md, 2.1 and 2.2). A mail is never sent over a second connection after all of
 * it was passed on over a first one. Needs no service.
 */
import { Readable } from "node:stream"
import { Clock, Duration, Effect, Option, Redacted, type Scope } from "effect"
import SmtpPool from "nodemailer/lib/smtp-pool"
import { domainOf } from "../../rules/domainKey.ts"
import type { PartAnswer } from "../MailTransport.ts"
import {
  answerMillis,
  connectMillis,
  defaultConnections,
  greetingMillis,
  idleMillis,
  mailsPerConnection,
  placeMillis,
  quietMillis,
  transactionMillis
} from "./limits.ts"
import { answerOfReply, outcomeOf, type SmtpError, troubleOf } from "./outcomes.ts"
import { type OnTrouble, verified, watchRelay } from "./reachability.ts"
import {
  type OnCertificate,
  parseRelayAddress,
  type RelayAddress,
  type RelayTls,
  relayName,
  tlsOptions
} from "./relayAddress.ts"

// Spaces turns evenly over a second, each a little after the one before. Pure: the time is an argument, in
// milliseconds.

export class RateSpacer {
  private readonly pauseMillis: number
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(perSecond: number) {
    this.pauseMillis = 1_000 / perSecond
  }

  /** When the next turn is; undefined, and none is taken, where that is after `latest`. */
  take(now: number, latest: number): number | undefined {
    const at = Math.max(now, this.nextAt)
    if (at > latest) return undefined
    this.nextAt = at + this.pauseMillis
    return at
  }
}

export interface RelayOptions {
  /** `smtp://user:password@host:587` or `smtps://…`, as the setting's check has let it pass. */
  readonly url: Redacted.Redacted<string>
  readonly tls: RelayTls
  readonly connections?: number | undefined
  /** Most mails in a second; default: as many as go. */
  readonly mailsPerSecond?: number | undefined
  /** The name of this machine towards the relay. */
  readonly hostname?: string | undefined
  /** Times in place of the usual ones, for tests. In milliseconds. */
  readonly times?: Partial<RelayTimes> | undefined
}

export interface RelayTimes {
  readonly answerMillis: number
  readonly transactionMillis: number
  readonly quietMillis: number
}

/** One transaction: everybody gets the same bytes. */
export interface Transaction {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly raw: Buffer
}

export interface Relay {
  /** Host and port, without user and password. */
  readonly name: string
  readonly connections: number
  /** The fault of the relay, as a sentence; undefined while it takes mail. */
  readonly trouble: Effect.Effect<string | undefined>
  /** One answer for each recipient, in order. */
  readonly send: (transaction: Transaction) => Effect.Effect<ReadonlyArray<PartAnswer>>
}

/** How far a mail has come. */
interface Progress {
  /** A connection has taken it on. */
  hasBegun: boolean
  /** All of it was passed on. */
  hasPassed: boolean
}

interface Sent {
  readonly rejectedErrors?: ReadonlyArray<SmtpError & { readonly recipient?: string | undefined }> | undefined
}

const makePool = (
  address: RelayAddress,
  options: RelayOptions,
  times: RelayTimes,
  connections: number,
  onCertificate: OnCertificate
) => {
  const { password, user } = address
  const pool = new SmtpPool({
    host: address.host,
    port: address.port,
    ...tlsOptions(address, options.tls, onCertificate),
    ...(user === undefined ? {} : { auth: { user, pass: password } }),
    // With a password a relay that offers no login is the wrong one, or in front of somebody who listens.
    ...(user === undefined ? {} : { forceAuth: true }),
    ...(options.hostname === undefined ? {} : { name: options.hostname }),
    maxConnections: connections,
    maxMessages: mailsPerConnection,
    // Only mails of which no byte was sent are passed to another connection by the library.
    maxRequeues: 2,
    idleTimeout: idleMillis,
    connectionTimeout: connectMillis,
    dnsTimeout: connectMillis,
    greetingTimeout: greetingMillis,
    socketTimeout: times.answerMillis,
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true
  })
  // The sender of the mail has already got what it reports there.
  pool.on("error", () => undefined)
  return pool
}

type Pool = ReturnType<typeof makePool>

/** Bytes of a mail that are passed on in one write. */
const chunkBytes = 64 * 1024

/** The mail's bytes for a connection, which reads them after the envelope was taken. They end when it has had all of them. */
const streamOf = (raw: Buffer, progress: Progress): Readable => {
  progress.hasBegun = true
  let at = 0
  const stream = new Readable({
    read() {
      const chunk = raw.subarray(at, at + chunkBytes)
      at += chunk.length
      this.push(chunk.length > 0 ? chunk : null)
    }
  })
  // A mail that was passed on whole is not passed on again.
  if (progress.hasPassed) return stream.destroy(new Error("The mail was passed on before"))
  return stream.once("end", () => {
    progress.hasPassed = true
  })
}

/** An address as an envelope has it: its domain in letters that every relay knows. */
const inEnvelope = (address: string): string => address.slice(0, address.lastIndexOf("@") + 1) + domainOf(address)

/**
 * One attempt at the pool: its answer, or an error of the library, with how far the mail has come. The mail is given to the pool itself: what `sendMail` puts before it
 * makes a message of what is one already, and takes two fifths of the time.
 */
const attempt = (
  pool: Pool,
  { from, raw, to }: Transaction,
  progress: Progress
): Effect.Effect<{ readonly error: SmtpError } | { readonly sent: Sent }> =>
  Effect.callback((resume) => {
    const controller = new AbortController()
    const mail = {
      data: { signal: controller.signal },
      message: {
        // A connection writes what it finds out into it, so each gets one of its own.
        getEnvelope: () => ({ from, to: [...to] }),
        // Both are for the library's log, which is off.
        getHeader: () => "",
        messageId: () => "",
        createReadStream: () => streamOf(raw, progress)
      }
    }
    // All that the pool asks a message for; its type is that of the library's own messages.
    pool.send(mail as unknown as Parameters<Pool["send"]>[0], (error, sent) =>
      resume(Effect.succeed(error === null ? { sent: sent as Sent } : { error }))
    )
    return Effect.sync(() => controller.abort())
  })

const accepted: PartAnswer = { _tag: "Accepted" }

/** The relay's answers for each recipient of a mail that it took for some. */
const answersOf = (to: ReadonlyArray<string>, { rejectedErrors = [] }: Sent): ReadonlyArray<PartAnswer> => {
  const errors = new Map(rejectedErrors.map((error) => [error.recipient?.toLowerCase(), error]))
  return to.map((recipient) => {
    const error = errors.get(recipient.toLowerCase())
    if (error === undefined) return accepted
    return answerOfReply(error, typeof error.responseCode === "number" ? error.responseCode : 450, to.length)
  })
}

/** The answer for each recipient where all were refused. */
const refusalsOf = (to: ReadonlyArray<string>, error: SmtpError): ReadonlyArray<PartAnswer> | undefined => {
  const { rejectedErrors } = error as { readonly rejectedErrors?: Sent["rejectedErrors"] }
  if (error.command !== "RCPT TO" || rejectedErrors === undefined || rejectedErrors.length !== to.length)
    return undefined
  return answersOf(to, { rejectedErrors })
}

/**
 * Tries a relay once, without any mail: a connection, TLS and a login. Answers what is wrong with it, in a sentence, and
 * until when its certificate is valid, where one was trusted.
 */
export const tryRelay = (
  options: RelayOptions
): Effect.Effect<{
  readonly name: string
  readonly trouble: string | undefined
  readonly validUntilMillis: number | undefined
}> =>
  Effect.suspend(() => {
    const address = parseRelayAddress(Redacted.value(options.url))
    if (address === undefined) return Effect.die(new Error("The relay's address is none"))
    let validUntilMillis: number | undefined
    const times = { answerMillis, transactionMillis, quietMillis, ...options.times }
    return Effect.acquireUseRelease(
      Effect.sync(() => makePool(address, options, times, 1, (until) => (validUntilMillis = until))),
      (pool) =>
        Effect.map(verified(pool), (error) => ({
          name: relayName(address),
          trouble: error === undefined ? undefined : troubleOf(error).reason,
          validUntilMillis
        })),
      (pool) => Effect.sync(() => pool.close({ force: true }))
    )
  })

/** Makes a relay that is tried immediately, and again while it cannot be reached. Its connections end with the scope. */
export const makeRelay = (
  options: RelayOptions,
  onTrouble: OnTrouble = () => undefined,
  onCertificate: OnCertificate = () => undefined
): Effect.Effect<Relay, never, Scope.Scope> =>
  Effect.gen(function* () {
    const address = parseRelayAddress(Redacted.value(options.url))
    if (address === undefined) return yield* Effect.die(new Error("The relay's address is none"))
    const times = { answerMillis, transactionMillis, quietMillis, ...options.times }
    const connections = options.connections ?? defaultConnections
    const name = relayName(address)
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => makePool(address, options, times, connections, onCertificate)),
      (made) => Effect.sync(() => made.close({ force: true }))
    )
    const { inOrder, inTrouble, probe, trouble } = yield* watchRelay(pool, name, times.quietMillis, onTrouble)

    const pace = options.mailsPerSecond === undefined ? undefined : new RateSpacer(options.mailsPerSecond)

    const send = Effect.fn("Relay.send")(function* ({ from, raw, to: recipients }: Transaction) {
      const to = recipients.map(inEnvelope)
      const transaction = { from: inEnvelope(from), raw, to }
      const all = (answer: PartAnswer) => to.map(() => answer)
      const away = yield* trouble
      if (away !== undefined) return all({ _tag: "Waits", reason: away })
      const now = yield* Clock.currentTimeMillis
      const turnAt = pace === undefined ? now : pace.take(now, now + placeMillis)
      if (turnAt === undefined) return all({ _tag: "Waits", reason: "the relay gets no more mails in a second" })
      if (turnAt > now) yield* Effect.sleep(Duration.millis(turnAt - now))
      const progress: Progress = { hasBegun: false, hasPassed: false }
      const result = yield* Effect.timeoutOption(
        attempt(pool, transaction, progress),
        Duration.millis(times.transactionMillis)
      )
      if (Option.isSome(result) && "sent" in result.value) {
        yield* inOrder
        return answersOf(to, result.value.sent)
      }
      const error: SmtpError =
        Option.isSome(result) && "error" in result.value ? result.value.error : { code: "ETIMEDOUT" }
      const refusals = refusalsOf(to, error)
      if (refusals !== undefined) return refusals
      const outcome = outcomeOf(error, progress, to.length)
      if (outcome._tag === "Answer") return all(outcome.answer)
      if (!progress.hasBegun) {
        // Nobody has taken it on: there was no connection for it in time, or none at all.
        if (Option.isSome(result)) yield* inTrouble(outcome.kind, outcome.reason)
        return all({ _tag: "Waits", reason: outcome.reason })
      }
      // The connection broke in the middle. If the relay is there all the same, it is about this mail.
      if (!(yield* probe)) return all({ _tag: "Waits", reason: outcome.reason })
      return all({
        _tag: "Temporary",
        code: "4.4.2",
        reason: "The relay did not take the mail in time, or closed the connection"
      })
    })

    return { name, connections, trouble, send }
  })
