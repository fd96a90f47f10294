/**
 * `sluice ingest` on a running platform: every kind of file in every wrapping, what is refused and why, what is shown
 * and what is served afterwards. The tests follow each other; each leaves the area codes as it says.
 */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { zip } from "../directory/files/support.ts"
import { usLines } from "../directory/support.ts"
import { sluice } from "../support/commands.ts"
import { startPlatformHere } from "../support/here.ts"
import { needing } from "../support/needs.ts"
import { type RunningPlatform, start } from "../support/platform.ts"
import { seedFiles, textOf, usNpa } from "./files.ts"
import { ok, okJson, refusal, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const newFolder = useFolders()
let folder = ""
let seed: ReadonlyArray<string> = []
let platform: RunningPlatform
let environment: Record<string, string> = {}

let server: Server
const served = new Map<
  string,
  { readonly status?: number; readonly type?: string; readonly body: string | Uint8Array }
>()
let origin = ""

/** Writes a file and tells its path. */
const file = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, content, "latin1")
  return path
}

interface Summary {
  readonly [field: string]: unknown
}

/** Ingests with `--json`; answers the one event of the one file. */
const ingestOne = async (source: string, ...flags: ReadonlyArray<string>): Promise<Summary> => {
  const { code, stderr, stdout } = await sluice(["ingest", source, "--json", ...flags], environment)
  const event = JSON.parse(stdout) as Summary
  expect({ code, stderr }).toEqual(
    event._tag === "Ingested"
      ? { code: 0, stderr: "" }
      : { code: 1, stderr: "sluice: The file was not taken; the stored data is as it was.\n" }
  )
  return event
}

const areaCode = async (npa: string, nxx: string) => {
  const response = await fetch(`${platform.url}/v1/npa/${npa}/nxx/${nxx}`, {
    headers: { authorization: `Bearer ${platform.demoKey}` }
  })
  return { status: response.status, ...((await response.json()) as { readonly exchanges?: ReadonlyArray<object> }) }
}

const lastIngestion = async (): Promise<string> =>
  ((await (await fetch(`${platform.url}/v1/health`)).json()) as { readonly last_ingestion: string }).last_ingestion

/** The same, once the platform has heard of every ingestion that has ended. */
const settledIngestion = async (): Promise<string> => {
  const [newest] = (await okJson(["ingest", "--list"], environment)) as ReadonlyArray<{ readonly finishedAt: string }>
  await until(async () => (await lastIngestion()) === newest!.finishedAt)
  return newest!.finishedAt
}

/** A code of the US file that is in use. */
const nxx = "200"

/** The US file with another company at that code, which is a change and nothing else. */
const withCompany = (company: string): string =>
  textOf(
    usLines(usNpa).map((line) =>
      line.includes(`${usNpa}-${nxx}`) ? line.replace(/"[^"]*" */, `"${company}"`.padEnd(100)) : line
    )
  )

/** Returns once the platform shows that company there. */
const shows = (company: string): Promise<void> =>
  until(async () => JSON.stringify(await areaCode(usNpa, nxx)).includes(company))

const unchanged = { added: 0, changed: 0, removed: 0 }

