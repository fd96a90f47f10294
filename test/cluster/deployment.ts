/**
 * A deployment on three machines: a NATS server in each, one PostgreSQL outside that they reach through a door which can be shut, and a node of
 * Sluice in each.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { appendFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit, Redacted, Scope } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import { findNatsServer } from "../../src/embedded/natsBinary.ts"
import { variantEnvironment } from "../variants/runner/change.ts"
import { type Machine, type Network, openNetwork } from "./network.ts"

/** The bundle of a run of tests, which starts in half the time; the source elsewhere. */
const main = process.env.SLUICE_TEST_PROGRAM ?? new URL("../../src/main.ts", import.meta.url).pathname

export const partitions = 8
export const adminKey = `adm_${"Ns1".repeat(10)}`

/** Returns once the condition holds. */
export const until = async (condition: () => boolean | Promise<boolean>, what: string, limitMillis = 60_000) => {
  const end = Date.now() + limitMillis
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${limitMillis} ms`)
    await pause(20)
  }
}

/** PostgreSQL as the machines see it. */
export interface Door {
  readonly port: number
  /** Ends every session. */
  readonly endSessions: () => void
  /** Ends every session, and lets none in for a while, as a restart does. */
  readonly shutFor: (millis: number) => Promise<void>
  readonly close: () => void
}

const openDoor = async (host: string, target: { readonly host: string; readonly port: number }): Promise<Door> => {
  const sockets = new Set<Socket>()
  let isShut = false
  const server = createServer((outer) => {
    if (isShut) return void outer.resetAndDestroy()
    const inner = connect(target)
    for (const [one, other] of [
      [outer, inner],
      [inner, outer]
    ] as const) {
      sockets.add(one)
      one.on("error", () => other.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    outer.pipe(inner).pipe(outer)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const endSessions = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as { readonly port: number }).port,
    endSessions,
    shutFor: async (millis) => {
      isShut = true
      endSessions()
      await pause(millis)
      isShut = false
    },
    close: () => {
      isShut = true
      endSessions()
      server.close()
    }
  }
}

/** A program on a machine, which can be started again. */
class Program {
  readonly machine: Machine
  private readonly args: ReadonlyArray<string>
  private readonly environment: Readonly<Record<string, string>>
  private readonly log: string | undefined
  private child: ChildProcess | undefined
  output = ""

  /** What it writes goes to the end of the file `log` too, where one is given. */
  constructor(
    machine: Machine,
    args: ReadonlyArray<string>,
    environment: Readonly<Record<string, string>>,
    log?: string
  ) {
    this.log = log
    this.machine = machine
    this.args = args
    this.environment = environment
  }

  start(): void {
    const child = spawn("ip", ["netns", "exec", this.machine.namespace, ...this.args], {
      env: { PATH: process.env.PATH ?? "", HOME: "/tmp", ...variantEnvironment(), ...this.environment },
      stdio: ["ignore", "pipe", "pipe"]
    })
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.output = (this.output + text).slice(-20_000)
        if (this.log !== undefined) appendFileSync(this.log, text)
      })
    this.child = child
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name)
  }

  async end(name: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return
    const closed = new Promise((resolve) => this.child!.once("close", resolve))
    this.signal(name)
    await closed
  }
}

export interface Node {
  readonly machine: Machine
  readonly url: string
  readonly adminUrl: string
  readonly sluice: Program
  readonly nats: Program
}

export interface Deployment {
  readonly network: Network
  readonly nodes: ReadonlyArray<Node>
  readonly door: Door
  readonly databaseUrl: string
  readonly close: () => Promise<void>
}

const natsConfig = (machine: Machine, machines: ReadonlyArray<Machine>, store: string): string => `
server_name: "${machine.name}"
listen: "${machine.address}:4222"
max_payload: 1MB
ping_interval: "20s"
ping_max: 2
jetstream { store_dir: "${store}", sync_interval: always, max_file_store: 400GB }
cluster {
  name: "sluice"
  listen: "${machine.address}:6222"
  routes: [${machines.map(({ address }) => `"nats://${address}:6222"`).join(", ")}]
}
`

const portOf = { api: 8080, admin: 8081 }

/** Starts the servers and the nodes; returns when every node serves. What the nodes write goes to files in `logs`, where a folder is given. */
export const openDeployment = async (logs?: string): Promise<Deployment> => {
  if (logs !== undefined) await mkdir(logs, { recursive: true })
  const folder = await mkdtemp(join(tmpdir(), "sluice-cluster-"))
  const scope = Scope.makeUnsafe()
  const network = await openNetwork()
  const programs: Array<Program> = []
  let door: Door | undefined
  const close = async () => {
    for (const program of programs) {
      program.signal("SIGCONT")
      await program.end("SIGKILL")
    }
    door?.close()
    await network.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const { natsServer, postgresUrl } = await Effect.runPromise(
      Effect.gen(function* () {
        const data = yield* openDataFolder(join(folder, "servers"))
        yield* data.hold({ purpose: "the cluster test" })
        const servers = yield* startEmbedded(data, {
          postgres: { bin: process.env.SLUICE_POSTGRES_BIN },
          nats: undefined,
          progress: () => Effect.void
        })
        const { program } = yield* findNatsServer({
          folder: data,
          override: process.env.SLUICE_NATS_SERVER,
          environment: process.env,
          progress: () => Effect.void
        })
        return { postgresUrl: Redacted.value(servers.postgresUrl!), natsServer: program }
      }).pipe(Scope.provide(scope))
    )
    const database = new URL(postgresUrl)
    door = await openDoor(network.gateway, { host: database.hostname, port: Number(database.port) })
    const outside = new URL(postgresUrl)
    outside.hostname = network.gateway
    outside.port = String(door.port)
    const natsUrl = network.machines.map(({ address }) => `nats://${address}:4222`).join(",")
    const nodes: Array<Node> = []
    for (const machine of network.machines) {
      const store = join(folder, `nats-${machine.name}`)
      await mkdir(store)
      const config = join(folder, `nats-${machine.name}.conf`)
      await writeFile(config, natsConfig(machine, network.machines, store))
      const nats = new Program(machine, [natsServer, "-c", config], {})
      const sluice = new Program(
        machine,
        [process.execPath, main, "serve", "--cluster"],
        {
          SLUICE_DEVELOPMENT: "on",
          DATABASE_URL: outside.href,
          NATS_URL: natsUrl,
          SLUICE_ADMIN_KEY: adminKey,
          SLUICE_ADMIN_HOST: machine.address,
          SLUICE_ADMIN_PORT: String(portOf.admin),
          SLUICE_DATA_DIR: join(folder, `sluice-${machine.name}`),
          SLUICE_DEMO: "off",
          SLUICE_HOST: machine.address,
          SLUICE_LOG_MAX_BYTES: String(64 * 1024 * 1024),
          SLUICE_METRICS: "open",
          SLUICE_NODE: machine.name,
          SLUICE_PARTITIONS: String(partitions),
          SLUICE_PORT: String(portOf.api),
          SLUICE_SECRETS_KEY: "5e".repeat(32),
          // Nobody is there: mails wait.
          SLUICE_SMTP_URL: "smtp://127.0.0.1:9"
        },
        logs === undefined ? undefined : join(logs, `${machine.name}.log`)
      )
      programs.push(sluice, nats)
      const urlOf = (port: number) => `http://${machine.address}:${port}`
      nodes.push({ machine, url: urlOf(portOf.api), adminUrl: urlOf(portOf.admin), sluice, nats })
    }
    for (const { nats } of nodes) nats.start()
    // While the servers still elect: a start waits for that.
    for (const { sluice } of nodes) sluice.start()
    for (const node of nodes) await untilReady(node)
    return { network, nodes, door, databaseUrl: postgresUrl, close }
  } catch (error) {
    const told = programs.map(({ machine, output }) => `${machine.name}:\n${output.slice(-2_000)}`).join("\n")
    await close()
    throw new Error(`the cluster did not start: ${String(error)}\n${told}`)
  }
}

/** What a node says of itself; undefined when it says nothing within a second. */
const readiness = async (node: Node) => {
  try {
    const answer = await fetch(`${node.url}/readyz`, { signal: AbortSignal.timeout(1_000) })
    return { status: answer.status, body: (await answer.json()) as { checks: { cluster?: { detail: string } } } }
  } catch {
    return undefined
  }
}

export const untilReady = (node: Node): Promise<void> =>
  until(
    async () => {
      if (!node.sluice.isRunning) throw new Error(`node ${node.machine.name} has ended:\n${node.sluice.output}`)
      return (await readiness(node))?.status === 200
    },
    `node ${node.machine.name} is ready`,
    120_000
  )

/** The partitions that a node serves, as it says itself. */
export const servedBy = async (node: Node): Promise<ReadonlyArray<number>> => {
  const detail = (await readiness(node))?.body.checks.cluster?.detail ?? ""
  const listed = /serves partitions? ([\d, ]+) of/.exec(detail)?.[1]
  return listed === undefined ? [] : listed.split(", ").map(Number)
}
