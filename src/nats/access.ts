/**
 * Reads the files by which a connection to NATS proves who it is and whom it trusts: NKeys, credentials, certificates.
 * They are read for each connection, so that an operator renews them without a restart. Needs no service.
 */
import { readFileSync } from "node:fs"
import {
  type Authenticator,
  credsAuthenticator,
  type NodeConnectionOptions,
  nkeyAuthenticator
} from "@nats-io/transport-node"
import { Effect } from "effect"
import { NatsFileUnusable } from "./errors.ts"

/** Paths of files, each optional. See {@link Durable.layer}. */
export interface NatsFiles {
  /** Credentials of a user of a decentralized account: a JWT and its seed, as `nsc` writes them (`.creds`). */
  readonly credentials?: string | undefined
  /** The seed of an NKey (`SU…`). */
  readonly nkey?: string | undefined
  /** Certificates of authorities in PEM. They replace those that Node trusts. */
  readonly authority?: string | undefined
  /** The client's certificate in PEM. */
  readonly certificate?: string | undefined
  /** Its private key in PEM. */
  readonly certificateKey?: string | undefined
}

/** Reads a file again for each connection. If it cannot be read, the last text is used. */
const rereads = (path: string): (() => Uint8Array) => {
  let last: Uint8Array = new Uint8Array(0)
  return () => {
    try {
      last = readFileSync(path)
    } catch {
      // The client gives up for ever if this throws.
    }
    return last
  }
}

const trimmed = (bytes: Uint8Array): Uint8Array => Buffer.from(Buffer.from(bytes).toString("latin1").trim(), "latin1")

/** Both at once are possible: the server picks what it knows. */
const authenticatorsOf = ({ credentials, nkey }: NatsFiles): Array<Authenticator> => {
  const found: Array<Authenticator> = []
  if (credentials !== undefined) found.push(credsAuthenticator(rereads(credentials)))
  if (nkey !== undefined) {
    const seed = rereads(nkey)
    found.push(nkeyAuthenticator(() => trimmed(seed())))
  }
  return found
}

/** Whether the files are about TLS, which is then required. */
export const needsTls = ({ authority, certificate, certificateKey }: NatsFiles): boolean =>
  authority !== undefined || certificate !== undefined || certificateKey !== undefined

/** The client's options that the files stand for. */
export const accessOptions = (files: NatsFiles, tls: boolean): NodeConnectionOptions => {
  const { authority, certificate, certificateKey } = files
  const authenticators = authenticatorsOf(files)
  return {
    ...(authenticators.length === 0 ? {} : { authenticator: authenticators }),
    ...(tls || needsTls(files)
      ? {
          tls: {
            ...(authority === undefined ? {} : { caFile: authority }),
            ...(certificate === undefined ? {} : { certFile: certificate }),
            ...(certificateKey === undefined ? {} : { keyFile: certificateKey })
          }
        }
      : {})
  }
}

/** The environment variable of each file, which the nats command line has as well. */
const variables: Readonly<Record<keyof NatsFiles, string>> = {
  credentials: "NATS_CREDS",
  nkey: "NATS_NKEY",
  authority: "NATS_CA",
  certificate: "NATS_CERT",
  certificateKey: "NATS_KEY"
}

/** Why a file's text is not what it should be; undefined where it is. Never quotes the text. */
const problemOf = (name: keyof NatsFiles, path: string): string | undefined => {
  try {
    const text = readFileSync(path)
    if (name === "credentials") credsAuthenticator(text)("nonce")
    else if (name === "nkey") nkeyAuthenticator(trimmed(text))("nonce")
    else if (!/-----BEGIN /.test(text.toString("latin1"))) return "holds nothing in PEM"
    return undefined
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException
    if (syscall !== undefined) return `cannot be read (${code})`
    return name === "nkey" ? "holds no seed of an NKey" : "holds no credentials of a NATS user"
  }
}

/** Fails with the first file that cannot be used, so that a start says so immediately. */
export const checkFiles = (files: NatsFiles): Effect.Effect<void, NatsFileUnusable> =>
  Effect.suspend(() => {
    for (const name of Object.keys(variables) as ReadonlyArray<keyof NatsFiles>) {
      const path = files[name]
      const reason = path === undefined ? undefined : problemOf(name, path)
      if (path !== undefined && reason !== undefined)
        return Effect.fail(new NatsFileUnusable({ variable: variables[name], path, reason }))
    }
    if ((files.certificate === undefined) !== (files.certificateKey === undefined)) {
      const path = files.certificate ?? files.certificateKey!
      const missing = files.certificate === undefined ? variables.certificate : variables.certificateKey
      const variable = files.certificate === undefined ? variables.certificateKey : variables.certificate
      return Effect.fail(new NatsFileUnusable({ variable, path, reason: `needs ${missing} as well` }))
    }
    return Effect.void
  })
