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

    it("records a repeated creation once", async () => {
      const headers = { "idempotency-key": `order ${randomUUID()}` }
      const body = { name: "Once", plan: "team" }
      const one = await ask("POST", "/organizations", { body, headers })
      expect((await ask("POST", "/organizations", { body, headers })).headers.get("idempotency-replayed")).toBe("true")
      const path = `/organizations/${one.body.id}/keys`
      const keyBody = { services: ["directory"], scopes: [] }
      const created = await ask("POST", path, { body: keyBody, headers })
      expect((await ask("POST", path, { body: keyBody, headers })).headers.get("idempotency-replayed")).toBe("true")
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

    it.each([
      [{ name: "" }, "name"],
      [{ name: "a\nb" }, "name"],
      [{ name: "x".repeat(201) }, "name"],
      [{ name: "Acme", email: "no" }, "email"]
    ])("refuses the organization %j", async (body, field) => {
      const answer = await ask("POST", "/organizations", { body })
      expect(answer).toMatchObject({ status: 400, body: invalid(expect.stringContaining(`'${field}'`)) })
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
