/**
 * `sluice serve` with servers of its own, over the life of one data folder: the first start, a second one beside it, a
 * kill, and every way to stop. The tests follow each other on that folder.
 */
import { spawn } from "node:child_process"
import { readdir } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { processesWith } from "../embedded/support.ts"
import { commandHere } from "../support/here.ts"
import { type Started, start } from "../support/platform.ts"
import { descendants, living, programs, until, useFolders } from "./support.ts"

const repository = dirname(fileURLToPath(new URL("..", import.meta.url)))
const folder = useFolders()
let dataDir = ""
let environment: Record<string, string> = {}
let demoKey = ""
let running: Started | undefined

const ready = /^Sluice [\d.]+ is ready \([\d.]+ s\)\n\n {2}API {6}(http:\/\/127\.0\.0\.1:\d+)\n {2}Docs {5}\1\/docs\n/m

const serve = async (more: Record<string, string> = {}) => {
  running = start(["serve"], { ...environment, ...more })
  const [, url] = await running.printed(ready)
  return { ...running, url: url! }
}

const get = (url: string, key?: string) =>
  fetch(url, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })

beforeAll(async () => {
  dataDir = join(await folder(), "data")
  environment = { SLUICE_PORT: "0", SLUICE_DATA_DIR: dataDir }
})

afterAll(async () => {
  running?.process.kill("SIGKILL")
  await running?.finished
})

