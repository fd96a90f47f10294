/** The actions of an endpoint over HTTP (docs/platform.md, 6.5, 6.6 and 6.8): test, unpause, rotate. */
import { describe, expect, it } from "vitest"
import { listForm, secretForm } from "../endpoint/endpointForms.ts"
import { type Tenant, useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()

const pause = (tenant: Tenant, id: string) => tenant.failures(id, 10)

describe("POST /v1/webhooks/{id}/test", () => {
  const testForm = {
    success: true,
    eventId: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
    message: expect.stringContaining("delivered shortly")
  }

  it("publishes a test event: 200 with its id, also while Paused", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint({ enabled_events: ["send.email.sent"] })
    const first = await tenant.ask("POST", `/v1/webhooks/${id}/test`)
    expect(first.status).toBe(200)
    expect(first.body).toStrictEqual(testForm)
    await pause(tenant, id)
    const second = await tenant.ask("POST", `/v1/webhooks/${id}/test`)
    expect(second.body).toStrictEqual(testForm)
    expect(second.body).not.toEqual(first.body)
  })

  it("409 when Disabled", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    await ask("PATCH", `/v1/webhooks/${id}`, { is_active: false })
    const { body, status } = await ask("POST", `/v1/webhooks/${id}/test`)
    expect({ status, body }).toStrictEqual({
      status: 409,
      body: { error: "conflict", message: `The webhook endpoint ${id} is disabled` }
    })
  })
})

describe("POST /v1/webhooks/{id}/unpause", () => {
  it("[platform 6.6] sets the counter to 0 and resumes", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint()
    await pause(tenant, id)
    const { body, status } = await tenant.ask("POST", `/v1/webhooks/${id}/unpause`)
    expect({ status, body }).toStrictEqual({ status: 200, body: listForm(id) })
    expect((await tenant.ask("GET", `/v1/webhooks/${id}`)).body).toStrictEqual(listForm(id))
  })

  it("of an endpoint that is not paused changes nothing, whatever the body's form", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint()
    await tenant.failures(id, 4)
    for (const body of [undefined, "", "null", {}, { replay: false }, { replay: true }]) {
      const reply = await tenant.ask("POST", `/v1/webhooks/${id}/unpause`, body)
      expect(reply.status).toBe(200)
      const asked = typeof body === "object" && body.replay === true
      const replay = { replayId: null, count: 0, message: expect.stringContaining("not paused") }
      expect(reply.body).toStrictEqual({ ...listForm(id), consecutive_failures: 4, ...(asked ? { replay } : {}) })
    }
    expect((await tenant.ask("POST", `/v1/webhooks/${id}/unpause`, { replay: "yes" })).status).toBe(400)
  })
})

describe("POST /v1/webhooks/{id}/rotate-secret", () => {
  const rotate = async (tenant: Tenant, id: string, body?: object) => {
    const reply = await tenant.ask("POST", `/v1/webhooks/${id}/rotate-secret`, body)
    expect(reply.status).toBe(200)
    return reply.body as { readonly signing_secret: string; readonly previous_secret_expires_at: number | null }
  }

  it("[platform 6.8] gives a new secret; the one before signs too for overlapSeconds, by default 86400", async () => {
    const tenant = await platform().tenant()
    const id = await tenant.endpoint()
    for (const [body, seconds] of [
      [undefined, 86_400],
      [{}, 86_400],
      [{ overlapSeconds: 604_800 }, 604_800],
      [{ overlapSeconds: 1 }, 1]
    ] as const) {
      const before = Date.now()
      const rotated = await rotate(tenant, id, body)
      expect(rotated).toStrictEqual({
        id,
        public_key: null,
        signing_secret: secretForm,
        previous_secret_expires_at: expect.any(Number),
        message: expect.stringContaining("shown this once")
      })
      expect(rotated.previous_secret_expires_at! - seconds * 1000).toBeGreaterThanOrEqual(before)
      expect(rotated.previous_secret_expires_at! - seconds * 1000).toBeLessThanOrEqual(Date.now())
    }
    const [first, second] = [await rotate(tenant, id), await rotate(tenant, id, { overlapSeconds: 0 })]
    expect(second.previous_secret_expires_at).toBeNull()
    expect(second.signing_secret).not.toBe(first.signing_secret)
  })

  it.each([-1, 604_801, 1.5, "60", null, 1e300])("overlapSeconds %o: 400", async (overlapSeconds) => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const reply = await ask("POST", `/v1/webhooks/${id}/rotate-secret`, { overlapSeconds })
    expect(reply.status).toBe(400)
    expect(reply.body).toStrictEqual({
      error: "invalid_request",
      message: expect.stringContaining("overlapSeconds")
    })
  })
})
