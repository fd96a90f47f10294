/**
 * Reads NATS_URL. The client's own parser ignores credentials and `tls://`, and misreads a port behind a password that
 * begins with digits. Needs no service.
 */
import { Redacted, Result } from "effect"
import { NatsUrlInvalid } from "./errors.ts"

export interface NatsAddress {
  /** `host:port` each, without credentials. */
  readonly servers: ReadonlyArray<string>
  /** Whether the connection has to be encrypted. */
  readonly tls: boolean
  readonly credentials:
    | { readonly _tag: "None" }
    | { readonly _tag: "User"; readonly user: string; readonly password: Redacted.Redacted<string> }
    | { readonly _tag: "Token"; readonly token: Redacted.Redacted<string> }
}

const defaultPort = 4222

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Reads one address or several separated by commas: `nats://host`, `nats://user:password@host:4222`,
 * `nats://token@host`, `tls://…`. The first credentials found are used for all servers, and one `tls://` requires TLS
 * for all.
 */
export const parseNatsAddress = (text: Redacted.Redacted<string>): Result.Result<NatsAddress, NatsUrlInvalid> => {
  const parts = Redacted.value(text)
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
  if (parts.length === 0) return Result.fail(new NatsUrlInvalid({ reason: "it is empty" }))
  const servers: Array<string> = []
  let tls = false
  let credentials: NatsAddress["credentials"] = { _tag: "None" }
  for (const [index, part] of parts.entries()) {
    const which = parts.length === 1 ? "it" : `address ${index + 1}`
    // Parsed as http, for which the URL parser checks host and port strictly; port 80 is put back below.
    const match = /^(nats|tls):\/\/(.+)$/.exec(part)
    if (match === null) {
      return Result.fail(new NatsUrlInvalid({ reason: `${which} does not begin with nats:// or tls://` }))
    }
    const url = URL.parse(`http://${match[2]}`)
    if (url === null || url.hostname === "") {
      return Result.fail(new NatsUrlInvalid({ reason: `${which} has no valid host and port` }))
    }
    if ((url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.hash !== "") {
      return Result.fail(
        new NatsUrlInvalid({ reason: `${which} has something after the port (encode / ? and # in a password)` })
      )
    }
    const port = url.port !== "" ? url.port : /:80\/?$/.test(match[2]!) ? "80" : `${defaultPort}`
    servers.push(`${url.hostname}:${port}`)
    tls ||= match[1] === "tls"
    if (credentials._tag === "None" && url.username !== "") {
      credentials =
        url.password === ""
          ? { _tag: "Token", token: Redacted.make(decode(url.username)) }
          : { _tag: "User", user: decode(url.username), password: Redacted.make(decode(url.password)) }
    }
  }
  return Result.succeed({ servers, tls, credentials })
}
