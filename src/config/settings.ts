/**
 * Defines all configuration in one table: each setting has an environment variable, a flag, a default and a schema.
 * `resolveConfig` checks all of them together and reports every fault, so that a boot fails once and completely;
 * `describeConfig` shows the effective values with secrets redacted (`sluice config`).
 */
import { Data, Result, Schema } from "effect"
import { defaultConfig } from "../engine/config.ts"
import { defaultRates } from "../platform/requests/RequestWriter.ts"
import { targetPolicies } from "../webhooks/target/targets.ts"
import { billingSettings } from "./billingSettings.ts"
import {
  adminKey,
  apiKey,
  duration,
  headers,
  integer,
  namespace,
  oneOf,
  type Setting,
  secret,
  text,
  url
} from "./kinds.ts"
import { mailSettings } from "./mailSettings.ts"
import { natsSettings } from "./natsSettings.ts"
import { addressRanges, postgresUrl, proxyUrl, retryDelays, secretsKeys } from "./roomKinds.ts"
import { fileVariable, secretInFile } from "./secretFile.ts"
import { talkSettings } from "./talkSettings.ts"
import { givenIn, unknownVariables } from "./variables.ts"

// Defines the settings for outages of a server, and for the return of an older one (docs/operating.md), for the table
// in `settings.ts`.

export const outageSettings = {
  keyGrace: duration("24h")({
    env: "SLUICE_KEY_GRACE",
    fallback: "10m",
    description: "How long API keys that were used before keep working while PostgreSQL is away; 0s for not at all"
  }),
  logKeep: duration("8760h")({
    env: "SLUICE_LOG_KEEP",
    fallback: "24h",
    description:
      "How long frames stay in the log behind checkpoints, so that a PostgreSQL restored from a backup of that age catches up by itself; at most half of each log is used for it"
  })
} as const

// Defines the settings of several machines (docs/cluster.md), for the table in `settings.ts`.

export const clusterSettings = {
  placement: oneOf(["machine", "cluster"])({
    env: "SLUICE_PLACEMENT",
    fallback: "machine",
    description:
      "Whether this process runs all partitions, or shares them with others on the same DATABASE_URL and NATS_URL"
  }),
  role: oneOf(["all", "api", "engine"])({
    env: "SLUICE_ROLE",
    fallback: "all",
    description: "Work of a node of a cluster: everything, requests without partitions, or partitions without requests"
  }),
  workers: integer(
    1,
    64
  )({
    env: "SLUICE_WORKERS",
    fallback: "1",
    description: "Processes that serve on this machine behind one port, and share its partitions; each uses one core"
  }),
  node: text({
    env: "SLUICE_NODE",
    description: "Name of a node of a cluster, which no other one has; default: the machine's name and the process id"
  })
} as const

