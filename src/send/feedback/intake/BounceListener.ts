/**
 * Listens for bounces and complaints: an SMTP server that accepts mail only for our return paths and for addresses of
 * feedback loops, bounded in size, rate and connections (docs/handoff.md, 6). It answers a mail that could not be
 * counted with a temporary error, so that it comes again. Needs `FeedbackIntake`.
 */
import { Clock, Data, Duration, Effect, FiberSet, type Scope, Semaphore } from "effect"
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server"
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

/** The beginning of a mail; the rest of it is not read. */
const beginningOf = (stream: SMTPServerDataStream): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    stream.on("data", (chunk: Buffer) => {
      if (bytes < maximumMailBytes) chunks.push(chunk.subarray(0, maximumMailBytes - bytes))
      bytes += chunk.length
    })
    stream.once("end", () => resolve(Buffer.concat(chunks)))
    stream.once("error", reject)
  })

interface Handlers {
  readonly intake: FeedbackIntake["Service"]
  readonly domain: string
  readonly feedbackAddresses: ReadonlySet<string>
  readonly now: () => number
  /** Counts a mail in the background and answers. */
  readonly take: (raw: Buffer, targets: ReadonlyArray<VerpTarget>, done: Done) => void
  readonly tls: ListenerTls | undefined
}

const targetsOf = ({ domain, intake }: Handlers, addresses: ReadonlyArray<SMTPServerAddress>) =>
  addresses.flatMap(({ address }) =>
    address.toLowerCase().endsWith(`@${domain}`) ? (intake.targetOf(address) ?? []) : []
  )

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
    onRcptTo: (address, session, done) => {
      if (session.envelope.rcptTo.length >= maximumReturnPaths) return done(reply(452, "4.5.3 Too many recipients"))
      // One answer for every other address, so that callers do not learn which ones exist.
      const isOfLoop = handlers.feedbackAddresses.has(address.address.toLowerCase())
      if (!isOfLoop && targetsOf(handlers, [address]).length === 0) return done(reply(550, "5.1.1 No such address"))
      done()
    },
    onData: (stream, session, done) => {
      const targets = targetsOf(handlers, session.envelope.rcptTo)
      beginningOf(stream).then(
        (raw) => {
          if (stream.sizeExceeded) return done(reply(552, "5.3.4 The mail is too large"))
          handlers.take(raw, targets, done)
        },
        () => done(reply(451, "4.3.0 The mail could not be read"))
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
  FeedbackIntake | Scope.Scope
> =>
  Effect.gen(function* () {
    const tls = files === undefined ? undefined : yield* readListenerTls(thisListener, files)
    const intake = yield* FeedbackIntake
    const clock = yield* Clock.Clock
    const fibers = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(fibers)()
    const places = Semaphore.makeUnsafe(intakesAtOnce)
    const take: Handlers["take"] = (raw, targets, done) => {
      const later = reply(451, "4.3.0 The report cannot be taken now, come again later")
      run(
        places.withPermit(intake.take(raw, targets)).pipe(
          Effect.timeout(Duration.millis(intakeMillis)),
          Effect.tapCause((cause) => Effect.logWarning("a report of another mail system was not taken", cause)),
          Effect.matchCause({ onFailure: () => done(later), onSuccess: () => done() })
        )
      )
    }
    const server = makeServer({
      intake,
      domain: domain.toLowerCase(),
      feedbackAddresses: new Set(feedbackAddresses),
      now: () => clock.currentTimeMillisUnsafe(),
      take,
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
