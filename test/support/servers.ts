import { existsSync, rmSync } from "node:fs"
import { mkdtemp, readdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import pg from "pg"
import type { TestProject } from "vitest/node"
import { ensureProgram } from "../../bin/program.js"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import { findNatsServer } from "../../src/embedded/natsBinary.ts"
import { isVariantRun } from "./platform.ts"

/**
 * Starts one PostgreSQL and one nats-server for a whole run of tests, in a temporary folder and as the platform starts
 * them itself, and tells the tests where they are: `inject("postgresUrl")` and `inject("natsUrl")`. Several projects of
 * one run share them.
 */
declare module "vitest" {
  interface ProvidedContext {
    /** A superuser's address of the database `postgres`, so that each test can make a database of its own. */
    readonly postgresUrl: string
    /** With the user and password of the account: for `NatsConnection`, as the client itself ignores them. */
    readonly natsUrl: string
    /** The nats-server program itself, for tests that start, kill and cluster servers of their own. */
    readonly natsServer: string
    /** Goes with the run; what several workers use is made in it. */
    readonly runFolder: string
  }
}

interface Servers {
  readonly postgresUrl: string
  readonly natsUrl: string
  readonly natsServer: string
  readonly runFolder: string
  readonly stop: () => Promise<void>
}

// Each project loads this file for itself, so what they share hangs on the process.
const shared = globalThis as { sluiceTestServers?: { users: number; servers: Promise<Servers> } }

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.sluiceTestServers ??= { users: 0, servers: start() }
  const run = shared.sluiceTestServers
  run.users++
  const servers = await run.servers
  project.provide("postgresUrl", servers.postgresUrl)
  project.provide("natsUrl", servers.natsUrl)
  project.provide("natsServer", servers.natsServer)
  project.provide("runFolder", servers.runFolder)
  return async () => {
    run.users--
    if (run.users > 0) return
    delete shared.sluiceTestServers
    await servers.stop()
  }
}

const prefix = "sluice-test-"

/** Removes what killed runs left: folders that were held once and are no longer. */
async function removeLeft(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const path = join(tmpdir(), name)
    if (!name.startsWith(prefix) || !existsSync(join(path, "holder.json"))) continue
    await Effect.runPromise(
      Effect.gen(function* () {
        const folder = yield* openDataFolder(path)
        yield* folder.hold({ purpose: "removal" })
        yield* Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      }).pipe(Effect.scoped, Effect.ignore)
    )
  }
}

/** Files of several workers, and the platforms that they start. */
const maximumConnections = 400

/**
 * For the cluster's next start. Nobody asks what it holds after a crash of the machine, hundreds of short-lived databases are made in it, which need no
 * vacuum, and thousands of connections, each of which would hash the password 4,096 times. Tests that kill PostgreSQL start their own.
 */
async function spare(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const setting of ["fsync", "full_page_writes", "autovacuum"])
      await client.query(`alter system set ${setting} = off`)
    await client.query(`alter system set max_connections = ${maximumConnections}`)
    await client.query("set scram_iterations = 1")
    const password = client.escapeLiteral(decodeURIComponent(new URL(url).password))
    await client.query(`alter role current_user password ${password}`)
  } finally {
    await client.end()
  }
}

async function start(): Promise<Servers> {
  await removeLeft()
  const path = await mkdtemp(join(tmpdir(), prefix))
  const scope = Scope.makeUnsafe()
  // Workers begin with this environment (test/support/platform.ts).
  if (!isVariantRun) process.env.SLUICE_TEST_PROGRAM = await ensureProgram()
  const stop = async (): Promise<void> => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(path, { recursive: true, force: true })
  }
  try {
    const embedded = await Effect.runPromise(
      Effect.gen(function* () {
        const folder = yield* openDataFolder(path)
        yield* folder.hold({ purpose: "tests" })
        const settings = {
          postgres: { bin: process.env.SLUICE_POSTGRES_BIN },
          nats: { program: process.env.SLUICE_NATS_SERVER },
          progress: (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))
        }
        yield* Effect.scoped(
          Effect.flatMap(startEmbedded(folder, settings), ({ postgresUrl }) =>
            Effect.promise(() => spare(Redacted.value(postgresUrl!)))
          )
        )
        const servers = yield* startEmbedded(folder, settings)
        const { program } = yield* findNatsServer({
          folder,
          override: process.env.SLUICE_NATS_SERVER,
          environment: process.env,
          progress: () => Effect.void
        })
        return { ...servers, program }
      }).pipe(Scope.provide(scope))
    )
    const database = new URL(Redacted.value(embedded.postgresUrl!))
    database.pathname = "/postgres"
    return {
      postgresUrl: database.href,
      natsUrl: Redacted.value(embedded.natsUrl!),
      natsServer: embedded.program,
      runFolder: path,
      stop
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}
