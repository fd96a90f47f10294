/** The number directory's endpoints (docs/directory.md, 3 and 4): forms, fields, defaults, maxima, errors. */
import { describe, expect, it } from "vitest"
import { areaCodes } from "../../directory/snapshotAreaCodes.ts"
import { carrierFilters, carriers, statistics } from "../../directory/snapshotNumbers.ts"
import type { TestPlatform } from "../harness.ts"
import { request } from "../harness.ts"

interface CarrierPage {
  readonly carriers: ReadonlyArray<{ readonly ocn: string }>
  readonly pagination: { readonly limit: number; readonly offset: number; readonly total: number }
}

interface AreaCode {
  readonly exchanges: ReadonlyArray<{ readonly nxx: string }>
  readonly pagination: CarrierPage["pagination"]
  readonly total_exchanges: number
}

/** Of what `test/directory/snapshot.it.ts` looks up in full: each parameter at once, carriers of both countries, one of fifty states, and an area code of each country. */
const filters = carrierFilters.filter(({ query }) => query.split("&").length === 3)
const shownCarriers = carriers.filter(({ ocn }) => ["9104", "5562", "154E"].includes(ocn))
const shownAreaCodes = areaCodes.filter(({ last, npa }) => last !== undefined && ["212", "902"].includes(npa))

const invalid = (message: unknown) => ({ error: "invalid_request", message })

