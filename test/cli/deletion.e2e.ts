/** Organizations that are deleted (docs/platform.md, 2.9): their keys end, what they sent cannot be read from a copy, no row is left, and the others notice nothing. */

import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { Effect, Option } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { parseSecretsKeys, unseal } from "../../src/common/secretsKeys.ts"
import { findRunning } from "../../src/embedded/dataFolder.ts"
import { aboutContentKey } from "../../src/send/emails/contents/ContentKeys.ts"
import { contentOf, openContent, placeOf } from "../../src/send/emails/contents/contentFrames.ts"
import { sluice } from "../support/commands.ts"
import { logNamespaceOf, type Platform, sharedSecretsKey, startPlatform } from "../support/platform.ts"
import { askAt } from "../webhooks/platform.ts"
import { makeTenant, ok, query, refusal, until, useDatabases, verifyDomain } from "./support.ts"

const adminKey = `adm_${"Ab1".repeat(10)}`
const database = useDatabases()
let databaseUrl = ""
let platform: Platform
let at: Readonly<Record<string, string>>

const serve = async () => {
  platform = await startPlatform({
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: adminKey,
    SLUICE_DEMO: "off"
  })
  at = { SLUICE_DATA_DIR: platform.dataDir }
}

beforeAll(async () => {
  databaseUrl = await database("seeded")
  await serve()
})

afterAll(() => platform?.stop())

const secret = "the words that nobody may read"

const made = async (name: string) => {
  const organization = { name, email: `ops@${name}.test`, sendPlan: "enterprise" }
  const { id, key } = await makeTenant(platform, organization, { services: ["send", "telco"], scopes: ["*"] })
  const ask = (method: string, path: string, body?: object) => askAt(platform.url, key)(method, path, body)
  const done = async (status: number, ...request: Parameters<typeof ask>) => {
    const answer = await ask(...request)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    return answer.body as { readonly id: string } & Record<string, unknown>
  }
  const domain = `${name}.example`
  await done(201, "POST", "/v1/send/domains", { name: domain })
  await verifyDomain(platform, id, domain)
  await done(201, "POST", "/v1/webhooks", { url: "https://one.example/in", enabled_events: ["*"] })
  await done(201, "POST", "/v1/send/suppressions", { email: "gone@two.test" })
  const mail = { from: `ann@${domain}`, to: "bob@two.test", subject: "Hello", text: secret }
  const queued = await done(202, "POST", "/v1/send/emails", mail)
  const later = new Date(Date.now() + 3_600_000).toISOString()
  await done(202, "POST", "/v1/send/emails", { ...mail, scheduled_at: later })
  await done(
    200,
    "POST",
    `/v1/webhooks/${((await done(200, "GET", "/v1/webhooks")).endpoints as [{ id: string }])[0].id}/test`
  )
  await until(async () => ((await done(200, "GET", "/v1/send/emails")).data as ReadonlyArray<unknown>).length === 2)
  return { id, name, ask, done, mail, queued: queued.id }
}

/** How many rows of an organization each table has, of those that have any. */
const rowsOf = async (id: string): Promise<Record<string, number>> => {
  const columns = await query<{ table: string; column: string }>(
    databaseUrl,
    `select c.table_name as "table", c.column_name as "column" from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'text'
       and c.column_name in ('organization_id', 'group_key', 'id', 'subject', 'organization')`
  )
  const counts = await query<{ table: string; rows: number }>(
    databaseUrl,
    columns
      .map(
        ({ column, table }) =>
          `select '${table}' as "table", count(*)::int4 as rows from "${table}" where "${column}" = $1 or "${column}" like $1 || '/%'`
      )
      .join(" union all "),
    [id]
  )
  return Object.fromEntries(counts.filter(({ rows }) => rows > 0).map(({ rows, table }) => [table, rows]))
}

/** All messages of the stream that keeps contents, as a thief would have them. */
const copyOfStream = async (): Promise<ReadonlyMap<number, Buffer>> => {
  const { host, password, username } = new URL(inject("natsUrl"))
  const connection = await connect({
    servers: host,
    ...(password === "" ? { token: username } : { user: username, pass: password })
  })
  try {
    const manager = await jetstreamManager(connection)
    const names = (await manager.streams.list().next()).map(({ config }) => config.name)
    const name = names.find(
      (one) => one.includes(logNamespaceOf(new URL(databaseUrl).pathname)) && one.includes("contents")
    )
    const { state } = await manager.streams.info(name!)
    const messages = Array.from({ length: state.last_seq - state.first_seq + 1 }, async (_, index) => {
      const message = await manager.streams.getMessage(name!, { seq: state.first_seq + index })
      return [state.first_seq + index, Buffer.from(message!.data)] as const
    })
    return new Map(await Promise.all(messages))
  } finally {
    await connection.close()
  }
}

