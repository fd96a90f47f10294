/**
 * Runs the embedded PostgreSQL: creates the cluster at the first start, starts the server on loopback with a generated
 * password, keeps it running and finds it again. As root it runs as an unprivileged user, which PostgreSQL demands.
 * Needs no service; the caller holds the data folder.
 */
import { randomBytes } from "node:crypto"
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Redacted, type Scope, type SubscriptionRef } from "effect"
import type { SqlError } from "effect/sql"
import { logSince, logSize } from "./boundedLog.ts"
import { startChild } from "./childProcess.ts"
import type { DataFolder } from "./dataFolder.ts"
import { BinaryUnavailable, DataFolderUnusable, type EmbeddedError, reasonOf, ServerStartFailed } from "./errors.ts"
import { onFreePort, rememberedPort, rememberPort } from "./freePort.ts"
import { endProcesses, findMarked, findPostgresWorkers, postgresMark } from "./orphans.ts"
import { findPostgresBinaries, type PostgresBinaries } from "./postgresBinaries.ts"
import { chooseOwner, handOver, namingOf, nobody, type SystemUser } from "./postgresUser.ts"
import { isTaken, lookAt, workingFolder } from "./processes.ts"
import { type ServerPlan, type ServerState, supervise } from "./supervisor.ts"

export interface EmbeddedPostgres {
  /** With user and password; the user is the cluster's superuser and owns the database. */
  readonly url: Redacted.Redacted<string>
  readonly port: number
  /** Such as `18.4`. */
  readonly version: string
  readonly state: SubscriptionRef.SubscriptionRef<ServerState>
}

export interface EmbeddedPostgresOptions {
  readonly folder: DataFolder
  /** `SLUICE_POSTGRES_BIN`. */
  readonly binaries?: string | undefined
  readonly progress: (line: string) => Effect.Effect<void>
  /** For tests: the package's folder, the ports to try, and children that outlive their parent. */
  readonly packageFolder?: string | undefined
  readonly pickPort?: Effect.Effect<number, string>
  readonly endWithParent?: boolean
}

/** Name of the superuser and of the database. */
const serverName = "sluice"

/**
 * Fast shutdown rolls transactions back and writes a checkpoint. If that takes too long, immediate shutdown ends every
 * process immediately and the next start recovers from the log, with nothing committed lost.
 */
const stopSignals = [
  { signal: "SIGINT", waitMillis: 5_000 },
  { signal: "SIGQUIT", waitMillis: 1_000 }
] as const

interface Cluster {
  readonly folder: DataFolder
  readonly user: SystemUser | undefined
  readonly binaries: PostgresBinaries
  readonly password: Redacted.Redacted<string>
}

/** Starts PostgreSQL for this data folder and returns when it takes connections. */
export const startPostgres = Effect.fnUntraced(function* (
  options: EmbeddedPostgresOptions
): Effect.fn.Return<EmbeddedPostgres, EmbeddedError, Scope.Scope> {
  const { folder, progress } = options
  yield* endOrphans(folder, progress)
  const user = yield* chooseUser(folder)
  const binaries = yield* findPostgresBinaries({
    folder,
    user,
    override: options.binaries,
    progress,
    ...("packageFolder" in options ? { packageFolder: options.packageFolder } : {})
  })
  const password = yield* folder.secret("postgres-password")
  const cluster = { folder, user, binaries, password }
  yield* makeCluster(cluster, progress)
  yield* progress(`Starting PostgreSQL ${binaries.version} …`)
  const { value: server, port } = yield* onFreePort(
    "PostgreSQL",
    yield* rememberedPort(folder, "postgres"),
    (candidate) => supervise(plan(cluster, candidate, options)),
    options.pickPort
  )
  yield* rememberPort(folder, "postgres", port)
  yield* makeDatabase(cluster, port)
  return { url: urlOf(password, port, serverName), port, version: binaries.version, state: server.state }
})

const urlOf = (password: Redacted.Redacted<string>, port: number, database: string) =>
  Redacted.make(
    `postgres://${serverName}:${encodeURIComponent(Redacted.value(password))}@127.0.0.1:${port}/${database}`,
    {
      label: "postgres-url"
    }
  )

