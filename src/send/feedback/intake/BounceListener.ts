/**
 * Listens for bounces, complaints and reports about domains: an SMTP server that accepts mail only for our return paths,
 * for addresses of feedback loops and for those of reports, bounded in size, rate and connections (docs/handoff.md, 6).
 * It answers a mail that could not be counted with a temporary error, so that it comes again. Needs `FeedbackIntake`
 * and `ReportIntake`.
 */
import { Clock, Data, Duration, Effect, FiberSet, type Scope, Semaphore } from "effect"
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession
} from "smtp-server"
import { networkOf } from "../../../common/networkOf.ts"
import { CallerLimits } from "../../listener/CallerLimits.ts"
import {
  type ListenerCertificateUnusable,
  type ListenerTls,
  type ListenerTlsFiles,
  readListenerTls,
  renewListenerTls,
  type TlsListener
} from "../../listener/listenerTls.ts"
import { listenUntilEnd, reply } from "../../listener/smtpListener.ts"
import { reportAddressesAt } from "../../senders/authentication/reportAddresses.ts"
import {
  maximumReportMailBytes,
  maximumReportMailsOfNetwork,
  maximumReportsInMemory,
  reportsAtOnce
} from "../../senders/reports/limits.ts"
import { ReportIntake } from "../../senders/reports/ReportIntake.ts"
import type { VerpTarget } from "../parse/index.ts"
import { maximumMailBytes } from "../parse/limits.ts"
import { FeedbackIntake } from "./FeedbackIntake.ts"
import {
  inboundIdleMillis,
  intakeMillis,
  intakesAtOnce,
  maximumConnectionsOfAddress,
  maximumInboundBytes,
  maximumInboundConnections,
  maximumMailsOfAddress,
  maximumReturnPaths
} from "./limits.ts"

const thisListener: TlsListener = {
  name: "the listener for bounces",
  settings: "SLUICE_BOUNCE_TLS_CERT and SLUICE_BOUNCE_TLS_KEY"
}

export interface BounceListenerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** The domain of the return paths; the listener calls itself so. */
  readonly domain: string
  /** Without it no TLS is offered. */
  readonly tls?: ListenerTlsFiles | undefined
  /**
   * Addresses that are registered with feedback loops, in lower case: reports to them name the email by a return path
   * inside.
   */
  readonly feedbackAddresses?: ReadonlyArray<string> | undefined
}

/** The listener cannot listen there. */
export class BouncePortUnavailable extends Data.TaggedError("BouncePortUnavailable")<{
  readonly host: string
  readonly port: number
  readonly code: string
}> {
  override get message(): string {
    return `Cannot listen for bounces on ${this.host}:${this.port}: ${this.code}. Choose another port with SLUICE_BOUNCE_PORT or another address with SLUICE_BOUNCE_HOST.`
  }
}

type Done = (error?: Error | null) => void

/** The beginning of a mail, and whether that is all of it; the rest is not kept. */
const beginningOf = (
  stream: SMTPServerDataStream,
  most: number
): Promise<{ readonly raw: Buffer; readonly isWhole: boolean }> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    stream.on("data", (chunk: Buffer) => {
      if (bytes < most) chunks.push(chunk.subarray(0, most - bytes))
      bytes += chunk.length
    })
    stream.once("end", () => resolve({ raw: Buffer.concat(chunks), isWhole: bytes <= most }))
    stream.once("error", reject)
    // A connection that ends in between must not keep a place for ever.
    stream.once("close", () => reject(new Error("The connection has ended")))
  })

interface Handlers {
  readonly intake: FeedbackIntake["Service"]
  readonly domain: string
  readonly feedbackAddresses: ReadonlySet<string>
  readonly now: () => number
  /** Counts a mail in the background and answers. */
  readonly take: (raw: Buffer, targets: ReadonlyArray<VerpTarget>, done: Done) => void
  /** The same for a report about a domain, from an address. */
  readonly takeReport: (raw: Buffer, address: string, done: Done) => void
  /** Takes a place for a report's mail in memory, if there is one. */
  readonly hold: () => boolean
  readonly release: () => void
  readonly reportAddresses: ReadonlySet<string>
  readonly tls: ListenerTls | undefined
}

const targetsOf = ({ domain, intake }: Handlers, addresses: ReadonlyArray<SMTPServerAddress>) =>
  addresses.flatMap(({ address }) =>
    address.toLowerCase().endsWith(`@${domain}`) ? (intake.targetOf(address) ?? []) : []
  )

const isForReports = ({ reportAddresses }: Handlers, { address }: SMTPServerAddress): boolean =>
  reportAddresses.has(address.toLowerCase())

const mailTooLarge = () => reply(552, "5.3.4 The mail is too large")
const notRead = () => reply(451, "4.3.0 The mail could not be read")
const takenLater = () => reply(451, "4.3.0 The report cannot be taken now, come again later")

/** Refuses a recipient, or passes it. */
const recipients = (handlers: Handlers): NonNullable<SMTPServerOptions["onRcptTo"]> => {
  const reports = new CallerLimits({
    connections: maximumConnectionsOfAddress,
    perMinute: maximumReportMailsOfNetwork
  })
  return (address, session, done) => {
    const { rcptTo } = session.envelope
    if (rcptTo.length >= maximumReturnPaths) return done(reply(452, "4.5.3 Too many recipients"))
    if (isForReports(handlers, address)) {
      // More of such a mail is read, so it goes to nobody else: the other recipient gets a mail of its own.
      if (rcptTo.some((other) => !isForReports(handlers, other))) return done(reply(452, "4.5.3 Too many recipients"))
      return reports.count(networkOf(session.remoteAddress), handlers.now())
        ? done()
        : done(reply(450, "4.7.0 Too many reports, come again later"))
    }
    // One answer for every other address, so that callers do not learn which ones exist.
    const isOfLoop = handlers.feedbackAddresses.has(address.address.toLowerCase())
    if (!isOfLoop && targetsOf(handlers, [address]).length === 0) return done(reply(550, "5.1.1 No such address"))
    if (rcptTo.some((other) => isForReports(handlers, other))) return done(reply(452, "4.5.3 Too many recipients"))
    done()
  }
}

