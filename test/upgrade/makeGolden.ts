/**
 * `node test/upgrade/makeGolden.ts <checkout>`: starts the version in a checkout, fills it, stops it, and keeps its data
 * as golden data of that version. Run it once for each release, with its tag checked out elsewhere. It talks to that
 * version over HTTP alone.
 */
import { execFile, spawn } from "node:child_process"
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import pg from "pg"
import { adminOf, ask, makeUnlimited, type Place } from "../support/ask.ts"
import { readyPattern } from "../support/platform.ts"
import { type GoldenAnswer, type GoldenData, goldenAdminKey, goldenFolder, goldenSecretsKey } from "./goldenData.ts"
import { startHook } from "./hook.ts"

const run = promisify(execFile)

interface Running extends Place {
  readonly postgresUrl: string
  readonly stop: () => Promise<void>
}

const environmentOf = (dataDir: string, namespace: string) => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "/",
  SLUICE_DEVELOPMENT: "on",
  SLUICE_DEMO: "off",
  SLUICE_DATA_DIR: dataDir,
  SLUICE_PORT: "0",
  SLUICE_ADMIN_KEY: goldenAdminKey,
  SLUICE_SECRETS_KEY: goldenSecretsKey,
  SLUICE_WEBHOOK_TARGETS: "any",
  SLUICE_PARTITIONS: "2",
  SLUICE_LOG_NAMESPACE: namespace,
  SLUICE_LOG_MAX_BYTES: "16777216",
  SLUICE_CONTENTS_MAX_BYTES: "67108864"
})

const begin = async (checkout: string, dataDir: string, namespace: string): Promise<Running> => {
  const child = spawn(process.execPath, [join(checkout, "bin/sluice.js"), "serve"], {
    cwd: checkout,
    env: environmentOf(dataDir, namespace),
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let printed = ""
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text
      const found = readyPattern.exec(printed)
      if (found !== null) resolve(found[1]!)
    })
    child.once("close", () => reject(new Error(`it ended: ${printed}`)))
  })
  const { adminUrl, postgresUrl } = JSON.parse(await readFile(join(dataDir, "run.json"), "utf8")) as Running
  const stop = async () => {
    child.kill("SIGTERM")
    await ended
  }
  return { url, adminUrl, postgresUrl, stop }
}

/** The area code whose codes stay; the others would be most of the data, and are in published files. */
const keptNpa = "201"

const shrinkDirectory = async (postgresUrl: string): Promise<number> => {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  try {
    await client.query("delete from directory_codes where npa <> $1", [keptNpa])
    // What was derived of all codes. A start derives it anew.
    const { rows: tables } = await client.query<{ name: string }>(
      "select relname as name from pg_class where relname = 'directory_image' and relkind = 'r'"
    )
    for (const { name } of tables) await client.query(`delete from ${name}`)
    const { rows } = await client.query<{ last: number }>("select max(number)::int as last from schema_migrations")
    return rows[0]!.last
  } finally {
    await client.end()
  }
}

const from = "ann@golden.example"

/** Emails of each fate: at the simulated mailbox, suppressed, scheduled, canceled. */
const sendEmails = async (place: Place, sendKey: string) => {
  const post = <A>(path: string, body: object) =>
    ask<A>(() => `${place.url}${path}`, { method: "POST", bearer: sendKey, body })
  await post("/v1/send/domains", { name: "golden.example" })
  await post("/v1/send/suppressions", { email: "gone@golden.test" })
  const send = async (body: object) =>
    (await post<{ readonly id: string }>("/v1/send/emails", { from, subject: "Golden ä 😀", ...body })).id
  const tags = [{ name: "kind", value: "golden" }]
  const later = new Date(Date.now() + 20 * 86_400_000).toISOString()
  const ids = [
    await send({ to: "delivered@simulator.invalid", text: "delivered", tags }),
    await send({ to: "bounced@simulator.invalid", html: "<p>bounced</p>" }),
    await send({ to: "gone@golden.test", text: "suppressed" }),
    await send({ to: "delivered@simulator.invalid", text: "later", scheduled_at: later })
  ]
  const canceled = await send({ to: "delivered@simulator.invalid", text: "canceled", scheduled_at: later })
  await post(`/v1/send/emails/${canceled}/cancel`, {})
  return [...ids, canceled]
}

/** Each causes an event and a delivery. */
const lookups = 5

