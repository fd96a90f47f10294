/**
 * The admin API of a running platform (docs/platform.md, 8.3): its credential, repeated requests, lists, what it
 * refuses and what it records.
 */
import { randomUUID } from "node:crypto"
import { beforeAll, describe, expect, it } from "vitest"
import { sluice } from "../support/commands.ts"
import { ok, okJson, query } from "./support.ts"

export interface AdminContext {
  readonly adminKey: string
  readonly adminUrl: () => Promise<string>
  readonly databaseUrl: string
  /** For commands that are to find the platform. */
  readonly environment: Readonly<Record<string, string>>
}

export const adminSection = (context: () => AdminContext): void => {
  describe("the admin API", () => {
    let adminKey = ""
    let adminUrl = ""
    let databaseUrl = ""
    let environment: AdminContext["environment"]
    beforeAll(async () => {
      const given = context()
      adminKey = given.adminKey
      databaseUrl = given.databaseUrl
      environment = given.environment
      adminUrl = await given.adminUrl()
    })

    const makeOrganization = async (): Promise<string> =>
      (await okJson(["orgs", "create", `Acme ${randomUUID()}`], environment)).id

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
      return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
    }

    const invalid = (message: unknown) => ({ success: false, error: { code: "invalid_request", message } })

    it("answers nobody without its credential, in the generic envelope", async () => {
      const id = await makeOrganization()
      const { key } = await okJson(["keys", "create", "--org", id, "--services", "all", "--scopes", "all"], environment)
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

      const acts = await query(
        databaseUrl,
        "select act, subject from admin_acts where subject in ($1, $2) order by id",
        [one.body.id, created.body.id]
      )
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
      const answer = await ask("POST", "/organizations", {
        body: { name: "Acme" },
        headers: { "idempotency-key": key }
      })
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
      const { id: keyId, key } = await okJson(["keys", "create", "--org", id, "--services", "directory"], environment)
      await ok(["keys", "revoke", keyId], environment)
      const source = `http://operator:geheim@127.0.0.1:1/codes.txt?token=geheim`
      await sluice(["ingest", source], environment)
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
}
