/**
 * Listens for mail that applications submit by SMTP (docs/handoff.md, 7): TLS, then an API key as the password, then
 * mails, each of which is one request to send. Bounded in connections, bytes, lines and time. Needs `Authentication`,
 * `SendRate` and `AcceptEmails`.
 */
import { Clock, Data, Duration, Effect, FiberSet, Redacted, Result, type Scope } from "effect"
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerDataStream,
  type SMTPServerSession
} from "smtp-server"
import type { Authentication } from "../../platform/Authentication.ts"
import type { Principal } from "../../platform/model.ts"
import type { AcceptEmails } from "../emails/AcceptEmails.ts"
import { isSimulator, readAddress } from "../emails/addresses.ts"
import type { SendRate } from "../emails/SendRate.ts"
import { maximumRecipients, maximumSendBodyBytes } from "../limits.ts"
import {
  type ListenerCertificateUnusable,
  type ListenerTls,
  type ListenerTlsFiles,
  readListenerTls,
  renewListenerTls,
  type TlsListener
} from "../listener/listenerTls.ts"
import { listenUntilEnd, reply } from "../listener/smtpListener.ts"
import { drainMillis, idleMillis, maximumCommandBytes, maximumConnections, watchMillis } from "./limits.ts"
import { recipientKey } from "./mailForm.ts"
import { keyRefused, laterReply, type SmtpReply, tooLargeReply } from "./replies.ts"
import { SubmissionConnections } from "./SubmissionConnections.ts"
import { SubmissionMetrics } from "./SubmissionMetrics.ts"
import { makeSubmitMail, type SubmitMail, type SubmittedMail } from "./SubmitMail.ts"

export interface SubmissionListenerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** The name by which the listener calls itself. */
  readonly name: string
  /** Without it no TLS is offered. */
  readonly tls?: ListenerTlsFiles | undefined
  /** Whether keys may come without TLS: for a listener that this machine alone can reach. */
  readonly isPlainAllowed: boolean
}

/** The listener cannot listen there. */
export class SubmissionPortUnavailable extends Data.TaggedError("SubmissionPortUnavailable")<{
  readonly host: string
  readonly port: number
  readonly code: string
}> {
  override get message(): string {
    return `Cannot listen for submitted mail on ${this.host}:${this.port}: ${this.code}. Choose another port with SLUICE_SUBMISSION_PORT or another address with SLUICE_SUBMISSION_HOST.`
  }
}

const thisListener: TlsListener = {
  name: "the listener for submission",
  settings: "SLUICE_SUBMISSION_TLS_CERT and SLUICE_SUBMISSION_TLS_KEY"
}

type Done = (error?: Error | null, message?: string) => void
type LoggedIn = (error: Error | null, response?: SMTPServerAuthenticationResponse) => void

interface Handlers {
  readonly submitMail: SubmitMail
  readonly connections: SubmissionConnections
  readonly metrics: SubmissionMetrics
  readonly now: () => number
  /** Runs in the background, for as long as the listener lives. */
  readonly run: (work: Effect.Effect<void>) => void
  readonly isStopping: () => boolean
  readonly name: string
  readonly tls: ListenerTls | undefined
  readonly isPlainAllowed: boolean
}

const asError = ({ code, text }: SmtpReply): Error => reply(code, text)

const authenticationRequired = "5.7.0 Authentication required: the password is an API key"
const stopping = "4.3.2 The platform stops, come again soon"

/** Whether the domain alone keeps an address from being one that the API knows. */
const isForeign = (address: string): boolean => /[^\x20-\x7e]/.test(address.slice(0, address.lastIndexOf("@")))

/** A mail's bytes; undefined for one that is larger than SIZE, of which nothing is kept. */
const bytesOf = (stream: SMTPServerDataStream): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    stream.on("data", (chunk: Buffer) => {
      if (stream.sizeExceeded) chunks.length = 0
      else chunks.push(chunk)
    })
    stream.once("end", () => resolve(stream.sizeExceeded ? undefined : Buffer.concat(chunks)))
    stream.once("error", reject)
  })

/** Commands that the server does not offer. */
const neverOffered = ["XCLIENT", "XFORWARD", "WIZ", "SHELL", "KILL"]

