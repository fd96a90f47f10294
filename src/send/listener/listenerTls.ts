/**
 * Reads the certificate with which a listener for mail offers STARTTLS (docs/handoff.md, 6.1 and 7), and reads it again
 * when its files change, because certificates are renewed.
 */
import { createHash, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext } from "node:tls"
import { Clock, Data, Duration, Effect } from "effect"
import type { SMTPServer } from "smtp-server"

/** Paths of files in PEM: the certificate with those that lead to its authority, and its private key. */
export interface ListenerTlsFiles {
  readonly certificate: string
  readonly key: string
}

export interface ListenerTls {
  readonly cert: Buffer
  readonly key: Buffer
  /** The same for the same files. */
  readonly fingerprint: string
  /** In Unix milliseconds. */
  readonly expiresAt: number
}

/** A listener, as messages about its certificate name it. */
export interface TlsListener {
  /** Its words in a sentence. */
  readonly name: string
  /** The settings of its files. */
  readonly settings: string
}

/** The files cannot be used. The message says why and shows nothing of the key. */
export class ListenerCertificateUnusable extends Data.TaggedError("ListenerCertificateUnusable")<{
  readonly listener: TlsListener
  readonly reason: string
}> {
  override get message(): string {
    return `${capital(this.listener.name)} cannot offer TLS: ${this.reason}. See ${this.listener.settings}.`
  }
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`

const readOne = (listener: TlsListener, what: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) =>
      new ListenerCertificateUnusable({
        listener,
        reason: `the ${what} in ${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`
      })
  })

/** Reads certificate and key, which must belong together. */
export const readListenerTls = Effect.fn("readListenerTls")(function* (
  listener: TlsListener,
  files: ListenerTlsFiles
): Effect.fn.Return<ListenerTls, ListenerCertificateUnusable> {
  const cert = yield* readOne(listener, "certificate", files.certificate)
  const key = yield* readOne(listener, "key", files.key)
  return yield* Effect.try({
    try: () => {
      createSecureContext({ cert, key })
      const fingerprint = createHash("sha256").update(cert).update(key).digest("hex")
      return { cert, key, fingerprint, expiresAt: Date.parse(new X509Certificate(cert).validTo) }
    },
    // OpenSSL's own message names neither file nor content.
    catch: (cause) =>
      new ListenerCertificateUnusable({
        listener,
        reason: `${files.certificate} and ${files.key} are not a certificate and its key in PEM (${(cause as Error).message})`
      })
  })
})

/** The time before its end at which the log warns of a certificate. */
const toldBeforeMillis = 7 * 24 * 3_600_000

/** Tells of a certificate that ends soon, or has. */
const tellExpiry = Effect.fnUntraced(function* ({ name }: TlsListener, { expiresAt }: ListenerTls) {
  const now = yield* Clock.currentTimeMillis
  if (now > expiresAt - toldBeforeMillis)
    yield* Effect.logWarning(
      `the certificate of ${name} ${now > expiresAt ? "has expired" : "expires"}: ${new Date(expiresAt).toISOString()}`
    )
})

/** The pause between two looks for a new certificate. */
const certificateLookMillis = 60 * 60_000

/**
 * Has a server offer the certificate that is in the files now, for ever. If they cannot be used, the old one stays, and
 * the log says so.
 */
export const renewListenerTls = (
  listener: TlsListener,
  server: SMTPServer,
  files: ListenerTlsFiles,
  begun: ListenerTls
): Effect.Effect<never> => {
  let current = begun
  const look = Effect.gen(function* () {
    yield* Effect.sleep(Duration.millis(certificateLookMillis))
    const found = yield* readListenerTls(listener, files)
    if (found.fingerprint !== current.fingerprint) {
      server.updateSecureContext({ cert: found.cert, key: found.key })
      current = found
      yield* Effect.logInfo(`${listener.name} offers its new certificate`)
    }
    yield* tellExpiry(listener, current)
  }).pipe(
    Effect.catch((error) => Effect.logWarning(error.message)),
    Effect.forever
  )
  return Effect.andThen(tellExpiry(listener, begun), look)
}
