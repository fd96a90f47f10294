/**
 * Platforms on a database and a NATS that others run: nothing is started for them, one of two that start at the same
 * moment is refused, and commands and the admin API are effective at once.
 */
import { randomUUID } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { sluice } from "../support/commands.ts"
import { commandHere } from "../support/here.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { type AdminContext, adminSection } from "./adminSection.ts"
import { descendants, ok, okJson, query, refusal, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const adminKey = `adm_${"Ab1".repeat(10)}`

let databaseUrl = ""
let otherDatabaseUrl = ""
/** Has an admin API, and was one of two that started on an empty database. */
let first: Platform
/** What the other of the two came to. */
let refused: unknown
/** Has a database of its own and no admin API: there is no credential for it. */
let second: Platform
/** A data folder in which there is nothing. */
let nowhere = ""

/** Only the data folder: whatever else a command needs it has to find there. */
const at = (platform: Platform) => ({ SLUICE_DATA_DIR: platform.dataDir })

const carriers = async (platform: Platform, key: string): Promise<number> =>
  (await fetch(`${platform.url}/v1/carriers?limit=1`, { headers: { authorization: `Bearer ${key}` } })).status

const runOf = async (platform: Platform): Promise<{ readonly adminUrl?: string }> =>
  JSON.parse(await readFile(join(platform.dataDir, "run.json"), "utf8"))

beforeAll(async () => {
  databaseUrl = await database()
  otherDatabaseUrl = await database("seeded")
  nowhere = await folder()
  const named = { DATABASE_URL: databaseUrl, NATS_URL: inject("natsUrl"), SLUICE_ADMIN_KEY: adminKey }
  const folders = [await folder(), await folder()]
  const starts = await Promise.allSettled(folders.map((dataDir) => startPlatform(named, dataDir)))
  for (const start of starts) {
    if (start.status === "fulfilled") first = start.value
    else refused = start.reason
  }
  // The usual number of partitions, which commands have that know no more than the data folder.
  second = await startPlatform({
    DATABASE_URL: otherDatabaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_PARTITIONS: "8"
  })
})

afterAll(async () => {
  await Promise.all([first.stop(), second.stop()])
})

describe("platforms on named servers", () => {
  it("that start on one empty database at the same moment are one, with one demo organization and all data", async () => {
    expect(String(refused)).toMatch(/^sluice: Another process runs the partitions of this database: /m)
    // Before it has done any work.
    expect(String(refused)).not.toContain("Loaded")
    expect(await query(databaseUrl, "select name, plan, send_plan, risk from organizations")).toEqual([
      { name: "demo", plan: "team", send_plan: "enterprise", risk: "standard" }
    ])
    expect(await query(databaseUrl, "select services, scopes, active from api_keys")).toEqual([
      { services: ["directory", "send", "telco", "talk", "voip", "transcribe"], scopes: ["*"], active: true }
    ])
    expect(await carriers(first, first.demoKey!)).toBe(200)
    expect(await (await fetch(`${first.url}/v1/stats`)).json()).toMatchObject({
      total_records: 236_982,
      by_country: { US: 192_982, CA: 44_000 }
    })
  })

  it("refuse a later one on the same database, and go on", async () => {
    const later = { DATABASE_URL: databaseUrl, NATS_URL: inject("natsUrl"), SLUICE_PORT: "0" }
    const { code, stderr, stdout } = await commandHere(["serve"], { ...later, SLUICE_DATA_DIR: await folder() })
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr.trimEnd().split("\n").at(-1)).toMatch(
      /^sluice: Another process runs the partitions of this database: /
    )
    expect(await carriers(first, first.demoKey!)).toBe(200)
  })

  it("start nothing for the servers they were given", async () => {
    for (const platform of [first, second]) {
      expect(await descendants(platform.pid)).toEqual([])
      const made = await readdir(platform.dataDir)
      expect(made).toContain("run.json")
      expect(made.filter((name) => /postgres|nats/.test(name))).toEqual([])
      expect(platform.stderr()).toMatch(/^ {2}Using PostgreSQL 18\.\d+ at 127\.0\.0\.1:\d+$/m)
      expect(platform.stderr()).toMatch(/^ {2}Connecting to NATS at 127\.0\.0\.1:\d+ …$/m)
      expect(platform.stderr()).not.toContain(new URL(databaseUrl).password)
    }
  })

  it("[platform 8.3] have an admin API only where it was given a credential", async () => {
    expect((await runOf(first)).adminUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await runOf(second)).adminUrl).toBeUndefined()
    expect((await fetch(`${second.url}/admin/v1/organizations`)).status).toBe(404)
    expect((await fetch(`${first.url}/admin/v1/organizations`)).status).toBe(404)
  })
})