const clusterOf = (folder: DataFolder) => folder.file("postgres", "cluster")
const initdbLog = (folder: DataFolder) => folder.file("logs", "initdb.log")

/**
 * Chooses the user to run as: root uses the cluster's owner, everybody else themselves. Call it only while no server
 * works on the cluster.
 */
const chooseUser = Effect.fnUntraced(function* (folder: DataFolder) {
  if (process.getuid?.() !== 0) return undefined
  if (process.platform !== "linux") {
    return yield* new BinaryUnavailable({
      server: "PostgreSQL",
      reason: "it does not run as root; start Sluice as an ordinary user, or set DATABASE_URL to a server"
    })
  }
  const cluster = clusterOf(folder)
  return yield* onFolder(folder, async () => {
    const user = await chooseOwner(cluster, folder.token)
    const owner = await stat(cluster).catch(() => undefined)
    if (owner !== undefined && owner.uid !== user.uid) {
      await chown(folder.file("postgres"), user.uid, user.gid)
      await handOver(cluster, user)
    }
    return user
  })
})

const onFolder = <A>(folder: DataFolder, promise: () => Promise<A>) =>
  Effect.tryPromise({
    try: promise,
    catch: (cause) => new DataFolderUnusable({ folder: folder.path, reason: reasonOf(cause) })
  })

/**
 * The path by which PostgreSQL names its own folder. Another user may not be able to reach the folder by its path,
 * because every folder above would have to be open to them. But a process keeps the working folder that it was started
 * in, and Linux has a name for that. So the server runs inside the cluster and uses this name.
 */
const dataArgument = (cluster: string, user: Cluster["user"]) => (user === undefined ? cluster : "/proc/self/cwd")

/** An operator's own programs may need their libraries' path. */
const environment = {
  PATH: process.env.PATH,
  LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH,
  LC_ALL: "C",
  TZ: "UTC"
}

const makeCluster = Effect.fnUntraced(function* (cluster: Cluster, progress: (line: string) => Effect.Effect<void>) {
  const { folder, user, binaries, password } = cluster
  const logFile = initdbLog(folder)
  const failed = (reason: string) => new ServerStartFailed({ server: "PostgreSQL", reason, portTaken: false, logFile })
  const final = clusterOf(folder)
  const made = yield* Effect.promise(() => readFile(join(final, "PG_VERSION"), "utf8").catch(() => ""))
  if (made !== "") {
    if (Number.parseInt(made, 10) === binaries.major) return
    return yield* failed(
      `its data in ${final} was written by PostgreSQL ${made.trim()} and the program is ${binaries.version}; move the data with pg_dump and pg_restore, or use the older program (SLUICE_POSTGRES_BIN)`
    )
  }
  yield* progress(`Making a database cluster for PostgreSQL ${binaries.version} …`)
  // The cluster is made beside its place and then moved, so that a start that is killed half-way leaves no half
  // cluster. It gets a new name each time, because an initdb that outlived such a start must not write into the next
  // one's.
  const parent = folder.file("postgres")
  const beside = join(parent, `cluster-${randomBytes(6).toString("hex")}.new`)
  const passwordFile = join(parent, "password.tmp")
  const forget = () => rm(passwordFile, { force: true })
  const naming = yield* namingOf(user)
  if (naming._tag === "Nameless" && user === undefined) return yield* failed(naming.reason)
  // When its own user cannot have a name, initdb runs as nobody, and its files are handed over afterwards.
  const maker = naming._tag === "Nameless" ? nobody : user
  const wrapped = naming._tag === "Wrapped" ? [naming.program, ...naming.args, binaries.initdb] : [binaries.initdb]
  yield* onFolder(folder, async () => {
    await mkdir(parent, { recursive: true, mode: 0o700 })
    for (const name of await readdir(parent)) {
      if (name.endsWith(".new")) await rm(join(parent, name), { recursive: true, force: true })
    }
    await forget()
    await mkdir(beside, { mode: 0o700 })
    await writeFile(passwordFile, Redacted.value(password), { mode: 0o600, flag: "wx" })
    if (maker !== undefined) {
      for (const path of [parent, beside, passwordFile]) await chown(path, maker.uid, maker.gid)
    }
  })
  yield* runInitdb({ cluster, beside, maker, program: wrapped }).pipe(
    Effect.mapError(failed),
    Effect.ensuring(Effect.promise(forget))
  )
  yield* onFolder(folder, async () => {
    if (user !== undefined && maker !== user) {
      await chown(parent, user.uid, user.gid)
      await handOver(beside, user)
    }
    await rename(beside, final)
  })
})

