/**
 * The database is away (docs/platform.md, 8.4 and 8.5): every endpoint answers from memory or refuses in its product's
 * shape, and says when to come back.
 */
import { Effect, Redacted } from "effect"
import { beforeAll, expect, it } from "vitest"
import { makeCopy } from "../support/templates.ts"
import { endpoints } from "./contract/endpoints.ts"
import { givenFor } from "./contract/given.ts"
import { type Account, useWorld } from "./contract/world.ts"
import { proxyOf, type TcpProxy, through } from "./proxy.ts"

let proxy: TcpProxy
const world = useWorld(
  Effect.gen(function* () {
    const copy = yield* makeCopy("seeded")
    proxy = yield* Effect.acquireRelease(
      Effect.promise(() => proxyOf(Redacted.value(copy.url))),
      (opened) => Effect.promise(() => opened.close())
    )
    return { ...copy, url: Redacted.make(through(Redacted.value(copy.url), proxy)) }
  })
)

let account: Account
beforeAll(async () => {
  account = await world().account()
})

it("[platform 8.5] each endpoint answers, or is 503 with the time to repeat it", async () => {
  const asked = []
  for (const endpoint of endpoints) asked.push({ endpoint, given: await givenFor(endpoint, account, world()) })
  // Whose credential is made now.
  const site = asked.find(({ endpoint }) => endpoint.access === "site")!
  await account.ask(site.endpoint, site.given)
  await account.make("GET", "/v1/keys")
  proxy.cut()
  const answers = await Promise.all(
    asked.map(async ({ endpoint, given }) => ({ endpoint, answer: await account.ask(endpoint, given) }))
  )
  const refused = answers.filter(({ answer }) => answer.status >= 500)
  expect(refused.length).toBeGreaterThan(40)
  for (const { answer, endpoint } of refused) {
    expect(answer.status, `${answer.asked}: ${JSON.stringify(answer.body)}`).toBe(503)
    expect(Number(answer.headers["retry-after"]), answer.asked).toBeGreaterThanOrEqual(1)
    // A read has no outcome that a key could protect.
    if (endpoint.method === "GET") expect(JSON.stringify(answer.body), answer.asked).not.toContain("Idempotency-Key")
  }
  // Directory reads and decisions of mail need no database.
  const answered = answers.filter(({ answer }) => answer.status < 300).map(({ endpoint }) => endpoint.name)
  expect(answered).toEqual(expect.arrayContaining(["GET /v1/npa/{npa}", "POST /v1/send/emails", "GET /readyz"]))
})
