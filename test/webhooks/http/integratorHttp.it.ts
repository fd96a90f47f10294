/**
 * The first hour of who integrates: names that are misspelt, patterns that wait for nothing, addresses inside, counts
 * and lengths (docs/platform.md, 6.1), and what `/` answers. Over HTTP, on PostgreSQL.
 */
import { describe, expect, it } from "vitest"
import { request } from "../../http/harness.ts"
import { hookUrl, useWebhookPlatform } from "../platform.ts"

const platform = useWebhookPlatform()

const messageOf = (body: unknown): string => (body as { readonly message: string }).message

describe("a name that the API does not know", () => {
  it("[platform 1.6] in a body is refused with the nearest one, and nothing is done", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const cases: ReadonlyArray<readonly [method: string, path: string, body: object, sentence: string]> = [
      [
        "POST",
        "/v1/webhooks",
        { url: hookUrl, enabledEvents: ["*"] },
        `Unknown field "enabledEvents". Did you mean 'enabled_events'?`
      ],
      ["POST", "/v1/webhooks", { URL: hookUrl, enabled_events: ["*"] }, `Unknown field "URL". Did you mean 'url'?`],
      ["PATCH", `/v1/webhooks/${id}`, { isActive: false }, `Unknown field "isActive". Did you mean 'is_active'?`],
      ["PATCH", `/v1/webhooks/${id}`, { descripton: "x" }, `Unknown field "descripton". Did you mean 'description'?`],
      [
        "PATCH",
        `/v1/webhooks/${id}`,
        { colour: 1 },
        'Unknown field "colour". Known: url, enabled_events, description, is_active, headers, rate_limit, ordering, label.'
      ],
      ["POST", `/v1/webhooks/${id}/unpause`, { repaly: true }, `Unknown field "repaly". Did you mean 'replay'?`],
      [
        "POST",
        `/v1/webhooks/${id}/rotate-secret`,
        { overlap_seconds: 1 },
        `Unknown field "overlap_seconds". Did you mean 'overlapSeconds'?`
      ],
      ["POST", `/v1/webhooks/${id}/replay`, { since: 1, type: ["*"] }, `Unknown field "type". Did you mean 'types'?`]
    ]
    for (const [method, path, body, sentence] of cases) {
      const reply = await ask(method, path, body)
      expect([reply.status, reply.body], JSON.stringify(body)).toEqual([
        400,
        { error: "invalid_request", message: sentence }
      ])
    }
    const { endpoints } = (await ask("GET", "/v1/webhooks")).body as { readonly endpoints: ReadonlyArray<object> }
    expect(endpoints).toMatchObject([{ id, is_active: true, description: null }])
  })

  it("[platform 1.6] in a query is refused where a key is needed, in the product's shape, and ignored elsewhere", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    expect((await ask("GET", "/v1/events?types=telco.*")).body).toEqual({
      success: false,
      error: { code: "invalid_request", message: `Unknown parameter "types". Did you mean 'type'?` }
    })
    expect((await ask("GET", "/v1/events?type=telco.*")).status).toBe(200)
    expect(messageOf((await ask("GET", `/v1/webhooks/${id}/deliveries?state=failed`)).body)).toBe(
      `Unknown parameter "state". Did you mean 'status'?`
    )
    expect(messageOf((await ask("GET", `/v1/webhooks/${id}/deliveries?zone=1`)).body)).toBe(
      'Unknown parameter "zone". Known: limit, cursor, status.'
    )
    expect(messageOf((await ask("GET", "/v1/webhooks/source-addresses?limit=5")).body)).toBe(
      'Unknown parameter "limit". There is no parameter here.'
    )
    for (const path of ["/livez", "/readyz", "/v1/health", "/health"]) {
      const { status } = await request(`${platform().url}${path}?nonsense=1`)
      expect([200, 503], path).toContain(status)
      expect(status, path).toBe((await request(`${platform().url}${path}`)).status)
    }
  })

  it("is said only to who has a key", async () => {
    expect((await request(`${platform().url}/v1/events?nonsense=1`)).status).toBe(401)
  })
})

describe("a body of another form", () => {
  it("is refused by what was expected, in words and without a schema's name", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    for (const body of [[], "5", '"x"', "null"]) {
      for (const [method, path] of [
        ["POST", "/v1/webhooks"],
        ["PATCH", `/v1/webhooks/${id}`],
        ["POST", `/v1/webhooks/${id}/replay`]
      ] as const) {
        const reply = await ask(method, path, body)
        expect([reply.status, messageOf(reply.body)], `${method} ${path} ${body}`).toEqual([
          400,
          "Invalid request body. Expected a JSON object."
        ])
      }
    }
    expect(messageOf((await ask("POST", `/v1/webhooks/${id}/unpause`, [])).body)).toBe(
      "Invalid request body. Expected a JSON object, or no body."
    )
    expect(messageOf((await ask("PATCH", `/v1/webhooks/${id}`, { description: 5 })).body)).toBe(
      "Invalid field 'description'. Expected string or null."
    )
  })
})