export const directorySection = (platform: () => TestPlatform): void => {
  describe("GET /v1/carriers", () => {
    it("[directory 3.2] lists carriers with exactly the documented fields", async () => {
      const { body, headers, status } = await platform().get("/v1/carriers?limit=1")
      expect(status).toBe(200)
      expect(headers.get("content-type")).toMatch(/^application\/json/)
      expect(body).toStrictEqual({
        carriers: [
          {
            ocn: "0003",
            company_name: "LINCOLNVILLE TEL. CO.",
            common_name: null,
            carrier_type: "ILEC",
            state: "ME",
            country: "US"
          }
        ],
        pagination: { limit: 1, offset: 0, total: 3094 }
      })
    })

    it("[directory 3.2] gives 50 from the beginning where nothing is said", async () => {
      const { body } = await platform().get("/v1/carriers")
      expect((body as CarrierPage).carriers).toHaveLength(50)
      expect((body as CarrierPage).pagination).toStrictEqual({ limit: 50, offset: 0, total: 3094 })
    })

    it.each(filters)("[directory 3.2] passes $total carriers with '$query'", async ({ first, query, total }) => {
      const { body, status } = await platform().get(`/v1/carriers?limit=3&${query}`)
      expect(status).toBe(200)
      expect((body as CarrierPage).pagination).toStrictEqual({ limit: 3, offset: 0, total })
      expect((body as CarrierPage).carriers.map(({ ocn }) => ocn)).toEqual(first)
    })

    it("walks all of them once, by OCN", async () => {
      const ocns: Array<string> = []
      for (let offset = 0; offset < 3200; offset += 100) {
        const { body } = await platform().get(`/v1/carriers?limit=100&offset=${offset}`)
        ocns.push(...(body as CarrierPage).carriers.map(({ ocn }) => ocn))
      }
      expect(ocns).toHaveLength(3094)
      expect(new Set(ocns).size).toBe(3094)
      expect(ocns).toEqual([...ocns].sort())
      expect([ocns[50], ocns[100], ocns[3093]]).toEqual(["0078", "0151", "999H"])
    })

    it("gives an empty page behind the end", async () => {
      const { body, status } = await platform().get("/v1/carriers?offset=3094")
      expect(status).toBe(200)
      expect(body).toStrictEqual({ carriers: [], pagination: { limit: 50, offset: 3094, total: 3094 } })
    })

    it.each([
      ["country", "MX"],
      ["country", "USA"],
      ["country", ""],
      ["type", "FOO"],
      ["type", "RBOC"],
      ["type", ""],
      ["state", "N"],
      ["state", "NYC"],
      ["state", "12"],
      ["state", "ÅÄ"],
      ["state", ""]
    ])("refuses %s=%s and quotes it", async (name, value) => {
      const { body, status } = await platform().get(`/v1/carriers?${name}=${encodeURIComponent(value)}`)
      expect(status).toBe(400)
      expect(body).toStrictEqual(invalid(expect.stringContaining(value)))
      expect((body as { message: string }).message).toContain(name)
    })
  })

  describe("GET /v1/carrier", () => {
    it.each(shownCarriers)("[directory 3.3] $ocn in the path and in the query", async (carrier) => {
      const byPath = await platform().get(`/v1/carrier/${carrier.ocn}`)
      const byQuery = await platform().get(`/v1/carrier?ocn=${carrier.ocn}`)
      expect(byPath.status).toBe(200)
      expect(byPath.body).toStrictEqual(carrier)
      expect(byQuery.body).toStrictEqual(carrier)
    })

    it("[directory 4] says which parameter is missing and how it is given", async () => {
      const { body, status } = await platform().get("/v1/carrier")
      expect(status).toBe(400)
      expect(body).toStrictEqual(invalid(expect.stringMatching(/'ocn'.*\/v1\/carrier/)))
    })

    it.each([
      "910",
      "91044",
      "91-4",
      "ÀÉÎÕ",
      "91 4",
      "....",
      "%%%%",
      "null1",
      "'or'",
      '"1"4'
    ])("refuses the OCN %s and quotes it", async (ocn) => {
      for (const path of [`/v1/carrier/${encodeURIComponent(ocn)}`, `/v1/carrier?ocn=${encodeURIComponent(ocn)}`]) {
        const { body, status } = await platform().get(path)
        expect(status, path).toBe(400)
        // Quoted as a JSON string, which is the value itself but for quotation marks in it.
        expect(body).toStrictEqual(invalid(expect.stringContaining(JSON.stringify(ocn).slice(1, -1))))
      }
    })

    it("[directory 4] refuses an empty OCN", async () => {
      const { body, status } = await platform().get("/v1/carrier?ocn=")
      expect(status).toBe(400)
      expect(body).toStrictEqual(invalid(expect.stringContaining("ocn")))
    })

    it("[directory 4] answers 404 with the OCN for a carrier that nobody knows", async () => {
      for (const path of ["/v1/carrier/ZZZ9", "/v1/carrier?ocn=ZZZ9"]) {
        const { body, status } = await platform().get(path)
        expect(status).toBe(404)
        expect(body).toStrictEqual({ error: "not_found", message: expect.stringContaining("ZZZ9") })
      }
    })
  })

  describe("GET /v1/npa", () => {
    it.each(shownAreaCodes)("$npa in the path and in the query", async ({ exchanges, last, name: _, ...area }) => {
      const { npa, total_exchanges: total } = area
      const firstPage = await platform().get(`/v1/npa/${npa}?limit=1`)
      expect(firstPage.status).toBe(200)
      expect(firstPage.body).toStrictEqual({
        ...area,
        exchanges: [exchanges[0]],
        pagination: { limit: 1, offset: 0, total }
      })
      const lastPage = await platform().get(`/v1/npa?npa=${npa}&limit=100&offset=${total - 1}`)
      expect(lastPage.body).toStrictEqual({
        ...area,
        exchanges: [last],
        pagination: { limit: 100, offset: total - 1, total }
      })
    })

    it("[directory 3.4, 5] gives 50 exchanges from the beginning where nothing is said, and at most 100", async () => {
      const standard = (await platform().get("/v1/npa/212")).body as AreaCode
      expect(standard.exchanges).toHaveLength(50)
      expect(standard.pagination).toStrictEqual({ limit: 50, offset: 0, total: 800 })
      const largest = (await platform().get("/v1/npa/212?limit=100")).body as AreaCode
      expect(largest.exchanges).toHaveLength(100)
    })

    it("[directory 3.4] adds the area code report's details where they are asked for, and nothing else changes", async () => {
      for (const path of ["/v1/npa/850?limit=1", "/v1/npa?npa=850&nxx=200", "/v1/npa/850/nxx/200?limit=1"]) {
        const plain = (await platform().get(path)).body as AreaCode
        const { body, headers, status } = await platform().get(`${path}&include=details`)
        expect(status).toBe(200)
        expect(body, path).toStrictEqual({
          ...plain,
          details: {
            time_zones: ["America/New_York", "America/Chicago"],
            overlay_complexes: [["448", "850"]],
            parent: "904",
            in_service_date: "1997-06-23",
            dialing_plan: {
              home_local: "10D",
              home_toll: "1+10D",
              foreign_local: "10D",
              foreign_toll: "1+10D",
              permissive_home_local: "1+10D",
              permissive_home_toll: "NA",
              permissive_foreign_local: "1+10D",
              notes: "1+10 digit permissible at each service providers discretion"
            },
            relief: { status: null, planning: false, jeopardy: false }
          }
        })
        expect(headers.get("etag")).toMatch(/\S/)
        // What was kept for the one is not given for the other.
        expect((await platform().get(path)).body, path).toStrictEqual(plain)
      }
      for (const value of ["", "all", "details,details"]) {
        const { body, status } = await platform().get(`/v1/npa/850?include=${value}`)
        expect(status, value).toBe(400)
        expect(body, value).toStrictEqual(invalid(expect.stringContaining("'include'")))
      }
    })

    it("walks an area code's exchanges once, by NXX", async () => {
      const nxxs: Array<string> = []
      for (let offset = 0; offset < 700; offset += 97) {
        const { body } = await platform().get(`/v1/npa/907?limit=97&offset=${offset}`)
        nxxs.push(...(body as AreaCode).exchanges.map(({ nxx }) => nxx))
      }
      expect(nxxs).toHaveLength(671)
      expect(new Set(nxxs).size).toBe(671)
      expect(nxxs).toEqual([...nxxs].sort())
    })

    it.each([
      "/v1/npa/212/nxx/555",
      "/v1/npa?npa=212&nxx=555",
      "/v1/npa/212?nxx=555"
    ])("restricts to one exchange with %s", async (path) => {
      const { body, status } = await platform().get(path)
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        npa: "212",
        state: "NY",
        country: "US",
        total_exchanges: 800,
        exchanges: [
          {
            nxx: "555",
            ocn: "MULT",
            company_name: "MULTIPLE OCN LISTING",
            rate_center: "DIR ASST",
            status: "RESERVED"
          }
        ],
        pagination: { limit: 50, offset: 0, total: 1 }
      })
    })

    it("pages one exchange like any list", async () => {
      const { body } = await platform().get("/v1/npa/212/nxx/555?limit=7&offset=1")
      expect(body).toMatchObject({ exchanges: [], pagination: { limit: 7, offset: 1, total: 1 } })
    })

    it.each(["/v1/npa", "/v1/npa?nxx=555", "/v1/npa?limit=5"])("[directory 4] %s: npa is missing", async (path) => {
      const { body, status } = await platform().get(path)
      expect(status).toBe(400)
      expect(body).toStrictEqual(invalid(expect.stringMatching(/'npa'.*\/v1\/npa/)))
    })

    it.each([
      "21",
      "2122",
      "abc",
      "21a",
      "-12",
      "٢١٢",
      "2 2",
      "1.5",
      "+21"
    ])("refuses the area code %s and quotes it", async (npa) => {
      const text = encodeURIComponent(npa)
      for (const path of [`/v1/npa/${text}`, `/v1/npa?npa=${text}`, `/v1/npa/${text}/nxx/555`]) {
        const { body, status } = await platform().get(path)
        expect(status, path).toBe(400)
        expect(body).toStrictEqual(invalid(expect.stringContaining(npa)))
      }
    })
  })

  describe("[directory 3.1] GET /v1/health and /health, /v1/stats and /stats", () => {
    it.each(["/v1/health", "/health"])("%s needs no key and has exactly the documented fields", async (path) => {
      const { body, status } = await request(`${platform().url}${path}`)
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        status: "healthy",
        database: "connected",
        last_ingestion: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/)
      })
    })

    it.each(["/v1/stats", "/stats"])("[directory 3.5] %s needs no key and counts what the files hold", async (path) => {
      const { body, status } = await request(`${platform().url}${path}`)
      expect(status).toBe(200)
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
      expect(body).toStrictEqual({ ...statistics, last_updated: { NANPA: time, CNAC: time } })
    })
  })
}