/** The key of an organization's contents, as the platform's own key opens it; undefined where none is stored. */
const contentKeyOf = async (id: string): Promise<Uint8Array | undefined> => {
  const [row] = await query<{ keyId: string; ciphertext: string }>(
    databaseUrl,
    `select key_id as "keyId", ciphertext from send_content_keys where organization_id = $1`,
    [id]
  )
  return row && Buffer.from(unseal(parseSecretsKeys(sharedSecretsKey)!, row, aboutContentKey(id))!, "base64")
}

describe("an organization", () => {
  it("[platform 2.9] is deleted with everything that it has, and the others notice nothing", async () => {
    const [one, other] = [await made("one"), await made("other")]
    expect(await one.done(200, "GET", `/v1/send/emails/${one.queued}`)).toMatchObject({ text: secret })
    const [row] = await query<{ pointer: string }>(databaseUrl, "select pointer from send_emails where id = $1", [
      one.queued
    ])
    const [place, keyBefore] = [placeOf(row!.pointer)!, await contentKeyOf(one.id)]

    expect(refusal(await sluice(["orgs", "delete", one.id], at))).toContain(`--name "one"`)
    expect(refusal(await sluice(["orgs", "delete", one.id, "--name", "other"], at))).toContain("another name")
    expect(refusal(await sluice(["orgs", "delete", "org_unknown", "--yes"], at))).toContain("org_unknown")
    await one.done(200, "GET", "/v1/send/tenants")

    expect(await ok(["orgs", "delete", one.id, "--name", "one"], at)).toContain(`Deleted ${one.id}`)
    await until(async () => (await one.ask("GET", "/v1/send/tenants")).status === 401)
    expect((await one.ask("POST", "/v1/send/emails", one.mail)).status).toBe(401)
    expect(refusal(await sluice(["orgs", "show", one.id], at))).toContain(one.id)
    expect(await ok(["orgs", "list"], at)).not.toContain(one.id)
    expect(refusal(await sluice(["keys", "create", "--org", one.id, "--services", "send"], at))).toContain(one.id)

    // Engine rows hold states without contents; what was recorded says that and when it was deleted.
    const { engine_actors: _, ...left } = await rowsOf(one.id)
    expect(Object.keys(left).sort()).toEqual(["admin_acts", "organizations"])
    expect(await query(databaseUrl, "select name, email from organizations where id = $1", [one.id])).toEqual([
      { name: "", email: null }
    ])
    expect(
      JSON.stringify(await query(databaseUrl, "select detail from admin_acts where subject = $1", [one.id]))
    ).not.toContain("ops@one.test")

    // The content is in the stream still, for whoever has its key: which is nowhere any more.
    const sealed = contentOf((await copyOfStream()).get(place.sequence)!, place)!
    expect(openContent(keyBefore!, one.id, sealed)).toMatchObject({ text: secret })
    expect(await contentKeyOf(one.id)).toBeUndefined()
    for (const other of [...(await copyOfStream()).values()]) expect(other.toString("latin1")).not.toContain(secret)

    expect(await other.done(200, "GET", `/v1/send/emails/${other.queued}`)).toMatchObject({
      text: secret,
      state: "queued"
    })
    await other.done(202, "POST", "/v1/send/emails", other.mail)
    expect((await other.done(200, "GET", "/v1/webhooks")).endpoints).toHaveLength(1)

    // A repeat changes nothing, and is recorded once.
    expect(await ok(["orgs", "delete", one.id, "--yes"], at)).toContain(`Deleted ${one.id}`)
    const acts = "select act from admin_acts where subject = $1 and act = 'organization.deleted'"
    expect(await query(databaseUrl, acts, [one.id])).toHaveLength(1)
  })

  it("whose deletion a crash has cut short is deleted by another one", async () => {
    const one = await made("third")
    const running = Option.getOrThrow(await Effect.runPromise(findRunning(platform.dataDir)))
    const deleting = fetch(`${running.adminUrl}/admin/v1/organizations/${one.id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${adminKey}` }
    }).catch(() => undefined)
    await until(async () => {
      const rows = await query(databaseUrl, "select 1 from organizations where id = $1 and deleted_at is not null", [
        one.id
      ])
      return rows.length > 0
    })
    platform.process.kill("SIGKILL")
    await Promise.all([platform.finished, deleting])
    await serve()
    expect((await one.ask("GET", "/v1/send/tenants")).status).toBe(401)
    await ok(["orgs", "delete", one.id, "--yes"], at)
    const { engine_actors: _, ...left } = await rowsOf(one.id)
    expect(Object.keys(left).sort()).toEqual(["admin_acts", "organizations"])
  })
})