const fill = async (place: Place, hook: string) => {
  const admin = adminOf(place, goldenAdminKey)
  const organization = await makeUnlimited(admin, { name: "Golden", sendPlan: "enterprise" })
  const keyOf = async (body: object) =>
    (await admin<{ readonly key: string }>("POST", `/organizations/${organization}/keys`, body)).key
  const key = await keyOf({ services: ["telco", "directory"], scopes: ["*"] })
  const sendKey = await keyOf({ mode: "test", services: ["send"], scopes: ["*"] })
  const made = await ask<{ readonly id: string; readonly signing_secret: string }>(() => `${place.url}/v1/webhooks`, {
    method: "POST",
    bearer: key,
    body: { url: hook, enabled_events: ["telco.*"], description: "Golden" }
  })
  for (let line = 0; line < lookups; line++)
    await ask(() => `${place.url}/v1/telco/lookup/${keptNpa}200${4_100 + line}`, { bearer: key })
  const emails = await sendEmails(place, sendKey)
  const repeat = {
    idempotencyKey: "golden-1",
    body: { from, to: "delivered@simulator.invalid", subject: "Once", text: "once" }
  }
  const response = await fetch(`${place.url}/v1/send/emails`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${sendKey}`,
      "content-type": "application/json",
      "idempotency-key": repeat.idempotencyKey
    },
    body: JSON.stringify(repeat.body)
  })
  return {
    organization,
    key,
    sendKey,
    endpoint: made.id,
    secret: made.signing_secret,
    emails,
    repeat: { ...repeat, answer: (await response.json()) as { readonly id: string } }
  }
}

/** Waits until every email and delivery has come to rest: a first attempt was made, and its outcome is stored. */
const awaitRest = async (look: Look, { deliveries, emails, expected }: Rested): Promise<void> => {
  for (;;) {
    const { data } = (await look("key", deliveries)) as {
      readonly data: ReadonlyArray<{ readonly attemptCount: number }>
    }
    const states = await Promise.all(
      emails.map(async (path) => ((await look("sendKey", path)) as { readonly state: string }).state)
    )
    const isTried = data.length === expected && data.every(({ attemptCount }) => attemptCount > 0)
    if (isTried && !states.some((state) => ["queued", "sending"].includes(state))) return
    await pause(200)
  }
}

type Look = (by: GoldenAnswer["by"], path: string) => Promise<unknown>

interface Rested {
  readonly deliveries: string
  readonly expected: number
  readonly emails: ReadonlyArray<string>
}

const [checkout] = process.argv.slice(2)
if (checkout === undefined) throw new Error("Usage: node test/upgrade/makeGolden.ts <checkout of the version>")
const dataDir = await mkdtemp(join(tmpdir(), "sluice-golden-"))
const hook = await startHook(`${keptNpa}200${4_100 + lookups - 1}`)
let platform: Running | undefined
try {
  const { stdout } = await run("git", ["-C", checkout, "log", "-1", "--format=%h"])
  const namespace = `golden-${stdout.trim()}`
  platform = await begin(checkout, dataDir, namespace)
  const migration = await shrinkDirectory(platform.postgresUrl)
  const { emails, ...filled } = await fill(platform, hook.url)
  const look: Look = (by, path) => ask(() => `${platform!.url}${path}`, { bearer: filled[by] })
  const deliveries = `/v1/webhooks/${filled.endpoint}/deliveries?limit=100`
  const emailPaths = [...emails, filled.repeat.answer.id].map((id) => `/v1/send/emails/${id}`)
  await awaitRest(look, { deliveries, expected: lookups, emails: emailPaths })
  const asked: ReadonlyArray<readonly [GoldenAnswer["by"], string]> = [
    ["key", "/v1/events?limit=100"],
    ["key", "/v1/webhooks"],
    ["key", deliveries],
    ["key", `/v1/npa/${keptNpa}/nxx/200`],
    ["sendKey", "/v1/events?limit=100"],
    ["sendKey", "/v1/send/domains"],
    ["sendKey", "/v1/send/suppressions"],
    ...emailPaths.map((path) => ["sendKey", path] as const)
  ]
  const answers: Array<GoldenAnswer> = []
  for (const [by, path] of asked) answers.push({ by, path, body: await look(by, path) })
  await platform.stop()
  const stoppedAt = Date.now()
  const out = join(goldenFolder.pathname, `${migration}-${stdout.trim()}`)
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const data: GoldenData = { migration, namespace, stoppedAt, ...filled, answers }
  await writeFile(join(out, "answers.json"), `${JSON.stringify(data, null, 2)}\n`)
  await run(process.execPath, ["bin/sluice.js", "backup", join(dataDir, "backup")], {
    env: environmentOf(dataDir, namespace)
  })
  await cp(join(dataDir, "backup"), join(out, "backup"), { recursive: true })
  await rm(join(out, "backup", "lock"), { force: true })
  console.log(out)
} finally {
  await platform?.stop()
  hook.stop()
  await rm(dataDir, { recursive: true, force: true })
}
