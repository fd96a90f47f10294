import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, expect, it } from "@effect/vitest"
import { jetstream, jetstreamManager } from "@nats-io/jetstream"
import { Effect, Exit, Fiber, Redacted, Stream, SubscriptionRef } from "effect"
import { logMaxBytes } from "../../src/embedded/boundedLog.ts"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { type EmbeddedOptions, startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import { freePort } from "../../src/embedded/freePort.ts"
import { isTaken, lookAt } from "../../src/embedded/processes.ts"
import type { ServerState } from "../../src/embedded/supervisor.ts"
import { connectNats } from "../../src/nats/connection.ts"
import { eventually, processesIn, processesWith, query, startPlatform, temporaryFolder } from "./support.ts"

const silent = () => Effect.void

let template: string

/** A data folder of a platform that has run before: a copy of one, as making a cluster anew takes most of a start. */
const usedFolder = Effect.gen(function* () {
  const path = join(yield* temporaryFolder(), "data")
  // With owners and modes, which are part of it.
  yield* Effect.sync(() => execFileSync("cp", ["-a", template, path]))
  return path
})

beforeAll(async () => {
  template = join(await mkdtemp(join(tmpdir(), "sluice-embedded-")), "data")
  await Effect.runPromise(Effect.scoped(start(template)))
})

afterAll(() => rm(dirname(template), { recursive: true, force: true }))

/** Takes the folder and starts what is wanted; all of it goes with the scope. */
const start = (path: string, options: Partial<EmbeddedOptions> = {}) =>
  Effect.gen(function* () {
    const folder = yield* openDataFolder(path)
    yield* folder.hold({ purpose: "a test" })
    const embedded = yield* startEmbedded(folder, { postgres: {}, nats: {}, progress: silent, ...options })
    return { folder, ...embedded }
  })

const onlyPostgres = { nats: undefined }
const onlyNats = { postgres: undefined }

const tokenOf = (path: string) => Effect.map(openDataFolder(path), (folder) => folder.token)

const runningPid = (server: { readonly state: SubscriptionRef.SubscriptionRef<ServerState> }) =>
  Effect.map(SubscriptionRef.get(server.state), (state) => {
    if (state._tag !== "Running") throw new Error(`it is ${state._tag}`)
    return state.pid
  })

it.live("start in an empty folder, keep their data and leave no process", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const first = yield* Effect.scoped(
      Effect.gen(function* () {
        const lines: Array<string> = []
        const { postgres, nats, states } = yield* start(path, {
          progress: (line) => Effect.sync(() => void lines.push(line))
        })
        expect(lines).toContain(`Making a database cluster for PostgreSQL ${postgres!.version} …`)
        expect(lines).toContain(`Starting PostgreSQL ${postgres!.version} …`)
        expect(lines).toContain(`Starting nats-server ${nats!.version} …`)
        expect(yield* query(postgres!.url, "show server_version")).toEqual([postgres!.version])
        expect(yield* query(postgres!.url, "show data_checksums")).toEqual(["on"])
        expect(yield* query(postgres!.url, "select current_database()")).toEqual(["sluice"])
        yield* query(postgres!.url, "create table kept as select 42 as value")
        const { client, server } = yield* connectNats({ url: nats!.url })
        expect(server).toMatchObject({ sync: "always", version: nats!.version })
        const manager = yield* Effect.promise(() => jetstreamManager(client))
        yield* Effect.promise(() => manager.streams.add({ name: "KEPT", subjects: ["kept"] }))
        yield* Effect.promise(() => jetstream(client).publish("kept", "42"))
        expect((yield* states).map(({ server, state }) => `${server} ${state._tag}`)).toEqual([
          "PostgreSQL Running",
          "NATS Running"
        ])
        return { postgres: postgres!, nats: nats! }
      })
    )
    expect(yield* processesWith(yield* tokenOf(path))).toEqual([])
    expect(yield* processesIn(path)).toEqual([])
    expect(yield* SubscriptionRef.get(first.postgres.state)).toEqual({ _tag: "Stopped" })
    expect(yield* SubscriptionRef.get(first.nats.state)).toEqual({ _tag: "Stopped" })

    const second = yield* start(path)
    expect([second.postgres!.port, second.nats!.port]).toEqual([first.postgres.port, first.nats.port])
    expect(Redacted.value(second.postgresUrl!)).toBe(Redacted.value(first.postgres.url))
    expect(yield* query(second.postgresUrl!, "select value from kept")).toEqual([42])
    const { client } = yield* connectNats({ url: second.natsUrl! })
    const manager = yield* Effect.promise(() => jetstreamManager(client))
    expect((yield* Effect.promise(() => manager.streams.info("KEPT"))).state.messages).toBe(1)
  })
)

