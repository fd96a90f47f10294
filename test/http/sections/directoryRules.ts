/**
 * The rules of the number directory (docs/directory.md, 1 to 4), one group below for each of them.
 */
import { readFile } from "node:fs/promises"
import { describe, expect, it } from "vitest"
import { canadianStatuses, statistics } from "../../directory/snapshotNumbers.ts"
import { request, type TestPlatform } from "../harness.ts"

interface Exchange {
  readonly nxx: string
  readonly ocn: string | null
  readonly company_name: string | null
  readonly rate_center: string | null
  readonly status: string
}

const exchangeOf = async (platform: TestPlatform, npa: string, nxx: string): Promise<Exchange> => {
  const { body, status } = await platform.get(`/v1/npa/${npa}/nxx/${nxx}`)
  expect(status, `${npa}-${nxx}`).toBe(200)
  const { exchanges } = body as { exchanges: ReadonlyArray<Exchange> }
  expect(exchanges).toHaveLength(1)
  return exchanges[0]!
}

const carrierOf = async (platform: TestPlatform, ocn: string) => {
  const { body, status } = await platform.get(`/v1/carrier/${ocn}`)
  expect(status, ocn).toBe(200)
  return body
}

export const directoryRulesSection = (platform: () => TestPlatform): void => {
  describe("records and their status", () => {
    it.each(canadianStatuses)("[directory 1.3] a Canadian code '%s' (%s-%s) is %s", async (_, npa, nxx, status) => {
      expect((await exchangeOf(platform(), npa, nxx)).status).toBe(status)
    })

    it.each([
      ["AS", "212", "554", "ASSIGNED"],
      ["UA", "212", "958", "RESERVED"]
    ])("a US code in use '%s' (%s-%s) is %s", async (_, npa, nxx, status) => {
      expect((await exchangeOf(platform(), npa, nxx)).status).toBe(status)
    })

    it("[directory 1.2] a US code that the file does not list is no record", async () => {
      expect((await platform().get("/v1/npa/670/nxx/200")).status).toBe(404)
    })
  })

  describe("values that stand for something else", () => {
    it("[directory 1.2] MULT is an exchange's OCN", async () => {
      expect((await exchangeOf(platform(), "212", "211")).ocn).toBe("MULT")
    })

    it.each(["/v1/carrier/MULT", "/v1/carrier?ocn=MULT"])("%s is not found", async (path) => {
      const { body, status } = await platform().get(path)
      expect(status).toBe(404)
      expect(body).toStrictEqual({ error: "not_found", message: expect.stringContaining("MULT") })
    })

    it("[directory 1.2] an empty OCN, an empty company and the rate center XXXXXXXXXX are null", async () => {
      expect(await exchangeOf(platform(), "671", "200")).toStrictEqual({
        nxx: "200",
        ocn: null,
        company_name: null,
        rate_center: null,
        status: "RESERVED"
      })
      expect((await exchangeOf(platform(), "212", "211")).rate_center).toBeNull()
      expect((await exchangeOf(platform(), "431", "309")).ocn).toBeNull()
    })

    it("[directory 1.2] the Northern Marianas are MP, and NN is nowhere", async () => {
      expect((await platform().get("/v1/npa/670?limit=1")).body).toMatchObject({ state: "MP", country: "US" })
      expect((await platform().get("/v1/carriers?state=MP")).body).toMatchObject({ pagination: { total: 2 } })
      expect((await platform().get("/v1/carriers?state=NN")).body).toMatchObject({ pagination: { total: 0 } })
    })

    it.each([
      ["684", "AS"],
      ["671", "GU"],
      ["670", "MP"],
      ["340", "VI"]
    ])("area code %s is of the territory %s and of the country US", async (npa, state) => {
      expect((await platform().get(`/v1/npa/${npa}?limit=1`)).body).toMatchObject({ state, country: "US" })
    })
  })

  describe("carriers", () => {
    it("[directory 2.1] known from the list only: its name, no state, country US", async () => {
      expect(await carrierOf(platform(), "0155")).toStrictEqual({
        ocn: "0155",
        company_name: "LINGO TELECOM, LLC",
        common_name: null,
        carrier_type: "CLEC",
        state: null,
        country: "US",
        exchanges: { total: 0, by_state: {} }
      })
    })

    it("[directory 2.1] common_name and carrier_type come from the list", async () => {
      expect(await carrierOf(platform(), "5562")).toMatchObject({
        common_name: "Metro by T-Mobile",
        carrier_type: "WIRELESS"
      })
    })

    it("[directory 2.1] they are null where the list has none", async () => {
      expect(await carrierOf(platform(), "079G")).toMatchObject({ common_name: null, carrier_type: null })
    })
  })

  describe("states", () => {
    it("[directory 2.2] most exchanges decide: 902 and 782 are shared by NS and PE, 867 by three territories", async () => {
      for (const [npa, state] of [
        ["902", "NS"],
        ["782", "NS"],
        ["867", "NT"]
      ] as const) {
        expect((await platform().get(`/v1/npa/${npa}?limit=1`)).body).toMatchObject({ npa, state, country: "CA" })
      }
    })

    it("717 of the 800 records of 753 have no state: the others decide", async () => {
      expect((await platform().get("/v1/npa/753?limit=1")).body).toMatchObject({ state: "ON" })
    })

    it("[directory 2.2] of states with as many it is the first in the alphabet", async () => {
      expect(await carrierOf(platform(), "0099")).toMatchObject({
        state: "NY",
        exchanges: { by_state: { NY: 1, PA: 1 } }
      })
      expect(await carrierOf(platform(), "022H")).toMatchObject({
        state: "CO",
        exchanges: { total: 3, by_state: { CO: 1, MA: 1, TX: 1 } }
      })
      expect(await carrierOf(platform(), "1495")).toMatchObject({
        state: "MN",
        exchanges: { by_state: { MN: 1, SD: 1 } }
      })
    })

    it("[directory 2.2] an area code whose records name no state has that of its report", async () => {
      expect((await platform().get("/v1/npa/942?limit=1")).body).toMatchObject({ state: "ON", country: "CA" })
    })

    it("[directory 2.3] only ASSIGNED exchanges are counted", async () => {
      expect(await exchangeOf(platform(), "720", "867")).toMatchObject({ ocn: "8540", status: "RESERVED" })
      expect(await carrierOf(platform(), "8540")).toMatchObject({ exchanges: { total: 0, by_state: {} } })
    })

    it("[directory 2.3] an exchange without a state counts in the total alone", async () => {
      expect(await carrierOf(platform(), "8051")).toMatchObject({
        exchanges: { total: 2052, by_state: { ON: 2045, QC: 1 } }
      })
    })
  })

  describe("area codes and exchanges", () => {
    it("[directory 3.4] with nxx one record of all", async () => {
      expect((await platform().get("/v1/npa/782?nxx=200")).body).toMatchObject({
        total_exchanges: 800,
        pagination: { total: 1 }
      })
    })

    it.each([
      ["/v1/npa/999", "999"],
      ["/v1/npa?npa=999", "999"],
      ["/v1/npa/999/nxx/555", "999"],
      ["/v1/npa/242", "242"],
      ["/v1/npa/670/nxx/201", "201"],
      ["/v1/npa?npa=670&nxx=201", "201"]
    ])("%s is not found and %s is named", async (path, named) => {
      const { body, status } = await platform().get(path)
      expect(status).toBe(404)
      expect(body).toStrictEqual({ error: "not_found", message: expect.stringContaining(named) })
    })

    it.each(["5", "5555", "abc", "55a", "٥٥٥", "5.5"])("[directory 4] nxx %s is refused and quoted", async (nxx) => {
      const text = encodeURIComponent(nxx)
      for (const path of [`/v1/npa/212/nxx/${text}`, `/v1/npa?npa=212&nxx=${text}`, `/v1/npa/212?nxx=${text}`]) {
        const { body, status } = await platform().get(path)
        expect(status, path).toBe(400)
        expect(body).toStrictEqual({ error: "invalid_request", message: expect.stringContaining(nxx) })
      }
    })

    it("[directory 4] nxx without npa: the error of the missing npa", async () => {
      const { body, status } = await platform().get("/v1/npa?nxx=555")
      expect(status).toBe(400)
      expect(body).toStrictEqual({ error: "invalid_request", message: expect.stringContaining("'npa'") })
    })

    it("[directory 3.4] what the path says counts, not the query", async () => {
      expect((await platform().get("/v1/carrier/9104?ocn=5562")).body).toMatchObject({ ocn: "9104" })
      expect((await platform().get("/v1/npa/212?npa=213&limit=1")).body).toMatchObject({ npa: "212" })
      expect((await platform().get("/v1/npa/212/nxx/555?nxx=556&npa=213")).body).toMatchObject({
        npa: "212",
        exchanges: [{ nxx: "555" }]
      })
    })
  })

  describe("filters", () => {
    it("[directory 3.2] in any case", async () => {
      for (const query of ["country=Ca&state=oN&type=Clec", "country=CA&state=ON&type=CLEC"]) {
        expect((await platform().get(`/v1/carriers?${query}`)).body).toMatchObject({ pagination: { total: 36 } })
      }
    })

    it.each(["type=BANK", "country=MX"])("[directory 3.2] %s is refused", async (query) => {
      expect((await platform().get(`/v1/carriers?${query}`)).status).toBe(400)
    })

    it("[directory 3.2] any two letters are a state", async () => {
      const { body, status } = await platform().get("/v1/carriers?state=zz")
      expect(status).toBe(200)
      expect(body).toStrictEqual({ carriers: [], pagination: { limit: 50, offset: 0, total: 0 } })
    })
  })

  describe("health and statistics", () => {
    it("[directory 3.6] last_ingestion is the latest time, and the times lie within this run", async () => {
      const health = (await request(`${platform().url}/v1/health`)).body as { last_ingestion: string }
      const stats = (await request(`${platform().url}/v1/stats`)).body as {
        last_updated: { NANPA: string; CNAC: string }
      }
      const { CNAC, NANPA } = stats.last_updated
      for (const time of [NANPA, CNAC]) {
        expect(Date.now() - Date.parse(time)).toBeGreaterThanOrEqual(0)
        expect(Date.now() - Date.parse(time)).toBeLessThan(60 * 60 * 1000)
        expect(Date.parse(health.last_ingestion)).toBeGreaterThanOrEqual(Date.parse(time))
      }
    })

    it("[directory 3.6] version is the package version", async () => {
      const manifest = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8")) as {
        readonly version: string
      }
      expect((await request(`${platform().url}/health`)).body).toMatchObject({ version: manifest.version })
    })

    it("[directory 2.3] 56 states and territories and 13 provinces", async () => {
      expect((await request(`${platform().url}/stats`)).body).toMatchObject({ coverage: statistics.coverage })
    })
  })
}
