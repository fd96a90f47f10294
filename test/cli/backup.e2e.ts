/**
 * Backups of a platform under load, and their restore into other stores (docs/backup.md): what was answered before a
 * backup is there after it, and what is broken, misplaced or not empty is refused with a sentence.
 */
import { copyFile, readdir, readFile, rename, stat, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import {
  type Answered,
  type BackupTenant,
  makeBackupTenant,
  missingFacts,
  startLoad,
  startReceiver
} from "../backup/facts.ts"
import { deleteStreams } from "../support/deleteStreams.ts"
import { commandHere } from "../support/here.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { ok, okJson, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const adminKey = `adm_${"Bk2".repeat(10)}`
const namespace = "backed-up"
const tenantNames = ["one", "two", "three"]

interface Backup {
  readonly id: string
  readonly copied: number
  readonly reused: number
  readonly removed: ReadonlyArray<string>
}

let backups = ""
let named: Record<string, string>
let platform: Platform | undefined
let tenants: ReadonlyArray<BackupTenant>
const answered: Array<Answered> = []
const taken: Array<Backup> = []
/** When each of them was begun. */
const begunAt: Array<number> = []
let receiver: Awaited<ReturnType<typeof startReceiver>>

const place = () => ({ url: platform!.url, adminUrl: adminUrl })
let adminUrl = ""

/** The stores that commands and platforms use from now on. */
const choose = (databaseUrl: string, dataDir: string): void => {
  named = {
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_LOG_NAMESPACE: namespace,
    SLUICE_DATA_DIR: dataDir
  }
}

const begin = async () => {
  const dataDir = named.SLUICE_DATA_DIR!
  platform = await startPlatform(
    { ...named, SLUICE_ADMIN_KEY: adminKey, SLUICE_DEMO: "off", SLUICE_WEBHOOK_TARGETS: "any" },
    dataDir
  )
  adminUrl = (JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")) as { adminUrl: string }).adminUrl
}

const backUp = async (...flags: ReadonlyArray<string>) => {
  begunAt.push(Date.now())
  taken.push(await okJson(["backup", backups, ...flags], named))
  return taken.at(-1)!
}

const refusalOf = async (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) => {
  const { code, stderr } = await commandHere(args, environment)
  expect(code, stderr).toBe(1)
  return stderr
}

beforeAll(async () => {
  backups = join(await folder(), "backups")
  receiver = await startReceiver()
  choose(await database("seeded"), await folder())
  await begin()
  tenants = await Promise.all(tenantNames.map((name) => makeBackupTenant(place(), adminKey, receiver.url, name)))
  for (let round = 0; round < 2; round++) {
    const load = startLoad(place(), tenants, 6)
    await until(() => load.answered.length >= 80)
    await backUp()
    await until(() => load.answered.length >= 110)
    await load.stop()
    answered.push(...load.answered)
  }
})

afterAll(async () => {
  await platform?.stop()
  await deleteStreams(namespace)
  receiver.stop()
})

describe("backups of a running platform", () => {
  it("are whole, and the second one copies only what is new", async () => {
    expect(taken[0]!.reused).toBe(0)
    expect(taken[1]!.reused).toBe(taken[0]!.copied)
    expect(taken[1]!.copied).toBeGreaterThan(0)
    for (const { id } of taken)
      expect(await ok(["backup", "verify", backups, "--at", id], named)).toContain(`The backup ${id} is whole`)
    expect((await stat(backups)).mode & 0o777).toBe(0o700)
    for (const file of await readdir(backups, { recursive: true, withFileTypes: true }))
      if (file.isFile() && file.name !== "lock")
        expect((await stat(join(file.parentPath, file.name))).mode & 0o777).toBe(0o600)
  })

  it("are not restored over a platform that has data", async () => {
    expect(await refusalOf(["restore", backups], named)).toContain("A platform runs on this database")
    const elsewhere = { ...named, DATABASE_URL: await database(), SLUICE_DATA_DIR: await folder() }
    expect(await refusalOf(["restore", backups], elsewhere)).toMatch(/NATS is not empty: it has backed-up-log-0/)
  })

  it("that are damaged are named with the file and the place, and not restored", async () => {
    const { id } = taken[1]!
    const events = join(backups, id, "tables", "events")
    const log = join(
      backups,
      id,
      "streams",
      (await readdir(join(backups, id, "streams"))).find((name) => name.includes("-log-"))!
    )
    const named1 = `${id}/streams/${log.split("/").at(-1)}`
    await copyFile(log, `${log}.kept`)
    const bytes = await readFile(log)
    bytes[bytes.length - 20]! ^= 1
    await writeFile(log, bytes)
    await rename(events, `${events}.kept`)
    const sentences = await refusalOf(["backup", "verify", backups], named)
    expect(sentences).toContain(`The backup ${id} is not whole`)
    expect(sentences).toMatch(
      new RegExp(`${named1.replaceAll(".", "\\.")}: the \\d+ bytes at byte 28 are not those that were written`)
    )
    expect(sentences).toContain(`${id}/tables/events: the file is missing`)
    await truncate(log, 40)
    expect(await refusalOf(["backup", "verify", backups], named)).toMatch(/the file is cut at byte 40 of \d+/)
    // The earlier one needs neither.
    expect(await ok(["backup", "verify", backups, "--at", taken[0]!.id], named)).toContain("is whole")
    await rename(`${log}.kept`, log)
    await rename(`${events}.kept`, events)
    expect(await ok(["backup", "verify", backups], named)).toContain(`The backup ${id} is whole`)
  })

  it("need the key that they were made under", async () => {
    const other = { ...named, SLUICE_SECRETS_KEY: "6f".repeat(32) }
    expect(await refusalOf(["restore", backups], other)).toMatch(
      /encrypted under the secrets key \w{8}.*SLUICE_SECRETS_KEY/
    )
    expect(await refusalOf(["backup", "verify", backups], other)).toContain("set SLUICE_SECRETS_KEY")
    expect(await refusalOf(["backup", backups], other)).toMatch(
      /secrets are encrypted under the key \w{8}, and the one given here is \w{8}/
    )
  })
})

describe("a restored platform", () => {
  it("has everything that was answered before the backup, and goes on", async () => {
    await platform!.stop()
    platform = undefined
    expect(await refusalOf(["restore", backups], named)).toMatch(
      /is not empty: its table \w+ has rows\. Nothing was changed/
    )
    expect(await deleteStreams(namespace)).toBeGreaterThan(2)
    choose(await database(), await folder())
    const said = await ok(["restore", backups, "--at", taken[1]!.id], named)
    expect(said).toContain(`Restored the backup ${taken[1]!.id}`)
    expect(said).toContain("SLUICE_HOLD_MAIL=on")
    await begin()
    const before = answered.filter(({ at }) => at <= begunAt[1]!)
    expect(before.length).toBeGreaterThan(150)
    expect(await missingFacts(place(), tenants, before, Number.POSITIVE_INFINITY)).toEqual([])
    const load = startLoad(place(), tenants, 3)
    await until(() => load.answered.length >= 30)
    await load.stop()
    expect(await missingFacts(place(), tenants, load.answered, Number.POSITIVE_INFINITY)).toEqual([])
    const third = await backUp("--keep", "1")
    expect(third.removed).toEqual([taken[0]!.id, taken[1]!.id].toReversed())
    expect((await readdir(backups)).toSorted()).toEqual([third.id, "lock"])
    // The segments of one that is removed stay as long as a later one needs them.
    const fourth = await backUp("--keep", "1")
    expect(fourth).toMatchObject({ reused: third.copied, removed: [third.id] })
    expect(await ok(["backup", "verify", backups], named)).toContain(`The backup ${fourth.id} is whole`)
    expect(await readdir(join(backups, third.id))).toEqual(["retired", "streams"])
  })

  it("takes an older PostgreSQL beside its log, and replays what that lacks", async () => {
    const load = startLoad(place(), tenants, 3)
    await until(() => load.answered.length >= 30)
    await load.stop()
    await platform!.stop()
    platform = undefined
    choose(await database(), await folder())
    expect(await ok(["restore", backups, "--only", "postgres"], named)).toMatch(
      /The log is \d+ frames newer than PostgreSQL/
    )
    await begin()
    expect(await missingFacts(place(), tenants, load.answered, Number.POSITIVE_INFINITY)).toEqual([])
  })

  it("names what is lost where the log is older than PostgreSQL, and how to go on", async () => {
    await platform!.stop()
    platform = undefined
    await deleteStreams(namespace)
    const said = await ok(["restore", backups, "--only", "nats"], named)
    expect(said).toMatch(/partition \d: .* has seen frame \d+, and the log ends at \d+: frames \d+ to \d+ are missing/)
    expect(said).toContain("sluice recover")
    expect(await ok(["recover", "--accept-loss"], named)).toMatch(/Lost: decisions of frames \d+ to \d+/)
    expect(await ok(["recover"], named)).toContain("everything fits the log")
  })

  it("is not backed up without one of its logs", async () => {
    const { host, password, username } = new URL(inject("natsUrl"))
    const client = await connect({ servers: host, user: username, pass: password })
    await (await jetstreamManager(client)).streams.delete(`${namespace}-log-1`)
    await client.close()
    const said = await refusalOf(["backup", backups], named)
    expect(said).toMatch(/partition 1: its log is missing, and the database has seen frames 1 to \d+/)
    expect((await readdir(backups)).filter((name) => name.endsWith(".partial"))).toEqual([])
  })
})