it.live("are reached on loopback only, with their password only, which no log or command line shows", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const { postgres, nats, folder } = yield* start(path)
    const listening = yield* query(postgres!.url, "show listen_addresses")
    expect(listening).toEqual(["127.0.0.1"])
    const wrong = new URL(Redacted.value(postgres!.url))
    wrong.password = "wrong"
    expect(yield* Effect.exit(query(wrong.href, "select 1"))).toSatisfy(Exit.isFailure)
    const refused = yield* Effect.flip(
      connectNats({ url: Redacted.make(`nats://sluice:wrong@127.0.0.1:${nats!.port}`) })
    )
    expect(refused._tag).toBe("NatsAuthenticationFailed")
    const secrets = [yield* folder.secret("postgres-password"), yield* folder.secret("nats-password")]
    const logs = yield* Effect.promise(async () => {
      const names = await readdir(folder.file("logs"))
      return (await Promise.all(names.map((name) => readFile(folder.file("logs", name), "utf8")))).join("")
    })
    expect(logs).toContain("ready to accept connections")
    expect(logs).toContain("Server is ready")
    const commands = (yield* processesWith(folder.token)).flatMap((info) => info.command).join(" ")
    for (const secret of secrets) {
      expect(logs).not.toContain(Redacted.value(secret))
      expect(commands).not.toContain(Redacted.value(secret))
      expect(`${postgres!.url} ${nats!.url}`).not.toContain(Redacted.value(secret))
    }
    const configuration = yield* Effect.promise(() => stat(folder.file("nats", "server.conf")))
    expect((configuration.mode & 0o777).toString(8)).toBe("600")
  })
)

it.live("are started again on their port with their data when they are killed", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const { postgres, nats } = yield* start(path)
    yield* query(postgres!.url, "create table kept as select 42 as value")
    const { client, reconnects } = yield* connectNats({ url: nats!.url })
    const manager = yield* Effect.promise(() => jetstreamManager(client))
    yield* Effect.promise(() => manager.streams.add({ name: "KEPT", subjects: ["kept"] }))
    yield* Effect.promise(() => jetstream(client).publish("kept", "42"))
    const reconnected = yield* Effect.forkScoped(Stream.runHead(reconnects))

    for (const server of [postgres!, nats!]) {
      const pid = yield* runningPid(server)
      const seen = yield* Effect.forkScoped(
        SubscriptionRef.changes(server.state).pipe(
          Stream.takeUntil((state) => state._tag === "Running" && state.restarts === 1),
          Stream.runCollect
        )
      )
      yield* eventually(SubscriptionRef.get(server.state), () => seen.pollUnsafe() === undefined)
      process.kill(pid, "SIGKILL")
      const states = yield* Fiber.join(seen)
      expect(states.map((state) => state._tag)).toEqual(["Running", "Restarting", "Running"])
      expect(states[1]).toMatchObject({ restarts: 1, reason: "it ended unexpectedly with signal SIGKILL" })
      expect(yield* runningPid(server)).not.toBe(pid)
    }

    expect(yield* query(postgres!.url, "select value from kept")).toEqual([42])
    expect((yield* Fiber.join(reconnected))._tag).toBe("Some")
    expect((yield* Effect.promise(() => manager.streams.info("KEPT"))).state.messages).toBe(1)
  })
)

it.live("end with a platform that is killed", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const platform = yield* startPlatform({ path, postgres: true, nats: true })
    yield* platform.until("Ready")
    const token = yield* tokenOf(path)
    expect((yield* processesWith(token)).length).toBeGreaterThan(2)
    yield* platform.kill
    yield* eventually(processesWith(token), (left) => left.length === 0)
  })
)

