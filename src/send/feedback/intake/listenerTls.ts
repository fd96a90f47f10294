/**
 * Reads the certificate with which the listener offers STARTTLS (docs/handoff.md, 6.1), and reads it again when its
 * files change, because certificates are renewed.
 */
import { createHash, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createSecureContext } from "node:tls"
import { Clock, Data, Effect } from "effect"

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

/** The files cannot be used. The message says why and shows nothing of the key. */
export class BounceCertificateUnusable extends Data.TaggedError("BounceCertificateUnusable")<{
  readonly reason: string
}> {
  override get message(): string {
    return `The listener for bounces cannot offer TLS: ${this.reason}. See SLUICE_BOUNCE_TLS_CERT and SLUICE_BOUNCE_TLS_KEY.`
  }
}

const unusable = (reason: string) => new BounceCertificateUnusable({ reason })

const readOne = (what: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) => unusable(`the ${what} in ${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`)
  })

/** Reads certificate and key, which must belong together. */
export const readListenerTls = Effect.fn("readListenerTls")(function* (
  files: ListenerTlsFiles
): Effect.fn.Return<ListenerTls, BounceCertificateUnusable> {
  const cert = yield* readOne("certificate", files.certificate)
  const key = yield* readOne("key", files.key)
  return yield* Effect.try({
    try: () => {
      createSecureContext({ cert, key })
      const fingerprint = createHash("sha256").update(cert).update(key).digest("hex")
      return { cert, key, fingerprint, expiresAt: Date.parse(new X509Certificate(cert).validTo) }
    },
    // OpenSSL's own message names neither file nor content.
    catch: (cause) =>
      unusable(
        `${files.certificate} and ${files.key} are not a certificate and its key in PEM (${(cause as Error).message})`
      )
  })
})

/** The time before its end at which the log warns of a certificate. */
const toldBeforeMillis = 7 * 24 * 3_600_000

/** Tells of a certificate that ends soon, or has. */
export const tellExpiry = Effect.fnUntraced(function* ({ expiresAt }: ListenerTls) {
  const now = yield* Clock.currentTimeMillis
  if (now > expiresAt - toldBeforeMillis)
    yield* Effect.logWarning(
      `the certificate of the listener for bounces ${now > expiresAt ? "has expired" : "expires"}: ${new Date(expiresAt).toISOString()}`
    )
})