beforeAll(async () => {
  folder = await newFolder()
  seed = await seedFiles(folder)
  server = createServer((request, response) => {
    const answer = served.get(request.url!.split("?")[0]!)
    response.writeHead(answer?.status ?? (answer === undefined ? 404 : 200), {
      "content-type": answer?.type ?? "application/octet-stream"
    })
    response.end(answer?.body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  origin = `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`

  const url = await database()
  await ok(["ingest", ...seed], { DATABASE_URL: url, SLUICE_DATA_DIR: await newFolder() })
  platform = await startPlatformHere({
    DATABASE_URL: url,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"x1".repeat(20)}`
  })
  environment = { SLUICE_DATA_DIR: platform.dataDir }
})

afterAll(async () => {
  server.close()
  await platform.stop()
})

it("tells each kind of file by its content, and repeating changes nothing", async () => {
  const events = (await ok(["ingest", ...seed, "--json"], environment))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Summary)
  expect(events).toMatchObject([
    { _tag: "Ingested", kind: "NANPA", publicationDate: "2026-07-06", read: 800, ...unchanged },
    { _tag: "Ingested", kind: "CNAC", publicationDate: "2025-09-12", read: 800, ...unchanged },
    { _tag: "Ingested", kind: "CARRIER_TYPES", publicationDate: null, read: 3_093, ...unchanged },
    { _tag: "Ingested", kind: "NPA_REPORT", publicationDate: "2026-07-06", read: 800, ...unchanged }
  ])
  for (const [index, event] of events.entries()) {
    expect(event).toMatchObject({ source: seed[index], dryRun: false, malformed: { total: 0, listed: [] } })
  }
})

it("shows a difference without storing it, then stores it, and the platform answers from it", async () => {
  const path = await file("changed.txt", withCompany("SLUICE TELEPHONE CO"))
  const before = await settledIngestion()
  const dry = await ingestOne(path, "--dry-run")
  expect(dry).toMatchObject({ _tag: "Ingested", read: 800, added: 0, changed: 1, removed: 0, dryRun: true })
  expect((await areaCode(usNpa, nxx)).exchanges).toMatchObject([{ nxx, company_name: "ONVOY, LLC- NY" }])
  expect(await lastIngestion()).toBe(before)

  expect(await ingestOne(path)).toMatchObject({ read: 800, added: 0, changed: 1, removed: 0, dryRun: false })
  await shows("SLUICE TELEPHONE CO")
  await until(async () => (await lastIngestion()) > before)
  expect(await ingestOne(path)).toMatchObject({ read: 800, ...unchanged })
})

it("[directory 6.1] reads gz and zip, from a path and over http, and says what it passed over", async () => {
  const text = textOf(usLines(usNpa))
  served.set("/codes.zip", {
    body: zip([
      { name: "README.txt", content: Buffer.from("nothing\r\n") },
      { name: "CoCodeAssignment_Utilized_AllStates_Public.txt", content: Buffer.from(text, "latin1") }
    ])
  })
  const source = `${origin}/codes.zip`
  const fetched = await sluice(["ingest", `${source}?token=geheim`], environment)
  expect(fetched.code, fetched.stderr).toBe(0)
  expect(fetched.stdout).toContain("read 800, added 0, changed 1, removed 0, malformed 0")
  expect(fetched.stderr).toMatch(/^Skipped: \S+codes\.zip: README\.txt: .+$/m)
  expect(`${fetched.stdout}${fetched.stderr}`).not.toContain("geheim")
  await shows("ONVOY, LLC- NY")

  const packed = await file("changed.txt.gz", gzipSync(Buffer.from(withCompany("GZIP CO"), "latin1")))
  expect(await ingestOne(packed)).toMatchObject({ kind: "NANPA", read: 800, changed: 1 })
  await shows("GZIP CO")
})

it("takes a file with few malformed lines, and names each by its number", async () => {
  const lines = [...usLines(usNpa)]
  lines[7] = lines[7]!.replace("\tAS ", "\tQQ ")
  const path = await file("few.txt", textOf(lines))
  const { code, stderr, stdout } = await sluice(["ingest", path], environment)
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(
    /^ {2}read 799, added 0, changed \d, removed 0, malformed 1, [\d.]+ s\n {2}line 8: .*QQ.*\n {2}kept 1 that malformed lines may be about$/m
  )
  expect(await ingestOne(seed[0]!)).toMatchObject({ read: 800, added: 0, removed: 0 })
})

it("refuses what is damaged or something else with a sentence, and what is stored stays", async () => {
  const before = await settledIngestion()
  const us = usLines(usNpa)
  const malformed = us.map((line, index) => (index > 0 && index <= 9 ? line.replace("\tAS ", "\tQQ ") : line))
  const whole = textOf(us)
  served.set("/html", { type: "text/html", body: "<!DOCTYPE html>\n<html><body>Not here any more</body></html>" })
  served.set("/gone", { status: 410, body: "gone" })
  const cases: ReadonlyArray<readonly [source: string, code: string, sentence: RegExp]> = [
    [await file("html.csv", "<!DOCTYPE html><html><body>moved</body></html>"), "NotRecognized", /web page|HTML/i],
    [`${origin}/html`, "NotRecognized", /web page|HTML/i],
    [`${origin}/gone`, "HttpStatus", /410/],
    ["http://127.0.0.1:1/codes.txt", "Connection", /127\.0\.0\.1:1\/codes\.txt/],
    [await file("cut.txt", whole.slice(0, whole.length - 120)), "Truncated", /./],
    [await file("cut.gz", gzipSync(Buffer.from(whole)).subarray(0, 4_000)), "Truncated", /./],
    [await file("malformed.txt", textOf(malformed)), "TooManyMalformed", /9 of its 800 lines \(1\.1 %\)/],
    [await file("other.txt", "some,other\r\n1,2\r\n"), "NotRecognized", /no file of the number directory/],
    [await file("empty.txt", ""), "NotRecognized", /empty/],
    [join(folder, "missing.txt"), "NotFound", /there is no such file/]
  ]
  const { code, stderr, stdout } = await sluice(["ingest", ...cases.map(([source]) => source), "--json"], environment)
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `sluice: ${cases.length} of ${cases.length} files were not taken; their stored data is as it was.\n`
  })
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly code: string; readonly message: string; readonly source: string })
  expect(events.map(({ code, source }) => [source, code])).toEqual(cases.map(([source, code]) => [source, code]))
  for (const [index, [source, , sentence]] of cases.entries()) {
    expect(events[index]).toMatchObject({ _tag: "Failed" })
    expect(events[index]!.message).toMatch(sentence)
    expect(events[index]!.message).toMatch(/^[^\n]+$/)
    expect(events[index]!.message).toContain(source)
  }
  expect(await ingestOne(seed[0]!, "--dry-run")).toMatchObject({ read: 800, ...unchanged })
  expect(await lastIngestion()).toBe(before)
})

it("goes on with the next file after one that is refused, and exits with an error", async () => {
  const missing = join(folder, "missing.txt")
  const { code, stderr, stdout } = await sluice(["ingest", missing, seed[1]!], environment)
  expect(code).toBe(1)
  expect(stdout).toContain(
    `${seed[1]}\n  CNAC, published 2025-09-12\n  read 800, added 0, changed 0, removed 0, malformed 0`
  )
  expect(stderr).toMatch(/^Not taken: \S+missing\.txt: there is no such file$/m)
  expect(stderr.trimEnd().split("\n").at(-1)).toBe(
    "sluice: 1 of 2 files were not taken; their stored data is as it was."
  )
})

it("finds a path from where the command stands, not the platform", async () => {
  const { code, stdout } = await sluice(["ingest", basename(seed[1]!)], environment, { cwd: folder })
  expect(code).toBe(0)
  expect(stdout).toContain("read 800")
})

it("prints progress as lines where there is no terminal", async () => {
  const { stderr } = await sluice(["ingest", seed[0]!], environment)
  const name = seed[0]!.replaceAll(/[.\\/]/g, "\\$&")
  for (const phase of [
    "opening",
    "\\d+ % reading, [\\d,]+ records",
    "100 % comparing, 800 records",
    "100 % storing, 800 records"
  ]) {
    expect(stderr).toMatch(new RegExp(`^${name}: ${phase}$`, "m"))
  }
  expect(stderr).not.toMatch(/[\r[\]]/)
})

it("draws a bar on a terminal", needing("script"), async () => {
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
  const command = `"${process.execPath}" "${main}" ingest "${seed[0]}"`
  // `script` gives the command a terminal, and copies what it writes there.
  const args = process.platform === "linux" ? ["-qec", command, "/dev/null"] : ["-q", "/dev/null", "sh", "-c", command]
  const { stdout } = await promisify(execFile)("script", args, { env: { PATH: process.env.PATH, ...environment } })
  // Each begins by clearing the line of the one before.
  const drawn = stdout.split("\r\u001b[2K")
  expect(drawn).toContain(`[${"#".repeat(24)}] 100 % storing, 800 records`)
  expect(drawn.at(-1)!.replaceAll("\r", "")).toMatch(
    /^\S+us\.txt\n {2}NANPA, published 2026-07-06\n {2}read 800, .*\n$/
  )
})

it("lists what was ingested when, with the publication date", async () => {
  const lines = (await ok(["ingest", "--list"], environment)).trimEnd().split("\n")
  expect(lines[0]).toMatch(/^WHEN \(UTC\) +KIND +PUBLISHED +READ +ADDED +CHANGED +REMOVED +MALFORMED +SOURCE$/)
  const row = (kind: string, ...cells: ReadonlyArray<string>) =>
    new RegExp(`^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +${[kind, ...cells].join(" +").replaceAll(/[.()\\/]/g, "\\$&")}$`)
  expect(lines.at(-1)).toMatch(row("NANPA", "2026-07-06", "800", "800", "0", "0", "0", seed[0]!))
  expect(lines.at(-2)).toMatch(row("CNAC", "2025-09-12", "800", "800", "0", "0", "0", seed[1]!))
  expect(lines.at(-3)).toMatch(
    row("CARRIER_TYPES", "-", "3,093", "3,093", "0", "0", "0", "ocn_carriers_joined.csv.gz (bundled)")
  )
  expect(lines.at(-4)).toMatch(
    row("NPA_REPORT", "2026-07-06", "800", "800", "0", "0", "0", "npa_report.csv.gz (bundled)")
  )

  const records = await okJson(["ingest", "--list"], environment)
  expect(records).toHaveLength(lines.length - 1)
  expect(records.at(-1)).toMatchObject({
    kind: "NANPA",
    source: seed[0],
    publicationDate: "2026-07-06",
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    added: 800
  })
  // No dry run, nothing that was refused, no credentials of an address.
  expect(JSON.stringify(records)).not.toMatch(/geheim|html|missing/)
  expect(records.map(({ source }: Summary) => source)).toContain(
    `${origin}/codes.zip: CoCodeAssignment_Utilized_AllStates_Public.txt`
  )
})

it("leaves everything as it was when it is interrupted", async () => {
  let asked: (() => void) | undefined
  const request = new Promise<void>((resolve) => {
    asked = resolve
  })
  const slow = createServer((_, response) => {
    response.writeHead(200).write(textOf(usLines(usNpa).slice(0, 100)))
    // It never stands still, so that nothing but an interruption ends it.
    const trickle = setInterval(() => response.write("\n"), 1_000)
    asked!()
    response.once("close", () => {
      clearInterval(trickle)
      slow.close()
    })
  })
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
  const closed = new Promise((resolve) => slow.once("close", resolve))
  const { port } = slow.address() as { readonly port: number }
  const before = await settledIngestion()
  const command = start(["ingest", `http://127.0.0.1:${port}/codes.txt`], environment)
  await request
  command.process.kill("SIGINT")
  expect(await command.finished).toMatchObject({ code: 130, stdout: "" })
  // The platform has hung up, and takes the next order.
  await closed
  expect(await ingestOne(seed[0]!, "--dry-run")).toMatchObject({ read: 800, ...unchanged })
  expect(await lastIngestion()).toBe(before)
})

it("refuses an order that is none", async () => {
  expect(refusal(await sluice(["ingest"], environment))).toBe(
    "sluice: Name at least one file or address to ingest, or use --list to see what was ingested."
  )
  expect(refusal(await sluice(["ingest", "--list", seed[0]!], environment))).toBe(
    "sluice: --list takes no files: it shows what was ingested."
  )
  expect(refusal(await sluice(["ingest", ...Array.from({ length: 21 }, () => seed[0]!)], environment))).toBe(
    "sluice: At most 20 files or addresses can be ingested at once, not 21."
  )
})