describe("serve", () => {
  it("[platform 2.7] makes everything on an empty folder, and tells address, docs and, once, the demo key", async () => {
    const platform = await serve()
    const printed =
      /^ {2}Key {6}(sk_live_[0-9A-Za-z]{22}) {3}\(organization demo; shown this once\)\nSluice .*\n\n {2}API .*\n {2}Docs .*\n {2}Console {2}(http\S+)\/console#link=(cl_\w{22}) {3}\(.*\)\n {2}Mailbox {2}http\S+\/dev\/mailbox\n {2}Stop {5}Ctrl-C, or kill \d+\n\n$/
    expect(platform.stdout()).toMatch(printed)
    const [, key, address, link] = printed.exec(platform.stdout())!
    demoKey = key!
    // The console's address opens it once, as the demo organization.
    expect(address).toBe(platform.url)
    const signIn = () =>
      fetch(`${platform.url}/v1/console/sessions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-sluice-console": "1" },
        body: JSON.stringify({ link })
      })
    expect((await signIn()).status).toBe(201)
    expect((await signIn()).status).toBe(401)

    const progress = platform.stderr()
    expect(progress).toMatch(/^ {2}Making a database cluster for PostgreSQL 18\.\d+ …$/m)
    expect(progress).toMatch(/^ {2}Starting PostgreSQL 18\.\d+ …$/m)
    expect(progress).toMatch(/^ {2}Starting nats-server 2\.14\.\d+ …$/m)
    expect(progress).toMatch(/^ {2}Loaded 192,982 records of NANPA, published 2026-07-06 \([\d.]+ s\)$/m)
    expect(progress).toMatch(/^ {2}Loaded 44,000 records of CNAC, published 2025-09-12 \([\d.]+ s\)$/m)
    expect(progress).not.toContain(demoKey)
    // No terminal: what is not progress is JSON.
    for (const line of progress.trimEnd().split("\n")) if (!line.startsWith("  ")) JSON.parse(line)

    expect(await (await get(`${platform.url}/v1/stats`)).json()).toMatchObject({ total_records: 236_982 })
    expect((await get(`${platform.url}/v1/npa/212`, demoKey)).status).toBe(200)
    expect((await get(`${platform.url}/docs`)).status).toBe(200)
    expect((await get(`${platform.url}/readyz`)).status).toBe(200)
    expect(programs(await descendants(platform.pid))).toEqual(expect.arrayContaining(["nats-server", "postgres"]))
  })

  it("is refused on the folder of a running one, which goes on", async () => {
    const second = await commandHere(["serve"], environment)
    expect(second).toEqual({
      code: 1,
      signal: null,
      stdout: "",
      stderr: `sluice: The data folder ${dataDir} is in use by process ${running!.pid} (sluice serve). Stop it first, or choose another folder with SLUICE_DATA_DIR.\n`
    })
    const [, url] = ready.exec(running!.stdout())!
    expect((await get(`${url}/v1/npa/212`, demoKey)).status).toBe(200)
  })

  it("recovers after kill -9, with the data and without a key", async () => {
    const killed = running!
    const children = await descendants(killed.pid)
    expect(children.length).toBeGreaterThan(2)
    killed.process.kill("SIGKILL")
    await killed.finished

    const platform = await serve()
    expect(platform.stdout()).not.toContain("Key")
    expect(platform.stderr()).not.toContain("Loaded")
    expect(await living(children)).toEqual([])
    expect((await get(`${platform.url}/v1/npa/212`, demoKey)).status).toBe(200)
    expect(await (await get(`${platform.url}/v1/stats`)).json()).toMatchObject({ total_records: 236_982 })
  })

  it("stops on SIGINT, with nothing left behind", async () => {
    const stopped = running!
    const children = await descendants(stopped.pid)
    const before = stopped.stdout()
    stopped.process.kill("SIGINT")
    const { code, signal, stderr, stdout } = await stopped.finished
    expect({ code, signal }).toEqual({ code: 0, signal: null })
    expect(stdout).toBe(before)
    expect(stderr.trimEnd().split("\n").at(-1)).toBe("  Stopping …")
    expect(await living(children)).toEqual([])
    const left = await readdir(dataDir)
    expect(left).not.toContain("run.json")
    expect(left).not.toContain("holder.json")
  })

  it("stops on SIGTERM although requests hang at both listeners, and does not wait until their time is over", async () => {
    const platform = await serve()
    expect(platform.stdout()).not.toContain("Key")
    const children = await descendants(platform.pid)
    const { adminUrl } = await import(join(dataDir, "run.json"), { with: { type: "json" } }).then(
      (module: { readonly default: { readonly adminUrl: string } }) => module.default
    )
    const sockets = await Promise.all([platform.url, adminUrl].map(hang))
    let heard = ""
    for (const socket of sockets) socket.on("data", (data) => (heard += data)).on("error", () => {})
    platform.process.kill("SIGTERM")
    const { code, signal } = await platform.finished
    for (const socket of sockets) socket.destroy()
    expect({ code, signal }).toEqual({ code: 0, signal: null })
    // A request whose time is over is answered with 408.
    expect(heard).toBe("")
    expect(await living(children)).toEqual([])
  })

  it("shows progress and a banner on a terminal, and nothing between that is merely noted", async () => {
    const terminal = spawn("script", ["-qefc", "npm start", "/dev/null"], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: await folder(), TERM: "dumb", ...environment },
      stdio: ["ignore", "pipe", "inherit"],
      detached: true
    })
    let shown = ""
    terminal.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text))
    const ended = new Promise((resolve) => terminal.once("close", resolve))
    try {
      await until(() => {
        expect(terminal.exitCode, shown).toBeNull()
        return /Docs .*\r?\n/.test(shown)
      })
      const children = await descendants(terminal.pid!)
      process.kill(children.find(({ command }) => command.includes("serve"))!.pid, "SIGINT")
      await ended
    } finally {
      terminal.kill("SIGKILL")
    }
    expect(shown).toMatch(/ {2}Starting PostgreSQL [\s\S]*is ready \([\d.]+ s\)/)
    expect(shown).not.toMatch(/^\s*\{|INFO|Migrated/m)
  })

  it("stops from within npm start when a terminal interrupts npm, node and the servers at once, twice", async () => {
    const npm = spawn("npm", ["start"], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: await folder(), npm_config_update_notifier: "false", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      // A process group of its own, which is what a terminal sends its signal to.
      detached: true
    })
    let output = ""
    npm.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
    npm.stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
    const ended = new Promise((resolve) => npm.once("close", resolve))
    await until(() => {
      expect(npm.exitCode, output).toBeNull()
      return output.includes("Docs ")
    })
    const children = await descendants(npm.pid!)
    expect(programs(children)).toEqual(expect.arrayContaining(["node", "nats-server", "postgres"]))
    process.kill(-npm.pid!, "SIGINT")
    await until(() => output.includes("Stopping …"))
    process.kill(-npm.pid!, "SIGINT")
    await ended
    await until(async () => (await living(children)).length === 0)
    expect(output).not.toMatch(/ {4}at /)
  })

  it.each([
    "initdb",
    "postgres"
  ])("stops on a signal that comes while %s starts, and leaves no process", async (name) => {
    const path = join(await folder(), "data")
    const starting = start(["serve"], { SLUICE_PORT: "0", SLUICE_DATA_DIR: path })
    const children = () => descendants(starting.pid)
    await until(async () => programs(await children()).includes(name))
    const seen = await children()
    starting.process.kill("SIGTERM")
    const { code, signal, stdout } = await starting.finished
    expect({ code, signal, stdout }).toEqual({ code: 0, signal: null, stdout: "" })
    expect(await living(seen)).toEqual([])
    const { token } = await Effect.runPromise(openDataFolder(path))
    expect(await Effect.runPromise(processesWith(token))).toEqual([])
  })
})

/** A request that never arrives as a whole; returns when the server has taken its connection. */
const hang = (url: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on("error", reject)
    // Two in one: when the first is answered, the second has arrived as far as it ever will.
    socket.once("data", () => resolve(socket))
    socket.write("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost:")
  })
