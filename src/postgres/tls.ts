/**
 * Configures TLS to PostgreSQL with libpq's meaning of `sslmode` (its documentation, "SSL Support"). Needs no service;
 * it reads the files of certificates.
 */
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"
import type { ConnectionOptions } from "node:tls"
import { PgProtocol } from "@effect/sql-pg"
import { Effect } from "effect"
import type { PgAddress, PgHost } from "./address.ts"

/** A file that an address names cannot be read. */
export class TlsFileUnreadable extends Error {}

/** The file's bytes; of a default place, undefined where nothing is there. */
const fileOf = (named: string | undefined, fallback: string): Buffer | undefined => {
  try {
    return readFileSync(named ?? join(homedir(), ".postgresql", fallback))
  } catch (cause) {
    if (named === undefined) return undefined
    throw new TlsFileUnreadable(`${named} cannot be read: ${(cause as NodeJS.ErrnoException).code}`)
  }
}

/**
 * The client's options where a connection is encrypted. `require` does not look whose the certificate is, unless an
 * authority is named; `verify-ca` looks that the authority has signed it, `verify-full` also that it is for this host.
 * Without an authority of its own `verify-…` takes those that Node trusts.
 */
export const tlsOptions = (address: Omit<PgAddress, "hosts">): ConnectionOptions => {
  const { sslCert, sslKey, sslMode, sslPassword, sslRootCert } = address
  const authority = sslRootCert === "system" ? undefined : fileOf(sslRootCert, "root.crt")
  const certificate = fileOf(sslCert, "postgresql.crt")
  const key = fileOf(sslKey, "postgresql.key")
  // With an authority, `require` is `verify-ca`, as in libpq.
  const verifies =
    sslMode === "verify-full" || sslMode === "verify-ca" || (sslMode === "require" && authority !== undefined)
  return {
    rejectUnauthorized: verifies,
    ...(authority === undefined || !verifies ? {} : { ca: authority }),
    ...(sslMode === "verify-full" || sslRootCert === "system" ? {} : { checkServerIdentity: () => undefined }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ...(sslPassword === undefined ? {} : { passphrase: sslPassword })
  }
}

const letterS = 0x53

/** Whether a server takes encrypted connections, for the modes that do without; false where it does not answer. */
export const takesTls = ({ host, port }: PgHost, timeoutMillis: number): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket: Socket = connect({ host, port, noDelay: true })
    const end = (answer: boolean) => {
      socket.destroy()
      resume(Effect.succeed(answer))
    }
    socket.setTimeout(timeoutMillis, () => end(false))
    socket.once("connect", () => socket.write(PgProtocol.encodeSslRequest()))
    socket.once("data", (chunk: Buffer) => end(chunk[0] === letterS))
    socket.once("error", () => end(false))
    socket.once("close", () => end(false))
    return Effect.sync(() => socket.destroy())
  })
