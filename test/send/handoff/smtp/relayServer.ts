/** A relay for tests: a real SMTP server on loopback that keeps what it takes, and can be sabotaged at each step. */
import { Effect, type Scope } from "effect"
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server"

/** A mail that the relay has taken, dots and all removed. */
export interface TakenMail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly raw: string
  readonly isEncrypted: boolean
}

/** What is done with the whole of a mail: taken, refused, answered never, or cut off before or after it is taken. */
export type Ending = "take" | "hang" | "drop" | "take and drop" | { readonly code: number; readonly text: string }

export interface Refusal {
  readonly code: number
  readonly text: string
}

export interface Sabotage {
  mailFrom?: (address: string) => Refusal | undefined
  rcptTo?: (address: string) => Refusal | "hang" | undefined
  ending?: (to: ReadonlyArray<string>) => Ending
  /** How long it works on a mail that it has before it says so. */
  workMillis?: number
  /** Ends each connection with 421 as soon as it is idle after a mail. */
  closesIdle?: boolean
}

export interface RelayServer {
  readonly port: number
  readonly taken: Array<TakenMail>
  /** Connections that were made, tries included. */
  readonly connections: () => number
  readonly sabotage: Sabotage
  /** Ends every connection and stops listening. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

const refusal = ({ code, text }: Refusal) => Object.assign(new Error(text), { responseCode: code })

/** The connection of a session: the library has no public name for it. */
const socketOf = (server: SMTPServer, { id }: SMTPServerSession) =>
  [...server.connections].find((connection) => connection.id === id)?._socket

const make = (taken: Array<TakenMail>, sabotage: Sabotage, count: () => void, options: SMTPServerOptions) => {
  const server: SMTPServer = new SMTPServer({
    authOptional: true,
    logger: false,
    closeTimeout: 1,
    disableReverseLookup: true,
    allowInsecureAuth: true,
    onConnect: (_session, done) => {
      count()
      done()
    },
    onMailFrom: ({ address }, _session, done) => {
      const refused = sabotage.mailFrom?.(address)
      done(refused === undefined ? null : refusal(refused))
    },
    onRcptTo: ({ address }, _session, done) => {
      const refused = sabotage.rcptTo?.(address)
      if (refused === "hang") return
      done(refused === undefined ? null : refusal(refused))
    },
    onData: (stream, session, done) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope
        const to = rcptTo.map(({ address }) => address)
        const ending = sabotage.ending?.(to) ?? "take"
        if (ending === "hang") return
        if (ending === "take" || ending === "take and drop")
          taken.push({
            from: mailFrom === false ? "" : mailFrom.address,
            to,
            raw: Buffer.concat(chunks).toString("latin1"),
            isEncrypted: session.secure === true
          })
        const socket = socketOf(server, session)
        if (ending === "drop" || ending === "take and drop") return socket?.destroy()
        if (typeof ending === "object") return done(refusal(ending))
        const answer = () => {
          done(null, "Taken")
          if (sabotage.closesIdle) setImmediate(() => socket?.end("421 4.4.2 Idle for too long\r\n"))
        }
        if (sabotage.workMillis === undefined) answer()
        else setTimeout(answer, sabotage.workMillis)
      })
    },
    ...options
  })
  server.on("error", () => undefined)
  return server
}

/** A relay that ends with the scope. `key` and `cert` are the library's own unless given: nobody can verify those. */
export const startRelay = (options: SMTPServerOptions = {}): Effect.Effect<RelayServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const taken: Array<TakenMail> = []
    const sabotage: Sabotage = {}
    let connections = 0
    let port = 0
    let server: SMTPServer | undefined
    const start = Effect.callback<void>((resume) => {
      server = make(taken, sabotage, () => connections++, options)
      server.listen(port, "127.0.0.1", () => {
        const address = server!.server.address()
        port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.void)
      })
    })
    const stop = Effect.callback<void>((resume) => {
      if (server === undefined) return resume(Effect.void)
      for (const connection of server.connections) connection._socket.destroy()
      server.close(() => resume(Effect.void))
      server = undefined
    })
    yield* start
    yield* Effect.addFinalizer(() => stop)
    return { port, taken, connections: () => connections, sabotage, start, stop }
  })
