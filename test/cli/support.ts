/**
 * Helpers of the command line's tests: databases and folders that go away with the file, small published files,
 * looks at processes, and waiting for a condition.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Option } from "effect"
import pg from "pg"
import { afterAll, expect, inject } from "vitest"
import { findRunning } from "../../src/embedded/dataFolder.ts"
import { isAlive, lookAt, type ProcessInfo } from "../../src/embedded/processes.ts"
import { sluice } from "../support/commands.ts"
import { urlOf } from "../support/database.ts"
import type { Finished, Platform } from "../support/platform.ts"
import { type Template, templateDatabase } from "../support/templates.ts"

const run = promisify(execFile)

/** Returns once the condition holds; the test's own time limit bounds it. What takes long is asked for less often, since it waits for the cores too. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  for (let millis = 5; !(await condition()); millis = Math.min(millis * 1.5, 50)) await pause(millis)
}

/** Connections to the run's server, a pool a database, while somebody looks: loops of `until` would open thousands. */
const pools = new Map<string, pg.Pool>()

const openPool = (url: string): pg.Pool => {
  const pool = new pg.Pool({ connectionString: url, idleTimeoutMillis: 200, allowExitOnIdle: true })
  pool.on("error", () => {})
  pool.on("remove", () => pool.totalCount === 0 && pools.delete(url))
  pools.set(url, pool)
  return pool
}

/** Runs one statement. Servers that a test has started, and may stop, are asked on a connection of its own. */
export const query = async <Row extends object>(url: string, sql: string, values: ReadonlyArray<unknown> = []) => {
  if (new URL(url).host === new URL(inject("postgresUrl")).host)
    return (await (pools.get(url) ?? openPool(url)).query<Row>(sql, [...values])).rows
  const client = new pg.Client({ connectionString: url })
  client.on("error", () => {})
  try {
    await client.connect()
    return (await client.query<Row>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

/** Makes databases on the run's server, empty ones or copies of a template or of the database at a URL; they go when the file has ended. */
export const useDatabases = (): ((from?: Template | URL) => Promise<string>) => {
  const made: Array<string> = []
  afterAll(async () => {
    for (const name of made) await query(inject("postgresUrl"), `drop database if exists "${name}" with (force)`)
  })
  return async (from) => {
    const name = `test_${randomUUID().replaceAll("-", "")}`
    const template =
      from === undefined ? "template0" : from instanceof URL ? from.pathname.slice(1) : await templateDatabase(from)
    await query(inject("postgresUrl"), `create database "${name}" template "${template}"`)
    made.push(name)
    return urlOf(name)
  }
}

/** Makes folders that are removed when the file has ended. */
export const useFolders = (): (() => Promise<string>) => {
  const made: Array<string> = []
  afterAll(async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true })
  })
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-cli-"))
    made.push(folder)
    return folder
  }
}

/** Every living process that this one has started, and theirs. */
export const descendants = async (pid: number): Promise<ReadonlyArray<ProcessInfo>> => {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid="])
  const pairs = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number) as [pid: number, parent: number])
  const found: Array<number> = []
  const look = (parent: number): void => {
    for (const [child, of] of pairs) {
      if (of !== parent) continue
      found.push(child)
      look(child)
    }
  }
  look(pid)
  const infos = await Promise.all(found.map((one) => Effect.runPromise(lookAt(one))))
  return infos.filter((info) => info !== undefined)
}

/** Those of the processes that live; a zombie does not. */
export const living = async (processes: ReadonlyArray<ProcessInfo>): Promise<ReadonlyArray<ProcessInfo>> => {
  const alive = await Promise.all(processes.map((one) => Effect.runPromise(isAlive(one))))
  return processes.filter((_, index) => alive[index])
}

/** Programs among the processes, by the name of their file. */
export const programs = (processes: ReadonlyArray<ProcessInfo>): ReadonlyArray<string> =>
  processes.map(({ command }) => command[0]!.split("/").at(-1)!)

