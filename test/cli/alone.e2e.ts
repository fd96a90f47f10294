/**
 * Commands with nothing running: they start the embedded database for as long as they take, keep what they made, leave
 * no process, and wait for one another and for a platform that is starting.
 */
import { access } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { beforeAll, expect, it } from "vitest"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { processesWith } from "../embedded/support.ts"
import { commandHere } from "../support/here.ts"
import { sluice, start } from "../support/platform.ts"
import { canadianNpa, seedFiles, usNpa } from "./files.ts"
import { descendants, living, ok, okJson, programs, refusal, until, useFolders } from "./support.ts"

const folder = useFolders()
let dataDir = ""
let environment: Record<string, string> = {}
/** The first organization. */
let id = ""

const serversLeft = async () => {
  const { token } = await Effect.runPromise(openDataFolder(dataDir))
  return Effect.runPromise(processesWith(token))
}

beforeAll(async () => {
  dataDir = join(await folder(), "data")
  environment = { SLUICE_DATA_DIR: dataDir, SLUICE_PORT: "0" }
})

it("a command starts the servers for its own duration, and says so beside its result", async () => {
  const command = start(["orgs", "create", "Acme", "--json"], environment)
  await until(async () => programs(await descendants(command.pid)).includes("postgres"))
  const children = await descendants(command.pid)
  const { code, stderr, stdout } = await command.finished
  expect(code, stderr).toBe(0)
  // On a busy machine a partition may have to begin again, and says so.
  const lines = stderr
    .trimEnd()
    .split("\n")
    .filter((line) => !line.includes("could not go on and recovers"))
  expect(lines.sort()).toEqual([
    expect.stringMatching(/^ {2}Making a database cluster for PostgreSQL 18\.\d+ …$/),
    expect.stringMatching(/^ {2}Starting PostgreSQL 18\.\d+ …$/),
    expect.stringMatching(/^ {2}Starting nats-server 2\.\d+\.\d+ …$/)
  ])
  expect(await living(children)).toEqual([])
  expect(await serversLeft()).toEqual([])
  id = JSON.parse(stdout).id
})

it("several at once wait for one another, and each does its work", async () => {
  const commands = await Promise.all(
    ["One", "Two"].map((name) => sluice(["orgs", "create", name, "--json"], environment))
  )
  expect(commands.map(({ code }) => code)).toEqual([0, 0])
  const listed: ReadonlyArray<{ readonly id: string; readonly name: string }> = await okJson(
    ["orgs", "list"],
    environment
  )
  expect(listed.map(({ name }) => name).sort()).toEqual(["Acme", "One", "Two"])
  expect(listed.find((organization) => organization.id === id)?.name).toBe("Acme")
})

it("a command says whom it waits for", async () => {
  const held = Effect.gen(function* () {
    const held = yield* openDataFolder(dataDir)
    yield* held.hold({ purpose: "a sluice command" })
    const command = start(["orgs", "list"], environment)
    yield* Effect.promise(() => until(() => command.stderr().includes("Waiting")))
    return command
  })
  const { finished } = await Effect.runPromise(Effect.scoped(held))
  const { code, stderr } = await finished
  expect(code, stderr).toBe(0)
  expect(stderr).toMatch(new RegExp(`^ {2}Waiting for process ${process.pid} \\(a sluice command\\) …\n {2}Starting `))
})

it("a command that is interrupted stops what it started", async () => {
  const command = start(["orgs", "list"], environment)
  await until(async () => programs(await descendants(command.pid)).includes("postgres"))
  const children = await descendants(command.pid)
  command.process.kill("SIGINT")
  expect(await command.finished).toMatchObject({ code: 130, signal: null, stdout: "" })
  expect(await living(children)).toEqual([])
})

it("a command that is wrong starts nothing", async () => {
  const nowhere = join(dataDir, "..", "nowhere")
  for (const args of [["orgs", "create"], ["ingest"], ["ingest", "--list", "codes.txt"]]) {
    refusal(await commandHere(args, { SLUICE_DATA_DIR: nowhere }))
  }
  await expect(access(nowhere)).rejects.toThrow("ENOENT")
})

it("a platform that starts on what commands made serves it, and a command meanwhile waits until it is ready", async () => {
  const { key } = await okJson(["keys", "create", "--org", id, "--services", "directory"], environment)
  const ingested = await ok(["ingest", ...(await seedFiles(await folder()))], environment)
  expect(ingested).toContain("read 800, added 800, changed 0, removed 0, malformed 0")

  // Without a platform, from what the folder has.
  const looked = await start(["lookup"], environment, { input: `${usNpa}5560123` }).finished
  expect(looked.stdout.split("\n")).toEqual([
    expect.stringMatching(/^number,tn,npa,nxx,/),
    expect.stringContaining(`${usNpa}5560123,${usNpa}5560123,${usNpa},556,US,NY,NWYRCYZN01,ASSIGNED,9104,`),
    ""
  ])

  const platform = start(["serve"], environment)
  await until(() => platform.stderr().includes("Starting"))
  // Held while it starts, so that the command certainly comes before it is ready.
  platform.process.kill("SIGSTOP")
  const waiting = start(["orgs", "list", "--json"], environment)
  await until(() => waiting.stderr().includes("Waiting"))
  platform.process.kill("SIGCONT")
  const [, url] = await platform.printed(/API {6}(http:\S+)/)
  const { code, stderr, stdout } = await waiting.finished
  expect(code, stderr).toBe(0)
  expect(stderr).toBe(`  Waiting for process ${platform.pid} (sluice serve) …\n`)
  expect(JSON.parse(stdout)).toHaveLength(3)

  // Neither empty nor new: no demo, no bundled data.
  expect(platform.stdout()).not.toContain("Key")
  expect(platform.stderr()).not.toContain("Loaded")
  const codes = async (npa: string) =>
    (await fetch(`${url}/v1/npa/${npa}?limit=1`, { headers: { "x-api-key": key } })).json()
  expect(await codes(usNpa)).toMatchObject({ total_exchanges: 800, country: "US" })
  expect(await codes(canadianNpa)).toMatchObject({ total_exchanges: 800, country: "CA" })
  platform.process.kill("SIGTERM")
  expect(await platform.finished).toMatchObject({ code: 0 })
  expect(await serversLeft()).toEqual([])
})

it("a command that looks into a folder without a platform says so, and makes none there", async () => {
  const nowhere = join(dataDir, "..", "misspelt")
  for (const args of [
    ["orgs", "list"],
    ["keys", "list", "--org", "org_1"],
    ["ingest", "--list"]
  ])
    expect(refusal(await sluice(args, { SLUICE_DATA_DIR: nowhere }))).toBe(
      `sluice: There is no platform in ${nowhere}. Start one with sluice serve, or name the folder of another one with --data-dir (SLUICE_DATA_DIR)`
    )
  await expect(access(nowhere)).rejects.toThrow("ENOENT")
})
