/** Endpoints for machines and operators: the API's description, its documentation, probes, metrics and logs. */
import { readFile } from "node:fs/promises"
import { describe, expect, it } from "vitest"
import { patienceMillis } from "../../support/patience.ts"
import { request, type TestPlatform } from "../harness.ts"

const root = new URL("../../../", import.meta.url)

/** One line of Prometheus' text format: a comment, or a name with labels and a value. */
const metricLine =
  /^(# (HELP|TYPE) \S+ .*|[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="([^"\\]|\\.)*",?)*\})? (-?[\d.e+-]+|[+-]Inf|NaN))$/

export const systemSection = (platform: () => TestPlatform): void => {
  const open = (path: string) => request(`${platform().url}${path}`)

  const requestsOf = async (route: string, status: number): Promise<number> => {
    const { body } = await open("/metrics")
    const line = (body as string)
      .split("\n")
      .find(
        (line) =>
          line.startsWith("sluice_http_requests_total{") &&
          line.includes(`route="${route}"`) &&
          line.includes(`status="${status}"`) &&
          line.includes('method="GET"')
      )
    return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(" ") + 1))
  }

  describe("/openapi.json and /docs", () => {
    it("the description that is served is the committed one", async () => {
      const { body, status } = await open("/openapi.json")
      expect(status).toBe(200)
      expect(body).toStrictEqual(JSON.parse(await readFile(new URL("openapi.json", root), "utf8")))
    })

    it("[platform 1.1] it describes every documented path and both path forms", async () => {
      const { paths } = (await open("/openapi.json")).body as { paths: Record<string, unknown> }
      expect(Object.keys(paths)).toEqual(
        expect.arrayContaining([
          "/v1/carriers",
          "/v1/carrier/{ocn}",
          "/v1/carrier",
          "/v1/npa/{npa}",
          "/v1/npa/{npa}/nxx/{nxx}",
          "/v1/npa",
          "/v1/health",
          "/health",
          "/v1/stats",
          "/stats"
        ])
      )
    })

    it("[platform 12.7] the documentation is a page under a strict policy that loads only what is the server's own", async () => {
      const { body, headers, status } = await open("/docs")
      expect(status).toBe(200)
      expect(headers.get("content-type")).toMatch(/^text\/html/)
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; /
      )
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      const page = body as string
      expect(page).toMatch(/^\s*<!doctype html>\n<html lang="en">/i)
      const loaded = [...page.matchAll(/<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi)]
      for (const [, address] of loaded) expect(address, "loaded by the page").toMatch(/^(?:\/console\/assets\/|data:)/)
    })

    it("[platform 12.7] the page shows the description that is served, compressed and kept for a while", async () => {
      const described = await open("/docs/description.json")
      expect(described.body).toStrictEqual((await open("/openapi.json")).body)
      const tag = described.headers.get("etag")!
      const again = await fetch(`${platform().url}/docs/description.json`, { headers: { "if-none-match": tag } })
      expect([again.status, again.headers.get("cache-control")]).toEqual([304, "public, max-age=300"])
    })

    it("[platform 12.7] the page and all that it loads weigh less than 120 kB", async () => {
      // A browser asks for brotli, and `fetch` of Node unpacks it: the length that came is in the header.
      const bytesOf = async (path: string) => {
        const answer = await fetch(`${platform().url}${path}`, { headers: { "accept-encoding": "br" } })
        await answer.arrayBuffer()
        return Number(answer.headers.get("content-length"))
      }
      const page = (await open("/docs")).body as string
      const files = new Set([...page.matchAll(/\/console\/assets\/[\w.-]+/g)].map(([path]) => path))
      for (const path of files) {
        const text = await (await fetch(`${platform().url}${path}`)).text()
        for (const [, part] of text.matchAll(/from"\.\/([\w-]+\.js)"/g)) files.add(`/console/assets/${part}`)
      }
      let bytes = await bytesOf("/docs/description.json")
      for (const path of files) bytes += await bytesOf(path)
      expect(files.size).toBeGreaterThan(2)
      expect(bytes).toBeGreaterThan(10_000)
      expect(bytes).toBeLessThan(120_000)
    })

    it("every operation has a summary and a description", async () => {
      const { paths } = (await open("/openapi.json")).body as {
        readonly paths: Record<string, Record<string, { readonly summary?: string; readonly description?: string }>>
      }
      const silent = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods)
          .filter(([, { description, summary }]) => !description || !summary)
          .map(([method]) => `${method} ${path}`)
      )
      expect(silent).toEqual([])
    })

    it("the documentation begins with what one can do and a first call, and ends its introduction with the errors", async () => {
      const { info } = (await open("/openapi.json")).body as { readonly info: { readonly description: string } }
      const [what, call, errors] = ["Look up carriers", "curl ", "| Error code |"].map((part) =>
        info.description.indexOf(part)
      )
      expect(what).toBe(0)
      expect(call).toBeGreaterThan(0)
      expect(errors).toBeGreaterThan(call!)
    })
  })

  describe("/", () => {
    it("leads a browser to the console, which also says without a script where to go on", async () => {
      const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }
      const response = await fetch(`${platform().url}/`, { headers, redirect: "manual" })
      expect(response.status).toBe(302)
      expect(response.headers.get("location")).toBe("/console")
      expect(response.headers.get("vary")).toContain("Accept")
      const page = await (await fetch(`${platform().url}/`, { headers })).text()
      for (const place of ["/docs", "/openapi.json", "/v1/health"]) expect(page).toContain(`href="${place}"`)
    })

    it("answers everybody else in short", async () => {
      const response = await fetch(`${platform().url}/`)
      expect(response.headers.get("vary")).toContain("Accept")
      expect(await response.json()).toEqual({
        name: "Sluice",
        version: "0.1.0",
        console: "/console",
        docs: "/docs",
        guides: "/guides",
        openapi: "/openapi.json",
        health: "/v1/health"
      })
    })
  })

  describe("[platform 8.1] probes", () => {
    it("/livez", async () => {
      expect(await open("/livez")).toMatchObject({ status: 200, body: { status: "alive" } })
    })

    it("/readyz names what it stands on", async () => {
      const { body, status } = await open("/readyz")
      expect(status).toBe(200)
      expect(body).toMatchObject({
        status: "ready",
        checks: { database: { ok: true }, directory: { ok: true }, nats: { ok: true } }
      })
    })
  })

  describe("/metrics", () => {
    it("[platform 8.2] is in the text format of Prometheus", async () => {
      const { body, headers, status } = await open("/metrics")
      expect(status).toBe(200)
      expect(headers.get("content-type")).toMatch(/^text\/plain/)
      const lines = (body as string).split("\n").filter((line) => line !== "")
      expect(lines.length).toBeGreaterThan(10)
      for (const line of lines) expect(line).toMatch(metricLine)
    })

    it("counts requests by route and status", async () => {
      const good = await requestsOf("/v1/carrier/:ocn", 200)
      const bad = await requestsOf("/v1/carrier/:ocn", 404)
      for (const ocn of ["9104", "3700", "ZZZ9"]) await platform().get(`/v1/carrier/${ocn}`)
      expect(await requestsOf("/v1/carrier/:ocn", 200)).toBe(good + 2)
      expect(await requestsOf("/v1/carrier/:ocn", 404)).toBe(bad + 1)
    })

    it("has no label that a caller can make up", async () => {
      // Letters, because a figure may be any number.
      await platform().get("/made/up/Q4X1?made-up=Q4X2")
      await platform().get("/v1/carrier/Q4X3")
      const metrics = (await open("/metrics")).body as string
      for (const made of ["Q4X1", "Q4X2", "Q4X3", "made-up", "made/up"]) expect(metrics).not.toContain(made)
    })
  })

  describe("logs", () => {
    it("are JSON, one line a request where that is asked for, with its id, path and status, and never the query", async () => {
      const id = "e2e-access-log-1"
      await platform().get("/v1/carrier/9104?apiKey=whatever&note=not-to-be-logged", {
        headers: { "x-api-key": platform().key, "x-request-id": id }
      })
      const lineOf = () =>
        platform()
          .process.stderr()
          .split("\n")
          .filter((line) => line.includes(id))
      await expect.poll(lineOf, { timeout: patienceMillis }).toHaveLength(1)
      const line = JSON.parse(lineOf()[0]!) as { annotations: Record<string, unknown> }
      expect(line.annotations).toMatchObject({ requestId: id, method: "GET", path: "/v1/carrier/9104", status: 400 })
      expect(lineOf()[0]).not.toContain("not-to-be-logged")
    })
  })
}