/** A command that has to succeed; answers its standard output. */
export const ok = async (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>
): Promise<string> => {
  const { code, stderr, stdout } = await sluice(args, environment)
  expect(`${code} ${stderr}`, args.join(" ")).toMatch(/^0 /)
  return stdout
}

/** A command that has to succeed with `--json`; answers the one object it prints. */
export const okJson = async (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
  const stdout = await ok([...args, "--json"], environment)
  expect(stdout).toMatch(/^[^\n]+\n$/)
  return JSON.parse(stdout)
}

/** A platform whose environment names its admin credential. */
type Running = Pick<Platform, "dataDir" | "environment">

/** Repeats of a request that a partition cannot answer yet, and the pause before each: half a minute in all. */
const repeats = 60
const repeatMillis = 500

/**
 * Asks the admin API of the platform that runs on a data folder, which takes a hundredth of what a command takes. A
 * partition may move while a platform settles, so a 503 is safe to repeat, and repeated.
 */
export const askAdmin = async (
  { dataDir, environment }: Running,
  method: string,
  path: string,
  body?: unknown
): Promise<Readonly<Record<string, unknown>>> => {
  const running = Option.getOrThrow(await Effect.runPromise(findRunning(dataDir)))
  const ask = () =>
    fetch(`${running.adminUrl}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${environment.SLUICE_ADMIN_KEY}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  let answer = await ask()
  for (let repeat = 0; answer.status === 503 && repeat < repeats; repeat++) {
    await pause(repeatMillis)
    answer = await ask()
  }
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Readonly<Record<string, unknown>>
}

/** Makes an organization by the admin API; answers its id. */
export const makeOrganization = async (platform: Running, organization: object): Promise<string> =>
  String((await askAdmin(platform, "POST", "/organizations", organization)).id)

/** What a key is to be for: no scope and live mode, unless it says otherwise. */
export interface KeyFor {
  readonly services: ReadonlyArray<string>
  readonly scopes?: ReadonlyArray<string>
  readonly mode?: "live" | "test"
}

/** Makes a key of an organization by the admin API. */
export const makeKey = async (platform: Running, organization: string, key: KeyFor): Promise<string> =>
  String((await askAdmin(platform, "POST", `/organizations/${organization}/keys`, { scopes: [], ...key })).key)

/** An organization with a key. */
export interface Tenant {
  readonly id: string
  readonly key: string
}

/** Makes an organization and its key, which is for one service or as it says, by the admin API. */
export const makeTenant = async (platform: Running, organization: object, key: string | KeyFor): Promise<Tenant> => {
  const id = await makeOrganization(platform, organization)
  return { id, key: await makeKey(platform, id, typeof key === "string" ? { services: [key] } : key) }
}

/** Has a domain of live keys count as verified, on the operator's word. */
export const verifyDomain = (platform: Running, organization: string, domain: string): Promise<unknown> =>
  askAdmin(platform, "POST", `/organizations/${organization}/send/domains/verify`, { domain, unchecked: true })

/** What a command that fails may look like: a clear sentence, nothing on stdout, no stack trace. Answers the sentence. */
export const refusal = ({ code, signal, stderr, stdout }: Finished): string => {
  // A command that was not typed rightly is told its usage.
  const expected = /^Usage: /m.test(stderr) ? 2 : 1
  expect({ code, signal, stdout }).toEqual({ code: expected, signal: null, stdout: "" })
  expect(stderr).not.toMatch(/^\s+at .*:\d+/m)
  expect(stderr).not.toContain("\u001b")
  const lines = stderr.trimEnd().split("\n")
  // Lines of progress are indented; what follows the sentence belongs to it.
  const at = lines.findIndex((line) => line.startsWith("sluice: "))
  for (const line of lines.slice(0, at)) expect(line).toMatch(/^ {2}\S/)
  return lines.slice(at).join("\n")
}
