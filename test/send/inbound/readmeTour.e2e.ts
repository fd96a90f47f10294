/** The tour of email in README.md, command by command as it is written there, on ports of this run. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { ok, okJson, until, useDatabases } from "../../cli/support.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"

const root = new URL("../../../", import.meta.url).pathname
const section = /^### Email that leaves[\s\S]*?(?=^### )/m.exec(readFileSync(join(root, "README.md"), "utf8"))![0]
const blocks = [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, block]) => block!.trim())
const blockWith = (text: string): string => blocks.find((block) => block.includes(text)) ?? `no block has ${text}`

const database = useDatabases()
let folder = ""
let relay: ChildProcess | undefined
let platform: Platform | undefined
let ports: Readonly<Record<"2525" | "2526", number>>
let environment: Record<string, string> = {}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })

/** A command as this run has to say it. */
const here = (command: string): string =>
  command
    .replaceAll("http://127.0.0.1:8080", platform?.url ?? "")
    .replaceAll(/252[56]/g, (port) => String(ports[port as "2525"]))

const bash = async (command: string): Promise<string> => {
  const { stdout } = await promisify(execFile)("bash", ["-ec", here(command)], { cwd: folder, env: environment })
  return stdout
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-tour-"))
  ports = { 2525: await freePort(), 2526: await freePort() }
  environment = { PATH: process.env.PATH ?? "", NODE_PATH: join(root, "node_modules") }
})

afterAll(async () => {
  await platform?.stop()
  relay?.kill()
  await rm(folder, { recursive: true, force: true })
})

it("a mail leaves by the relay, its bounce comes back, and the account shows it", async () => {
  const script = here(blockWith("new SMTPServer")).replace(/ &$/, "")
  relay = spawn("bash", ["-c", `exec ${script}`], { cwd: folder, env: environment, stdio: "ignore" })
  const start = here(blockWith("npm start"))
  const settings = Object.fromEntries(
    [...start.matchAll(/(SLUICE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
  )
  expect(Object.keys(settings)).toHaveLength(3)
  platform = await startPlatform({
    DATABASE_URL: await database("seeded"),
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"Ab1".repeat(10)}`,
    ...settings
  })
  const at = { SLUICE_DATA_DIR: platform.dataDir }
  const [{ id: org }] = await okJson(["orgs", "list"], at)
  environment = { ...environment, KEY: platform.demoKey!, ORG: org }

  expect(JSON.parse(await bash(blockWith("/v1/send/domains")))).toMatchObject({
    name: "news.example.org",
    status: "pending"
  })
  const [, verify] = /^npx --no-install sluice (.*)$/.exec(blockWith("domains verify"))!
  const verified = await ok(verify!.replace("$ORG", org).split(" "), at)
  expect(blocks).toContain(verified.trim())

  const sent = JSON.parse(await bash(blockWith(`"from": "Ann <ann@news.example.org>"`)))
  expect(sent).toEqual({ id: expect.stringMatching(/^em_/), state: "queued" })
  environment = { ...environment, ID: sent.id }
  const shown = blocks.find((block) => block.startsWith("bob@example.com"))!
  await until(async () => (await bash(blockWith("cat relay.log"))) !== "")
  const line = /^bob@example\.com bounce\+[a-z2-7]{40,}@bounces\.example\.com\n$/
  expect(await bash(blockWith("cat relay.log"))).toMatch(line)
  expect(`${shown}\n`).toMatch(/^bob@example\.com bounce\+[a-z2-7]+@bounces\.example\.com\n$/)

  await bash(blockWith("--mail-rcpt"))
  const list = blockWith("/v1/send/suppressions")
  await until(async () => JSON.parse(await bash(list)).data.length === 1)
  const answer = JSON.parse(await bash(list))
  const documented = JSON.parse(/```json\n(\{"object":"list".*)\n```/.exec(section)![1]!)
  expect(Object.keys(answer)).toEqual(Object.keys(documented))
  expect(Object.keys(answer.data[0])).toEqual(Object.keys(documented.data[0]))
  expect(answer.data[0]).toMatchObject({ email: "bob@example.com", origin: "bounce" })
  expect(JSON.parse(await bash(blockWith("/v1/send/emails/$ID")))).toMatchObject({
    state: "bounced",
    last_event: "bounced"
  })
})
