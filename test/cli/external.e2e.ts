/**
 * Two platforms on one database and one NATS that others run: nothing is started for them, they share what they make,
 * and commands and the admin API are effective on both at once. Both make their first start at the same moment.
 */
import { randomUUID } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { type Platform, sluice, startPlatform } from "../support/platform.ts"
import { descendants, ok, okJson, query, refusal, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const adminKey = `adm_${"Ab1".repeat(10)}`
/** In which a revocation must be in force everywhere (decisions, "Tenancy, keys, scopes"). */
const revocationMillis = 1_000

let databaseUrl = ""
/** The second platform's; a second one on the first's database is refused. */
let otherDatabaseUrl = ""
/** Has an admin API. */
let first: Platform
/** Has none: there is no credential for it. */
let second: Platform

/** Only the data folder: whatever else a command needs it has to find there. */
const at = (platform: Platform) => ({ SLUICE_DATA_DIR: platform.dataDir })

const carriers = async (platform: Platform, key: string): Promise<number> =>
  (await fetch(`${platform.url}/v1/carriers?limit=1`, { headers: { authorization: `Bearer ${key}` } })).status

const runOf = async (platform: Platform): Promise<{ readonly adminUrl?: string }> =>
  JSON.parse(await readFile(join(platform.dataDir, "run.json"), "utf8"))

const makeOrganization = async (): Promise<string> =>
  (await okJson(["orgs", "create", `Acme ${randomUUID()}`], at(first))).id

beforeAll(async () => {
  databaseUrl = await database()
  otherDatabaseUrl = await database()
  const [one, other] = await Promise.all([
    startPlatform({ DATABASE_URL: databaseUrl, NATS_URL: inject("natsUrl"), SLUICE_ADMIN_KEY: adminKey }),
    startPlatform({ DATABASE_URL: otherDatabaseUrl, NATS_URL: inject("natsUrl") })
  ])
  first = one
  second = other
})

afterAll(async () => {
  await Promise.all([first.stop(), second.stop()])
})

describe("platforms on named servers", () => {
  it("make one demo organization on an empty database", async () => {
    expect(await query(databaseUrl, "select name, plan, send_plan, risk from organizations")).toEqual([
      { name: "demo", plan: "team", send_plan: "enterprise", risk: "standard" }
    ])
    expect(await query(databaseUrl, "select services, scopes, active from api_keys")).toEqual([
      { services: ["directory", "send", "telco", "talk", "voip", "transcribe"], scopes: ["*"], active: true }
    ])
    expect(await carriers(first, first.demoKey!)).toBe(200)
    expect(await carriers(second, second.demoKey!)).toBe(200)
  })

  it("refuse a second one on the same database, and go on", async () => {
    const { code, stderr } = await sluice(["serve"], {
      DATABASE_URL: databaseUrl,
      NATS_URL: inject("natsUrl"),
      SLUICE_PORT: "0",
      SLUICE_DATA_DIR: join(first.dataDir, "..", "second-owner")
    })
    expect(code).toBe(1)
    expect(stderr.trimEnd().split("\n").at(-1)).toMatch(
      /^sluice: another process runs the partitions of this database: /
    )
    expect(await carriers(first, first.demoKey!)).toBe(200)
  })

  it("serve the same records", async () => {
    const statistics = await Promise.all(
      [first, second].map(async ({ url }) => (await fetch(`${url}/v1/stats`)).json() as Promise<object>)
    )
    expect(statistics[0]).toMatchObject({ total_records: 236_982, by_country: { US: 192_982, CA: 44_000 } })
    expect(statistics[1]).toMatchObject({ total_records: 236_982, by_country: { US: 192_982, CA: 44_000 } })
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

  it("have an admin API only where it was given a credential", async () => {
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
        environment: { SLUICE_DATA_DIR: join(first.dataDir, "..", "nothing-here"), DATABASE_URL: databaseUrl }
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
    await expect.poll(() => carriers(platform, made.key), { timeout: revocationMillis, interval: 10 }).toBe(401)
  })

  it("that decide something say how to reach the platform that decides", async () => {
    const none = await sluice(["orgs", "create", "Acme"], {
      SLUICE_DATA_DIR: join(first.dataDir, "..", "nothing-here"),
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
        `^id        ${id}\nname      Acme Ltd\nemail     -\nplan      team\nsend plan hobby\nrate      the plan's\nrisk      standard\ncreated   \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d\n$`
      )
    )
    expect(await ok(["orgs", "list"], at(first))).toMatch(
      new RegExp(`^ID +NAME +PLAN +SEND PLAN +CREATED\n${id} +Acme Ltd +team +hobby +\\S+ \\S+\n`)
    )
    const none = await ok(["keys", "list", "--org", id!], at(first))
    expect(none).toBe("No keys yet. Make one: sluice keys create --org <id> --services directory\n")
    const key = await ok(
      ["keys", "create", "--org", id!, "--services", "all", "--name", "CI", "--test", "--expires", "2020-01-01"],
      at(first)
    )
    expect(key).toMatch(
      /^id {3}key_\w+\nkey {2}sk_test_\w+\n\nThe key is shown this once; only its digest is stored\.\n$/
    )
    const text = /sk_test_\w+/.exec(key)![0]
    const listed = await ok(["keys", "list", "--org", id!], at(first))
    expect(listed).toContain(`${text.slice(0, 12)}…`)
    expect(listed).toMatch(/ CI .* expired +-\n$/)
    expect(await carriers(first, text)).toBe(401)
    expect(await ok(["keys", "revoke", /key_\w+/.exec(key)![0]], at(first))).toBe(
      `Revoked ${/key_\w+/.exec(key)![0]} (${text.slice(0, 12)}…).\n`
    )
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

describe("the admin API", () => {
  let adminUrl = ""
  beforeAll(async () => {
    adminUrl = (await runOf(first)).adminUrl!
  })

  const ask = async (
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly headers?: Record<string, string> } = {}
  ) => {
    const response = await fetch(`${adminUrl}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json", ...options.headers },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) })
    })
    // biome-ignore lint/suspicious/noExplicitAny: the tests look at what came
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }

  const invalid = (message: unknown) => ({ success: false, error: { code: "invalid_request", message } })

  it("answers nobody without its credential, in the generic envelope", async () => {
    const id = await makeOrganization()
    const { key } = await okJson(["keys", "create", "--org", id, "--services", "all", "--scopes", "all"], at(first))
    const refused = {
      success: false,
      error: { code: "unauthorized", message: "Invalid or missing admin credential" }
    }
    const credentials = ["", "Bearer", `Bearer ${adminKey}x`, `Basic ${adminKey}`, `Bearer ${key}`, adminKey]
    for (const authorization of credentials) {
      for (const [method, path] of [
        ["GET", "/organizations"],
        ["POST", "/organizations"],
        ["DELETE", "/keys/key_x"],
        ["GET", "/ingestions"]
      ] as const) {
        const answer = await ask(method, path, {
          headers: { authorization },
          ...(method === "POST" ? { body: { name: "Mallory" } } : {})
        })
        expect(answer, `${method} ${path} with ${authorization}`).toMatchObject({ status: 401, body: refused })
      }
    }
    expect(await query(databaseUrl, "select 1 from organizations where name = 'Mallory'")).toEqual([])
    expect((await ask("GET", "/organizations")).status).toBe(200)
  })

  it("answers a repeated creation with what the first one made", async () => {
    const headers = { "idempotency-key": `order ${randomUUID()}` }
    const body = { name: "Once", plan: "team" }
    const one = await ask("POST", "/organizations", { body, headers })
    const [two, three] = await Promise.all([
      ask("POST", "/organizations", { body, headers }),
      ask("POST", "/organizations", { body, headers })
    ])
    expect(one.status).toBe(201)
    expect(one.headers.get("idempotency-replayed")).toBeNull()
    for (const repeat of [two, three]) {
      expect(repeat.status).toBe(201)
      expect(repeat.body).toEqual(one.body)
      expect(repeat.headers.get("idempotency-replayed")).toBe("true")
    }
    expect(await ask("POST", "/organizations", { body: { name: "Twice" }, headers })).toMatchObject({
      status: 409,
      body: { success: false, error: { code: "idempotency_conflict" } }
    })

    const path = `/organizations/${one.body.id}/keys`
    const keyBody = { services: ["directory"], scopes: [] }
    const created = await ask("POST", path, { body: keyBody, headers })
    const repeated = await ask("POST", path, { body: keyBody, headers })
    expect(created.status).toBe(201)
    expect(created.body.key).toMatch(/^sk_live_/)
    expect(repeated.status).toBe(201)
    expect(repeated.body).toEqual({ ...created.body, key: null })
    expect(repeated.headers.get("idempotency-replayed")).toBe("true")
    expect((await ask("POST", path, { body: { ...keyBody, mode: "test" }, headers })).status).toBe(409)
    expect((await ask("GET", path)).body.data).toHaveLength(1)

    const acts = await query(databaseUrl, "select act, subject from admin_acts where subject in ($1, $2) order by id", [
      one.body.id,
      created.body.id
    ])
    expect(acts).toEqual([
      { act: "organization.created", subject: one.body.id },
      { act: "key.created", subject: created.body.id }
    ])
  })

  it("makes one of several simultaneous creations under one key", async () => {
    const headers = { "idempotency-key": randomUUID() }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask("POST", "/organizations", { body: { name: "Race" }, headers }))
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1)
  })

  it.each(["", "x".repeat(256), "ümlaut"])("refuses the Idempotency-Key %j", async (key) => {
    const answer = await ask("POST", "/organizations", { body: { name: "Acme" }, headers: { "idempotency-key": key } })
    expect(answer).toMatchObject({
      status: 400,
      body: invalid("Invalid header 'idempotency-key'. Expected 1 to 255 printable characters.")
    })
  })

  it("lists in pages by cursor, newest first, each once", async () => {
    const id = await makeOrganization()
    for (let made = 0; made < 7; made++) {
      await ask("POST", `/organizations/${id}/keys`, { body: { name: `${made}`, services: [], scopes: [] } })
    }
    const names: Array<string> = []
    let cursor = ""
    for (let pages = 1; ; pages++) {
      const { body, status } = await ask("GET", `/organizations/${id}/keys?limit=3${cursor}`)
      expect(status).toBe(200)
      names.push(...body.data.map(({ name }: { readonly name: string }) => name))
      if (!body.pagination.hasMore) {
        expect(body.pagination).toEqual({ hasMore: false })
        expect(pages).toBe(3)
        break
      }
      cursor = `&cursor=${body.pagination.nextCursor}`
    }
    expect(names).toEqual(["6", "5", "4", "3", "2", "1", "0"])
    const { body } = await ask("GET", "/organizations?limit=1")
    const foreign = body.pagination.nextCursor
    for (const bad of ["", "x", `${foreign}x`, foreign]) {
      expect(await ask("GET", `/organizations/${id}/keys?cursor=${bad}`), bad).toMatchObject({
        status: 400,
        body: invalid("Invalid parameter 'cursor'. Expected one that this list's answer gave.")
      })
    }
    for (const bad of ["0", "101", "-1", "1.5", "x"]) {
      expect(await ask("GET", `/organizations?limit=${bad}`), bad).toMatchObject({
        status: 400,
        body: invalid(`Invalid parameter 'limit': "${bad}". Expected an integer from 1 to 100.`)
      })
    }
  })

  it.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "a\nb" }, "name"],
    [{ name: "x".repeat(201) }, "name"],
    [{ name: 7 }, "name"],
    [{ name: "Acme", email: "no" }, "email"],
    [{ name: "Acme", plan: "gold" }, "plan"],
    [{ name: "Acme", risk: "none" }, "risk"]
  ])("refuses the organization %j", async (body, field) => {
    const answer = await ask("POST", "/organizations", { body })
    expect(answer).toMatchObject({ status: 400, body: invalid(expect.stringContaining(`'${field}'`)) })
  })

  it("refuses keys with unknown services and scopes, and unknown ids and paths", async () => {
    const id = await makeOrganization()
    const keys = `/organizations/${id}/keys`
    expect((await ask("POST", keys, { body: { services: ["fax"], scopes: [] } })).status).toBe(400)
    expect((await ask("POST", keys, { body: { services: [], scopes: ["root"] } })).status).toBe(400)
    expect((await ask("POST", keys, { body: { services: [] } })).status).toBe(400)
    for (const [method, path] of [
      ["GET", "/organizations/org_nope"],
      ["GET", "/organizations/org_nope/keys"],
      ["DELETE", "/keys/key_nope"],
      ["GET", "/nothing"]
    ] as const) {
      expect(await ask(method, path)).toMatchObject({
        status: 404,
        body: { success: false, error: { code: "not_found" } }
      })
    }
    expect(await ask("PUT", "/organizations", { body: {} })).toMatchObject({ status: 405 })
  })

  it("records what was done, and no secret", async () => {
    const id = await makeOrganization()
    const { id: keyId, key } = await okJson(["keys", "create", "--org", id, "--services", "directory"], at(first))
    await ok(["keys", "revoke", keyId], at(first))
    const source = `http://operator:geheim@127.0.0.1:1/codes.txt?token=geheim`
    await sluice(["ingest", source], at(first))
    const acts = await query<{ readonly act: string; readonly subject: string; readonly at: Date }>(
      databaseUrl,
      "select act, subject, detail, at from admin_acts where id > (select max(id) - 4 from admin_acts) order by id"
    )
    expect(acts).toMatchObject([
      { act: "organization.created", subject: id, detail: { plan: "free", email: null } },
      { act: "key.created", subject: keyId, detail: { mode: "live", services: ["directory"], scopes: [] } },
      { act: "key.revoked", subject: keyId, detail: {} },
      { act: "directory.ingested", subject: "http://127.0.0.1:1/codes.txt", detail: {} }
    ])
    expect(JSON.stringify(acts)).not.toContain(key)
  })

  it("has its own description and docs", async () => {
    const description = (await (await fetch(`${adminUrl}/openapi.json`)).json()) as { readonly paths: object }
    expect(Object.keys(description.paths)).toContain("/admin/v1/organizations/{id}/keys")
    expect((await fetch(`${adminUrl}/docs`)).status).toBe(200)
  })
})
