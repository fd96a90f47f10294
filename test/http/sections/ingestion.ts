/**
 * Ingestion (docs/directory.md, 6.2 and 6.3): the same file twice is the same as once, nobody sees half of one, single
 * bad lines are named and left out, and a file that is too damaged or of no known kind is refused. Over the admin API of
 * the platform that goes on answering meanwhile.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isStorable } from "../../../src/http/storableText.ts"
import { statistics } from "../../directory/snapshotNumbers.ts"
import { patienceMillis } from "../../support/patience.ts"
import { devils } from "../contract/devils.ts"
import { request, type TestPlatform } from "../harness.ts"
import { makeTenant } from "./emitted.ts"

interface Event {
  readonly _tag: "Progress" | "Ingested" | "Skipped" | "Failed"
  readonly added?: number
  readonly changed?: number
  readonly removed?: number
  readonly malformed?: { readonly total: number; readonly listed: ReadonlyArray<{ readonly line: number }> }
}

const bundled = (name: string) => new URL(`../../../src/directory/data/${name}`, import.meta.url).pathname

/** Ingests one file and answers how it ended. */
const ingest = async (platform: TestPlatform, source: string, dryRun = false): Promise<Event> => {
  const response = await fetch(`${platform.adminUrl}/admin/v1/ingestions`, {
    method: "POST",
    headers: { authorization: `Bearer ${platform.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ sources: [source], dryRun })
  })
  expect(response.status).toBe(200)
  const events = (await response.text())
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event)
  const last = events.filter((event) => event._tag !== "Progress")
  expect(last).toHaveLength(1)
  return last[0]!
}

/** The company's name at each code of one carrier on one page, read in one request. */
const companies = async (platform: TestPlatform): Promise<ReadonlyArray<unknown>> => {
  const { body, status } = await platform.get("/v1/npa/416?limit=100")
  expect(status).toBe(200)
  const { exchanges } = body as { exchanges: ReadonlyArray<{ ocn: string | null; company_name: string | null }> }
  return exchanges.filter(({ ocn }) => ocn === "8051").map(({ company_name }) => company_name)
}

export const ingestionSection = (platform: () => TestPlatform): void => {
  describe("ingestion", () => {
    let folder: string
    let lines: ReadonlyArray<string>
    const file = async (name: string, content: string): Promise<string> => {
      const path = join(folder, name)
      await writeFile(path, content)
      return path
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "sluice-ingestion-"))
      lines = gunzipSync(await readFile(bundled("COCodeStatus_ALL.csv.gz")))
        .toString("latin1")
        .split("\r\n")
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    it("[directory 6.2] a repeated file changes nothing, and the time of the last ingestion moves", async () => {
      const before = (await request(`${platform().url}/v1/health`)).body as { last_ingestion: string }
      const again = await ingest(platform(), bundled("ocn_carriers_joined.csv.gz"))
      expect(again).toMatchObject({ _tag: "Ingested", read: 3093, added: 0, changed: 0, removed: 0 })
      await expect
        .poll(async () => (await request(`${platform().url}/v1/health`)).body, { timeout: patienceMillis })
        .not.toMatchObject({ last_ingestion: before.last_ingestion })
    })

    it("[directory 2.4] with the report on thousands blocks, a number has the carrier of its block", async () => {
      const lines = [
        "NPA,NXX,X,Status,Assigned To,OCN",
        '850,200,4,AS,"BLOCK HOLDER, LLC",ZZ9Z',
        "850,200,5,AV,,",
        "850,200,6,RT,,"
      ]
      const event = await ingest(platform(), await file("blocks.csv", lines.join("\n")))
      expect(event).toMatchObject({ _tag: "Ingested", read: 3, added: 3, changed: 0, removed: 0 })
      const tenant = await makeTenant(platform(), "blocks")
      const lookup = async (tn: string) => (await tenant.get(`/v1/telco/lookup/${tn}`)).body as { carrier: unknown }
      expect(await lookup("8502004000")).toMatchObject({
        carrier: { ocn: "ZZ9Z", companyName: "BLOCK HOLDER, LLC", commonName: null, carrierType: null },
        carrierBasis: "block"
      })
      const { carrier } = await lookup("8502003999")
      for (const digit of ["5", "6"]) {
        expect(await lookup(`850200${digit}123`)).toMatchObject({ carrier, carrierBasis: "code" })
      }

      const blocksOf = async (query: string) => {
        const { body, status } = await platform().get(`/v1/npa/850/nxx/200${query}`)
        expect(status).toBe(200)
        return (body as { exchanges: ReadonlyArray<{ blocks?: unknown }> }).exchanges[0]!.blocks
      }
      expect(await blocksOf("?blocks=true")).toStrictEqual([
        { block: "4", ocn: "ZZ9Z", company_name: "BLOCK HOLDER, LLC", status: "ASSIGNED" },
        { block: "5", ocn: null, company_name: null, status: "UNASSIGNED" },
        { block: "6", ocn: null, company_name: null, status: "ASSIGNED" }
      ])
      expect(await blocksOf("")).toBeUndefined()
      expect(await blocksOf("?blocks=false")).toBeUndefined()
      expect((await platform().get("/v1/npa/850?blocks=yes")).status).toBe(400)
    })

    it("[directory 3.8] [platform 4.6] what a file changes is listed, and told to organizations that were there", async () => {
      const [mine, strange] = [await makeTenant(platform(), "told"), await makeTenant(platform(), "not told")]
      const { body: keys } = await platform().admin("GET", `/admin/v1/organizations/${strange.id}/keys`)
      for (const { id } of (keys as { data: ReadonlyArray<{ id: string }> }).data)
        await platform().admin("DELETE", `/admin/v1/keys/${id}`)
      const { key } = await strange.newKey({ services: ["send"], scopes: ["platform:events:read"] })
      const since = Date.now()
      // With the blocks of the test before.
      const others = '850,200,4,AS,"BLOCK HOLDER, LLC",ZZ9Z\n850,200,5,AV,,\n850,200,6,RT,,'
      const lines = (status: string) =>
        `NPA,NXX,X,Status,Assigned To,OCN\n${others}\n850,200,7,${status},"NOTED, LLC",ZZ9Z`
      await ingest(platform(), await file("blocks1.csv", lines("AS")))
      expect(await ingest(platform(), await file("blocks2.csv", lines("RV")))).toMatchObject({ changed: 1, removed: 0 })
      const late = await makeTenant(platform(), "late")

      const [second, first] = await mine.events(2, "type=telco.directory.updated")
      const told = { source: "NANPA_BLOCKS", publication: null }
      expect(first!.data).toMatchObject({ ...told, added: 1 })
      expect(second!.data).toStrictEqual({ ...told, added: 0, changed: 1, removed: 0 })
      for (const tenant of [strange, late]) {
        expect((await tenant.trigger("platform.test")).status).toBe(202)
        const headers = { authorization: `Bearer ${tenant === strange ? key : tenant.key}` }
        await expect
          .poll(async () => (await tenant.get("/v1/events", { headers })).body, { timeout: patienceMillis })
          .toMatchObject({ data: [{ type: "platform.test" }] })
      }

      const { body, status } = await platform().get(`/v1/directory/changes?since=${since}&limit=100`)
      expect(status).toBe(200)
      const record = { company_name: "NOTED, LLC", ocn: "ZZ9Z" }
      const { data } = body as { data: ReadonlyArray<object> }
      expect(data.at(-1)).toStrictEqual({
        ...told,
        ingested_at: expect.stringMatching(/^20.*Z$/),
        key: "850-200-7",
        change: "changed",
        before: { ...record, status: "ASSIGNED" },
        after: { ...record, status: "RESERVED" }
      })
      expect((await platform().get(`/v1/directory/changes?since=${Date.now() + 60_000}`)).body).toMatchObject({
        data: []
      })
    })

    it("[directory 6.5] a file's own publication date is in the list of ingestions", async () => {
      const { body, status } = await platform().admin("GET", "/admin/v1/ingestions")
      expect(status).toBe(200)
      const { data } = body as { data: ReadonlyArray<{ kind: string; publicationDate: string | null }> }
      expect(data).toContainEqual(expect.objectContaining({ kind: "NANPA", publicationDate: "2026-07-06" }))
      expect(data).toContainEqual(expect.objectContaining({ kind: "CNAC", publicationDate: "2025-09-12" }))
    })

    it("[directory 6.3] malformed lines, an unknown status among them, are reported with their number, and the rest is read", async () => {
      // Line 1 is the header, line 2 the date, line 3 the first code.
      const damaged = lines.map((line, index) =>
        index === 99 || index === 4_999
          ? line.slice(0, 3)
          : index === 2
            ? line.replace("In Service", "On Holiday")
            : line
      )
      expect(damaged[2]).toContain("On Holiday")
      const event = await ingest(platform(), await file("malformed.csv", damaged.join("\r\n")), true)
      expect(event).toMatchObject({ _tag: "Ingested", read: 43_997, dryRun: true, malformed: { total: 3 } })
      expect(event.malformed?.listed.map(({ line }) => line)).toEqual([3, 100, 5_000])
    })

    it("[directory 6.3] more than 1 % malformed, cut off, or no such file: refused, and the old data stays", async () => {
      const every50th = lines.map((line, index) => (index > 2 && index % 50 === 0 ? `${line.slice(0, 5)}` : line))
      const packed = await readFile(bundled("COCodeStatus_ALL.csv.gz"))
      await writeFile(join(folder, "cut.csv.gz"), packed.subarray(0, packed.length / 2))
      const sources = [
        await file("damaged.csv", every50th.join("\r\n")),
        join(folder, "cut.csv.gz"),
        await file("page.csv", "<!DOCTYPE html><html><body>Not found</body></html>"),
        await file("other.csv", "a,b,c\n1,2,3\n"),
        await file("empty.csv", ""),
        join(folder, "missing.csv"),
        folder
      ]
      for (const source of sources) {
        expect(await ingest(platform(), source), source).toMatchObject({
          _tag: "Failed",
          message: expect.stringMatching(/\S/)
        })
      }
      const { body } = await request(`${platform().url}/v1/stats`)
      expect(body).toMatchObject(statistics)
    })

    it("whatever text a source is, it is the caller's fault", async () => {
      const odd = ["/", "/dev/null", "/proc/self/mem", "http://127.0.0.1:1/", "http://", "file:///etc/passwd"]
      const texts = devils.filter((devil) => devil.length <= 4_096)
      const sources = [...texts.filter(isStorable), ...odd]
      for (const source of texts.filter((text) => !isStorable(text))) {
        const refused = await platform().admin("POST", "/admin/v1/ingestions", { sources: [source], dryRun: true })
        expect(refused.status).toBe(400)
      }
      // Many in one request, because each request starts a thread.
      const lists = Array.from({ length: Math.ceil(sources.length / 20) }, (_, n) => sources.slice(n * 20, n * 20 + 20))
      for (const list of lists) {
        const answer = await platform().admin("POST", "/admin/v1/ingestions", { sources: list, dryRun: true })
        expect(answer.status).toBe(200)
        const events = String(answer.body)
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Event)
        const failed = events.filter(({ _tag }) => _tag !== "Progress")
        expect(failed).toEqual(
          list.map(() => expect.objectContaining({ _tag: "Failed", message: expect.stringMatching(/\S/) }))
        )
      }
    })

    it("who reads meanwhile is answered, from what was before or from what is after", async () => {
      const old = await companies(platform())
      expect(old.length).toBeGreaterThan(1)
      expect(new Set(old)).toEqual(new Set(["Bell Canada"]))
      const renamed = lines.map((line) => line.replace('"Bell Canada"', '"Renamed Canada"'))
      const source = await file("renamed.csv", renamed.join("\r\n"))
      const tag = (await platform().get("/v1/npa/416?limit=100")).headers.get("etag")!
      let ended = false
      const ingestion = ingest(platform(), source).finally(() => {
        ended = true
      })
      const seen = new Set<string>()
      while (!ended || !seen.has('["Renamed Canada"]')) {
        const distinct = [...new Set(await companies(platform()))]
        seen.add(JSON.stringify(distinct))
        expect(distinct).toHaveLength(1)
      }
      expect(await ingestion).toMatchObject({ _tag: "Ingested", added: 0, removed: 0 })
      expect((await ingestion).changed).toBeGreaterThan(1)
      expect((await platform().get("/v1/carrier/8051")).body).toMatchObject({ company_name: "Renamed Canada" })
      // Who has the old answer is given the new one, with another tag.
      const headers = { "x-api-key": platform().key, "if-none-match": tag }
      const changed = await platform().get("/v1/npa/416?limit=100", { headers })
      expect(changed.status).toBe(200)
      expect(changed.headers.get("etag")).not.toBe(tag)

      expect(await ingest(platform(), bundled("COCodeStatus_ALL.csv.gz"))).toMatchObject({ _tag: "Ingested" })
      await expect.poll(() => companies(platform()), { timeout: patienceMillis }).toEqual(old)
    })
  })
}
