/**
 * Real nats-servers for tests, each a process of its own on loopback with its data in a temporary folder: one alone, or three as a
 * cluster. They can be killed, frozen and started again; the scope's end stops them and removes the folder.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "@nats-io/transport-node"
import { Effect, Schedule, type Scope } from "effect"
import { inject } from "vitest"

export interface NatsServer {
  readonly url: string
  /** Where the blocks of its streams are. */
  readonly store: string
  readonly pid: () => number
  /** What it has logged, for failures that need explaining. */
  readonly log: () => string
  /** SIGSTOP and SIGCONT: it keeps its connections and says nothing. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Kills it (-9) and waits until it is gone. */
  readonly kill: Effect.Effect<void>
  /** Starts it again on the same port and folder and waits until it takes connections. */
  readonly start: Effect.Effect<void>
}

/** Ports that nothing listens on, all different. */
const freePorts = (count: number): Promise<ReadonlyArray<number>> => {
  const listen = () =>
    new Promise<Server>((resolve) => {
      const server = createServer()
      server.listen(0, "127.0.0.1", () => resolve(server))
    })
  return Promise.all(Array.from({ length: count }, listen)).then((servers) =>
    Promise.all(
      servers.map((server) => {
        const address = server.address()
        const port = address !== null && typeof address === "object" ? address.port : 0
        return new Promise<number>((resolve) => server.close(() => resolve(port)))
      })
    )
  )
}

interface Settings {
  readonly port: number
  /** Further lines of the configuration. */
  readonly more: string
}

const makeServer = (settings: Settings): Effect.Effect<NatsServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = mkdtempSync(join(tmpdir(), "sluice-nats-"))
    const store = join(folder, "store")
    const configuration = join(folder, "nats.conf")
    const log = join(folder, "log")
    writeFileSync(
      configuration,
      `listen: "127.0.0.1:${settings.port}"
max_payload: 1MB
log_file: "${log}"
jetstream { store_dir: "${store}", sync_interval: always, max_memory_store: 64MB, max_file_store: 16GB }
accounts {
  SYS { exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", response_type: "stream", accounts: ["SLUICE"] }] }
  SLUICE {
    jetstream: enabled
    imports: [{ service: { account: "SYS", subject: "$SYS.REQ.SERVER.PING.JSZ" } }]
    users: [{ user: "sluice", password: "for tests" }]
  }
}
system_account: SYS
no_auth_user: "sluice"
${settings.more}`
    )
    let child: ChildProcess | undefined
    let exit: Promise<unknown> = Promise.resolve()
    const end = (signal: NodeJS.Signals) =>
      Effect.promise(() => {
        child?.kill(signal)
        return exit
      })
    // A test process that ends by a defect leaves no server behind.
    const killAtExit = () => void child?.kill("SIGKILL")
    yield* Effect.acquireRelease(
      Effect.sync(() => process.once("exit", killAtExit)),
      () => Effect.sync(() => process.off("exit", killAtExit))
    )
    const start = Effect.promise(async () => {
      const started = spawn(inject("natsServer"), ["-c", configuration], {
        stdio: "ignore",
        env: { PATH: process.env.PATH, GOMEMLIMIT: "256MiB" }
      })
      child = started
      exit = new Promise((resolve) => started.once("exit", resolve))
    })
    yield* Effect.acquireRelease(start, () =>
      Effect.andThen(
        end("SIGKILL"),
        Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
    )
    const url = `nats://127.0.0.1:${settings.port}`
    return {
      url,
      store: join(store, "jetstream"),
      pid: () => child?.pid ?? 0,
      log: () => (existsSync(log) ? readFileSync(log, "utf8") : ""),
      freeze: Effect.sync(() => void child?.kill("SIGSTOP")).pipe(
        Effect.andThen(
          Effect.sync(() => child === undefined || standsStill(child.pid!)).pipe(
            Effect.repeat({ until: (still) => still, schedule: Schedule.spaced("1 millis") })
          )
        )
      ),
      thaw: Effect.sync(() => void child?.kill("SIGCONT")),
      kill: end("SIGKILL"),
      start: Effect.andThen(start, takesConnections(url))
    }
  })

/** Whether every thread has stopped: the signal reaches each of them at a moment of its own. */
const standsStill = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/task`).every((task) =>
    /^\d+ \(.*\) T /.test(readFileSync(`/proc/${pid}/task/${task}/stat`, "utf8"))
  )

/** Waits until a server takes connections and its JetStream answers (of a cluster: has elected who does). */
const takesConnections = (url: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let attempt = 0; ; attempt++) {
      try {
        const client = await connect({ servers: url, timeout: 2_000, reconnect: false })
        try {
          const info = await client.request("$JS.API.INFO", "", { timeout: 2_000 })
          if (info.json<{ error?: unknown }>().error === undefined) return
        } finally {
          await client.close()
        }
      } catch (cause) {
        if (attempt === 600) throw cause
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })

/** One server. */
export const oneServer = (more = ""): Effect.Effect<NatsServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const [port] = yield* Effect.promise(() => freePorts(1))
    const server = yield* makeServer({ port: port!, more })
    yield* takesConnections(server.url)
    return server
  })

/** Three servers that hold copies for each other. */
export const threeServers: Effect.Effect<ReadonlyArray<NatsServer>, never, Scope.Scope> = Effect.gen(function* () {
  const ports = yield* Effect.promise(() => freePorts(6))
  const routes = ports.slice(3).map((port) => `"nats://127.0.0.1:${port}"`)
  const servers: Array<NatsServer> = []
  for (let index = 0; index < 3; index++) {
    servers.push(
      yield* makeServer({
        port: ports[index]!,
        more: `server_name: "n${index + 1}"
cluster { name: "test", listen: "127.0.0.1:${ports[index + 3]}", routes: [${routes.join(", ")}] }`
      })
    )
  }
  yield* Effect.forEach(servers, (server) => takesConnections(server.url), { discard: true, concurrency: 3 })
  return servers
})
