/**
 * Reads addresses of PostgreSQL as libpq does (its documentation, "Connection URIs"): several hosts, sockets of this
 * machine, settings of TLS, and the parts that only the `PG*` environment has. Pure: it reads no file and opens
 * nothing.
 */
import { Result } from "effect"

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
export type SslMode = (typeof sslModes)[number]

const sessionAttributes = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"] as const
/** Which of several servers is taken. */
export type SessionAttributes = (typeof sessionAttributes)[number]

export interface PgHost {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
}

/** The target of the URL, without the password. See {@link Durable.layer}. */
export interface PgTarget {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export interface PgAddress {
  readonly hosts: readonly [PgHost, ...Array<PgHost>]
  readonly user: string
  readonly password: string | undefined
  /** The password file that is named, for an address without a password. */
  readonly passFile: string | undefined
  readonly database: string
  readonly sslMode: SslMode
  /** A file, or `system`; undefined where none is named. */
  readonly sslRootCert: string | undefined
  readonly sslCert: string | undefined
  readonly sslKey: string | undefined
  readonly sslPassword: string | undefined
  readonly sessionAttributes: SessionAttributes
  /** Options of the server's command line. */
  readonly options: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** The parameters of an address, and the variables that replace them. */
const variables = {
  host: "PGHOST",
  port: "PGPORT",
  dbname: "PGDATABASE",
  user: "PGUSER",
  password: "PGPASSWORD",
  passfile: "PGPASSFILE",
  options: "PGOPTIONS",
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
  target_session_attrs: "PGTARGETSESSIONATTRS"
} as const
type Parameter = keyof typeof variables

/** Taken, and decided by the platform or of no meaning for it. */
const passedOver = new Set([
  "application_name",
  "fallback_application_name",
  "client_encoding",
  "connect_timeout",
  "keepalives",
  "keepalives_idle",
  "keepalives_interval",
  "keepalives_count",
  "tcp_user_timeout",
  "load_balance_hosts"
])

const defaultPort = 5_432
const form = /^postgres(?:ql)?:\/\/([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s

const decoded = (text: string): string => decodeURIComponent(text)

/** `name:port`, `[::1]:port`, or a part of it. */
const readHost = (text: string): { readonly host: string; readonly port: string } | undefined => {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(text)
  return match === null ? undefined : { host: decoded(match[1]!.replace(/^\[(.*)\]$/, "$1")), port: match[2] ?? "" }
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535

/** Pairs hosts with ports: one port is for all of them. */
const pairs = (hosts: ReadonlyArray<string>, ports: ReadonlyArray<string>): ReadonlyArray<PgHost> | string => {
  if (ports.length > 1 && ports.length !== hosts.length) return `${ports.length} ports for ${hosts.length} hosts`
  const all = hosts.map((host, index) => {
    const port = ports.length === 1 ? ports[0]! : (ports[index] ?? "")
    return { host: host === "" ? "localhost" : host, port: port === "" ? defaultPort : Number(port) }
  })
  return all.every(({ port }) => isPort(port)) ? all : "a port is no number from 1 to 65535"
}

const oneOf = <A extends string>(all: ReadonlyArray<A>, given: string | undefined, fallback: A): A | undefined =>
  given === undefined ? fallback : all.find((one) => one === given)

/** Reads an address. The reason of a failure quotes nothing of it but names of parameters. */
export const readAddress = (text: string, environment: Environment): Result.Result<PgAddress, string> => {
  try {
    return read(text, environment)
  } catch {
    return Result.fail("a % is not followed by two hexadecimal digits")
  }
}

const read = (text: string, environment: Environment): Result.Result<PgAddress, string> => {
  const match = form.exec(text)
  if (match === null) return Result.fail("it does not begin with postgres://")
  const [, authority = "", path = "", query = ""] = match
  const at = authority.lastIndexOf("@")
  const credentials = at < 0 ? "" : authority.slice(0, at)
  if (/#/.test(credentials) || /[@#/]/.test(path) || /#/.test(authority))
    return Result.fail("encode / ? # and @ in a password")
  const given = new Map<string, string>()
  for (const pair of query === "" ? [] : query.split("&")) {
    const [name = "", ...value] = pair.split("=")
    const key = decoded(name)
    if (/@/.test(pair) && !(key in variables)) return Result.fail("encode / ? # and @ in a password")
    if (!(key in variables) && key !== "ssl" && key !== "sslpassword" && !passedOver.has(key))
      return Result.fail(`its parameter ${JSON.stringify(key)} is not known`)
    given.set(key, decoded(value.join("=")))
  }
  // As JDBC writes it.
  if (given.get("ssl") === "true" && !given.has("sslmode")) given.set("sslmode", "require")
  const colon = credentials.indexOf(":")
  const parts: Partial<Record<Parameter, string>> = {
    user: decoded(colon < 0 ? credentials : credentials.slice(0, colon)),
    password: colon < 0 ? "" : decoded(credentials.slice(colon + 1)),
    dbname: decoded(path)
  }
  const said = (parameter: Parameter): string | undefined =>
    [given.get(parameter), parts[parameter], environment[variables[parameter]]].find(
      (value) => value !== undefined && value !== ""
    )
  const inAuthority = authority.slice(at + 1)
  const named = inAuthority === "" ? [] : inAuthority.split(",").map(readHost)
  if (named.some((one) => one === undefined)) return Result.fail("encode / ? # and @ in a password, and : in a host")
  const hosts =
    given.has("host") || named.length === 0 ? (said("host") ?? "localhost").split(",") : named.map((one) => one!.host)
  const namedPorts = named.map((one) => one!.port)
  const ports =
    given.has("port") || namedPorts.every((port) => port === "") ? (said("port") ?? "").split(",") : namedPorts
  const all = pairs(hosts, ports)
  if (typeof all === "string") return Result.fail(all)
  const sslMode = oneOf(sslModes, said("sslmode"), "prefer")
  if (sslMode === undefined) return Result.fail(`sslmode is one of ${sslModes.join(", ")}`)
  const attributes = oneOf(sessionAttributes, said("target_session_attrs"), "any")
  if (attributes === undefined) return Result.fail(`target_session_attrs is one of ${sessionAttributes.join(", ")}`)
  const user = said("user") ?? environment.USER ?? environment.USERNAME ?? "postgres"
  return Result.succeed({
    hosts: all as unknown as PgAddress["hosts"],
    user,
    password: said("password"),
    passFile: said("passfile"),
    database: said("dbname") ?? user,
    sslMode,
    sslRootCert: said("sslrootcert"),
    sslCert: said("sslcert"),
    sslKey: said("sslkey"),
    sslPassword: given.get("sslpassword"),
    sessionAttributes: attributes,
    options: said("options")
  })
}
