/**
 * Everything that can be configured, in one table: each setting has an environment variable, a flag, a default and a
 * schema. `resolveConfig` checks all of them at once and reports every fault together, so that a boot fails once and
 * completely; `describeConfig` shows the effective values with secrets redacted (`sluice config`).
 */
import { Data, Redacted, Result, Schema } from "effect"
import { parseNatsAddress } from "./nats/address.ts"

/** One setting: where it comes from, what it means and how its text becomes a value. */
interface Setting<A> {
  readonly env: string
  readonly flag: string
  readonly description: string
  /** The text assumed when neither flag nor environment gives one; undefined where the setting may be absent. */
  readonly fallback: string | undefined
  readonly secret: boolean
  /** What the text must be, in words, for the fault's sentence. */
  readonly expected: string
  readonly parse: (text: string) => Result.Result<A, string>
  /** What of a valid secret may be shown; nothing where there is no such function. */
  readonly show?: (text: string) => string
}

const setting =
  <A>(
    expected: string,
    parse: (text: string) => A | undefined,
    more: { readonly explain?: (text: string) => string | undefined; readonly show?: (text: string) => string } = {}
  ) =>
  (options: { readonly env: string; readonly description: string; readonly fallback?: string }): Setting<A> => ({
    env: options.env,
    flag: options.env
      .replace(/^SLUICE_/, "")
      .toLowerCase()
      .replaceAll("_", "-"),
    description: options.description,
    fallback: options.fallback,
    secret: false,
    expected,
    parse: (text) => {
      const value = parse(text)
      if (value !== undefined) return Result.succeed(value)
      const why = more.explain?.(text)
      return Result.fail(why === undefined ? expected : `${expected} (${why})`)
    },
    ...(more.show === undefined ? {} : { show: more.show })
  })

const secret = <A>(of: Setting<A>): Setting<Redacted.Redacted<A>> => ({
  ...of,
  secret: true,
  parse: (text) => Result.map(of.parse(text), (value) => Redacted.make(value))
})

const text = setting("a text that is not empty", (value) => (value === "" ? undefined : value))

const integer = (minimum: number, maximum: number) =>
  setting(`a whole number from ${minimum} to ${maximum}`, (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= minimum && number <= maximum ? number : undefined
  })

const oneOf = <const Choices extends ReadonlyArray<string>>(choices: Choices) =>
  setting(`one of ${choices.join(", ")}`, (value): Choices[number] | undefined =>
    choices.includes(value) ? value : undefined
  )

const url = (...protocols: ReadonlyArray<string>) =>
  setting(`an address such as ${protocols[0]}//host`, (value) => {
    const parsed = URL.parse(value)
    return parsed !== null && protocols.includes(parsed.protocol) && parsed.host !== "" ? value : undefined
  })

