/** Access, methods and unknown ids: 401, 403, 404 and 405 of every endpoint. */
import { beforeAll, describe, expect, it } from "vitest"
import { scopes, services } from "../../../src/platform/model.ts"
import { type Endpoint, endpoints, namesOf } from "./endpoints.ts"
import { expectRefused } from "./expected.ts"
import { givenFor, placeOf } from "./given.ts"
import { rightsOf } from "./rights.ts"
import type { Account, Answer, World } from "./world.ts"

const named = (of: ReadonlyArray<Endpoint>) => of.map((endpoint) => [endpoint.name, endpoint] as const)
const keyed = endpoints.filter(({ access }) => access === "key")

/** Scopes that stand for themselves alone. */
const single = scopes.filter((scope) => !scope.endsWith("*"))

const unknownKey = "sk_live_nobodyNobodyNobody0001"
const challenge = 'Bearer realm="sluice"'

/** What somebody without a key is told. */
const unauthorizedOf = ({ access, path }: Endpoint, isGiven: boolean): string => {
  if (access === "admin") return "Invalid or missing admin credential"
  if (access === "site") return "Invalid or missing site credential"
  if (!path.startsWith("/v1/talk")) return "Invalid or missing API key"
  return isGiven
    ? "Invalid API key"
    : "API key required. Give it as 'Authorization: Bearer <API key>' or in the header X-API-Key."
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/** What an organization has parked is looked for without asking whether there is one. */
export const ownerless = ["GET /admin/v1/organizations/{id}/parked", "POST /admin/v1/organizations/{id}/parked/retry"]

/** Whether a path is one of those that a path with parameters stands for. */
const isUnder = (path: string, template: string): boolean =>
  new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path)

