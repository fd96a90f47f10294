/**
 * `sluice ingest` asks before it takes some good files, as an operator meets it on a running platform: an older
 * publication, a file that removes much, area codes that are left out, malformed lines, slow and foreign sources, and
 * that what was taken is served when the command returns.
 */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { bundledText, canadianLines, usLines } from "../directory/support.ts"
import { sluice } from "../support/commands.ts"
import { startPlatformHere } from "../support/here.ts"
import { type RunningPlatform, start } from "../support/platform.ts"
import { canadianNpa, seedFiles, textOf, usNpa } from "./files.ts"
import { ok, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const newFolder = useFolders()
let folder = ""
let seed: ReadonlyArray<string> = []
let platform: RunningPlatform
let environment: Record<string, string> = {}

const file = async (name: string, lines: ReadonlyArray<string>): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, textOf(lines), "latin1")
  return path
}

const ingest = (...args: ReadonlyArray<string>) => sluice(["ingest", ...args], environment)

/** The one event of the one file. */
const eventOf = async (...args: ReadonlyArray<string>) => {
  const { stderr, stdout } = await ingest(...args, "--json")
  expect(stdout).toMatch(/^[^\n]+\n$/)
  const event = JSON.parse(stdout) as Record<string, unknown>
  // No guard has a database that fails: the whole of it is shown, to find why.
  expect(String(event.code), `${stdout}${stderr}`).not.toMatch(/^Database/)
  return event
}

interface Page {
  readonly state: string | null
  readonly exchanges: ReadonlyArray<{ readonly nxx: string; readonly company_name: string | null }>
  readonly pagination: { readonly total: number }
}

const areaCode = async (path: string): Promise<Page> => {
  const response = await fetch(`${platform.url}/v1/npa/${path}`, {
    headers: { authorization: `Bearer ${platform.demoKey}` }
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Page
}

/** The layout of 2023: neither the column of pooled codes nor a province, and an earlier date. */
const olderCanada = [
  '"NPA","CO Code (NXX)","Status","Exchange Area","Company","OCN","Remarks"',
  ",,,,,,2023-08-04",
  ...canadianLines(canadianNpa)
    .slice(2)
    .map((line) => line.replace(/^((?:(?:"[^"]*"|[^,"]*),){3})"[YN]",((?:"[^"]*"|[^,"]*),)(?:"[^"]*"|[^,"]*),/, "$1$2"))
]

/** Lines of the US file that are no header. */
const us = usLines(usNpa)