/** Runs initdb. Fails with the reason, in initdb's own words if it gave one. */
const runInitdb = Effect.fnUntraced(function* (of: {
  readonly cluster: Cluster
  readonly beside: string
  readonly maker: SystemUser | undefined
  readonly program: ReadonlyArray<string>
}): Effect.fn.Return<void, string, Scope.Scope> {
  const { beside, cluster, maker, program } = of
  const logFile = initdbLog(cluster.folder)
  const mark = yield* logSize(logFile)
  const child = yield* startChild({
    program: program[0]!,
    args: [
      program.slice(1),
      ["-D", dataArgument(beside, maker)],
      ["-U", serverName],
      ["-A", "scram-sha-256"],
      ["--pwfile", "../password.tmp"],
      ["-E", "UTF8"],
      // Sorts texts in the same order on every machine, whatever its own locales.
      ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"]
    ].flat(),
    folder: beside,
    environment,
    user: maker,
    logFile,
    stopSignals: [{ signal: "SIGTERM", waitMillis: 2_000 }]
  })
  const how = yield* child.ended
  if (how === "exit code 0") return
  const log = yield* logSince(logFile, mark)
  return yield* Effect.fail(/error: (.*)/.exec(log)?.[1] ?? `initdb ended with ${how}`)
}, Effect.scoped)

const plan = (cluster: Cluster, port: number, options: EmbeddedPostgresOptions): ServerPlan => {
  const { folder, user, binaries, password } = cluster
  const data = clusterOf(folder)
  const logFile = folder.file("logs", "postgres.log")
  const settings = [
    "listen_addresses=127.0.0.1",
    // No sockets: they would need a folder with a short path, and loopback with a password is enough.
    "unix_socket_directories=",
    "password_encryption=scram-sha-256",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_checkpoints=off",
    // Not logged, because statements' values are customers' data and secrets.
    "log_parameter_max_length=0",
    "log_parameter_max_length_on_error=0"
  ].flatMap((setting) => ["-c", setting])
  return {
    server: "PostgreSQL",
    command: {
      program: binaries.postgres,
      args: ["-D", dataArgument(data, user), "-p", `${port}`, ...postgresMark(folder.token), ...settings],
      folder: data,
      environment,
      user,
      logFile,
      stopSignals,
      ...(options.endWithParent === undefined ? {} : { endWithParent: options.endWithParent })
    },
    progress: options.progress,
    prepare: endOrphans(folder, options.progress).pipe(Effect.andThen(clearStalePid(folder, logFile))),
    ready: (pid) => ready(data, pid, port, password),
    explain
  }
}

/** The reason of a failed start in PostgreSQL's own words, without messages to clients that came too early. */
const explain: ServerPlan["explain"] = (log) => {
  const lines = log.split("\n").flatMap((line) => {
    const told = /(?:FATAL|PANIC): {2}(.*)/.exec(line)?.[1] ?? /(?:postgres|setpriv): (.*)/.exec(line)?.[1]
    return told === undefined || /starting up|shutting down|password authentication/.test(told) ? [] : [told]
  })
  return { reason: lines.at(-1), portTaken: /could not bind .*Address already in use/.test(log) }
}

/**
 * Checks that a query works. The pid file must name our process, since another server may already listen on the port.
 */
