/**
 * A platform that runs as a role which owns no table: the owner migrates with a command, the platform starts, sends,
 * delivers and counts as usual, and `sluice doctor` says what is missing before.
 */
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { migrations } from "../../src/app/migrations.ts"
import { sluice } from "../support/commands.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { ok, okJson, query, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const adminKey = `adm_${"Ab1".repeat(10)}`
const role = `app_${randomUUID().slice(0, 8)}`
const newest = migrations.at(-1)!.number

let owner = ""
let runtime = ""
let platform: Platform | undefined
let place: Record<string, string>

beforeAll(async () => {
  owner = await database()
  await query(owner, `create role ${role} login password 'x'`)
  const url = new URL(owner)
  url.username = role
  url.password = "x"
  runtime = url.toString()
  place = { SLUICE_DATA_DIR: await folder(), NATS_URL: inject("natsUrl"), SLUICE_ADMIN_KEY: adminKey }
})

afterAll(async () => {
  await platform?.stop()
  await query(owner, `drop owned by ${role}`)
  await query(owner, `drop role ${role}`)
})

const findings = async (databaseUrl: string) => {
  const { code, stdout } = await sluice(["doctor", "--json"], {
    ...place,
    DATABASE_URL: databaseUrl,
    SLUICE_SECRETS_KEY: "5e".repeat(32),
    SLUICE_PORT: "0"
  })
  const found: ReadonlyArray<{ readonly check: string; readonly result: string; readonly detail: string }> =
    JSON.parse(stdout)
  return { code, of: (check: string) => found.find((one) => one.check === check) }
}

describe("two roles", () => {
  it("the runtime role cannot begin, and is told what to do", async () => {
    const { code, of } = await findings(runtime)
    expect(code).toBe(1)
    expect(of("migrations")).toMatchObject({ result: "failed" })
    expect(of("migrations")?.detail).toContain("run `sluice migrate` as the owner")
    const start = await sluice(["migrate"], { ...place, DATABASE_URL: runtime })
    expect(start.code).toBe(1)
    expect(start.stderr).toContain("Run `sluice migrate` as the owner of the tables")
  })

  it("the owner sees what is missing, and migrates", async () => {
    const plan = await okJson(["migrate", "plan"], { ...place, DATABASE_URL: owner })
    expect(plan.missing).toHaveLength(migrations.length)
    expect(plan.formats.inForce).toBeNull()
    const done = await ok(["migrate", "--runtime-role", role], { ...place, DATABASE_URL: owner })
    expect(done).toContain(`${role} may run the platform.`)
    expect(await ok(["migrate", "plan"], { ...place, DATABASE_URL: owner })).toContain(
      `No migration is missing: the database is at ${newest}.`
    )
    expect((await findings(runtime)).of("migrations")).toEqual({
      check: "migrations",
      result: "ok",
      detail: `the database is at ${newest}, the newest`
    })
  })

  it("the platform runs as the other role, and changes no table", async () => {
    const { SLUICE_DATA_DIR: _, ...named } = place
    platform = await startPlatform({ ...named, DATABASE_URL: runtime })
    const headers = { authorization: `Bearer ${platform.demoKey}`, "content-type": "application/json" }
    const sent = await fetch(`${platform.url}/v1/send/emails`, {
      method: "POST",
      headers,
      body: JSON.stringify({ from: "a@demo.test", to: ["b@example.com"], subject: "Hello", text: "Hello" })
    })
    expect(sent.status).toBe(202)
    await until(async () => {
      const [row] = await query<{ readonly count: number }>(owner, "select count(*)::int4 as count from send_emails")
      return row!.count > 0
    })
    const owners = await query(owner, `select 1 from pg_class where relowner = '${role}'::regrole`)
    expect(owners).toEqual([])
    expect(platform.stderr()).not.toMatch(/permission denied|must be owner/)
  })
})