/** The table of all settings. A key added here thereby has its flag, its check and its line in `sluice config`. */
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
  ...natsSettings,
  partitions: integer(
    1,
    4096
  )({
    env: "SLUICE_PARTITIONS",
    fallback: "8",
    description:
      "Partitions of the engine. A deployment keeps the number of its first start: choose four for each machine that it may grow to, or more"
  }),
  ...clusterSettings,
  logReplicas: oneOf(["1", "3", "5"])({
    env: "SLUICE_LOG_REPLICAS",
    description:
      "Copies of each partition's log; default: 1, and 3 where nodes share the partitions and NATS is a cluster of three servers or more"
  }),
  logMaxBytes: integer(
    16_777_216,
    1_099_511_627_776
  )({
    env: "SLUICE_LOG_MAX_BYTES",
    description:
      "Largest log of a partition in bytes; NATS sets as much aside for each; default: 4294967296, less for new logs where its store has no room for so many"
  }),
  logNamespace: namespace({
    env: "SLUICE_LOG_NAMESPACE",
    description:
      "Put before the names of the logs' streams, for several deployments on one NATS account; fixed at a deployment's first start"
  }),
  maximumActors: integer(
    1_000,
    100_000_000
  )({
    env: "SLUICE_MAX_ACTORS",
    fallback: `${defaultConfig.maximumActors}`,
    description: "Actors the process keeps in memory, over all partitions; idle ones leave when others need their place"
  }),
  maximumLaneActors: integer(
    1_000,
    100_000_000
  )({
    env: "SLUICE_MAX_LANE_ACTORS",
    fallback: `${defaultConfig.maximumLaneActors}`,
    description:
      "Request limits the process keeps in memory, over all partitions; they stay until their window has ended"
  }),
  mailboxCommands: integer(
    64,
    1_000_000
  )({
    env: "SLUICE_MAILBOX_COMMANDS",
    fallback: `${defaultConfig.mailboxCapacity}`,
    description: "Commands that wait in one partition, a quarter of them one organization's; more are answered 503"
  }),
  mailboxBytes: integer(
    1_048_576,
    68_719_476_736
  )({
    env: "SLUICE_MAILBOX_BYTES",
    fallback: `${defaultConfig.mailboxBytes}`,
    description: "Bytes of commands, estimated, that wait in the process, a quarter of them one organization's"
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
    apiKey({
      env: "SLUICE_API_KEY",
      description: "Key by which sluice listen and sluice suppressions act for an organization"
    })
  ),
  development: oneOf(["on", "off"])({
    env: "SLUICE_DEVELOPMENT",
    fallback: "off",
    description:
      "Development mode, for one's own machine: what is named as its default elsewhere here, the mailbox of live mail, and an address of the console that is signed in. npm start switches it on; never when NODE_ENV is production"
  }),
  demo: oneOf(["on", "off"])({
    env: "SLUICE_DEMO",
    description: "Whether a first start makes the organization demo; default: off, on in development mode"
  }),
  demoKey: secret(
    apiKey({ env: "SLUICE_DEMO_KEY", description: "Value of the demo organization's key; default: random" })
  ),
  nodeEnv: text({
    env: "NODE_ENV",
    fallback: "development",
    description: "production switches the development mode off"
  }),
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
    description: "Whether every request is logged; without it failed ones are, many equal ones sampled and counted"
  }),
  requestLogSuccesses: integer(
    0,
    1_000
  )({
    env: "SLUICE_REQUEST_LOG_SUCCESSES",
    fallback: `${defaultRates.successesPerSecond}`,
    description: "Successful requests of an organization that the request log keeps in a second; more are sampled"
  }),
  requestLogFailures: integer(
    0,
    1_000
  )({
    env: "SLUICE_REQUEST_LOG_FAILURES",
    fallback: `${defaultRates.failuresPerSecond}`,
    description: "Failed requests of an organization that the request log keeps in a second; more are sampled"
  }),
  requestLogDays: integer(
    1,
    400
  )({
    env: "SLUICE_REQUEST_LOG_DAYS",
    fallback: "7",
    description: "Days for which the request log keeps a request; the same on every node"
  }),
  eventsDays: integer(
    30,
    400
  )({
    env: "SLUICE_EVENTS_DAYS",
    fallback: "30",
    description: "Days for which events are listed; deliveries and replays go back 30 days. The same on every node"
  }),
  fastLane: oneOf(["on", "off"])({
    env: "SLUICE_FAST_LANE",
    fallback: "on",
    description:
      "Whether requests that can be answered at once are, past the server's general path; never with an access log or a collector"
  }),
  maxBodyBytes: integer(
    1024,
    16_777_216
  )({
    env: "SLUICE_MAX_BODY_BYTES",
    fallback: "262144",
    description: "Largest request body in bytes"
  }),
  secretsKey: secret(
    secretsKeys({
      env: "SLUICE_SECRETS_KEY",
      description:
        "Key under which webhooks' signing secrets are stored, earlier ones behind a comma; default: made in the data folder when PostgreSQL is embedded"
    })
  ),
  webhookTargets: oneOf(targetPolicies)({
    env: "SLUICE_WEBHOOK_TARGETS",
    description:
      "Where webhooks may go: public addresses over https, or any, with http to loopback hosts; default: public, any in development mode when both servers are embedded and the API listens on a loopback address"
  }),
  webhookRetryDelays: retryDelays({
    env: "SLUICE_WEBHOOK_RETRY_DELAYS",
    description: "Waits before the retries of a webhook delivery; default: 5s,30s,2m,15m,1h"
  }),
  webhookTimeout: integer(
    100,
    60_000
  )({
    env: "SLUICE_WEBHOOK_TIMEOUT_MILLIS",
    description: "How long a webhook endpoint has for its answer, in milliseconds; default: 15000"
  }),
  webhookProxy: secret(
    proxyUrl({
      env: "SLUICE_WEBHOOK_PROXY",
      description: "HTTP proxy through which webhooks go, by CONNECT; default: none"
    })
  ),
  webhookSources: addressRanges({
    env: "SLUICE_WEBHOOK_SOURCES",
    description: "Addresses and ranges from which webhooks come, shown to their receivers; default: none, not known"
  }),
  ...outageSettings,
  ...mailSettings,
  ...talkSettings,
  ...billingSettings,
  metrics: oneOf(["open", "admin"])({
    env: "SLUICE_METRICS",
    description:
      "Who may read /metrics on the API's address: anybody, or who has the admin API's credential; default: admin, open in development mode where the API listens on a loopback address"
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
  | "placement"
  | "role"
  | "workers"
  | "keyGrace"
  | "logKeep"
  | "maximumActors"
  | "maximumLaneActors"
  | "mailboxCommands"
  | "mailboxBytes"
  | "adminHost"
  | "adminPort"
  | "development"
  | "demo"
  | "nodeEnv"
  | "logLevel"
  | "accessLog"
  | "requestLogSuccesses"
  | "requestLogFailures"
  | "requestLogDays"
  | "eventsDays"
  | "fastLane"
  | "maxBodyBytes"
  | "webhookTargets"
  | "bounceHost"
  | "submissionHost"
  | "smtpTls"
  | "smtpConnections"
  | "holdMail"
  | "mailFrom"
  | "talkModel"
  | "talkVoices"
  | "metrics"
  | "billingPayments"
  | "billingGraceDays"
  | "billingDueDays"

/** The validated configuration. A setting without default and value is undefined. */
export type Config = {
  readonly [K in keyof Settings]: K extends Defaulted ? ValueOf<Settings[K]> : ValueOf<Settings[K]> | undefined
}

/** The source of an effective value. */
export type Source = "flag" | "environment" | "file" | "default"

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
  /** Variables with our prefix that are no settings: most likely typing errors. */
  readonly unknown: ReadonlyArray<string>
}> {
  override get message(): string {
    const { faults, unknown } = this
    const all = [...faults, ...unknown.map((name) => `the environment variable ${name} is unknown`)]
    return `The configuration has ${all.length === 1 ? "a fault" : `${all.length} faults`}:\n${all.map((fault) => `  - ${fault}`).join("\n")}`
  }
}

export interface Resolved {
  readonly config: Config
  readonly lines: ReadonlyArray<ConfigLine>
  /** Variables with our prefix that are no settings: most likely typing errors. */
  readonly unknown: ReadonlyArray<string>
}

const settingEntries = Object.entries(settings) as ReadonlyArray<[keyof Settings, Setting<unknown>]>

/** The part of a secret that its setting allows to be seen; the rest never leaves this module. */
const shown = (entry: Setting<unknown>, value: string): string =>
  entry.secret ? (entry.show?.(value) ?? "<redacted>") : value

/** Faults of settings that are right by themselves. */
const faultsTogether = (config: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const { host, port, adminHost, adminPort } = config
  if (port !== undefined && port !== 0 && port === adminPort && host === adminHost) {
    faults.push(`${settings.adminPort.env} must be another port than ${settings.port.env}, not ${JSON.stringify(port)}`)
  }
  if (config.bouncePort !== undefined && config.bounceDomain === undefined) {
    faults.push(`${settings.bouncePort.env} needs ${settings.bounceDomain.env}, the domain whose mail is taken there`)
  }
  if (config.feedbackAddresses !== undefined && config.bouncePort === undefined)
    faults.push(`${settings.feedbackAddresses.env} needs ${settings.bouncePort.env}, where their mail is taken`)
  if ((config.bounceTlsCert === undefined) !== (config.bounceTlsKey === undefined))
    faults.push(`${settings.bounceTlsCert.env} and ${settings.bounceTlsKey.env} belong together: set both`)
  if ((config.submissionTlsCert === undefined) !== (config.submissionTlsKey === undefined))
    faults.push(`${settings.submissionTlsCert.env} and ${settings.submissionTlsKey.env} belong together: set both`)
  if (config.submissionPort !== undefined && config.submissionTlsCert === undefined && !isPlainSubmission(config))
    faults.push(
      `${settings.submissionPort.env} needs ${settings.submissionTlsCert.env} and ${settings.submissionTlsKey.env}, because keys go over TLS alone, except in development mode on a loopback address`
    )
  if ((config.stripeKey === undefined) !== (config.stripeWebhookSecret === undefined))
    faults.push(`${settings.stripeKey.env} and ${settings.stripeWebhookSecret.env} belong together: set both`)
  const natsFiles = Object.entries(natsSettings).filter(([name]) => /^nats(Cred|Nkey|Auth|Cert)/.test(name))
  for (const [name, { env }] of natsFiles)
    if (config[name] !== undefined && config.natsUrl === undefined)
      faults.push(`${env} needs ${settings.natsUrl.env}, the server that it is for`)
  // Embedded servers belong to one process.
  if (config.placement === "cluster" && (config.databaseUrl === undefined || config.natsUrl === undefined))
    faults.push(
      `${settings.placement.env}=cluster needs ${settings.databaseUrl.env} and ${settings.natsUrl.env}, which all nodes share`
    )
  if (config.placement === "machine" && config.role !== undefined && config.role !== "all")
    faults.push(`${settings.role.env} needs ${settings.placement.env}=cluster`)
  // Each has its own connections, and the embedded server takes a fixed number of them.
  if (config.databaseUrl === undefined && Number(config.workers) > 1) {
    const each = Number(config.databasePool) + connectionsPerWorker
    const most = Math.floor(embeddedConnections / each)
    if (Number(config.workers) > most)
      faults.push(
        `${settings.workers.env} must be at most ${most} with the embedded PostgreSQL, of whose ${embeddedConnections} connections each worker takes ${each}: lower ${settings.databasePool.env}, or set ${settings.databaseUrl.env}`
      )
  }
  return faults
}

/** The text of a setting and its source. A secret may be in a file; one whose file is at fault has no text. */
const givenFor = (
  entry: Setting<unknown>,
  environment: Readonly<Record<string, string | undefined>>,
  fromFlag: string | undefined
): { readonly source: Source; readonly value: string | undefined; readonly fault?: string } => {
  if (fromFlag !== undefined) return { source: "flag", value: fromFlag }
  const inFile = entry.secret ? secretInFile(environment, entry.env) : undefined
  if (inFile !== undefined)
    return Result.isSuccess(inFile)
      ? { source: "file", value: inFile.success }
      : { source: "file", value: undefined, fault: inFile.failure }
  const fromEnvironment = givenIn(environment, entry.env)
  return fromEnvironment === undefined
    ? { source: "default", value: entry.fallback }
    : { source: "environment", value: fromEnvironment }
}

/**
 * Validates flags over environment and files over defaults. Empty environment variables count as absent, as most process
 * managers cannot unset one. Fails with all faults together; a secret's text is not part of a fault.
 */
export const resolveConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Partial<Record<keyof Settings, string | undefined>>> = {}
): Result.Result<Resolved, InvalidConfig> => {
  const faults: Array<string> = []
  const lines: Array<ConfigLine> = []
  const config: Record<string, unknown> = {}
  for (const [name, entry] of settingEntries) {
    const { source, value, fault } = givenFor(entry, environment, flags[name])
    if (fault !== undefined) faults.push(fault)
    if (value === undefined) {
      config[name] = undefined
      lines.push({ name, env: entry.env, value: "", source })
      continue
    }
    lines.push({ name, env: entry.env, value: shown(entry, value), source })
    const parsed = entry.parse(value)
    if (Result.isSuccess(parsed)) config[name] = parsed.success
    else {
      const origin =
        source === "flag"
          ? `--${entry.flag}`
          : source === "file"
            ? `The text of the file that ${fileVariable(entry.env)} names`
            : entry.env
      faults.push(`${origin} must be ${parsed.failure}${entry.secret ? "" : `, not ${JSON.stringify(value)}`}`)
    }
  }
  const override = (name: keyof Settings, value: string) => {
    config[name] = value
    const line = lines.findIndex((one) => one.name === name)
    lines[line] = { ...lines[line]!, value }
  }
  const assume = (name: keyof Settings, value: string) => {
    if (config[name] === undefined) override(name, value)
  }
  const development = config.development === "on" && config.nodeEnv !== "production"
  if (config.development === "on" && !development) override("development", "off")
  const embedded = config.databaseUrl === undefined && config.natsUrl === undefined
  assume("demo", development ? "on" : "off")
  // Defaults that are meant for one's own machine need its owner's word, and do not apply when the API listens on other
  // addresses: behind a proxy a loopback address says nothing.
  const local = isLoopback(config.host)
  assume("webhookTargets", development && embedded && local ? "any" : "public")
  assume("billingPayments", development && embedded && local ? "automatic" : "operator")
  assume("metrics", development && local ? "open" : "admin")
  faults.push(...faultsTogether(config))
  const unknown = unknownVariables(
    environment,
    settingEntries.flatMap(([, entry]) => (entry.secret ? [entry.env, fileVariable(entry.env)] : [entry.env]))
  )
  if (faults.length > 0) return Result.fail(new InvalidConfig({ faults, unknown }))
  // Every key of the table was set above, with the type from its schema.
  return Result.succeed({ config: config as unknown as Config, lines, unknown })
}

/** Connections to the embedded PostgreSQL that are there for workers, and those that a worker takes beside its pool. */
const embeddedConnections = 90
export const connectionsPerWorker = 6

/** Whether only this machine can reach a listener on this host. */
const isLoopback = (host: unknown): boolean =>
  typeof host === "string" && /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)

/** Whether keys may come to the listener for submission without TLS (docs/handoff.md, 7). */
export const isPlainSubmission = ({
  development,
  submissionHost
}: Readonly<Record<"development" | "submissionHost", unknown>>): boolean =>
  development === "on" && isLoopback(submissionHost)

/** Whether a first start makes the demo organization (docs/platform.md, 2.7: by choice, or in development mode). */
export const demoWanted = (config: Config): boolean => config.demo === "on"

/**
 * Whether live mail goes to a mailbox that this machine may read (docs/handoff.md, 3): in development mode,
 * with both servers embedded, on a loopback address.
 */
export const mailboxWanted = ({ databaseUrl, development, host, natsUrl }: Config): boolean =>
  development === "on" && databaseUrl === undefined && natsUrl === undefined && isLoopback(host)

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
  source: Schema.Literals(["flag", "environment", "file", "default"])
})
