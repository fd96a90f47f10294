/**
 * The present version on the data of earlier ones (docs/upgrade.md): each golden backup is restored into stores of its
 * own and started, at the time at which it was stopped. The version migrates it, and gives the answers of then.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { verifyWebhook } from "../../src/webhooks/secret/signature.ts"
import { ok, until, useDatabases, useFolders } from "../cli/support.ts"
import { deleteStreams } from "../support/deleteStreams.ts"
import { clockStartVariable, clockVariable } from "../support/movableClock.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { type GoldenAnswer, goldenAdminKey, goldenFolder, goldenSecretsKey, readGolden } from "./goldenData.ts"
import { startHook } from "./hook.ts"

const database = useDatabases()
const folder = useFolders()
const clockProgram = new URL("../support/movableClock.ts", import.meta.url).pathname

/** A delivery or an endpoint whose retries go on. */
const isMoving = (item: unknown): boolean =>
  typeof item === "object" && item !== null && "status" in item && item.status === "pending"

/** Counters of an endpoint that is tried again. */
const moving = new Set([
  "consecutive_failures",
  "last_delivery_at",
  "last_delivery_status",
  "oldest_pending_at",
  "pending"
])

/** The part of an answer that a later one must have as well. A later version may have more fields. */
const settled = (body: unknown): unknown => {
  if (Array.isArray(body)) return body.map((item) => (isMoving(item) ? expect.anything() : settled(item)))
  if (typeof body !== "object" || body === null) return body
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => (moving.has(name) ? [] : [[name, settled(value)]]))
  )
}

describe.each(readdirSync(goldenFolder))("the data of version %s", (name) => {
  const golden = readGolden(name)
  let platform: Platform
  let hook: Awaited<ReturnType<typeof startHook>>

  const ask = async (by: GoldenAnswer["by"], path: string, init: RequestInit = {}) => {
    const response = await fetch(`${platform.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${golden[by]}`, "content-type": "application/json", ...init.headers }
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  beforeAll(async () => {
    hook = await startHook()
    const [dataDir, home] = [await folder(), await folder()]
    const stores = {
      DATABASE_URL: await database(),
      NATS_URL: inject("natsUrl"),
      SLUICE_LOG_NAMESPACE: golden.namespace,
      SLUICE_SECRETS_KEY: goldenSecretsKey,
      SLUICE_DATA_DIR: dataDir
    }
    await ok(["restore", join(goldenFolder.pathname, name, "backup")], stores)
    platform = await startPlatform(
      {
        ...stores,
        SLUICE_ADMIN_KEY: goldenAdminKey,
        SLUICE_DEMO: "off",
        SLUICE_WEBHOOK_TARGETS: "any",
        [clockVariable]: join(home, "clock"),
        [clockStartVariable]: `${golden.stoppedAt + 1_000 - Date.now()}`
      },
      dataDir,
      clockProgram
    )
  })

  afterAll(async () => {
    await platform?.stop()
    await deleteStreams(golden.namespace)
    hook?.stop()
  })

  it.each(
    golden.answers.map(({ path }, index) => [path, index] as const)
  )("answers %s as it did", async (path, index) => {
    const { body, by } = golden.answers[index]!
    expect(await ask(by, path)).toMatchObject({ status: 200, body: settled(body) })
  })

  it("knows a request again that was accepted then", async () => {
    const { answer, body, idempotencyKey } = golden.repeat
    const again = await ask("sendKey", "/v1/send/emails", {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body: JSON.stringify(body)
    })
    expect(again).toMatchObject({ status: 202, body: answer })
    const other = JSON.stringify({ ...body, subject: "Other" })
    const headers = { "idempotency-key": idempotencyKey }
    expect((await ask("sendKey", "/v1/send/emails", { method: "POST", headers, body: other })).status).toBe(409)
  })

  it("delivers what had failed then, under the secret of then", async () => {
    const path = `/v1/webhooks/${golden.endpoint}`
    expect((await ask("key", path, { method: "PATCH", body: JSON.stringify({ url: hook.url }) })).status).toBe(200)
    const { body } = await ask("key", `${path}/deliveries`)
    const failed = (body.data as ReadonlyArray<{ readonly id: string; readonly eventId: string }>).find(isMoving)!
    // Its own retry may have come first.
    const { status } = await ask("key", `${path}/deliveries/${failed.id}/retry`, { method: "POST" })
    expect([202, 409]).toContain(status)
    await until(async () => (await ask("key", `${path}/deliveries/${failed.id}`)).body.status === "succeeded")
    const request = hook.requests.at(-1)!
    const anyTime = Number.POSITIVE_INFINITY
    const event = verifyWebhook(request.body, request.headers as Record<string, string>, golden.secret, anyTime)
    expect(event).toMatchObject({ eventId: failed.eventId, type: "telco.lookup.completed", livemode: true })
  })
})
