/** The tours in docs/operating.md, command by command as they are written there, on ports of this run: of email, and of a customer from sign-up to invoice. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { ok, okJson, until, useDatabases } from "../../../cli/support.ts"
import { freePort } from "../../../support/freePort.ts"
import { needing } from "../../../support/needs.ts"
import { type Platform, startPlatform } from "../../../support/platform.ts"

const root = new URL("../../../../", import.meta.url).pathname
const guide = readFileSync(join(root, "docs/operating.md"), "utf8")
/** The blocks of code of a section, and how one is found. */
const tourOf = (title: string) => {
  const at = guide.indexOf(`\n## ${title}`)
  const section = guide.slice(at, guide.indexOf("\n## ", at + 1))
  const blocks = [...section.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(([, block]) => block!.trim())
  const blockWith = (text: string): string => blocks.find((block) => block.includes(text)) ?? `no block has ${text}`
  return { section, blocks, blockWith }
}
const { blocks, blockWith, section } = tourOf("Email that leaves")

const database = useDatabases()
let folder = ""
const children: Array<ChildProcess> = []
let platform: Platform | undefined
let ports: Readonly<Record<"2525" | "2526" | "2587" | "3001", number>>
let environment: Record<string, string> = {}

/** A command as this run has to say it. */
const here = (command: string): string =>
  command
    .replaceAll("http://127.0.0.1:8080", platform?.url ?? "")
    .replaceAll(/252[56]|2587|3001/g, (port) => String(ports[port as "2525"]))

/** Whether something listens there; a receiver that refuses what is unsigned ends nothing but that connection. */
const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => resolve(true)).on("error", () => resolve(false))
    socket.on("connect", () => socket.destroy())
  })

const bash = async (command: string): Promise<string> => {
  const { stdout } = await promisify(execFile)("bash", ["-ec", here(command)], { cwd: folder, env: environment })
  return stdout
}

/** Starts what a command leaves running. */
const inBackground = (command: string): void => {
  const script = here(command).replace(/ &$/, "")
  // An assignment before it is no command that could take the shell's place.
  const exec = /^\w+=/.test(script) ? `export ${script.replace(" ", "; exec ")}` : `exec ${script}`
  children.push(spawn("bash", ["-c", exec], { cwd: folder, env: environment, stdio: "ignore" }))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-tour-"))
  ports = { 2525: await freePort(), 2526: await freePort(), 2587: await freePort(), 3001: await freePort() }
  // The folder stands for a checkout, whose `npx sluice` runs its source.
  await symlink(join(root, "src"), join(folder, "src"))
  await writeFile(join(folder, "npx"), `#!/bin/sh\nshift 2\nexec node ${join(root, "src/main.ts")} "$@"\n`, {
    mode: 0o755
  })
  environment = { PATH: `${folder}:${process.env.PATH ?? ""}`, NODE_PATH: join(root, "node_modules") }
})

afterAll(async () => {
  await platform?.stop()
  for (const child of children) child.kill()
  await rm(folder, { recursive: true, force: true })
})

