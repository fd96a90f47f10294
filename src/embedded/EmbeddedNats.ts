/**
 * Runs the embedded nats-server on loopback with the repository's `nats.conf`, an account and a generated password of
 * its own. It is restarted after a crash, and the next start finds it again. Needs no service; the caller holds the
 * data folder.
 */
import { mkdir, readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { connect } from "@nats-io/transport-node"
import { Effect, Redacted, type Scope, type SubscriptionRef } from "effect"
import type { DataFolder } from "./dataFolder.ts"
import { BinaryUnavailable, DataFolderUnusable, type EmbeddedError, reasonOf } from "./errors.ts"
import { onFreePort, rememberedPort, rememberPort } from "./freePort.ts"
import { findNatsServer, type NatsBinary, type NatsBinaryOptions } from "./natsBinary.ts"
import { endProcesses, findMarked, natsMark } from "./orphans.ts"
import { type ServerPlan, type ServerState, supervise } from "./supervisor.ts"
import { writeWhole } from "./wholeFiles.ts"

export interface EmbeddedNats {
  /** With user and password of the account that owns the streams. */
  readonly url: Redacted.Redacted<string>
  readonly port: number
  /** Such as `2.14.0`. */
  readonly version: string
  readonly state: SubscriptionRef.SubscriptionRef<ServerState>
}

export interface EmbeddedNatsOptions extends Omit<NatsBinaryOptions, "override"> {
  /** `SLUICE_NATS_SERVER`. */
  readonly binary?: string | undefined
  /** For tests: which ports to try, and whether children outlive their parent. */
  readonly pickPort?: Effect.Effect<number, string>
  readonly endWithParent?: boolean
}

/** The account's name. It must never change, because it is part of the streams' path on the disk. */
const natsAccount = "SLUICE"
const natsUser = "sluice"
const natsPublisher = "signals"

/**
 * Soft limit of the server's heap. Without one Go lets the heap double between collections, and the server took 430 to
 * 940 MB under load.
 */
export const natsMemoryLimit = "256MiB"

/** The server syncs and ends in well under a second. Everything acknowledged is on disk anyway. */
const stopSignals = [{ signal: "SIGTERM", waitMillis: 5_000 }] as const

/** `nats.conf` lies at the package's top level, next to `src` and to the published `dist`. */
export const natsConfiguration = fileURLToPath(new URL("../../nats.conf", import.meta.url))

/** Starts nats-server for this data folder and returns when its JetStream answers. */
export const startNats = Effect.fnUntraced(function* (
  options: EmbeddedNatsOptions
): Effect.fn.Return<EmbeddedNats, EmbeddedError, Scope.Scope> {
  const { folder, progress } = options
  yield* endOrphans(folder, progress)
  const binary = yield* findNatsServer({ ...options, override: options.binary })
  const password = yield* folder.secret("nats-password")
  const publisher = yield* folder.secret("nats-signals-password")
  const configuration = yield* writeConfiguration(folder, password, publisher)
  yield* progress(`Starting nats-server ${binary.version} …`)
  const { value: server, port } = yield* onFreePort(
    "NATS",
    yield* rememberedPort(folder, "nats"),
    (candidate) => supervise(plan(options, binary, configuration, candidate, password)),
    options.pickPort
  )
  yield* rememberPort(folder, "nats", port)
  const url = `nats://${natsUser}:${encodeURIComponent(Redacted.value(password))}@127.0.0.1:${port}`
  return { url: Redacted.make(url, { label: "nats-url" }), port, version: binary.version, state: server.state }
})

/** Copies the configuration, because nats-server reads an include's path relative to the including file only. */
const writeConfiguration = Effect.fnUntraced(function* (
  folder: DataFolder,
  password: Redacted.Redacted<string>,
  publisher: Redacted.Redacted<string>
) {
  const base = yield* Effect.tryPromise({
    try: () => readFile(natsConfiguration, "utf8"),
    catch: () => new BinaryUnavailable({ server: "NATS", reason: `its configuration ${natsConfiguration} is missing` })
  })
  const file = folder.file("nats", "server.conf")
  yield* Effect.tryPromise({
    try: async () => {
      await mkdir(folder.file("nats"), { recursive: true, mode: 0o700 })
      await writeWhole(
        file,
        `# Written at every start: change nats.conf instead.\n${base}\n${accounts(password, publisher)}`
      )
    },
    catch: (cause) => new DataFolderUnusable({ folder: folder.path, reason: reasonOf(cause) })
  })
  return file
})

/**
 * The block that nats.conf describes under "Accounts", with the platform's user and the one that may publish signals
 * and nothing else.
 */
const accounts = (password: Redacted.Redacted<string>, publisher: Redacted.Redacted<string>): string => `accounts {
  SYS { exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", response_type: "stream", accounts: ["${natsAccount}"] }] }
  ${natsAccount} {
    jetstream: enabled
    imports: [{ service: { account: "SYS", subject: "$SYS.REQ.SERVER.PING.JSZ" } }]
    users: [
      { user: "${natsUser}", password: "${Redacted.value(password)}" }
      {
        user: "${natsPublisher}", password: "${Redacted.value(publisher)}"
        permissions: { publish: { allow: ["signal.*.>"] }, subscribe: { allow: ["_INBOX.>"] } }
      }
    ]
  }
}
system_account: SYS
`

const plan = (
  options: EmbeddedNatsOptions,
  binary: NatsBinary,
  configuration: string,
  port: number,
  password: Redacted.Redacted<string>
): ServerPlan => ({
  server: "NATS",
  command: {
    program: binary.program,
    args: ["-c", configuration, "-a", "127.0.0.1", "-p", `${port}`, ...natsMark(options.folder.token)],
    // `store_dir` in nats.conf is relative to this.
    folder: options.folder.file("nats"),
    environment: { PATH: process.env.PATH, TZ: "UTC", GOMEMLIMIT: natsMemoryLimit },
    user: undefined,
    logFile: options.folder.file("logs", "nats.log"),
    stopSignals,
    ...(options.endWithParent === undefined ? {} : { endWithParent: options.endWithParent })
  },
  progress: options.progress,
  prepare: endOrphans(options.folder, options.progress),
  ready: () => ready(options.folder.token, port, password),
  explain
})

/** The end of a failed start in the server's own words. */
const explain: ServerPlan["explain"] = (log) => {
  const lines = log.split("\n").flatMap((line) => {
    const told = /\[(?:FTL|ERR)\] (.*)/.exec(line)?.[1] ?? /(?:nats-server|setpriv): (.*)/.exec(line)?.[1]
    return told === undefined ? [] : [told]
  })
  return { reason: lines.at(-1), portTaken: /address already in use/.test(log) }
}

/** Checks that JetStream answers on a server with our name, since another server may already listen on the port. */
const ready = (token: string, port: number, password: Redacted.Redacted<string>) =>
  Effect.tryPromise({
    try: async () => {
      const client = await connect({
        servers: `127.0.0.1:${port}`,
        user: natsUser,
        pass: Redacted.value(password),
        reconnect: false,
        timeout: 2_000,
        noAsyncTraces: true
      })
      try {
        if (client.info?.server_name !== token) throw new Error("another server has its port")
        await client.request("$JS.API.INFO", undefined, { timeout: 2_000 })
      } finally {
        await client.close()
      }
    },
    catch: (cause) => ({ reason: `JetStream did not answer (${reasonOf(cause)})`, retry: true })
  })

/**
 * Ends servers that a killed platform left, because two servers must never work on one store and nats-server does not
 * lock it.
 */
const endOrphans = Effect.fnUntraced(function* (folder: DataFolder, progress: (line: string) => Effect.Effect<void>) {
  const servers = yield* findMarked(natsMark(folder.token))
  if (servers.length > 0) yield* progress("Stopping a nats-server that an earlier run left behind …")
  yield* endProcesses(servers, [...stopSignals, { signal: "SIGKILL", waitMillis: 2_000 }])
})
