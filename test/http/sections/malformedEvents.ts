/** Malformed input in every place where events and telco take input: always the caller's fault, in the product's shape. */
import { it as property } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { jsonOf, type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, concurrency, devils, expectCallersFault, inBatches } from "./devils.ts"
import { makeTenant, type Tenant } from "./emitted.ts"

const parameters = {
  "/v1/events": ["type", "since", "until", "limit", "cursor"],
  "/v1/telco/search": ["source", "state", "npa", "rateCenter", "ocn", "limit", "offset"]
}
const segments = ["/v1/events/", "/v1/telco/lookup/"]

/** A refusal has the shape of its product. */
const expectShape = (target: string, status: number, body: unknown) => {
  if (status < 400) return
  expect(body, target).toMatchObject(
    target.startsWith("/v1/events")
      ? { success: false, error: { code: expect.any(String), message: expect.stringMatching(/\S/) } }
      : { error: expect.any(String), message: expect.stringMatching(/\S/) }
  )
}

/** Percent-encodes what a URI cannot hold; lone surrogates, which have no encoding, become U+FFFD. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

export const malformedEventsSection = (platform: () => TestPlatform): void => {
  describe("malformed input at events and telco", () => {
    let tenant: Tenant
    beforeAll(async () => {
      tenant = await makeTenant(platform(), "malformed")
      await platform().admin("PUT", `/admin/v1/organizations/${tenant.id}/limits`, { requestsPerMinute: "unlimited" })
    })
    afterEach(async () => {
      expect((await tenant.get("/v1/events")).status).toBe(200)
    })

    const ask = async (target: string, more: RawRequest["headers"] = []) => {
      const answer = await send(platform().url, { target, headers: [["X-API-Key", tenant.key], ...more!] })
      expectCallersFault(answer, target)
      if (answer.status !== 200) expectShape(target, answer.status, jsonOf(answer))
    }

    it("in every query parameter", async () => {
      const targets = Object.entries(parameters).flatMap(([path, names]) =>
        names.flatMap((name) => [
          ...devils.map((devil) => `${path}?${name}=${encode(devil)}`),
          ...badEscapes.map((bad) => `${path}?${name}=${bad}`)
        ])
      )
      await inBatches(targets, (target) => ask(target))
    })

    it("in every segment of a path", async () => {
      const targets = segments.flatMap((path) => [
        ...devils.filter((devil) => devil !== "").map((devil) => `${path}${encode(devil)}`),
        ...badEscapes.map((bad) => `${path}${bad}`)
      ])
      await inBatches(targets, (target) => ask(target))
    })

    it("in what a stream is asked for", async () => {
      // With another fault beside it, so that none of them begins a stream.
      const bad = "types=nothing"
      await inBatches(devils, (devil) => ask(`/v1/events/stream?types=${encode(devil)}&types=x`))
      const values = devils.filter((devil) => !/[\r\n\0]/.test(devil) && devil.trim() !== "")
      await inBatches(values, (devil) => ask("/v1/events/stream", [["Last-Event-ID", devil]]))
      await inBatches(values, (devil) => ask(`/v1/events/stream?${bad}`, [["Last-Event-ID", devil]]))
    })

    it("in numbers and test events of the admin API", async () => {
      const values: ReadonlyArray<unknown> = [
        ...devils,
        null,
        1,
        2125550123,
        true,
        [],
        {},
        [null],
        [["2125550123"]],
        "\ud800"
      ]
      const admin = async (method: string, path: string, body?: unknown) => {
        const answer = await send(platform().adminUrl, {
          method,
          target: `/admin/v1/organizations/${path}`,
          headers: [
            ["Authorization", `Bearer ${platform().adminKey}`],
            ["Content-Type", "application/json"]
          ],
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
        expectCallersFault(answer, `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}`)
        return answer
      }
      await inBatches(values, async (value) => {
        await admin("POST", `${tenant.id}/numbers`, { numbers: value })
        await admin("POST", `${tenant.id}/numbers`, { numbers: [value] })
        await admin("POST", `${tenant.id}/events`, { type: value })
      })
      await inBatches([...devils.map(encode), ...badEscapes], async (text) => {
        await admin("GET", `${text}/numbers`)
        await admin("GET", `${tenant.id}/numbers?cursor=${text}`)
        await admin("GET", `${tenant.id}/numbers?limit=${text}`)
        await admin("DELETE", `${tenant.id}/numbers/${text}`)
        await admin("POST", `${text}/events`, { type: "platform.test" })
      })
      const tooMany = Array.from({ length: 5_001 }, (_, index) => String(2_125_550_000 + index))
      expect((await admin("POST", `${tenant.id}/numbers`, { numbers: tooMany })).status).toBe(400)
      expect((await tenant.get("/v1/telco/search?source=inventory")).body).toMatchObject({ data: [] })
    })

    const text = Arbitrary.schema(Schema.String)
    property.effect.prop(
      "whatever a generator comes up with",
      {
        path: Arbitrary.schema(Schema.Literals([...Object.keys(parameters), ...segments])),
        name: text,
        segment: text,
        value: text
      },
      ({ name, path, segment, value }) =>
        Effect.promise(async () => {
          const names = parameters[path as keyof typeof parameters] ?? []
          const query = [name, ...names].map((one) => `${encode(one)}=${encode(value)}`).join("&")
          await ask(`${path}${path.endsWith("/") ? encode(`x${segment}`) : ""}?${query}`)
          for (const one of names) await ask(`${path}?${one}=${encode(value)}`)
        }),
      { arbitrary: { runs: 150, concurrency } }
    )
  })
}