/** Takes a report's mail whole, while there is room for it in memory. */
const takeReport = (handlers: Handlers, stream: SMTPServerDataStream, address: string, done: Done): void => {
  const hasRoom = handlers.hold()
  const ended: Done = (error) => {
    if (hasRoom) handlers.release()
    done(error)
  }
  beginningOf(stream, hasRoom ? maximumReportMailBytes : 0).then(
    ({ isWhole, raw }) => {
      if (!hasRoom) return ended(takenLater())
      if (stream.sizeExceeded || !isWhole) return ended(mailTooLarge())
      handlers.takeReport(raw, address, ended)
    },
    () => ended(notRead())
  )
}

const makeServer = (handlers: Handlers): SMTPServer => {
  const callers = new CallerLimits({ connections: maximumConnectionsOfAddress, perMinute: maximumMailsOfAddress })
  const counted = new WeakSet<SMTPServerSession>()
  return new SMTPServer({
    name: handlers.domain,
    banner: "Sluice",
    logger: false,
    authOptional: true,
    // Nobody logs in here.
    disabledCommands: handlers.tls === undefined ? ["AUTH", "STARTTLS"] : ["AUTH"],
    ...(handlers.tls === undefined ? {} : { cert: handlers.tls.cert, key: handlers.tls.key }),
    disableReverseLookup: true,
    size: maximumInboundBytes,
    maxClients: maximumInboundConnections,
    socketTimeout: inboundIdleMillis,
    closeTimeout: 1_000,
    onConnect: (session, done) => {
      if (!callers.connect(session.remoteAddress)) return done(reply(421, "Too many connections, come again later"))
      counted.add(session)
      done()
    },
    onClose: (session) => {
      if (counted.delete(session)) callers.close(session.remoteAddress)
    },
    onMailFrom: (_address, session, done) =>
      callers.count(session.remoteAddress, handlers.now())
        ? done()
        : done(reply(450, "4.7.0 Too many mails, come again later")),
    onRcptTo: recipients(handlers),
    onData: (stream, session, done) => {
      const isReport = session.envelope.rcptTo.some((one) => isForReports(handlers, one))
      if (isReport) return takeReport(handlers, stream, session.remoteAddress, done)
      beginningOf(stream, maximumMailBytes).then(
        ({ raw }) => {
          if (stream.sizeExceeded) return done(mailTooLarge())
          handlers.take(raw, targetsOf(handlers, session.envelope.rcptTo), done)
        },
        () => done(notRead())
      )
    }
  })
}

/** Listens until the scope ends; answers the port. */
export const listenForBounces = ({
  domain,
  feedbackAddresses = [],
  host,
  port,
  tls: files
}: BounceListenerOptions): Effect.Effect<
  number,
  BouncePortUnavailable | ListenerCertificateUnusable,
  FeedbackIntake | ReportIntake | Scope.Scope
> =>
  Effect.gen(function* () {
    const tls = files === undefined ? undefined : yield* readListenerTls(thisListener, files)
    const intake = yield* FeedbackIntake
    const reports = yield* ReportIntake
    const clock = yield* Clock.Clock
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)()
    const places = Semaphore.makeUnsafe(intakesAtOnce)
    const reportPlaces = Semaphore.makeUnsafe(reportsAtOnce)
    /** Answers once the mail is counted. */
    const answering = (intake: Effect.Effect<boolean, unknown>, done: Done) =>
      run(
        intake.pipe(
          Effect.timeout(Duration.millis(intakeMillis)),
          Effect.tapCause((cause) => Effect.logWarning("a report of another mail system was not taken", cause)),
          Effect.matchCause({
            onFailure: () => done(takenLater()),
            onSuccess: (isTaken) => (isTaken ? done() : done(takenLater()))
          })
        )
      )
    const take: Handlers["take"] = (raw, targets, done) => {
      answering(places.withPermit(Effect.as(intake.take(raw, targets), true)), done)
    }
    const takeReport: Handlers["takeReport"] = (raw, address, done) => {
      const taken = Effect.map(reports.take(raw, address), (outcome) => outcome !== "full")
      answering(reportPlaces.withPermit(taken), done)
    }
    let held = 0
    const hold = () => held < maximumReportsInMemory && ++held > 0
    const release = () => void held--
    const { dmarc, tls: tlsReports } = reportAddressesAt(domain)
    const server = makeServer({
      intake,
      domain: domain.toLowerCase(),
      feedbackAddresses: new Set(feedbackAddresses),
      now: () => clock.currentTimeMillisUnsafe(),
      take,
      takeReport,
      hold,
      release,
      reportAddresses: new Set([dmarc, tlsReports]),
      tls
    })
    if (files !== undefined && tls !== undefined)
      yield* Effect.forkScoped(renewListenerTls(thisListener, server, files, tls))
    return yield* listenUntilEnd(
      server,
      { host, port },
      (code) => new BouncePortUnavailable({ host, port, code }),
      Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
    )
  })