export const accessSection = (world: () => World, main: () => Account): void => {
  /** Whose keys and credentials are tried: what is made of them must not be in the rows of the other one. */
  let holder: Account
  beforeAll(async () => {
    holder = await world().account()
  })
  const ask = (
    endpoint: Endpoint,
    headers: Readonly<Record<string, string>>,
    method = endpoint.method,
    query = ""
  ): Promise<Answer> => {
    const target = `${endpoint.path.replace(/\{\w+\}/g, "none")}${query}`
    return world().request(endpoint.isAdmin, { method, target, headers })
  }

  describe("[platform 2.5, 10.1] without a credential, or with another one, it is 401 before anything else is looked at", () => {
    it.each(named(endpoints.filter(({ access }) => access !== "open")))("%s", async (_, endpoint) => {
      const { key, newSite } = holder
      const site = await newSite()
      const wrong: ReadonlyArray<readonly [headers: Readonly<Record<string, string>>, isGiven: boolean]> = [
        [{}, false],
        [{ authorization: "Bearer " }, true],
        [{ authorization: `Bearer ${unknownKey}` }, true],
        [{ authorization: `Basic ${Buffer.from(key).toString("base64")}` }, false],
        ...(endpoint.access === "key"
          ? [
              [{ "x-api-key": unknownKey }, true] as const,
              [{ authorization: `Bearer ${site}` }, true] as const,
              [{ authorization: `Bearer ${world().adminKey}` }, true] as const
            ]
          : [
              [{ authorization: `Bearer ${key}` }, true] as const,
              [{ authorization: `Bearer ${endpoint.access === "site" ? site : world().adminKey}x` }, true] as const,
              [{ authorization: endpoint.access === "site" ? site : world().adminKey }, true] as const
            ])
      ]
      for (const [headers, isGiven] of wrong) {
        const answer = await ask(endpoint, headers)
        expectRefused(answer, endpoint, 401, "unauthorized", unauthorizedOf(endpoint, isGiven))
        expect(answer.headers["www-authenticate"]).toBe(challenge)
      }
      // Only the directory takes a key in the query.
      if (endpoint.access !== "key" || rightsOf(endpoint).service === "directory") return
      const queried = await ask(endpoint, {}, endpoint.method, `?apiKey=${key}`)
      expectRefused(queried, endpoint, 401, "unauthorized", unauthorizedOf(endpoint, false))
    })
  })

  describe("[platform 2.5, 10.1] with a key that is not for it, it is 403 and says what is missing", () => {
    it.each(named(keyed))("%s", async (_, endpoint) => {
      const { also, scope, service } = rightsOf(endpoint)
      const { newKey } = holder
      const asked = async (key: object) => ask(endpoint, { authorization: `Bearer ${await newKey(key)}` })
      if (service !== undefined) {
        for (const others of [services.filter((other) => other !== service), []]) {
          const message = `API key does not have access to the ${service} service`
          expectRefused(await asked({ services: others }), endpoint, 403, "forbidden", message)
        }
      }
      if (scope !== undefined) {
        for (const others of [single.filter((other) => other !== scope && other !== also), []]) {
          const refused = await asked({ services, scopes: others })
          expectRefused(refused, endpoint, 403, "forbidden", `Insufficient scope. Required: ${scope}`)
        }
      }
      const enough = [scope, also, scope?.replace(/:.*/, ":*")].filter((one) => one !== undefined)
      for (const granted of scope === undefined ? [[]] : enough.map((one) => [one])) {
        const answer = await asked({ services: service === undefined ? [] : [service], scopes: granted })
        expect([401, 403], answer.asked).not.toContain(answer.status)
      }
    })
  })

  describe("what nothing has the id of is 404, and the message names it", () => {
    const identified = endpoints.filter(
      (endpoint) =>
        endpoint.statuses.includes(404) && namesOf(endpoint, "path").length > 0 && !ownerless.includes(endpoint.name)
    )
    it.each(named(identified))("%s", async (_, endpoint) => {
      const given = await givenFor(endpoint, main(), world())
      for (const name of namesOf(endpoint, "path")) {
        const { unknown } = placeOf(endpoint, name)
        if (unknown === undefined) continue
        const answer = await main().ask(endpoint, { ...given, params: { ...given.params, [name]: unknown } })
        expectRefused(answer, endpoint, 404, "not_found", expect.stringContaining(unknown))
      }
    })
  })

  describe("what another organization has is 404 too", () => {
    const owned = keyed.filter(
      (endpoint) => endpoint.statuses.includes(404) && namesOf(endpoint, "path").some((name) => /id/i.test(name))
    )
    it.each(named(owned))("%s", async (_, endpoint) => {
      const stranger = await world().account()
      const given = await givenFor(endpoint, main(), world())
      const answer = await stranger.ask(endpoint, given)
      expectRefused(answer, endpoint, 404, "not_found", expect.stringContaining(Object.values(given.params!)[0]!))
    })
  })

  describe("another method is 405, for everybody, and says which there are", () => {
    const byPath = Map.groupBy(endpoints, ({ isAdmin, path }) => `${isAdmin ? "admin" : "public"} ${path}`)
    it.each([...byPath])("%s", async (_, operations) => {
      const [{ isAdmin, path }] = operations as [Endpoint]
      const own = endpoints
        .filter((other) => other.isAdmin === isAdmin && isUnder(path.replace(/\{\w+\}/g, "none"), other.path))
        .map(({ method }) => method)
      const allowed = [...new Set([...own, ...(own.includes("GET") ? ["HEAD"] : [])])].toSorted().join(", ")
      for (const method of methods.filter((other) => !own.includes(other))) {
        for (const headers of [{}, { authorization: `Bearer ${main().key}` }]) {
          const answer = await ask(operations[0]!, headers, method)
          const message = `${method} is not allowed here; allowed: ${allowed}.`
          expectRefused(answer, operations[0]!, 405, "method_not_allowed", message)
          expect(answer.headers.allow).toBe(allowed)
        }
      }
    })
  })
}
