/** Lists in pages (docs/platform.md, 3.3 and 3.4): each item once, and no place in a list but those that it gave. */
import { describe, expect, it } from "vitest"
import { query, until } from "../../cli/support.ts"
import { putDelivery } from "../../webhooks/delivery/rows.ts"
import { type Endpoint, endpoints, namesOf } from "./endpoints.ts"
import { expectInvalid } from "./expected.ts"
import { givenFor } from "./given.ts"
import { type Account, putMissed, type World } from "./world.ts"

interface Page {
  readonly data: ReadonlyArray<object>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

const numbers = [1, 2, 3, 4, 5]

type Fill = (account: Account, world: World) => Promise<unknown>

const each = async (make: (number: number) => Promise<unknown>): Promise<void> => {
  for (const number of numbers) await make(number)
}

const invoices: Fill = async ({ make }, { adminKey, request }) =>
  each(async () => {
    const urls = { successUrl: "https://shop.example/", cancelUrl: "https://shop.example/" }
    const { url } = await make("POST", "/v1/billing/checkout", { priceId: "team_pro", ...urls })
    await fetch(url, { method: "POST" })
    const id = async () => (await make("GET", "/v1/billing/invoices")).data[0]?.id
    const paid = async () =>
      request(true, {
        method: "POST",
        target: `/admin/v1/invoices/${await id()}/pay`,
        headers: { authorization: `Bearer ${adminKey}` }
      })
    await until(async () => (await paid()).status === 200)
    await until(async () => (await make("GET", "/v1/billing/invoices")).data[0]?.status === "paid")
  })

const operators =
  (path: string, body: (number: number) => object): Fill =>
  ({ organization }, { adminKey, request }) =>
    each((number) =>
      request(true, {
        method: "POST",
        target: `/admin/v1${path.replace("{id}", organization)}`,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        body: JSON.stringify(body(number))
      })
    )

/** Requests that the log has written. */
const logged: Fill = async ({ make }) => {
  await each(() => make("GET", "/v1/keys"))
  await until(async () => (await make("GET", "/v1/requests")).data.length >= numbers.length)
}

/** Puts at least five items into the list of each endpoint that gives cursors. */
const fills: Readonly<Record<string, Fill>> = {
  "GET /v1/events": ({ make }) => each((number) => make("GET", `/v1/telco/lookup/212555010${number}`)),
  "GET /v1/directory/changes": (_, { databaseUrl }) =>
    query(
      databaseUrl,
      `with ingestion as (
         insert into directory_ingestions (kind, source, sha256, started_at, finished_at, read, added, changed, removed,
           malformed, malformed_lines)
         values ('CARRIER_TYPES', 'list.csv', 'x', now(), now(), 5, 5, 0, 0, 0, '[]') returning id
       )
       insert into directory_changes (ingestion, key, change, after)
       select id, 'ZZZ' || number, 'added', '{}' from ingestion, generate_series(1, 5) as number`
    ),
  "GET /v1/webhooks/{id}/deliveries": async ({ has, organization }, { databaseUrl }) => {
    const endpointId = await has.endpoint()
    await each(() => putDelivery(databaseUrl, { endpointId, organization }))
  },
  "GET /v1/webhooks/{id}/skipped": async ({ has, organization }, world) => {
    const endpointId = await has.endpoint()
    await each((number) => putMissed(world, organization, endpointId, number))
  },
  "GET /v1/events/{id}/deliveries": async ({ has, make, organization }, { databaseUrl }) => {
    const eventId = await has.event()
    const { createdAt } = await make("GET", `/v1/events/${eventId}`)
    await each(async () => {
      const body = { url: "https://hooks.example.com/in", enabled_events: ["telco.*"] }
      const { id: endpointId } = await make("POST", "/v1/webhooks", body)
      await putDelivery(databaseUrl, { endpointId, organization }, { eventId, eventCreatedAt: createdAt })
    })
  },
  "GET /v1/send/emails": async ({ has, make, sendsFrom }) => {
    await has.domain()
    const mail = { from: `ann@${sendsFrom}`, to: "bob@two.test", subject: "Hello", text: "Hi" }
    await each(() => make("POST", "/v1/send/emails", mail))
  },
  "GET /v1/send/domains": ({ make, sendsFrom }) =>
    each((number) => make("POST", "/v1/send/domains", { name: `d${number}${sendsFrom}` })),
  "GET /v1/send/domains/{id}/reports": async ({ has, organization }, { databaseUrl }) =>
    query(
      databaseUrl,
      `insert into send_dmarc_sources
       select $1, $2, (extract(epoch from date_trunc('day', now() at time zone 'utc')) * 1000)::int8,
         '192.0.2.' || number, number, 0, 0, 0, 0, 0
       from generate_series(1, 5) as number`,
      [await has.domain(), organization]
    ),
  "GET /v1/send/senders": ({ make, sendsFrom }) =>
    each((number) => make("POST", "/v1/send/senders", { email: `a${number}@${sendsFrom}` })),
  "GET /v1/send/suppressions": ({ make, sendsFrom }) =>
    each((number) => make("POST", "/v1/send/suppressions", { email: `a${number}@${sendsFrom}` })),
  "GET /v1/billing/invoices": invoices,
  "GET /v1/audit": ({ make }) => each(() => make("POST", "/v1/keys", { services: [], scopes: [] })),
  "GET /v1/requests": logged,
  "GET /v1/console/sessions": ({ openSession }) => each(openSession),
  "GET /v1/keys": ({ make }) => each(() => make("POST", "/v1/keys", { services: [], scopes: [] })),
  "GET /admin/v1/organizations": operators("/organizations", (number) => ({ name: `Page ${number}` })),
  "GET /admin/v1/organizations/{id}/keys": operators("/organizations/{id}/keys", () => ({ services: [], scopes: [] })),
  "GET /admin/v1/organizations/{id}/audit": operators("/organizations/{id}/site-credentials", () => ({})),
  "GET /admin/v1/organizations/{id}/requests": logged,
  "GET /admin/v1/organizations/{id}/site-credentials": operators("/organizations/{id}/site-credentials", () => ({})),
  "GET /admin/v1/organizations/{id}/numbers": operators("/organizations/{id}/numbers", (number) => ({
    numbers: [`212555010${number}`]
  })),
  "GET /admin/v1/organizations/{id}/invoices": invoices,
  "GET /admin/v1/rates": operators("/organizations", (number) => ({ name: `Rate ${number}` })),
  "GET /admin/v1/acts": operators("/organizations", (number) => ({ name: `Act ${number}` })),
  "GET /admin/v1/send/senders": ({ make, sendsFrom }) =>
    each((number) => make("POST", "/v1/send/senders", { email: `b${number}@${sendsFrom}` })),
  "GET /admin/v1/send/accounts": async (_, world) => {
    await each(() => world.account())
    await query(
      world.databaseUrl,
      `insert into send_accounts (organization_id, mode, stage, risk, changed_at)
       select id, 'live', 'established', 'standard', 1000 from organizations where deleted_at is null limit 5
       on conflict do nothing`
    )
  },
  // One of each of five organizations, since the next checkout needs the one before to be paid.
  "GET /admin/v1/invoices": async (_, world) => each(async () => (await world.account()).has.invoice())
}

/** An item without the parts that each answer makes anew: the signature of its link, the rest of its minute. */
const unsigned = (item: object): object => {
  if ("pdfUrl" in item) return { ...item, pdfUrl: String(item.pdfUrl).replace(/\?.*/, "") }
  // The rest of a rate is of the minute in which it is asked for.
  return "left" in item ? { ...item, left: null } : item
}

/** What is no cursor of the list that gave `cursor`. */
const forged = (cursor: string): ReadonlyArray<string> => {
  const [payload, signature] = cursor.split(".")
  return [
    "",
    "x",
    `${cursor}x`,
    cursor.slice(1),
    cursor.slice(0, -1),
    `${payload}.`,
    `.${signature}`,
    payload!,
    `${Buffer.from('[0,"org_"]').toString("base64url")}.${signature}`,
    `${cursor}.${signature}`,
    Buffer.from("{}").toString("base64url"),
    "eyJhbGciOiJub25lIn0.e30.",
    "a".repeat(5_000)
  ]
}

const pagedBy = (name: string) => endpoints.filter((endpoint) => namesOf(endpoint, "query").includes(name))

export const pagingSection = (world: () => World, main: () => Account): void => {
  /** A cursor of each list, for the others to refuse. */
  const given = new Map<string, string>()
  const byCursor = pagedBy("cursor").map((endpoint) => [endpoint.name, endpoint] as const)

  const asking = async (endpoint: Endpoint, account: Account) => {
    const base = await givenFor(endpoint, account, world())
    return async (query: Readonly<Record<string, string>>) =>
      account.ask(endpoint, { ...base, query: { ...(base.query as object), ...query } })
  }

  describe("[platform 3.3] a list with cursors shows each item once, in the order of the whole", () => {
    it.each(byCursor)("%s", async (name, endpoint) => {
      const fill = fills[name]
      if (fill === undefined) throw new Error(`${name}: the table of fillings puts nothing into it`)
      const account = await world().account()
      await fill(account, world())
      const ask = await asking(endpoint, account)
      const page = async (query: Readonly<Record<string, string>>) => {
        const answer = await ask(query)
        expect(answer.status, answer.asked).toBe(200)
        const { data, pagination } = answer.body as Page
        return { data: data.map(unsigned), pagination }
      }
      let whole: ReadonlyArray<object> = []
      await until(async () => {
        whole = (await page({ limit: "20" })).data
        return whole.length >= numbers.length
      })
      for (const limit of [1, 2]) {
        const items: Array<object> = []
        let cursor: string | undefined
        do {
          const { data, pagination } = await page({ limit: `${limit}`, ...(cursor === undefined ? {} : { cursor }) })
          items.push(...data)
          expect(pagination.hasMore, "a next page is told of together with its cursor").toBe(
            pagination.nextCursor !== undefined
          )
          if (pagination.hasMore) expect(data).toHaveLength(limit)
          cursor = pagination.nextCursor
          if (cursor !== undefined) given.set(name, cursor)
        } while (cursor !== undefined && items.length < whole.length)
        expect(items).toEqual(whole)
        expect(new Set(items.map((item) => JSON.stringify(item))).size).toBe(items.length)
      }
      for (const cursor of forged(given.get(name)!)) {
        const shown = JSON.stringify(cursor.length > 64 ? `${cursor.slice(0, 64)}…` : cursor)
        const message = expect.stringMatching(/'cursor'/)
        expectInvalid(await ask({ cursor: encodeURIComponent(cursor) }), endpoint, message)
        expect(shown).not.toBe("")
      }
    })
  })

  it("a list refuses the cursor of every other one", async () => {
    expect(given.size).toBe(byCursor.length)
    for (const [name, endpoint] of byCursor) {
      const ask = await asking(endpoint, main())
      for (const [other, cursor] of given) {
        if (other === name) continue
        expectInvalid(await ask({ cursor }), endpoint, expect.stringContaining("'cursor'"))
      }
    }
  })

  describe("[platform 3.3] a list with offsets shows each item once", () => {
    const byOffset = pagedBy("offset").map((endpoint) => [endpoint.name, endpoint] as const)
    it.each(byOffset)("%s", async (_, endpoint) => {
      const ask = await asking(endpoint, main())
      const page = async (limit: number, offset: number) => {
        const answer = await ask({ limit: `${limit}`, offset: `${offset}` })
        expect(answer.status, answer.asked).toBe(200)
        const { pagination, ...rest } = answer.body as { readonly pagination: Readonly<Record<string, number>> }
        const items = Object.values(rest).find((value): value is ReadonlyArray<object> => Array.isArray(value))!
        expect(pagination).toEqual(expect.objectContaining({ limit, offset }))
        return { items, total: pagination.total! }
      }
      const whole = await page(7, 0)
      const parts = await Promise.all([page(3, 0), page(3, 3), page(1, 6)])
      expect(parts.flatMap(({ items }) => items)).toEqual(whole.items)
      expect(new Set(whole.items.map((item) => JSON.stringify(item))).size).toBe(whole.items.length)
      expect((await page(10, whole.total)).items).toEqual([])
    })
  })
}