it.live("that outlived a killed platform are found and stopped by the next start, and nothing is lost", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const platform = yield* startPlatform({ path, postgres: true, nats: true, endWithParent: false })
    const { postgresUrl } = yield* platform.until("Ready")
    yield* query(postgresUrl!, "create table kept as select 42 as value")
    const token = yield* tokenOf(path)
    const orphans = (yield* processesWith(token)).filter((info) => info.command.length > 1)
    expect(orphans).toHaveLength(2)
    yield* platform.kill
    // A server of another folder and a program that only mentions the mark have to be left alone.
    const other = yield* start(yield* usedFolder, onlyNats)
    const otherPid = yield* runningPid(other.nats!)
    const bystander = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("sleep", ["1000"], { argv0: `grep cluster_name=${token}` })),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )

    const lines: Array<string> = []
    const { postgres } = yield* start(path, { progress: (line) => Effect.sync(() => void lines.push(line)) })
    expect(lines).toContain("Stopping a PostgreSQL that an earlier run left behind …")
    expect(lines).toContain("Stopping a nats-server that an earlier run left behind …")
    expect(Redacted.value(postgres!.url)).toBe(postgresUrl)
    expect(yield* query(postgres!.url, "select value from kept")).toEqual([42])
    for (const orphan of orphans) expect(yield* lookAt(orphan.pid)).toBeUndefined()
    expect(yield* runningPid(other.nats!)).toBe(otherPid)
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
  })
)

it.live("start after everything was killed at once, although another program has got the old number", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const { uid, gid } = yield* Effect.promise(() => stat(join(path, "postgres", "cluster")))
    // A program of the very user that PostgreSQL runs as, which is what makes PostgreSQL itself refuse.
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("sleep", ["1000"], process.getuid?.() === 0 ? { uid, gid } : {})),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const cluster = join(path, "postgres", "cluster")
    const pidFile = [other.pid, cluster, Math.round(Date.now() / 1000) - 3600, 5432, "", "127.0.0.1", " 1 1", "ready"]
    yield* Effect.promise(() => writeFile(join(cluster, "postmaster.pid"), `${pidFile.join("\n")}\n`, { mode: 0o644 }))

    const { postgres } = yield* start(path, onlyPostgres)
    expect(yield* query(postgres!.url, "select 1")).toEqual([1])
    expect(other.exitCode ?? other.signalCode).toBeNull()
  })
)

it.live(
  "start after everything was killed at once, although nobody has asked for the end of the killed PostgreSQL",
  () =>
    Effect.gen(function* () {
      const path = yield* usedFolder
      const cluster = join(path, "postgres", "cluster")
      const { uid, gid } = yield* Effect.promise(() => stat(cluster))
      // A program that never asks what became of its child, which stays a zombie. The child ends with its input, when the shell is gone.
      const parent = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(
            "sh",
            ["-c", "exec 3<&0; cat <&3 & echo $!; exec sleep 1000 3<&-"],
            process.getuid?.() === 0 ? { uid, gid } : {}
          )
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const zombie = yield* Effect.promise(async () => Number(String((await once(parent.stdout!, "data"))[0])))
      yield* eventually(lookAt(parent.pid!), (info) => info?.command[0] === "sleep")
      parent.stdin!.end()
      yield* eventually(lookAt(zombie), (info) => info === undefined)
      expect(isTaken(zombie)).toBe(true)
      const pidFile = [zombie, cluster, Math.round(Date.now() / 1000), 5432, "", "127.0.0.1", " 1 1", "ready"]
      yield* Effect.promise(() =>
        writeFile(join(cluster, "postmaster.pid"), `${pidFile.join("\n")}\n`, { mode: 0o644 })
      )

      const { postgres } = yield* start(path, onlyPostgres)
      expect(yield* query(postgres!.url, "select 1")).toEqual([1])
      expect(isTaken(zombie)).toBe(true)
    })
)

it.live("leave a PostgreSQL alone that somebody started on the same data by hand", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const cluster = join(path, "postgres", "cluster")
    const program = yield* Effect.scoped(
      Effect.gen(function* () {
        const { postgres } = yield* start(path, onlyPostgres)
        return (yield* lookAt(yield* runningPid(postgres!)))!.command[0]!
      })
    )
    const { uid, gid } = yield* Effect.promise(() => stat(cluster))
    const port = yield* freePort
    const byHand = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(program, ["-D", "/proc/self/cwd", "-p", `${port}`, "-c", "unix_socket_directories="], {
          cwd: cluster,
          stdio: "ignore",
          ...(process.getuid?.() === 0 ? { uid, gid } : {})
        })
      ),
      (child) =>
        Effect.callback<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGQUIT")
        })
    )
    const status = Effect.promise(() => readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => ""))
    yield* eventually(status, (text) => text.startsWith(`${byHand.pid}\n`) && text.includes("ready"))

    const error = yield* Effect.flip(Effect.scoped(start(path, onlyPostgres)))
    expect(error._tag).toBe("ServerStartFailed")
    expect(error.message).toContain(
      `PostgreSQL did not start: process ${byHand.pid}, which Sluice did not start, is a PostgreSQL that works on`
    )
    expect(byHand.exitCode ?? byHand.signalCode).toBeNull()
  })
)