/** The commands that a session may not use yet: a key is asked for where nobody else can read it. */
const withheldFrom = ({ isPlainAllowed, tls }: Handlers, session: SMTPServerSession): Array<string> => [
  ...neverOffered,
  ...(tls === undefined ? ["STARTTLS"] : []),
  ...(session.secure || isPlainAllowed ? [] : ["AUTH"])
]

/** Takes a connection; answers why not. */
const begin = (handlers: Handlers, session: SMTPServerSession): Error | undefined => {
  const { connections, metrics, now } = handlers
  if (!connections.begin(session.id, session.remoteAddress, now())) {
    metrics.ended("full")
    return reply(421, "4.7.0 Too many connections, come again later")
  }
  metrics.connections(connections.size)
  session.disabledCommands = withheldFrom(handlers, session)
  return undefined
}

/** The answer to a login, once its key was looked up. */
const loginAnswer = (
  { connections, metrics, now }: Handlers,
  id: string,
  key: Redacted.Redacted<string>,
  found: Result.Result<Principal, SmtpReply>
): Error | undefined => {
  if (Result.isFailure(found)) {
    if (found.failure.code !== 535 || connections.failLogin(id, now())) return asError(found.failure)
    metrics.ended("logins")
    return reply(421, "4.7.0 Too many failed logins")
  }
  if (connections.logIn(id, { key, principal: found.success }, now())) return undefined
  metrics.ended("full")
  return reply(421, "4.7.0 Too many connections of this organization, come again later")
}

const logIn = (
  handlers: Handlers,
  { password }: SMTPServerAuthentication,
  { id }: SMTPServerSession,
  done: LoggedIn
): void => {
  const key = Redacted.make(password ?? "")
  handlers.run(
    Effect.map(handlers.submitMail.logIn(key), (found) => {
      const refusal = loginAnswer(handlers, id, key, found)
      if (refusal === undefined) done(null, { user: "an API key" })
      else done(refusal)
    })
  )
}

/** Why a mail may not begin now. */
const mailRefusal = (handlers: Handlers, session: SMTPServerSession): Error | undefined => {
  const { connections, isPlainAllowed, isStopping, metrics, now } = handlers
  if (connections.loginOf(session.id) === undefined)
    return session.secure || isPlainAllowed
      ? reply(530, authenticationRequired)
      : reply(530, "5.7.0 Must issue a STARTTLS command first")
  if (isStopping()) return reply(421, stopping)
  if (connections.isOld(session.id, now())) {
    metrics.ended("old")
    return reply(421, "4.3.2 This connection has lasted long enough, open another one")
  }
  return session.envelope.requireTLS === true ? reply(550, "5.7.30 REQUIRETLS is not offered") : undefined
}

/** Why a mail may not go to an address. */
const recipientRefusal = (
  { connections }: Handlers,
  { address: given }: SMTPServerAddress,
  { envelope, id }: SMTPServerSession
): Error | undefined => {
  const address = readAddress(given)
  if (address === undefined)
    return isForeign(given)
      ? reply(553, "5.6.7 Addresses have ASCII letters before the @")
      : reply(553, "5.1.3 Expected an address such as a@b.com")
  if (isSimulator(address) && connections.loginOf(id)?.principal.mode === "live")
    return reply(550, "5.1.1 This address is for test keys: it acts out what becomes of an email")
  if (envelope.rcptTo.length < maximumRecipients) return undefined
  const isKnown = envelope.rcptTo.some((one) => recipientKey(one.address) === recipientKey(given))
  return isKnown ? undefined : reply(452, `4.5.3 Too many recipients: a mail has at most ${maximumRecipients}`)
}

/** Reads a mail to its end, decides it, and answers. */
const takeMail = (handlers: Handlers, stream: SMTPServerDataStream, session: SMTPServerSession, done: Done): void => {
  const { connections, metrics, now, run, submitMail } = handlers
  const { id } = session
  const recipients = session.envelope.rcptTo.map(({ address }) => address)
  const answer = (given: SmtpReply): void => {
    metrics.mails(given.outcome)
    if (given.code === 250) done(null, given.text)
    else done(asError(given))
    connections.answer(id, now())
  }
  const take = (mail: SubmittedMail): void => {
    const login = connections.loginOf(id)
    connections.wait(id)
    const submitted =
      login === undefined ? Effect.succeed(keyRefused("Authentication required")) : submitMail.submit(login.key, mail)
    run(Effect.matchCause(submitted, { onFailure: () => answer(laterReply), onSuccess: answer }))
  }
  bytesOf(stream).then(
    (raw) =>
      raw === undefined
        ? answer(tooLargeReply(`The mail has more than ${maximumSendBodyBytes} bytes`))
        : take({ raw, recipients }),
    // The client went away.
    () => done(asError(laterReply))
  )
}

