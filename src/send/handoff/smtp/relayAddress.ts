/** The relay's address as a setting gives it, and what a connection to it needs (docs/handoff.md, 2.1). Pure. */
import { isIP } from "node:net"
import { checkServerIdentity, type PeerCertificate } from "node:tls"

/** `required`: neither mail nor password goes over a connection that is not encrypted and verified. `opportunistic`: TLS where the relay offers it, unverified. */
export const relayTlsPolicies = ["required", "opportunistic"] as const
export type RelayTls = (typeof relayTlsPolicies)[number]

export interface RelayAddress {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps:`). */
  readonly isImplicitTls: boolean
  readonly user: string | undefined
  readonly password: string | undefined
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads `smtp://user:password@host:port` or `smtps://…`; undefined for what is neither. */
export const parseRelayAddress = (text: string): RelayAddress | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "smtp:" && url.protocol !== "smtps:") || url.hostname === "") return undefined
  // An unencoded `/`, `?`, `#` or `@` in a password would move a part of it elsewhere.
  if ((url.pathname !== "" && url.pathname !== "/") || url.search !== "" || url.hash !== "") return undefined
  const isImplicitTls = url.protocol === "smtps:"
  const [user, password] = [decoded(url.username), decoded(url.password)]
  if (user === undefined || password === undefined || (user === "") !== (password === "")) return undefined
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase(),
    port: url.port === "" ? (isImplicitTls ? 465 : 587) : Number(url.port),
    isImplicitTls,
    user: user === "" ? undefined : user,
    password: password === "" ? undefined : password
  }
}

/** Whether nothing on the way can read along. */
export const isLoopbackRelay = ({ host }: Pick<RelayAddress, "host">): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))

/** How the relay is called in sentences: without user and password. */
export const relayName = ({ host, port }: Pick<RelayAddress, "host" | "port">): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`

/** Told until when a certificate is valid that the relay has presented. */
export type OnCertificate = (validUntilMillis: number) => void

/** The part of a connection's options that is about TLS. */
export const tlsOptions = (relay: RelayAddress, policy: RelayTls, onCertificate: OnCertificate = () => undefined) => {
  const isRequired = policy === "required" && !isLoopbackRelay(relay)
  const verified = {
    minVersion: "TLSv1.2" as const,
    rejectUnauthorized: isRequired,
    // Node asks this of each new session whose certificate is trusted, and has no other place that sees it there.
    checkServerIdentity: (host: string, certificate: PeerCertificate) => {
      const validUntilMillis = Date.parse(certificate.valid_to)
      if (Number.isFinite(validUntilMillis)) onCertificate(validUntilMillis)
      return checkServerIdentity(host, certificate)
    }
  }
  if (relay.isImplicitTls) return { secure: true, tls: verified }
  return isRequired
    ? { secure: false, requireTLS: true, tls: verified }
    : { secure: false, opportunisticTLS: true, tls: verified }
}