it.live("take another port when theirs is taken", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const taken = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((socket) => socket.on("error", () => {}).end("not what you expect\r\n"))
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    )
    const { port } = taken.address() as { readonly port: number }
    let picks = 0
    const pick = Effect.suspend(() => (picks++ % 2 === 0 ? Effect.succeed(port) : freePort))
    const first = yield* Effect.scoped(start(path, { testing: { pickPostgresPort: pick } }))
    picks = 0
    yield* Effect.promise(() => writeFile(join(path, "nats.port"), `${port}\n`))
    const second = yield* start(path)
    expect(first.postgres!.port).not.toBe(port)
    expect(second.postgres!.port).toBe(first.postgres!.port)
    expect(second.nats!.port).not.toBe(port)
    expect(yield* query(second.postgresUrl!, "select 1")).toEqual([1])
    const remembered = yield* Effect.promise(() => readFile(join(path, "nats.port"), "utf8"))
    expect(remembered).toBe(`${second.nats!.port}\n`)
  })
)

it.live("say in one sentence why data of another major version is not touched", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    yield* Effect.promise(() => writeFile(join(path, "postgres", "cluster", "PG_VERSION"), "17\n"))
    const error = yield* Effect.flip(Effect.scoped(start(path, onlyPostgres)))
    expect(error.message).toMatch(
      /^PostgreSQL did not start: its data in .* was written by PostgreSQL 17 and the program is 18\.\S+; move/
    )
  })
)

it.live("say in one sentence, from the server's own log, why a start failed", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    yield* Effect.promise(() =>
      appendFile(join(path, "postgres", "cluster", "postgresql.conf"), "max_connections = many\n")
    )
    const error = yield* Effect.flip(Effect.scoped(start(path, onlyPostgres)))
    expect(error.message).toBe(
      `PostgreSQL did not start: configuration file "${
        process.getuid?.() === 0 ? "/proc/self/cwd" : join(path, "postgres", "cluster")
      }/postgresql.conf" contains errors (its log is ${join(path, "logs", "postgres.log")}).`
    )
    expect(yield* processesWith(yield* tokenOf(path))).toEqual([])
  })
)

it.live("make the cluster anew where a first start was cut off, and leave nothing of it", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const folder = yield* openDataFolder(path)
    yield* folder.hold({ purpose: "a test" })
    const options = { postgres: {}, nats: undefined, progress: silent }
    const parent = folder.file("postgres")
    const names = Effect.promise(() => readdir(parent).catch((): ReadonlyArray<string> => []))
    const halfWay = Effect.map(names, (all) => all.filter((name) => name.endsWith(".new")))

    const starting = yield* Effect.forkChild(Effect.scoped(startEmbedded(folder, options)))
    const [beside] = yield* eventually(halfWay, (found) => found.length === 1)
    yield* eventually(
      Effect.promise(() => readdir(join(parent, beside!))),
      (found) => found.includes("base")
    )
    yield* Fiber.interrupt(starting)
    yield* eventually(processesIn(path), (left) => left.length === 0)
    expect(yield* names).not.toContain("cluster")
    expect(yield* names).not.toContain("password.tmp")

    const { postgresUrl } = yield* startEmbedded(folder, options)
    expect(yield* query(postgresUrl!, "select 1")).toEqual([1])
    expect(yield* names).toEqual(["cluster"])
  })
)

it.live("write logs that do not grow without end", () =>
  Effect.gen(function* () {
    const path = yield* usedFolder
    const log = join(path, "logs", "postgres.log")
    yield* openDataFolder(path)
    yield* Effect.promise(() => writeFile(log, "x".repeat(logMaxBytes + 1)))
    const { postgres } = yield* start(path, onlyPostgres)
    yield* eventually(
      Effect.promise(() => stat(log)),
      ({ size }) => size < logMaxBytes
    )
    expect((yield* Effect.promise(() => stat(`${log}.1`))).size).toBeGreaterThan(logMaxBytes)
    // The server goes on writing to the emptied file.
    yield* query(postgres!.url, "do $$ begin raise log 'after the turn'; end $$")
    yield* eventually(
      Effect.promise(() => readFile(log, "utf8")),
      (text) => text.includes("after the turn")
    )
  })
)