describe("the event stream", () => {
  it("[platform 5.5] takes `type`, several times, as the list does", async () => {
    const { ask } = await platform().tenant()
    expect((await ask("GET", "/v1/events/stream?type=telco.*&type=nonsense.*")).body).toMatchObject({
      error: { message: expect.stringContaining("nonsense.*") }
    })
    expect((await ask("GET", "/v1/events/stream?types=telco.*,nonsense.*")).body).toMatchObject({
      error: { message: expect.stringContaining("nonsense.*") }
    })
  })
})

describe("an endpoint", () => {
  it("[platform 5.3] with a pattern that nothing of the catalogue matches is made, with a warning", async () => {
    const { ask, endpoint } = await platform().tenant()
    const made = await ask("POST", "/v1/webhooks", {
      url: hookUrl,
      enabled_events: ["telco.*", "telco.lookup.complete", "voip.*"]
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      warning: 'No type of the catalogue matches "telco.lookup.complete", "voip.*": nothing is delivered for it yet.'
    })
    const id = await endpoint()
    for (const fine of [["*"], ["platform.*"], ["send.email.*"], ["telco.lookup.completed"]]) {
      expect((await ask("PATCH", `/v1/webhooks/${id}`, { enabled_events: fine })).body).not.toHaveProperty("warning")
    }
    const changed = await ask("PATCH", `/v1/webhooks/${id}`, { enabled_events: ["transcribe.*"] })
    expect(changed.body).toMatchObject({
      enabled_events: ["transcribe.*"],
      warning: expect.stringContaining('"transcribe.*"')
    })
  })

  it("[platform 6.9] at a literal address that is not public is refused, however it is written, also as a change", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    for (const host of [
      "127.0.0.1",
      "10.1.2.3",
      "169.254.169.254",
      "0x7f.1",
      "2130706433",
      "[::1]",
      "[fd00::1]",
      "[::ffff:10.0.0.1]"
    ]) {
      const url = `https://${host}/hook`
      for (const reply of [
        await ask("POST", "/v1/webhooks", { url, enabled_events: ["*"] }),
        await ask("PATCH", `/v1/webhooks/${id}`, { url })
      ]) {
        expect([reply.status, messageOf(reply.body)], host).toEqual([
          400,
          expect.stringMatching(/^url has the address \S+, which is not public/)
        ])
      }
    }
    expect(
      (await ask("POST", "/v1/webhooks", { url: "https://93.184.215.14/hook", enabled_events: ["*"] })).status
    ).toBe(201)
  })

  it("has a description of 500 characters, whatever they are made of", async () => {
    const { ask } = await platform().tenant()
    const make = (description: string) =>
      ask("POST", "/v1/webhooks", { url: hookUrl, enabled_events: ["*"], description })
    expect((await make("\u{1f600}".repeat(500))).status).toBe(201)
    expect(messageOf((await make("\u{1f600}".repeat(501))).body)).toContain("description is longer than 500 characters")
  })

  it("that was not paused says that there was nothing to replay", async () => {
    const { ask, endpoint } = await platform().tenant()
    const id = await endpoint()
    const { body, status } = await ask("POST", `/v1/webhooks/${id}/unpause`, { replay: true })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      is_paused: false,
      replay: { replayId: null, count: 0, message: expect.stringContaining("was not paused") }
    })
    expect((await ask("POST", `/v1/webhooks/${id}/unpause`)).body).not.toHaveProperty("replay")
  })

  it("[platform 7.5] counts its failures up to the pause and no further", async () => {
    const { ask, endpoint, failures } = await platform().tenant()
    const id = await endpoint()
    await failures(id, 13)
    expect((await ask("GET", `/v1/webhooks/${id}`)).body).toMatchObject({ is_paused: true, consecutive_failures: 10 })
  })
})

describe("/", () => {
  it("says where to go on: the console to a browser, JSON to others", async () => {
    const json = await request(`${platform().url}/`)
    expect(json.body).toEqual({
      name: "Sluice",
      version: expect.any(String),
      docs: "/docs",
      console: "/console",
      guides: "/guides",
      openapi: "/openapi.json",
      health: "/v1/health"
    })
    const page = await request(`${platform().url}/`, { headers: { accept: "text/html,application/xhtml+xml" } })
    expect([page.status, page.headers.get("location"), page.headers.get("vary")]).toEqual([302, "/console", "Accept"])
  })
})
