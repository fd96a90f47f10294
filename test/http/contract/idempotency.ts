/** `Idempotency-Key` of every endpoint that takes one (docs/platform.md, 3.2): what is asked twice happens once. */
import { describe, expect, it } from "vitest"
import { type Endpoint, endpoints, namesOf, objectOf } from "./endpoints.ts"
import { expectInvalid, expectRefused } from "./expected.ts"
import { givenFor } from "./given.ts"
import { type Account, type Given, rowsOf, type World } from "./world.ts"

const keyed = (key: string) => ({ "idempotency-key": key })

/** What operators make is shown once, and not to who asks again. */
const shownOnce: Readonly<Record<string, string>> = {
  "POST /admin/v1/organizations/{id}/keys": "key",
  "POST /admin/v1/organizations/{id}/site-credentials": "credential"
}

/** A field that an endpoint takes with another value, where its body is not told apart by one that is left out. */
const others: Readonly<Record<string, (account: Account) => object>> = {
  "POST /v1/webhooks": () => ({ description: "other" }),
  "POST /v1/webhooks/portal": () => ({ label: "other" }),
  "POST /v1/webhooks/{id}/unpause": () => ({ replay: true }),
  "POST /v1/webhooks/{id}/rotate-secret": () => ({ overlapSeconds: 60 }),
  "POST /v1/webhooks/{id}/replay": () => ({ types: ["telco.*"] }),
  "POST /v1/send/emails": () => ({ subject: "Other" }),
  "POST /v1/send/emails/send": () => ({ subject: "Other" }),
  "POST /v1/send/emails/batch": () => ({ subject: "Other" }),
  "POST /v1/send/domains": () => ({ name: "another.example" }),
  "POST /v1/send/senders": () => ({ email: "other@another.example" }),
  "POST /v1/send/suppressions": () => ({ email: "other@another.example" }),
  "POST /v1/send/suppressions/batch/add": () => ({ emails: ["other@another.example"] }),
  "POST /v1/billing/checkout": () => ({ priceId: "free_pro" }),
  "POST /api/billing/usage": () => ({ quantity: 2 }),
  "POST /v1/keys": () => ({ name: "other" }),
  "POST /v1/members": () => ({ role: "developer" }),
  "POST /v1/keys/{id}/rotate": () => ({ overlapSeconds: 60 }),
  "POST /admin/v1/organizations": () => ({ name: "Other" }),
  "POST /admin/v1/organizations/{id}/keys": () => ({ mode: "test" }),
  "POST /admin/v1/organizations/{id}/site-credentials": () => ({ name: "other" })
}

/** The same request with another body; undefined where it has none. */
const changed = (endpoint: Endpoint, given: Given, account: Account): Given | undefined => {
  if (endpoint.body === undefined) return undefined
  const other = others[endpoint.name]
  if (other === undefined) throw new Error(`${endpoint.name}: the table of other bodies has none`)
  expect(Object.keys(objectOf(endpoint.body)!.properties!)).toContain(Object.keys(other(account))[0])
  const { body } = given
  return {
    ...given,
    body: Array.isArray(body) ? [{ ...body[0], ...other(account) }] : { ...(body as object), ...other(account) }
  }
}

