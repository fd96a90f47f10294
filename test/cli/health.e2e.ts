/**
 * `/v1/health`, `/readyz`, the words of a start and `recover` when something is wrong, as an operator sees them: data that
 * is too old, partitions that have stopped, a disk that is nearly full. The tests follow each other on one database.
 */
import { execFile } from "node:child_process"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { needing } from "../support/needs.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { ok, query, until, useDatabases, useFolders } from "./support.ts"

const run = promisify(execFile)
const database = useDatabases()
const newFolder = useFolders()
let url = ""
let folder = ""
let environment: Record<string, string> = {}
let platform: Platform | undefined

const serve = async (): Promise<Platform> => {
  platform = await startPlatform(environment, folder)
  return platform
}

const stop = async (): Promise<void> => {
  await platform?.stop()
  platform = undefined
}

const get = async (path: string) => (await fetch(`${platform!.url}${path}`)).json() as Promise<Record<string, unknown>>

const status = async (): Promise<unknown> => (await get("/v1/health")).status

/** The lines of the start that say how it went. */
const banner = (started: Platform): string => /^Sluice .*\n( {2}- .*\n)*/m.exec(started.stdout())![0]

/** Lets every node look at the times again. */
const changeTime = (kind: string, age: string) =>
  query(
    url,
    `with aged as (update directory_ingestions set finished_at = now() - interval '${age}' where kind = '${kind}' returning 1)
     select pg_notify('sluice_directory', '${kind}') from aged`
  )

beforeAll(async () => {
  url = await database("seeded")
  folder = join(await newFolder(), "data")
  environment = { DATABASE_URL: url, NATS_URL: inject("natsUrl"), SLUICE_PARTITIONS: "8" }
})

afterAll(stop)

it("[directory 3.6] is ready and healthy with fresh data of both countries", async () => {
  const started = await serve()
  expect(banner(started)).toMatch(/^Sluice \S+ is ready \([\d.]+ s\)\n$/)
  expect(await status()).toBe("healthy")
})

it("[directory 3.6] is degraded while the data of either country is older than 90 days, however fresh the rest", async () => {
  for (const kind of ["CNAC", "NANPA"]) {
    await changeTime(kind, "91 days")
    await until(async () => (await status()) === "degraded")
    await changeTime(kind, "89 days")
    await until(async () => (await status()) === "healthy")
  }
  // The age of what is not needed changes nothing.
  await changeTime("NPA_REPORT", "200 days")
  await changeTime("CNAC", "100 days")
  await until(async () => (await status()) === "degraded")
  await stop()
  const started = await serve()
  expect(banner(started)).toMatch(
    /^Sluice \S+ serves, and not all is well \([\d.]+ s\):\n {2}- the CNAC data was ingested more than 90 days ago\n$/
  )
  await changeTime("CNAC", "1 day")
  await until(async () => (await status()) === "healthy")
})

it("[directory 3.6] is degraded while partitions have stopped; recover tells the cause and mends it", async () => {
  await stop()
  await query(
    url,
    `insert into engine_cursors (partition, reactor, sequence, hash)
     select partition, 'projections', 100000, repeat('f', 64) from unnest(array[2, 5]) as partition
     on conflict (partition, reactor) do update set sequence = excluded.sequence, hash = excluded.hash`
  )
  const started = await serve()
  expect(banner(started)).toMatch(/^Sluice \S+ serves, and not all is well \([\d.]+ s\):\n {2}- partition/)
  expect(await status()).toBe("degraded")
  let detail = ""
  // The first of them that stops ends the start; the other one follows.
  await until(async () => {
    const ready = await fetch(`${platform!.url}/readyz`)
    // The others serve.
    expect(ready.status).toBe(200)
    const { checks } = (await ready.json()) as { readonly checks: { readonly partitions: { readonly detail: string } } }
    detail = checks.partitions.detail
    return /\b2\b.*\b5\b.* stopped: /.test(detail)
  })
  expect(detail).toMatch(
    /^partitions? 2\b.* (is|are) stopped: the cursor of projections has seen frame 100000, but the log ends at /
  )
  expect(detail.match(/\b5\b(?= are stopped| is stopped)/g)).toHaveLength(1)
  expect(detail.split("sluice recover")).toHaveLength(2)
  await stop()

  const settings = { ...environment, SLUICE_DATA_DIR: folder }
  const found = await ok(["recover"], settings)
  expect(found).toMatch(
    /^Partition 2: .*\n( {2}.*\n)+Partition 5: .*\n( {2}.*\n)+Partitions 0, 1, 3, 4, 6, 7: everything fits the log; nothing is to be given up\.\nNothing was changed; --accept-loss does it\.\n$/
  )
  await ok(["recover", "--accept-loss"], settings)
  const mended = await serve()
  expect(banner(mended)).toMatch(/ is ready /)
  expect(await status()).toBe("healthy")
})

// Elsewhere the rule alone is tested (DiskSpace.it.ts).
it("[directory 3.6] is degraded while the disk of the data folder has under 5 % free", needing("mount"), async () => {
  await stop()
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await run("mount", ["-t", "tmpfs", "-o", "size=20m,mode=700", "tmpfs", folder])
  try {
    await serve()
    expect(await status()).toBe("healthy")
    await writeFile(join(folder, "logs", "filler"), Buffer.alloc(19.2 * 1024 * 1024))
    await until(async () => (await status()) === "degraded")
    const { checks, status: readiness } = await get("/readyz")
    expect(readiness).toBe("ready")
    expect(checks).toMatchObject({
      disk: { ok: false, detail: expect.stringMatching(/^the disk of \S+ has \d\.\d % free$/) }
    })
    await rm(join(folder, "logs", "filler"))
    await until(async () => (await status()) === "healthy")
  } finally {
    await stop()
    await run("umount", [folder])
  }
})