describe("commands", () => {
  // By the admin API of the one, past the other's, and with nothing but the database's address.
  const ways = [
    ["a platform with an admin API", () => ({ platform: first, url: databaseUrl, environment: at(first) })],
    ["a platform without", () => ({ platform: second, url: otherDatabaseUrl, environment: at(second) })],
    [
      "DATABASE_URL alone",
      () => ({
        platform: first,
        url: databaseUrl,
        environment: { SLUICE_DATA_DIR: nowhere, DATABASE_URL: databaseUrl }
      })
    ]
  ] as const

  it.each(ways)("make and revoke keys, at once in force, by %s", async (_, way) => {
    const { environment, platform, url } = way()
    const [demo] = (await query(url, "select id from organizations where name = 'demo'")) as [{ readonly id: string }]
    const made = await okJson(["keys", "create", "--org", demo.id, "--services", "directory"], environment)
    expect(made).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Za-z]{22}$/),
      key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{22}$/)
    })
    expect(await carriers(platform, made.key)).toBe(200)
    expect(await okJson(["keys", "revoke", made.id], environment)).toEqual({ id: made.id })
    await until(async () => (await carriers(platform, made.key)) === 401)
  })

  it("that decide something say how to reach the platform that decides", async () => {
    const none = await sluice(["orgs", "create", "Acme"], {
      SLUICE_DATA_DIR: nowhere,
      DATABASE_URL: databaseUrl
    })
    expect(none).toMatchObject({ code: 1, stdout: "" })
    expect(none.stderr).toMatch(/^sluice: .*NATS_URL.*SLUICE_ADMIN_URL/m)
    const past = await sluice(["orgs", "create", "Acme"], at(second))
    expect(past).toMatchObject({ code: 1, stdout: "" })
    expect(past.stderr).toMatch(/^sluice: .*SLUICE_ADMIN_KEY/m)
    const { adminUrl } = await runOf(first)
    const remote = { SLUICE_ADMIN_URL: adminUrl!, SLUICE_ADMIN_KEY: adminKey }
    expect(await okJson(["orgs", "create", `Acme ${randomUUID()}`], remote)).toEqual({
      id: expect.stringMatching(/^org_[0-9A-Za-z]{22}$/)
    })
  })

  it("show and list what was made", async () => {
    const name = `Ünternehmen ${randomUUID()}`
    const plans = ["--plan", "early_adopter", "--send-plan", "pro", "--risk", "higher"]
    const created = await okJson(["orgs", "create", name, "--email", "ops@acme.example", ...plans], at(first))
    expect(created).toEqual({ id: expect.stringMatching(/^org_[0-9A-Za-z]{22}$/) })
    const { id } = created
    const shown = await okJson(["orgs", "show", id], at(first))
    expect(shown).toEqual({
      id,
      name,
      email: "ops@acme.example",
      plan: "early_adopter",
      sendPlan: "pro",
      risk: "higher",
      requestsPerMinute: null,
      createdAt: expect.any(Number)
    })
    expect((await okJson(["orgs", "list"], at(first)))[0]).toEqual(shown)
    const { id: keyId, key } = await okJson(
      ["keys", "create", "--org", id, "--services", "telco, directory", "--scopes", "talk:*,platform:webhooks:read"],
      at(first)
    )
    const [listed, ...others] = await okJson(["keys", "list", "--org", id], at(first))
    expect(others).toEqual([])
    expect(listed).toEqual({
      id: keyId,
      organizationId: id,
      name: null,
      prefix: key.slice(0, 12),
      mode: "live",
      services: ["directory", "telco"],
      scopes: ["platform:webhooks:read", "talk:*"],
      active: true,
      createdAt: expect.any(Number),
      expiresAt: null,
      lastUsedAt: null
    })
  })

  it("speak to people as well", async () => {
    const id = /^id +(org_\w+)$/m.exec(await ok(["orgs", "create", "Acme Ltd", "--plan", "team"], at(first)))?.[1]
    expect(await ok(["orgs", "show", id!], at(first))).toMatch(
      new RegExp(
        `^id        ${id}\nname      Acme Ltd\nemail     -\nplan      team\nsend plan hobby\nrate      the plan's\nrisk      standard\ncreated   \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC\n$`
      )
    )
    expect(await ok(["orgs", "list"], at(first))).toMatch(
      new RegExp(`^ID +NAME +PLAN +SEND PLAN +CREATED\n${id} +Acme Ltd +team +hobby +\\S+ \\S+ UTC\n`)
    )
    expect(await ok(["people", "list", "--org", id!], at(first))).toMatch(/^No members yet\. Invite one: /)
    // It has no relay, so the operator hands the link over.
    const invited = await ok(["people", "invite", "--org", id!, "--role", "owner", "Ann@one.test"], at(first))
    expect(invited).toMatch(
      /^Invited ann@one\.test as owner \(mem_\w+\)\. No mail was sent: .+\n\nhttp:\/\/\S+\/console#link=ml_\w{22}\n$/
    )
    expect(await ok(["people", "list", "--org", id!], at(first))).toMatch(/ ann@one\.test +owner +invited /)
    const member = /mem_\w+/.exec(invited)![0]
    expect(await ok(["people", "remove", member], at(first))).toBe(`Removed ann@one.test (${member}).\n`)
    const none = await ok(["keys", "list", "--org", id!], at(first))
    expect(none).toBe("No keys yet. Make one: sluice keys create --org <id> --services directory\n")
    const key = await ok(
      ["keys", "create", "--org", id!, "--services", "all", "--name", "CI", "--test", "--expires", "2099-01-01"],
      at(first)
    )
    expect(key).toMatch(
      /^id {8}key_\w+\nkey {7}sk_test_\w+\nmode {6}test\nservices {2}directory, .+\nscopes {4}none\nends {6}2099-01-01 00:00 UTC\n\nThe key is shown this once; only its digest is stored\.\n$/
    )
    const text = /sk_test_\w+/.exec(key)![0]
    const listed = await ok(["keys", "list", "--org", id!], at(first))
    expect(listed).toContain(`${text.slice(0, 12)}…`)
    expect(listed).toMatch(/ CI .* active +-\n$/)
    expect(await carriers(first, text)).toBe(200)
    expect(await ok(["keys", "revoke", /key_\w+/.exec(key)![0]], at(first))).toBe(
      `Revoked ${/key_\w+/.exec(key)![0]} (${text.slice(0, 12)}…).\n`
    )
    await until(async () => (await carriers(first, text)) === 401)
    expect(await ok(["keys", "list", "--org", id!], at(first))).toMatch(/ CI .* revoked +/)
  })

  it.each([
    [["orgs", "show", "org_nope"], 'No organization has the id "org_nope".'],
    [["keys", "list", "--org", "org_nope"], 'No organization has the id "org_nope".'],
    [["keys", "create", "--org", "org_nope", "--services", "all"], 'No organization has the id "org_nope".'],
    [["keys", "revoke", "key_nope"], 'No API key has the id "key_nope".'],
    [["orgs", "create", ""], "Invalid name. Expected 1 to 200 characters."],
    [["orgs", "create", "Acme", "--email", "acme"], "Invalid email. Expected an email address."],
    [
      ["orgs", "create", "Acme", "--plan", "gold"],
      'Invalid value for flag --plan: "gold". Expected: "free" | "early_adopter" | "team"'
    ],
    [
      ["keys", "create", "--org", "org_nope", "--services", "directory,fax"],
      'Invalid value for flag --services: "directory,fax". Expected some of directory, send, telco, talk, voip, transcribe, separated by commas'
    ],
    [["keys", "create", "--org", "org_nope"], "Missing required flag: --services"]
  ])("refuse %j", async (args, sentence) => {
    expect(refusal(await sluice(args, at(first))).split("\n")[0]).toBe(`sluice: ${sentence}`)
  })

  it("act on the database they are given, also beside a platform on another one", async () => {
    const other = await database()
    const environment = { ...at(first), DATABASE_URL: other, NATS_URL: inject("natsUrl") }
    expect(await okJson(["orgs", "list"], environment)).toEqual([])
    const { id } = await okJson(["orgs", "create", "Elsewhere"], environment)
    expect(await query(other, "select id from organizations")).toEqual([{ id }])
    expect(refusal(await sluice(["orgs", "show", id], at(first)))).toContain(id)
  })

  it("say that the platform does not answer, where it does not", async () => {
    const dataDir = await folder()
    const running = Effect.gen(function* () {
      const whereabouts = yield* openDataFolder(dataDir)
      yield* whereabouts.publish({
        version: "0.0.0",
        apiUrl: "http://127.0.0.1:1",
        adminUrl: "http://127.0.0.1:1",
        postgresUrl: Redacted.make(databaseUrl),
        natsUrl: Redacted.make(inject("natsUrl"))
      })
      return yield* Effect.promise(() => sluice(["orgs", "list"], { SLUICE_DATA_DIR: dataDir }))
    })
    expect(refusal(await Effect.runPromise(Effect.scoped(running)))).toBe(
      "sluice: The platform at http://127.0.0.1:1 does not answer. If it is being stopped or started, try again when that is done."
    )
  })
})

adminSection(
  (): AdminContext => ({
    adminKey,
    databaseUrl,
    environment: at(first),
    adminUrl: async () => (await runOf(first)).adminUrl!
  })
)