it("a mail leaves by the relay, its bounce comes back, and the account shows it", async () => {
  inBackground(blockWith("new SMTPServer"))
  const start = here(blockWith("npm start"))
  const settings = Object.fromEntries(
    [...start.matchAll(/(SLUICE_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
  )
  expect(Object.keys(settings)).toHaveLength(4)
  platform = await startPlatform({
    DATABASE_URL: await database("bundled"),
    NATS_URL: inject("natsUrl"),
    // As in the development start.
    SLUICE_DEVELOPMENT: "on",
    SLUICE_BILLING_PAYMENTS: "automatic",
    SLUICE_WEBHOOK_TARGETS: "any",
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
  expect(await bash(blockWith("smtp://127.0.0.1:2587"))).toMatch(/^< 250 2\.0\.0 em_\w{22} queued\r?\n$/)
  expect(blocks.some((block) => /^< 250 2\.0\.0 em_\w{22} queued$/.test(block))).toBe(true)
  await until(async () => (await bash(blockWith("cat relay.log"))).includes("eve@example.net"))
})

/** Texts of a JSON answer in the guide are those of another day; its fields are not. */
const fieldsOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fieldsOf(one)]))
    : typeof value

const tour = tourOf("A customer, from sign-up to invoice")
const documented = (text: string): unknown => JSON.parse(tour.blocks.find((block) => block.startsWith(text)) ?? "null")

it("[platform 9.7] a customer signs up, buys, sends up to the cap, hears of it, and gets an invoice", async () => {
  environment = { ...environment, SLUICE_DATA_DIR: platform!.dataDir }
  const [, id] = /(org_\w+)/.exec(await bash(tour.blockWith("orgs create")))!
  environment = { ...environment, ORG: id! }
  const [, owner] = /(sk_live_\w+)/.exec(await bash(tour.blockWith("keys create")))!
  environment = { ...environment, OWNER: owner! }

  const [heading, subscription] = (await bash(tour.blockWith("/v1/billing/checkout"))).split("</h1>")
  expect(heading).toContain("<h1>Paid")
  const bought = JSON.parse(/\{.*\}/.exec(subscription!)![0])
  expect(bought).toMatchObject({ plan: "team", sendPlan: "pro", status: "active" })
  expect(fieldsOf(bought)).toEqual(fieldsOf(documented('{"id":"sub_')))

  const shop = JSON.parse(await bash(tour.blockWith("/v1/keys")))
  environment = { ...environment, SHOP: shop.key }
  expect(await bash(tour.blockWith("/v1/send/domains"))).toContain("pens.example is verified, unchecked")
  const endpoint = JSON.parse(await bash(tour.blockWith("/v1/webhooks")))
  environment = { ...environment, SECRET: endpoint.signing_secret }
  inBackground(tour.blockWith("verifyWebhook"))
  await until(async () => await answers(`http://127.0.0.1:${ports[3001]}`))

  const sent = JSON.parse(await bash(tour.blockWith("Your order")))
  expect(sent.state).toBe("queued")
  await until(async () => (await bash(tour.blockWith("cat events.log"))) !== "")
  expect(await bash(tour.blockWith("cat events.log"))).toBe(`send.email.sent ${sent.id}\n`)
  expect(tour.blocks.some((block) => /^send\.email\.sent em_\w+$/.test(block))).toBe(true)
  const refused = JSON.parse(await bash(tour.blockWith("/v1/send/emails/batch")))
  const { resetsAt, ...refusal } = refused.error
  expect(documented('{"error":')).toMatchObject({ error: refusal })
  expect(Date.parse(resetsAt)).toBeGreaterThan(Date.now())

  const usage = async () => JSON.parse(await bash(tour.blockWith("/v1/billing/usage")))
  await until(async () => (await usage()).usage.emails === 1)
  const used = await usage()
  expect(fieldsOf(used)).toEqual(fieldsOf(documented('{"period":')))
  expect(used.usage.storage).toBeGreaterThan(0)
  await bash(tour.blockWith("invoice.pdf"))
  expect((await readFile(join(folder, "invoice.pdf"))).subarray(0, 5).toString()).toBe("%PDF-")
})

it("[platform 2.5] the same customer looks a number up and has a text spoken", needing("espeak-ng"), async () => {
  environment = { ...environment, KEY: environment.OWNER! }
  const lookUp = tourOf("Events and webhooks").blockWith("/v1/telco/lookup").split("\n")[0]!
  expect(JSON.parse(await bash(lookUp))).toMatchObject({ tn: "2125560123", npa: "212" })
  await bash(tourOf("Speech").blockWith("hello.wav"))
  expect((await readFile(join(folder, "hello.wav"))).subarray(0, 4).toString()).toBe("RIFF")
})