const ready = (data: string, pid: number, port: number, password: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const lines = yield* Effect.tryPromise({
      try: async () => (await readFile(`${data}/postmaster.pid`, "utf8")).split("\n"),
      catch: (cause) => ({ reason: `no query succeeded (${reasonOf(cause)})`, retry: true })
    })
    if (Number(lines[0]) !== pid || lines[7]?.startsWith("ready") !== true) {
      return yield* Effect.fail({ reason: "no query succeeded (it is starting)", retry: true })
    }
    yield* Effect.mapError(query(port, password, "select 1"), ({ reason }) => ({
      reason:
        reason._tag === "AuthenticationError"
          ? "its password is not the one in secrets/postgres-password"
          : `no query succeeded (${reasonOf(reason.cause)})`,
      retry: reason._tag !== "AuthenticationError"
    }))
  })

/** One statement on a connection of its own, to the database that every server has. */
const query = (
  port: number,
  password: Redacted.Redacted<string>,
  statement: string,
  parameters: ReadonlyArray<unknown> = []
): Effect.Effect<PgConnection.Result, SqlError.SqlError> =>
  PgConnection.make({ host: "127.0.0.1", port, username: serverName, password, database: "postgres" }).pipe(
    Effect.flatMap((connection) => connection.query(statement, parameters)),
    Effect.scoped
  )

const makeDatabase = ({ folder, password }: Cluster, port: number) =>
  Effect.gen(function* () {
    const { rows } = yield* query(port, password, "select 1 from pg_database where datname = $1", [serverName])
    if (rows.length === 0) yield* query(port, password, `create database ${serverName}`)
  }).pipe(
    Effect.mapError(
      ({ reason }) =>
        new ServerStartFailed({
          server: "PostgreSQL",
          reason: `its database cannot be made (${reasonOf(reason.cause)})`,
          portTaken: false,
          logFile: folder.file("logs", "postgres.log")
        })
    )
  )

/** Ends servers of this folder that a killed platform left, and the helpers that a killed server left. */
const endOrphans = Effect.fnUntraced(function* (folder: DataFolder, progress: (line: string) => Effect.Effect<void>) {
  const servers = yield* findMarked(postgresMark(folder.token))
  if (servers.length > 0) yield* progress("Stopping a PostgreSQL that an earlier run left behind …")
  yield* endProcesses(servers, [...stopSignals, { signal: "SIGKILL", waitMillis: 2_000 }])
  // These helpers notice by themselves that their server is gone, unless one is stuck.
  yield* endProcesses(yield* findPostgresWorkers(folder.token), [
    { signal: undefined, waitMillis: 2_000 },
    { signal: "SIGQUIT", waitMillis: 1_000 },
    { signal: "SIGKILL", waitMillis: 2_000 }
  ])
})

/** PostgreSQL writes its start within this time of the process's own. */
const pidFileToleranceSeconds = 120

/**
 * Removes a stale pid file. PostgreSQL leaves its pid file after a kill and removes a stale one itself, except when
 * another program of the same user has got that number since, or a zombie still has it: then it refuses to start. So
 * the file goes if the process that it names is provably another one, or not alive. A PostgreSQL that somebody started
 * by hand on this folder is left alone.
 */
const clearStalePid = (folder: DataFolder, logFile: string) =>
  Effect.gen(function* () {
    const file = folder.file("postgres", "cluster", "postmaster.pid")
    const lines = (yield* Effect.promise(() => readFile(file, "utf8").catch(() => ""))).split("\n")
    const pid = Number(lines[0])
    if (!Number.isSafeInteger(pid) || pid <= 0) return
    const found = yield* lookAt(pid)
    if (found === undefined && !isTaken(pid)) return
    // A killed server keeps its number until its parent asks for its exit, which in a container may be never.
    const isPostgres = /(^|\/)postgres( |:|$)/.test(found?.command[0] ?? "")
    const startedSeconds = Number(lines[2])
    const sameStart =
      found?.startedAtSeconds === undefined ||
      Math.abs(found.startedAtSeconds - startedSeconds) < pidFileToleranceSeconds
    const place = yield* workingFolder(pid)
    if (isPostgres && sameStart && (place === undefined || place === clusterOf(folder))) {
      return yield* new ServerStartFailed({
        server: "PostgreSQL",
        reason: `process ${pid}, which Sluice did not start, is a PostgreSQL that works on ${clusterOf(folder)}`,
        portTaken: false,
        logFile
      })
    }
    yield* Effect.promise(() => rm(file, { force: true }))
  })
