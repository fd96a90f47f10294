/**
 * Telco (docs/platform.md, 4 and 5.2): numbers as people write them, the answer, the event of each request, search over
 * codes and inventory, access, and what is refused.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { type Reached, request } from "../harness.ts"
import { makeTenant, type Shown, type Tenant } from "./emitted.ts"

const coded = (code: string) => ({ error: code, message: expect.stringMatching(/\S/) })

interface Record {
  readonly npa: string
  readonly nxx: string
  readonly country: string
  readonly state: string | null
  readonly rateCenter: string | null
  readonly status: string
  readonly carrier: { readonly ocn: string } | null
  readonly pooled: boolean | null
  readonly carrierBasis: string
}

interface SearchPage {
  readonly data: ReadonlyArray<Record & { readonly tn?: string }>
  readonly pagination: { readonly limit: number; readonly offset: number; readonly total: number }
}

export const telcoSection = (platform: () => Reached): void => {
  describe("telco", () => {
    let tenant: Tenant
    /** A code with a carrier, and one with none, from the directory's own answers. */
    let assigned: Record
    let unassigned: Record
    let us: ReadonlyArray<Record>
    let canadian: ReadonlyArray<Record>

    const lookup = (text: string) => tenant.get(`/v1/telco/lookup/${encodeURIComponent(text)}`)
    const search = async (query: string): Promise<SearchPage> => {
      const { body, status } = await tenant.get(`/v1/telco/search?${query}`)
      expect(status, query).toBe(200)
      return body as SearchPage
    }

    /** All codes of an area code, by pages. */
    const codesOf = async (npa: string): Promise<ReadonlyArray<Record>> => {
      const found: Array<Record> = []
      for (;;) {
        const page = await search(`npa=${npa}&limit=100&offset=${found.length}`)
        found.push(...page.data)
        if (found.length >= page.pagination.total) return found
      }
    }

    beforeAll(async () => {
      tenant = await makeTenant(platform(), "telco")
      us = await codesOf("212")
      canadian = await codesOf("416")
      assigned = us.find(({ carrier }) => carrier !== null)!
      unassigned = canadian.find(({ carrier }) => carrier === null)!
      expect(assigned).toBeDefined()
      expect(unassigned).toBeDefined()
    })

    it("[platform 4.1] takes a number as people write it, with the country's 1 or without", async () => {
      const tn = `${assigned.npa}${assigned.nxx}0123`
      const { npa, nxx } = assigned
      for (const text of [
        tn,
        `1${tn}`,
        `+1${tn}`,
        `(${npa}) ${nxx}-0123`,
        `+1 (${npa}) ${nxx}-0123`,
        `1-${npa}-${nxx}-0123`,
        `${npa}.${nxx}.0123`,
        ` ${npa} ${nxx} 0123 `
      ]) {
        const { body, status } = await lookup(text)
        expect(status, text).toBe(200)
        expect(body, text).toMatchObject({ tn })
      }
    })

    it("[platform 4.1] quotes what is no number: 400", async () => {
      for (const text of [
        "212555012",
        "21255501234",
        "22125550123",
        "+2125550123",
        "++12125550123",
        "212555012a",
        "1"
      ]) {
        const { body, status } = await lookup(text)
        expect(status, text).toBe(400)
        expect(body, text).toStrictEqual(coded("invalid_request"))
        expect((body as { readonly message: string }).message).toContain(JSON.stringify(text))
      }
    })

    it("[platform 4.2] tells what the directory says of the number's code", async () => {
      const { body, headers, status } = await lookup(`${assigned.npa}${assigned.nxx}0123`)
      expect(status).toBe(200)
      expect(headers.get("content-type")).toMatch(/^application\/json/)
      expect(body).toStrictEqual({
        tn: `${assigned.npa}${assigned.nxx}0123`,
        ...assigned,
        timeZones: ["America/New_York"],
        localTimes: [expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-0[45]:00$/)],
        inInventory: false
      })
      const { localTimes } = body as { readonly localTimes: readonly [string] }
      expect(Math.abs(Date.parse(localTimes[0]) - Date.now())).toBeLessThan(60_000)
      expect(Object.keys(body as object)).toStrictEqual([
        "tn",
        "npa",
        "nxx",
        "country",
        "state",
        "rateCenter",
        "status",
        "carrier",
        "pooled",
        "carrierBasis",
        "timeZones",
        "localTimes",
        "inInventory"
      ])
      // As the directory says.
      const { key } = await platform().createKey()
      const exchange = await request(`${platform().url}/v1/npa/${assigned.npa}/nxx/${assigned.nxx}`, {
        headers: { "x-api-key": key }
      })
      expect(exchange.body).toMatchObject({
        country: assigned.country,
        exchanges: [{ ocn: assigned.carrier?.ocn, rate_center: assigned.rateCenter, status: assigned.status }]
      })
    })

    it("[platform 4.2] tells whether the code is pooled, and that the carrier is the code's", async () => {
      for (const pooled of [true, false, null]) {
        const one = [...us, ...canadian].find((code) => code.pooled === pooled)!
        const { body } = await lookup(`${one.npa}${one.nxx}0123`)
        expect(body).toMatchObject({ pooled, carrierBasis: "code", carrier: one.carrier })
      }
    })

    it("[platform 4.2] a code that the directory lacks is 404, and nothing is emitted", async () => {
      const quiet = await makeTenant(platform(), "quiet")
      const { body, status } = await quiet.get("/v1/telco/lookup/9995550123")
      expect(status).toBe(404)
      expect(body).toStrictEqual({ error: "not_found", message: expect.stringContaining("999-555") })
      // What is emitted later is there, and the 404's is not before it.
      expect((await quiet.trigger("platform.test")).status).toBe(202)
      expect((await quiet.events(1)).map(({ type }) => type)).toEqual(["platform.test"])
    })

    it("[platform 4.2] a code that nobody holds is answered, and its event says so", async () => {
      const other = await makeTenant(platform(), "no carrier")
      const tn = `${unassigned.npa}${unassigned.nxx}0000`
      const { body, status } = await other.get(`/v1/telco/lookup/${tn}`)
      expect(status).toBe(200)
      expect(body).toMatchObject({ tn, carrier: null })
      expect((await other.events(1))[0]!.data).toStrictEqual({
        tn,
        npa: unassigned.npa,
        nxx: unassigned.nxx,
        hasCarrier: false,
        hasInventory: false
      })
    })

    it("[platform 5.2] emits telco.lookup.completed as documented, with `hasInventory` of the caller's numbers", async () => {
      const [mine, theirs] = [await makeTenant(platform(), "mine"), await makeTenant(platform(), "theirs")]
      const tn = `${assigned.npa}${assigned.nxx}4567`
      const added = await platform().admin("POST", `/admin/v1/organizations/${mine.id}/numbers`, { numbers: [tn] })
      expect(added.body).toStrictEqual({ added: 1 })
      const before = Date.now()
      for (const [tenant, has] of [
        [mine, true],
        [theirs, false]
      ] as const) {
        expect((await tenant.get(`/v1/telco/lookup/+1${tn}`)).body).toMatchObject({ inInventory: has })
        const [event] = await tenant.events(1)
        expect(event).toStrictEqual({
          eventId: expect.stringMatching(/^evt_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
          type: "telco.lookup.completed",
          service: "telco",
          data: { tn, npa: assigned.npa, nxx: assigned.nxx, hasCarrier: true, hasInventory: has },
          livemode: true,
          createdAt: expect.any(Number)
        })
        expect(Math.abs(event!.createdAt - before)).toBeLessThan(60_000)
      }
    })

    it("[platform 5.1] a test key's events carry livemode false, and it sees no others", async () => {
      const other = await makeTenant(platform(), "test mode")
      const { key } = await other.newKey({ mode: "test", services: ["telco"], scopes: ["platform:events:read"] })
      const headers = { "x-api-key": key }
      await other.get(`/v1/telco/lookup/${assigned.npa}${assigned.nxx}0001`, { headers })
      await other.get(`/v1/telco/search?npa=${assigned.npa}`)
      const shown = (events: ReadonlyArray<Shown>) => events.map(({ livemode, type }) => [type, livemode])
      const expected = [
        ["telco.search.completed", true],
        ["telco.lookup.completed", false]
      ]
      expect(shown(await other.events(2))).toEqual(expected)
      const { body } = await other.get("/v1/events", { headers })
      expect(shown((body as { readonly data: ReadonlyArray<Shown> }).data)).toEqual([["telco.lookup.completed", false]])
    })

    it("[platform 4.5] answers many numbers as it answers each, in their order, and a fault in its place", async () => {
      const other = await makeTenant(platform(), "many")
      const { nxx, npa } = assigned
      const mine = `${npa}${nxx}4567`
      await platform().admin("POST", `/admin/v1/organizations/${other.id}/numbers`, { numbers: [mine] })
      const texts = [`(${npa}) ${nxx}-0123`, "12", mine, "9995550123", `+1${unassigned.npa}${unassigned.nxx}0000`, mine]
      const ask = (numbers: ReadonlyArray<string>) =>
        other.get("/v1/telco/lookups", {
          method: "POST",
          headers: { authorization: `Bearer ${other.key}`, "content-type": "application/json" },
          body: JSON.stringify({ numbers })
        })
      const { body, status } = await ask(texts)
      expect(status).toBe(200)
      const { data } = body as { readonly data: ReadonlyArray<object> }
      const [event] = await other.events(1)
      expect(event).toMatchObject({
        type: "telco.lookups.completed",
        data: { numbers: 6, found: 4, inInventory: 2 }
      })
      for (const [at, text] of texts.entries()) {
        const one = (await other.get(`/v1/telco/lookup/${encodeURIComponent(text)}`)).body as { localTimes?: unknown }
        const expected = "localTimes" in one ? { ...one, localTimes: expect.any(Array) } : one
        if (text === "12") expect(data[at]).toStrictEqual(coded("invalid_request"))
        else expect(data[at], text).toStrictEqual(expected)
      }
      expect(data[2]).toMatchObject({ tn: mine, inInventory: true })

      expect((await ask([])).status).toBe(400)
      expect((await ask(Array.from({ length: 1_001 }, () => mine))).status).toBe(400)
      const most = await ask(Array.from({ length: 1_000 }, () => mine))
      expect((most.body as { readonly data: ReadonlyArray<unknown> }).data).toHaveLength(1_000)
    })

    it("[platform 5.2] search emits telco.search.completed with source and filters, unused ones null", async () => {
      const other = await makeTenant(platform(), "searching")
      const queries = [
        ["", { source: "npanxx", filters: { state: null, npa: null, rateCenter: null, ocn: null } }],
        [
          "source=npanxx&state=ny&npa=212",
          { source: "npanxx", filters: { state: "NY", npa: "212", rateCenter: null, ocn: null } }
        ],
        [
          "source=inventory&ocn=910a&rateCenter=New%20York&limit=5&offset=2",
          { source: "inventory", filters: { state: null, npa: null, rateCenter: "New York", ocn: "910A" } }
        ]
      ] as const
      for (const [query] of queries) expect((await other.get(`/v1/telco/search?${query}`)).status).toBe(200)
      const events = await other.events(queries.length)
      expect(events.map(({ type }) => type)).toEqual(queries.map(() => "telco.search.completed"))
      expect(events.map(({ data }) => data).toReversed()).toStrictEqual(queries.map(([, data]) => data))
    })

    it("[platform 4.3] search over npanxx combines its filters and ignores case", async () => {
      const whole = await search("npa=212&limit=100")
      expect(whole.pagination).toStrictEqual({ limit: 100, offset: 0, total: expect.any(Number) })
      expect(whole.data.map(({ nxx }) => nxx)).toEqual(whole.data.map(({ nxx }) => nxx).toSorted())
      const all = await codesOf("212")
      expect(all).toHaveLength(whole.pagination.total)
      const ocn = assigned.carrier!.ocn
      const rateCenter = assigned.rateCenter!
      for (const [query, keep] of [
        [`npa=212&ocn=${ocn.toLowerCase()}`, (one: Record) => one.carrier?.ocn === ocn],
        [`npa=212&rateCenter=${rateCenter.toLowerCase()}`, (one: Record) => one.rateCenter === rateCenter],
        ["npa=212&state=ny", (one: Record) => one.state === "NY"],
        ["npa=212&state=zz", () => false],
        [
          `npa=212&state=NY&ocn=${ocn}&rateCenter=${rateCenter}`,
          (one: Record) => one.state === "NY" && one.carrier?.ocn === ocn && one.rateCenter === rateCenter
        ]
      ] as const) {
        const expected = all.filter(keep)
        const page = await search(`${query}&limit=7&offset=3`)
        expect(page.pagination, query).toStrictEqual({ limit: 7, offset: 3, total: expected.length })
        expect(page.data, query).toStrictEqual(expected.slice(3, 10))
      }
      expect((await search("npa=999")).pagination).toStrictEqual({ limit: 50, offset: 0, total: 0 })
    })

    it("[platform 4.3] search over the inventory shows the organization's own numbers with what the directory says", async () => {
      const other = await makeTenant(platform(), "inventory")
      const numbers = [
        `${assigned.npa}${assigned.nxx}0002`,
        `${assigned.npa}${assigned.nxx}0001`,
        `${unassigned.npa}${unassigned.nxx}0001`,
        "9995550123"
      ]
      await platform().admin("POST", `/admin/v1/organizations/${other.id}/numbers`, { numbers })
      const find = async (query: string) => {
        const { body, status } = await other.get(`/v1/telco/search?source=inventory&${query}`)
        expect(status).toBe(200)
        return body as SearchPage
      }
      const all = await find("")
      expect(all.pagination).toStrictEqual({ limit: 50, offset: 0, total: 4 })
      expect(all.data.map(({ tn }) => tn)).toEqual(numbers.toSorted())
      expect(all.data.find(({ tn }) => tn === numbers[0])).toStrictEqual({ tn: numbers[0], ...assigned })
      expect(all.data.find(({ tn }) => tn === "9995550123")).toStrictEqual({
        tn: "9995550123",
        npa: "999",
        nxx: "555",
        country: null,
        state: null,
        rateCenter: null,
        status: null,
        carrier: null,
        pooled: null,
        carrierBasis: null
      })
      const tns = async (query: string) => (await find(query)).data.map(({ tn }) => tn)
      expect(await tns(`npa=${assigned.npa}`)).toEqual(numbers.slice(0, 2).toSorted())
      expect(await tns("npa=999")).toEqual(["9995550123"])
      expect(await tns(`ocn=${assigned.carrier!.ocn}`)).toEqual(numbers.slice(0, 2).toSorted())
      expect(await tns(`state=${assigned.state}`)).toEqual(numbers.slice(0, 2).toSorted())
      expect(await tns("state=zz")).toEqual([])
      expect((await find("limit=1&offset=1")).data.map(({ tn }) => tn)).toEqual([numbers.toSorted()[1]])
      // Another organization's are nobody's business.
      expect((await tenant.get("/v1/telco/search?source=inventory")).body).toMatchObject({ data: [] })
    })

    it("[platform 4.3] bad filters and pages are 400 and quote the value", async () => {
      for (const query of [
        "source=all",
        "source=",
        "state=New",
        "state=1a",
        "npa=21",
        "npa=2a2",
        "ocn=123",
        "ocn=12%203",
        "rateCenter=",
        `rateCenter=${"x".repeat(65)}`,
        "rateCenter=a%00b"
      ]) {
        const { body, status } = await tenant.get(`/v1/telco/search?${query}`)
        expect(status, query).toBe(400)
        expect(body, query).toStrictEqual(coded("invalid_request"))
        const name = query.slice(0, query.indexOf("="))
        expect((body as { readonly message: string }).message, query).toContain(`'${name}'`)
      }
    })

    it("counts for the platform's request rate", async () => {
      const free = await makeTenant(platform(), "free", "free")
      const { headers } = await free.get("/v1/telco/search?npa=999")
      expect(headers.get("x-ratelimit-limit")).toBe("60")
      for (let request = 0; request < 60; request++) await free.get("/v1/telco/search?npa=999")
      const { body, headers: last, status } = await free.get("/v1/telco/search?npa=999")
      // Unless the minute has ended meanwhile, which begins the count anew.
      if (status === 200) return expect(Number(last.get("x-ratelimit-remaining"))).toBeGreaterThan(0)
      expect([status, body]).toStrictEqual([429, coded("rate_limited")])
      expect(last.get("retry-after")).toMatch(/^\d+$/)
    })
  })
}