const misplaced = /[@#]|\/.*\//

/** An address is worth seeing without its user and password. */
const withoutCredentials = (address: string): string => address.replace(/^([a-z]+:\/\/)[^/]*@/, "$1<redacted>@")

/** A `/`, `?`, `#` or `@` in a password that is not encoded moves part of it to where host and database stand. */
const postgresUrl = setting(
  "an address such as postgres://user:password@host:5432/database",
  (value) => {
    const parsed = URL.parse(value)
    const named = parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol) && parsed.host !== ""
    return named && !misplaced.test(`${parsed.pathname}${parsed.hash}`) ? value : undefined
  },
  {
    explain: (value) => (/^postgres(ql)?:\/\/.*[@#]/s.test(value) ? "encode / ? # and @ in a password" : undefined),
    show: (value) => withoutCredentials(value).replace(/\?.*$/s, "")
  }
)

const natsUrl = setting(
  "an address such as nats://user:password@host:4222, several separated by commas",
  (value) => (Result.isSuccess(parseNatsAddress(Redacted.make(value))) ? value : undefined),
  {
    explain: (value) => {
      const address = parseNatsAddress(Redacted.make(value))
      return Result.isFailure(address) ? address.failure.reason : undefined
    },
    show: (value) =>
      value
        .split(",")
        .map((one) => withoutCredentials(one.trim()))
        .join(",")
  }
)

const isDecodable = (encoded: string): boolean => {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** Percent-encoded values, as OpenTelemetry's own variable is written. */
const headers = setting("headers such as name=value,name=value with percent-encoded values", (value) =>
  value.split(",").every((pair) => /^[^=\s]+=/.test(pair.trim()) && isDecodable(pair)) ? value : undefined
)

/** An API key as the platform makes them; the demo key may be given a value of this form. */
const apiKey = setting("a key such as sk_live_… with at least 22 letters and digits after the prefix", (value) =>
  /^sk_(live|test)_[A-Za-z0-9]{22,128}$/.test(value) ? value : undefined
)

const adminKey = setting("a key such as adm_… with at least 22 letters and digits after the prefix", (value) =>
  /^adm_[A-Za-z0-9]{22,128}$/.test(value) ? value : undefined
)

/** Part of the names of streams and subjects, where dots, blanks and wildcards have a meaning. */
const namespace = setting("1 to 64 letters, digits, _ and -", (value) =>
  /^[A-Za-z0-9_-]{1,64}$/.test(value) ? value : undefined
)

/** The table of all settings. A key added here has its flag, its check and its line in `sluice config` at once. */
export const settings = {
  host: text({ env: "SLUICE_HOST", fallback: "127.0.0.1", description: "Address the API listens on" }),
  port: integer(
    0,
    65_535
  )({
    env: "SLUICE_PORT",
    fallback: "8080",
    description: "Port the API listens on; 0 takes a free one"
  }),
  publicUrl: url(
    "https:",
    "http:"
  )({
    env: "SLUICE_PUBLIC_URL",
    description: "Address under which clients reach the API, used in links; default: the address it listens on"
  }),
  dataDir: text({
    env: "SLUICE_DATA_DIR",
    fallback: ".sluice",
    description: "Folder of the embedded servers' data and of the running platform's whereabouts"
  }),
  databaseUrl: secret(
    postgresUrl({ env: "DATABASE_URL", description: "An external PostgreSQL to use instead of the embedded one" })
  ),
  databasePool: integer(
    2,
    500
  )({
    env: "SLUICE_DATABASE_POOL",
    fallback: "10",
    description: "Most connections to PostgreSQL at once"
  }),
  natsUrl: secret(natsUrl({ env: "NATS_URL", description: "An external NATS to use instead of the embedded one" })),
  natsWeakSync: oneOf(["refuse", "accept"])({
    env: "SLUICE_NATS_WEAK_SYNC",
    fallback: "refuse",
    description: "What to do with a NATS server that acknowledges before it has synced to disk"
  }),
  partitions: integer(
    1,
    4096
  )({
    env: "SLUICE_PARTITIONS",
    fallback: "8",
    description:
      "Partitions of the engine, fixed at a deployment's first start; at least four times the machines ever wanted"
  }),
  logReplicas: oneOf(["1", "3", "5"])({
    env: "SLUICE_LOG_REPLICAS",
    fallback: "1",
    description: "Copies of each partition's log: 1 on one machine, 3 in a cluster of NATS servers"
  }),
  logMaxBytes: integer(
    16_777_216,
    1_099_511_627_776
  )({
    env: "SLUICE_LOG_MAX_BYTES",
    fallback: "4294967296",
    description: "Largest log of a partition in bytes; NATS sets as much aside for each"
  }),
  logNamespace: namespace({
    env: "SLUICE_LOG_NAMESPACE",
    description:
      "Put before the names of the logs' streams, for several deployments on one NATS account; fixed at a deployment's first start"
  }),
  adminUrl: url(
    "http:",
    "https:"
  )({
    env: "SLUICE_ADMIN_URL",
    description: "Admin API of a platform elsewhere that commands are to speak to, with SLUICE_ADMIN_KEY"
  }),
  adminHost: text({
    env: "SLUICE_ADMIN_HOST",
    fallback: "127.0.0.1",
    description: "Address the admin API listens on"
  }),
  adminPort: integer(
    0,
    65_535
  )({
    env: "SLUICE_ADMIN_PORT",
    fallback: "0",
    description: "Port the admin API listens on; 0 takes a free one"
  }),
  adminKey: secret(
    adminKey({
      env: "SLUICE_ADMIN_KEY",
      description: "Credential of the admin API; default: made at random when servers are embedded, else the API is off"
    })
  ),
  apiUrl: url(
    "http:",
    "https:"
  )({
    env: "SLUICE_API_URL",
    description: "API of a platform elsewhere that sluice listen follows; default: the one running in the data folder"
  }),
  apiKey: secret(
    apiKey({ env: "SLUICE_API_KEY", description: "Key by which sluice listen reads its organization's events" })
  ),
  demo: oneOf(["on", "off"])({
    env: "SLUICE_DEMO",
    description: "Whether a first start makes the organization demo; default: on, off when NODE_ENV is production"
  }),
  demoKey: secret(
    apiKey({ env: "SLUICE_DEMO_KEY", description: "Value of the demo organization's key; default: random" })
  ),
  nodeEnv: text({ env: "NODE_ENV", fallback: "development", description: "production switches the demo off" }),
  logLevel: oneOf(["trace", "debug", "info", "warn", "error", "none"])({
    env: "SLUICE_LOG_LEVEL",
    fallback: "info",
    description: "Least level that is logged"
  }),
  logFormat: oneOf(["pretty", "json"])({
    env: "SLUICE_LOG_FORMAT",
    description: "How log lines look; default: pretty on a terminal, json elsewhere"
  }),
  accessLog: oneOf(["on", "off"])({
    env: "SLUICE_ACCESS_LOG",
    fallback: "off",
    description: "Whether every request is logged; failed ones always are"
  }),
  maxBodyBytes: integer(
    1024,
    16_777_216
  )({
    env: "SLUICE_MAX_BODY_BYTES",
    fallback: "262144",
    description: "Largest request body in bytes"
  }),
  otlpEndpoint: url(
    "http:",
    "https:"
  )({
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    description: "Base address of an OTLP collector for traces, metrics and logs"
  }),
  otlpHeaders: secret(
    headers({ env: "OTEL_EXPORTER_OTLP_HEADERS", description: "Headers for the collector, as name=value,name=value" })
  ),
  postgresBin: text({
    env: "SLUICE_POSTGRES_BIN",
    description: "Folder with initdb and postgres for the embedded server; default: the installed package's"
  }),
  natsServer: text({
    env: "SLUICE_NATS_SERVER",
    description: "The nats-server program for the embedded server; default: from the path or the installed package"
  })
} as const

type Settings = typeof settings
type ValueOf<S> = S extends Setting<infer A> ? A : never
type Defaulted =
  | "host"
  | "port"
  | "dataDir"
  | "databasePool"
  | "natsWeakSync"
  | "partitions"
  | "logReplicas"
  | "logMaxBytes"
  | "adminHost"
  | "adminPort"
  | "demo"
  | "nodeEnv"
  | "logLevel"
  | "accessLog"
  | "maxBodyBytes"

/** The validated configuration. A setting without default and value is undefined. */
export type Config = {
  readonly [K in keyof Settings]: K extends Defaulted ? ValueOf<Settings[K]> : ValueOf<Settings[K]> | undefined
}

/** Where an effective value came from. */
export type Source = "flag" | "environment" | "default"

/** One line of `sluice config`. */
export interface ConfigLine {
  readonly name: string
  readonly env: string
  readonly value: string
  readonly source: Source
}

/** Every fault of the given configuration, one sentence each. */
export class InvalidConfig extends Data.TaggedError("InvalidConfig")<{
  readonly faults: ReadonlyArray<string>
  /** Variables that begin like ours and are not: most likely a typing error. */
  readonly unknown: ReadonlyArray<string>
}> {
  override get message(): string {
    const { faults, unknown } = this
    const all = [...faults, ...unknown.map((name) => `the environment variable ${name} is unknown`)]
    return `The configuration has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}:\n${all.map((fault) => `  - ${fault}`).join("\n")}`
  }
}

export interface Resolved {
  readonly config: Config
  readonly lines: ReadonlyArray<ConfigLine>
  /** Variables that begin like ours and are not: most likely a typing error. */
  readonly unknown: ReadonlyArray<string>
}

const settingEntries = Object.entries(settings) as ReadonlyArray<[keyof Settings, Setting<unknown>]>

/** The text of a secret never leaves this module, but for what its setting allows to be seen. */
const shown = (entry: Setting<unknown>, value: string): string =>
  entry.secret ? (entry.show?.(value) ?? "<redacted>") : value

/**
 * Validates flags over environment over defaults. Empty environment variables count as absent, as most process
 * managers cannot unset one. Fails with every fault at once; a secret's text is not part of a fault.
 */
export const resolveConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Partial<Record<keyof Settings, string | undefined>>> = {}
): Result.Result<Resolved, InvalidConfig> => {
  const faults: Array<string> = []
  const lines: Array<ConfigLine> = []
  const config: Record<string, unknown> = {}
  for (const [name, entry] of settingEntries) {
    const fromFlag = flags[name]
    const fromEnvironment = environment[entry.env] === "" ? undefined : environment[entry.env]
    const source: Source = fromFlag !== undefined ? "flag" : fromEnvironment !== undefined ? "environment" : "default"
    const value = fromFlag ?? fromEnvironment ?? entry.fallback
    if (value === undefined) {
      config[name] = undefined
      lines.push({ name, env: entry.env, value: "", source })
      continue
    }
    lines.push({ name, env: entry.env, value: shown(entry, value), source })
    const parsed = entry.parse(value)
    if (Result.isSuccess(parsed)) config[name] = parsed.success
    else {
      const origin = source === "flag" ? `--${entry.flag}` : entry.env
      faults.push(`${origin} must be ${parsed.failure}${entry.secret ? "" : `, not ${JSON.stringify(value)}`}`)
    }
  }
  if (config.demo === undefined) {
    config.demo = config.nodeEnv === "production" ? "off" : "on"
    const line = lines.findIndex(({ name }) => name === "demo")
    lines[line] = { ...lines[line]!, value: String(config.demo) }
  }
  const { host, port, adminHost, adminPort } = config
  if (port !== undefined && port !== 0 && port === adminPort && host === adminHost) {
    faults.push(`${settings.adminPort.env} must be another port than ${settings.port.env}, not ${JSON.stringify(port)}`)
  }
  const known = new Set(settingEntries.map(([, entry]) => entry.env))
  const unknown = Object.keys(environment).filter((name) => name.startsWith("SLUICE_") && !known.has(name))
  if (faults.length > 0) return Result.fail(new InvalidConfig({ faults, unknown }))
  // Every key of the table was set above, with the type its schema gave.
  return Result.succeed({ config: config as unknown as Config, lines, unknown })
}

/** Whether a first start makes the demo organization (decisions: off by choice or in production). */
export const demoWanted = (config: Config): boolean => config.demo === "on"

/** A table of the effective values with their origin, aligned for a terminal. */
export const describeConfig = (lines: ReadonlyArray<ConfigLine>): string => {
  const width = Math.max(...lines.map((line) => line.env.length))
  return lines
    .map((line) => `${line.env.padEnd(width)}  ${line.value === "" ? "-" : line.value}  (${line.source})`)
    .join("\n")
}

/** The lines as `--json` prints them. */
export const ConfigLineSchema = Schema.Struct({
  name: Schema.String,
  env: Schema.String,
  value: Schema.String,
  source: Schema.Literals(["flag", "environment", "default"])
})
