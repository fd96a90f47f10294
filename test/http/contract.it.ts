/**
 * The common contract of every endpoint (docs/platform.md, 1 to 3), for each of `openapi.json` and of the admin API, over HTTP to both APIs in this process. What an
 * endpoint does besides is in the tests of its product. A new endpoint is tested here by itself; where its description has no example, the tables of `contract/given.ts` need a line.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { query, until } from "../cli/support.ts"
import { accessSection } from "./contract/access.ts"
import { bodiesSection } from "./contract/bodies.ts"
import { endpoints } from "./contract/endpoints.ts"
import { examplesSection } from "./contract/examples.ts"
import { generatedClientsSection } from "./contract/generatedClients.ts"
import { givenFor, strangers } from "./contract/given.ts"
import { hostileSection } from "./contract/hostile.ts"
import { idempotencySection } from "./contract/idempotency.ts"
import { pagingSection } from "./contract/paging.ts"
import { queriesSection } from "./contract/queries.ts"
import { type Account, rowsOf, useWorld } from "./contract/world.ts"

const world = useWorld()

describe("every endpoint takes the request that is given for it", () => {
  it.each(endpoints.map((endpoint) => [endpoint.name, endpoint] as const))("%s", async (_, endpoint) => {
    const account = await world().account()
    const given = await givenFor(endpoint, account, world())
    const answer = await account.ask(endpoint, given)
    expect([answer.status, answer.body], answer.asked).toEqual([given.status ?? endpoint.success, answer.body])
  })

  it("[platform 2.12] and each request of a key is in the request log, but for those that read it", async () => {
    const keyed = endpoints.filter(({ access, path }) => access === "key" && !path.startsWith("/v1/requests"))
    const logged = async () => {
      const rows = await query<{ name: string }>(
        world().databaseUrl,
        "select distinct method || ' ' || route as name from api_requests"
      )
      return rows.map(({ name }) => name)
    }
    await until(async () => {
      const found = new Set(await logged())
      return keyed.every(({ name }) => found.has(name))
    })
    expect((await logged()).sort()).toEqual(keyed.map(({ name }) => name).sort())
  })

  it("and no request is given for another one", () => {
    expect(strangers(endpoints)).toEqual([])
  })
})

describe("the example of every body", () => examplesSection(world))

describe("clients that other programs generate from openapi.json", () => generatedClientsSection(world))

describe("what every endpoint refuses", () => {
  let main: Account
  let rows: ReadonlyArray<string> = []
  beforeAll(async () => {
    main = await world().account()
    // All that it is to have is there before its rows are looked at.
    for (const endpoint of endpoints) await givenFor(endpoint, main, world())
    for (const make of Object.values(main.has)) await make()
    for (const endpoint of endpoints.filter(({ access }) => access === "site")) await main.ask(endpoint, {})
    rows = await rowsOf(world(), main.organization)
  })

  describe("by who asks, how, and for what", () => accessSection(world, () => main))
  describe("in a query", () => queriesSection(world, () => main))
  describe("in a body", () => bodiesSection(world, () => main))

  it("is stored nowhere", async () => {
    expect(rows.length).toBeGreaterThan(10)
    expect(await rowsOf(world(), main.organization)).toEqual(rows)
  })
})

describe("Idempotency-Key", () => {
  let main: Account
  beforeAll(async () => {
    main = await world().account()
  })
  idempotencySection(world, () => main)
})

describe("lists in pages", () => {
  let main: Account
  beforeAll(async () => {
    main = await world().account()
  })
  pagingSection(world, () => main)
})

describe("hostile input", () => {
  let main: Account
  beforeAll(async () => {
    main = await world().account()
  })
  hostileSection(world, () => main)
})