const makeServer = (handlers: Handlers): SMTPServer => {
  const { connections, metrics, name, tls } = handlers
  return new SMTPServer({
    name,
    banner: "Sluice",
    logger: false,
    authMethods: ["PLAIN", "LOGIN"],
    allowInsecureAuth: handlers.isPlainAllowed,
    authRequiredMessage: authenticationRequired,
    // Each session has a list of its own.
    disabledCommands: tls === undefined ? ["STARTTLS", ...neverOffered] : neverOffered,
    ...(tls === undefined ? {} : { cert: tls.cert, key: tls.key }),
    disableReverseLookup: true,
    size: maximumSendBodyBytes,
    maxClients: maximumConnections,
    maxCommandLength: maximumCommandBytes,
    socketTimeout: idleMillis,
    closeTimeout: drainMillis,
    onConnect: (session, done) => done(begin(handlers, session)),
    onSecure: (_socket, session, done) => {
      session.disabledCommands = withheldFrom(handlers, session)
      done()
    },
    onClose: ({ id }) => {
      connections.end(id)
      metrics.connections(connections.size)
    },
    onAuth: (given, session, done) => logIn(handlers, given, session, done),
    onMailFrom: (_address, session, done) => done(mailRefusal(handlers, session)),
    onRcptTo: (address, session, done) => done(recipientRefusal(handlers, address, session)),
    onData: (stream, session, done) => takeMail(handlers, stream, session, done)
  })
}

/** Ends connections whose clients take too long, for ever. */
const watch = (server: SMTPServer, { connections, metrics, now }: Handlers): Effect.Effect<never> =>
  Effect.sleep(Duration.millis(watchMillis)).pipe(
    Effect.andThen(
      Effect.sync(() => {
        for (const connection of server.connections) {
          if (!connections.isLate(connection.id, now())) continue
          metrics.ended("slow")
          connection.send(421, "4.4.2 The mail took too long, come again")
        }
      })
    ),
    Effect.forever
  )

/** Lets mails that are complete be answered, and ends all other connections. */
const drained = (server: SMTPServer, { connections, metrics }: Handlers): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const connection of server.connections) {
      if (connections.isWaiting(connection.id)) continue
      metrics.ended("stopping")
      connection.send(421, stopping)
    }
  })

/** Listens until the scope ends; answers the port. */
export const listenForSubmission = ({
  host,
  isPlainAllowed,
  name,
  port,
  tls: files
}: SubmissionListenerOptions): Effect.Effect<
  number,
  SubmissionPortUnavailable | ListenerCertificateUnusable,
  Authentication | SendRate | AcceptEmails | Scope.Scope
> =>
  Effect.gen(function* () {
    const tls = files === undefined ? undefined : yield* readListenerTls(thisListener, files)
    const clock = yield* Clock.Clock
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)()
    let isStopping = false
    const handlers: Handlers = {
      submitMail: yield* makeSubmitMail,
      connections: new SubmissionConnections(),
      metrics: new SubmissionMetrics(yield* Effect.context<never>()),
      now: () => clock.currentTimeMillisUnsafe(),
      run: (work) => void run(work),
      isStopping: () => isStopping,
      name,
      tls,
      isPlainAllowed
    }
    const server = makeServer(handlers)
    if (files !== undefined && tls !== undefined)
      yield* Effect.forkScoped(renewListenerTls(thisListener, server, files, tls))
    yield* Effect.forkScoped(watch(server, handlers))
    const stop = Effect.suspend(() => {
      isStopping = true
      return drained(server, handlers)
    })
    return yield* listenUntilEnd(
      server,
      { host, port },
      (code) => new SubmissionPortUnavailable({ host, port, code }),
      stop
    )
  })
