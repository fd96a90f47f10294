/** Malformed input in every place where senders, suppressions and accounts take input: nothing of it is answered with 500, hangs or brings the server down. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RawRequest, send } from "../exchange.ts"
import type { TestPlatform } from "../harness.ts"
import { badEscapes, devils, expectCallersFault, inBatches } from "./devils.ts"

export const malformedSendersSection = (platform: () => TestPlatform): void => {
  let key = ""
  let domainId = ""

  const ask = async (method: string, target: string, body?: unknown, headers: RawRequest["headers"] = []) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await send(platform().url, {
      method,
      target,
      headers: [
        ["X-API-Key", key],
        ...(text === undefined ? [] : [["Content-Type", "application/json"] as const]),
        ...headers
      ],
      ...(text === undefined ? {} : { body: text })
    })
    expectCallersFault(answer, `${method} ${target} ${(text ?? "").slice(0, 300)}`)
    return answer
  }

  const values: ReadonlyArray<unknown> = [
    ...devils,
    null,
    true,
    -1,
    1e300,
    [],
    {},
    [null],
    ["\ud800"],
    Array.from({ length: 1_000 }, () => "ann@example.com"),
    "\ud800",
    "ann@\ud800.example",
    "a.example\u0000",
    "\u0000@a.example"
  ]

  describe("malformed input at senders, suppressions and accounts", () => {
    beforeAll(async () => {
      const { admin, secrets } = platform()
      const made = await admin("POST", "/admin/v1/organizations", { name: "malformed senders", plan: "team" })
      const { id: organization } = made.body as { readonly id: string }
      // More than the sweep asks in a minute.
      await admin("PUT", `/admin/v1/organizations/${organization}/limits`, { requestsPerMinute: "unlimited" })
      // A test key's domains are verified without a name server.
      const body = { mode: "test", services: ["send"], scopes: [] }
      const created = await admin("POST", `/admin/v1/organizations/${organization}/keys`, body)
      key = (created.body as { readonly key: string }).key
      secrets.add(key)
      const domain = await ask("POST", "/v1/send/domains", { name: "good.example" })
      domainId = (JSON.parse(domain.text) as { readonly id: string }).id
    })

    afterAll(async () => {
      expect((await ask("GET", `/v1/send/domains/${domainId}`)).status).toBe(200)
    })

    it("in every field of what is added and taken off", async () => {
      const fields = [
        ["/v1/send/domains", "name"],
        ["/v1/send/domains", "domain"],
        ["/v1/send/domains", "region"],
        ["/v1/send/domains", "unknown"],
        ["/v1/send/senders", "email"],
        ["/v1/send/suppressions", "email"],
        ["/v1/send/suppressions/batch/add", "emails"],
        ["/v1/send/suppressions/batch/remove", "emails"],
        ["/v1/send/suppressions/batch/remove", "ids"]
      ] as const
      const inputs = fields.flatMap(([path, field]) => [
        ...values.map((value) => [path, { [field]: value }] as const),
        ...(path.includes("batch") ? devils.map((devil) => [path, { [field]: [devil] }] as const) : [])
      ])
      await inBatches(inputs, ([path, body]) => ask("POST", path, body))
    })

    it("in ids, addresses, cursors and pages", async () => {
      const lists = ["domains", "senders", "suppressions"]
      const inputs = [...devils.map(encodeURIComponent), ...badEscapes].flatMap((text) => [
        ["POST", `/v1/send/domains/${text}/verify`] as const,
        ...lists.flatMap((list) => [
          ["GET", `/v1/send/${list}/${text}`] as const,
          ["DELETE", `/v1/send/${list}/${text}`] as const,
          ...["limit", "cursor", "after", "before", "origin", "unknown"].map(
            (name) => ["GET", `/v1/send/${list}?${name}=${text}`] as const
          )
        ]),
        ["GET", `/v1/send/tenants?unknown=${text}`] as const,
        ["GET", `/v1/send/suppressions/${text}%40a.example`] as const,
        ["DELETE", `/v1/send/suppressions/a%40${text}`] as const
      ])
      await inBatches(inputs, ([method, target]) => ask(method, target))
    })

    it("in the token of a mailed link", async () => {
      const targets = [...devils.map(encodeURIComponent), ...badEscapes].map((text) => `/senders/confirm?token=${text}`)
      await inBatches(
        targets.flatMap((target) => [["GET", target] as const, ["POST", target] as const]),
        async ([method, target]) => {
          const answer = await send(platform().url, { method, target, headers: [] })
          expect(answer.status, `${method} ${target}`).toBeLessThan(500)
          expect(answer.status, `${method} ${target}`).toBeGreaterThanOrEqual(400)
        }
      )
    })
  })
}