beforeAll(async () => {
  folder = await newFolder()
  seed = await seedFiles(folder)
  const url = await database("seeded")
  platform = await startPlatformHere({
    DATABASE_URL: url,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"x1".repeat(20)}`
  })
  environment = { SLUICE_DATA_DIR: platform.dataDir }
})

afterAll(async () => {
  await platform.stop()
})

it("[directory 6.4] refuses an older publication, says both dates, and takes it when told to", async () => {
  const path = await file("older.csv", olderCanada)
  expect((await areaCode(canadianNpa)).state).toBe("MB")
  const refused = await ingest(path)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(
    `Not taken: ${path} is refused: it was published on 2023-08-04, and the CNAC data in force on 2025-09-12; --allow-older takes it all the same\n`
  )
  expect(await eventOf(path)).toMatchObject({ _tag: "Failed", code: "OlderPublication" })
  const dry = await ingest(path, "--dry-run")
  expect(dry.code).toBe(0)
  expect(dry.stdout).toMatch(
    /^ {2}read 800, added 0, changed \d+, removed 0.*\n {2}dry run: nothing was stored\n {2}would not be taken: .*2023-08-04/m
  )
  expect((await areaCode(canadianNpa)).exchanges[20]).toMatchObject({ nxx: "220" })
  expect((await areaCode(canadianNpa)).state).toBe("MB")

  expect(await eventOf(path, "--allow-older")).toMatchObject({ _tag: "Ingested", publicationDate: "2023-08-04" })
  // What is in force now is the older one, so the newer needs no word.
  expect(await eventOf(seed[1]!)).toMatchObject({ _tag: "Ingested", removed: 0 })
  expect(await eventOf(path)).toMatchObject({ _tag: "Failed", code: "OlderPublication" })
})

it("[directory 6.4] refuses to remove more than 5 % of an area code, however few lines the file has, unless told how many", async () => {
  const one = await file("one.txt", us.slice(0, 2))
  const refused = await ingest(one)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain(
    `Not taken: ${one} is refused: it would remove 799 of the 800 stored records (99.9 %): 799 of the 800 of area code ${usNpa}; --allow-removals 799 takes it all the same\n`
  )
  expect(await eventOf(one, "--allow-removals", "798")).toMatchObject({ _tag: "Failed", code: "TooManyRemovals" })
  expect((await areaCode(usNpa)).pagination.total).toBe(800)

  // 40 of 800 are 5 %, and 41 are more.
  const allowed = await file("allowed.txt", us.slice(0, 761))
  expect(await eventOf(allowed)).toMatchObject({ _tag: "Ingested", removed: 40 })
  expect(await eventOf(seed[0]!)).toMatchObject({ _tag: "Ingested", added: 40 })
  const more = await file("more.txt", us.slice(0, 760))
  expect(await eventOf(more)).toMatchObject({ _tag: "Failed", code: "TooManyRemovals" })
  expect(await eventOf(more, "--allow-removals", "41")).toMatchObject({ _tag: "Ingested", removed: 41 })
  expect((await areaCode(usNpa)).pagination.total).toBe(759)
  expect(await eventOf(seed[0]!)).toMatchObject({ _tag: "Ingested", added: 41 })
})

it("[directory 6.4] refuses a carrier list that lacks more than 5 % of the carriers", async () => {
  const list = bundledText("CARRIER_TYPES").split("\n").slice(0, -1)
  const path = await file("list.csv", list.slice(0, 2_000))
  expect(await eventOf(path)).toMatchObject({ _tag: "Failed", code: "TooManyRemovals" })
})

it("[directory 6.4] keeps an area code that the file leaves out, names it, and retires it when told to", async () => {
  const other = usLines("646")
  const both = await file("both.txt", [...us, ...other.slice(1)])
  expect(await eventOf(both)).toMatchObject({ _tag: "Ingested", added: 800, leftOut: [] })
  for (const flags of [["--dry-run"], []]) {
    const { stdout } = await ingest(seed[0]!, ...flags)
    expect(stdout).toMatch(/, removed 0, [\s\S]*^ {2}not in the file, and kept: area code 646$/m)
  }
  expect((await areaCode("646")).pagination.total).toBe(800)

  expect(await eventOf(both, "--retire", "646")).toMatchObject({ _tag: "Failed", code: "StillNamed" })
  const unknown = await ingest(seed[0]!, "--retire", "999")
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toContain(
    "Area code 999 was not retired: nothing of it is stored in the data that was taken\n"
  )
  const { stdout } = await ingest(seed[0]!, "--retire", "646")
  expect(stdout).toMatch(/, removed 800, [\s\S]*^ {2}retired area code 646$/m)
  const gone = await fetch(`${platform.url}/v1/npa/646`, { headers: { authorization: `Bearer ${platform.demoKey}` } })
  expect(gone.status).toBe(404)
})

it("[directory 6.3] never removes the good record of a malformed line, and nothing where it cannot tell which", async () => {
  // 7 lines are malformed and tell their code; one is left out.
  const known = us.map((line, n) =>
    n > 10 && n <= 17 ? line.replace("\tAS ", "\tQQ ").replace("\tUA ", "\tQQ ") : line
  )
  const first = await eventOf(
    await file(
      "known.txt",
      known.filter((_, n) => n !== 300)
    )
  )
  expect(first).toMatchObject({ _tag: "Ingested", read: 792, removed: 1, kept: 7, malformed: { total: 7 } })
  expect((await areaCode(usNpa)).pagination.total).toBe(799)
  expect(await eventOf(seed[0]!)).toMatchObject({ _tag: "Ingested", added: 1, changed: 0 })

  const garbage = us.map((line, n) => (n === 300 ? "\u00ff\u00fe garbage" : line)).filter((_, n) => n !== 400)
  const second = await eventOf(await file("garbage.txt", garbage))
  expect(second).toMatchObject({ _tag: "Ingested", read: 798, removed: 0, kept: 2, malformed: { total: 1 } })
  expect((await areaCode(usNpa)).pagination.total).toBe(800)
})

it("says a share over 1 % so that it is seen to be over it", async () => {
  // 8 of 798 lines are 1.0025 %.
  const lines = us.slice(0, 799).map((line, n) => (n > 0 && n <= 8 ? "?" : line))
  const { message } = await eventOf(await file("share.txt", lines))
  expect(message).toContain("8 of its 798 lines (1.003 %) are malformed")
})

it("[directory 6] serves what it has taken when it returns", async () => {
  for (const company of ["FIRST CO", "SECOND CO", "THIRD CO"]) {
    const lines = us.map((line) =>
      line.includes(`${usNpa}-200`) ? line.replace(/"[^"]*" */, `"${company}"`.padEnd(100)) : line
    )
    await ok(["ingest", await file("company.txt", lines)], environment)
    expect((await areaCode(`${usNpa}/nxx/200`)).exchanges).toMatchObject([{ company_name: company }])
  }
})

it("goes on with other files while a source is slow", async () => {
  let asked: (() => void) | undefined
  const request = new Promise<void>((resolve) => {
    asked = resolve
  })
  const slow = createServer((_, response) => {
    response.writeHead(200).write(textOf(us.slice(0, 100)))
    asked!()
  })
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
  const { port } = slow.address() as { readonly port: number }
  const command = start(["ingest", `http://127.0.0.1:${port}/codes.txt`], environment)
  await request
  expect(await eventOf(seed[1]!)).toMatchObject({ _tag: "Ingested", kind: "CNAC" })
  command.process.kill("SIGINT")
  await command.finished
  slow.closeAllConnections()
  slow.close()
})

it("reads a pipe, and calls an address of another scheme an address", async () => {
  const pipe = join(folder, "pipe")
  await promisify(execFile)("mkfifo", [pipe])
  const taken = eventOf(pipe)
  await writeFile(pipe, textOf(us), "latin1")
  expect(await taken).toMatchObject({ _tag: "Ingested", read: 800 })
  const { stderr } = await ingest("ftp://127.0.0.1/codes.txt")
  expect(stderr).toContain("Not taken: ftp://127.0.0.1/codes.txt: only http and https addresses are read\n")
  await until(async () => (await fetch(`${platform.url}/readyz`)).status === 200)
})