export const idempotencySection = (world: () => World, main: () => Account): void => {
  const takers = endpoints.filter((endpoint) => namesOf(endpoint, "header").includes("idempotency-key"))
  const named = takers.map((endpoint) => [endpoint.name, endpoint] as const)

  it("no POST that makes something goes without a key for repeats", () => {
    const makers = endpoints.filter(({ method, success }) => method === "POST" && success === 201)
    const without = makers.filter((endpoint) => !takers.includes(endpoint)).map(({ name }) => name)
    expect(without).toEqual([
      "POST /v1/console/sessions",
      "POST /v1/console/session/organization",
      // A repeat is told that the address is invited already.
      "POST /admin/v1/organizations/{id}/members",
      "POST /admin/v1/console/sessions",
      "POST /admin/v1/console-links"
    ])
  })

  describe("[platform 3.2, 9.10] a repeat with the same key and body has the first answer and changes nothing; with another body it is a conflict", () => {
    it.each(named)("%s", async (_, endpoint) => {
      const account = await world().account()
      const given = await givenFor(endpoint, account, world())
      const ask = (key: string, asked: Given = given) =>
        account.ask(endpoint, { ...asked, headers: { ...given.headers, ...keyed(key) } })
      const first = await ask("a key, with signs")
      expect([first.status, first.headers["idempotency-replayed"]], JSON.stringify(first.body)).toEqual([
        endpoint.success,
        undefined
      ])
      const rows = await rowsOf(world(), account.organization)
      const second = await ask("a key, with signs")
      const once = shownOnce[endpoint.name]
      const again = once === undefined ? first.body : { ...(first.body as object), [once]: null }
      expect({ status: second.status, body: second.body }).toStrictEqual({ status: first.status, body: again })
      expect(second.headers["idempotency-replayed"]).toBe("true")
      expect(await rowsOf(world(), account.organization)).toEqual(rows)

      const other = changed(endpoint, given, account)
      if (other !== undefined) {
        const refused = await ask("a key, with signs", other)
        const message = expect.stringMatching(
          /^The Idempotency-Key ("a key, with signs" )?was used for another request\.$/
        )
        expectRefused(refused, endpoint, 409, "idempotency_conflict", message)
        expect(await rowsOf(world(), account.organization)).toEqual(rows)
      }
      // Another key is another request, and so is the same one of another organization.
      expect((await ask("another key")).headers["idempotency-replayed"]).toBeUndefined()
      if (endpoint.name === "POST /admin/v1/organizations") return
      const stranger = await world().account()
      const own = await givenFor(endpoint, stranger, world())
      const foreign = await stranger.ask(endpoint, {
        ...own,
        headers: { ...own.headers, ...keyed("a key, with signs") }
      })
      expect([foreign.status, foreign.headers["idempotency-replayed"]]).toEqual([endpoint.success, undefined])
    })
  })

  describe("what is refused leaves its key free", () => {
    it.each(named.filter(([, { body }]) => body !== undefined))("%s", async (_, endpoint) => {
      const account = await world().account()
      const given = await givenFor(endpoint, account, world())
      const headers = { ...given.headers, ...keyed("k") }
      const fault = { "wholly-other": 1 }
      expectInvalid(
        await account.ask(endpoint, { ...given, body: Array.isArray(given.body) ? [fault] : fault, headers }),
        endpoint,
        expect.stringContaining("wholly-other")
      )
      const answer = await account.ask(endpoint, { ...given, headers })
      expect([answer.status, answer.headers["idempotency-replayed"]]).toEqual([endpoint.success, undefined])
    })
  })

  describe("a key that is empty, too long or not printable is 400, and one of 256 characters is taken and known again", () => {
    it.each(named)("%s", async (_, endpoint) => {
      const given = await givenFor(endpoint, main(), world())
      for (const key of ["", "x".repeat(257), "x".repeat(10_000), "é", "a\tb"]) {
        const answer = await main().ask(endpoint, { ...given, headers: { ...given.headers, ...keyed(key) } })
        const message = "Invalid header 'idempotency-key'. Expected 1 to 256 printable characters."
        expectInvalid(answer, endpoint, message)
      }
      const account = await world().account()
      const own = await givenFor(endpoint, account, world())
      const ask = (key: string) => account.ask(endpoint, { ...own, headers: { ...own.headers, ...keyed(key) } })
      const answer = await ask("x".repeat(256))
      expect(answer.status, answer.asked).toBe(endpoint.success)
      expect((await ask("x".repeat(256))).headers["idempotency-replayed"], answer.asked).toBe("true")
      // The last character tells two of them apart.
      expect((await ask(`${"x".repeat(255)}y`)).headers["idempotency-replayed"], answer.asked).toBeUndefined()
    })
  })
}
