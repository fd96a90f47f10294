/**
 * Real mail and what comes back, through the command line and HTTP alone: a relay takes what the platform hands over, another mail system answers to the return path, and the account
 * shows it. The relay and the other mail system are real SMTP.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "@nats-io/transport-node"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { okJson, until, useDatabases } from "../../../cli/support.ts"
import { patienceMillis } from "../../../support/patience.ts"
import { logNamespaceOf, type Platform, startPlatform } from "../../../support/platform.ts"
import { type RelayServer, startRelay } from "../../handoff/smtp/relayServer.ts"
import { dmarcXml, gzipMail } from "../../senders/reports/samples.ts"
import { abuseReport, automaticReply, bouncePortOf, bring, deliveryStatus } from "./reports.ts"

const database = useDatabases()
const scope = Scope.makeUnsafe()
let relay: RelayServer
let platform: Platform
let databaseUrl = ""
let bouncePort = 0

/** What the client's library needs of an address. */
const natsOptions = (text: string) => {
  const { host, password: pass, username: user } = new URL(text)
  return { servers: host, user: decodeURIComponent(user), pass: decodeURIComponent(pass) }
}

const password = "secret-of-the-relay"

const ask = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${platform.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${platform.demoKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, never> }
}

const send = async (fields: object): Promise<string> => {
  const { body, status } = await ask("POST", "/v1/send/emails", {
    from: "Ann <ann@demo.test>",
    subject: "Hi",
    text: "Hi",
    ...fields
  })
  expect(status).toBe(202)
  return body.id as unknown as string
}

const stateOf = async (id: string): Promise<unknown> => (await ask("GET", `/v1/send/emails/${id}`)).body.state

/** The suppressed addresses, in order. */
const suppressed = async (): Promise<ReadonlyArray<string>> => {
  const { data } = (await ask("GET", "/v1/send/suppressions")).body
  return (data as unknown as ReadonlyArray<{ readonly email: string }>).map(({ email }) => email).sort()
}

const reaches = (id: string, state: string) => until(async () => (await stateOf(id)) === state)

const returnPathTo = (recipient: string): string =>
  relay.taken.find(({ to }) => to[0] === recipient)?.from ?? "not taken"

/** What another mail system says, over SMTP. */
const report = (to: string, raw: string) => bring(bouncePort, to, raw)

beforeAll(async () => {
  relay = await Effect.runPromise(
    Scope.provide(
      startRelay({
        authOptional: false,
        onAuth: (auth, _session, done) => done(null, auth.password === password ? { user: "sluice" } : {})
      }),
      scope
    )
  )
  databaseUrl = await database("seeded")
  platform = await startPlatform({
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: `adm_${"Ab1".repeat(10)}`,
    SLUICE_SMTP_URL: `smtp://sluice:${password}@127.0.0.1:${relay.port}`,
    SLUICE_BOUNCE_DOMAIN: "bounces.sluice.test",
    SLUICE_FEEDBACK_ADDRESSES: "fbl@one.test",
    SLUICE_BOUNCE_PORT: "0"
  })
  bouncePort = bouncePortOf(platform.stderr())
})

afterAll(async () => {
  await platform?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

it("says where mail goes, and nothing of the password", async () => {
  expect(platform.stderr()).toContain(`Live mail goes to the relay 127.0.0.1:${relay.port}`)
  expect(`${platform.stdout()}${platform.stderr()}`).not.toContain(password)
  const { body } = await ask("GET", "/readyz")
  expect(body.checks).toMatchObject({ mail: { ok: true } })
})

it("a bounce to the return path reaches the account, once, and suppresses the address", async () => {
  const id = await send({ to: ["Bob@two.test", "cy@two.test"] })
  await reaches(id, "sent")
  expect(relay.taken.map(({ to }) => to[0]).sort()).toEqual(["Bob@two.test", "cy@two.test"])
  const path = returnPathTo("Bob@two.test")
  expect(path).toMatch(/^bounce\+[a-z2-7]+@bounces\.sluice\.test$/)
  const bounce = deliveryStatus({ to: path, recipient: "bob@two.test" })
  await report(path, bounce)
  await reaches(id, "bounced")
  await report(path, bounce)
  await report(path, automaticReply(path))
  await until(async () => (await suppressed()).join() === "bob@two.test")
  const history = (await ask("GET", `/v1/send/emails/${id}`)).body.history as unknown as ReadonlyArray<{
    state: string
  }>
  expect(history.map(({ state }) => state)).toEqual(["queued", "sending", "sent", "bounced"])
  const again = await ask("POST", "/v1/send/emails", {
    from: "ann@demo.test",
    to: "bob@two.test",
    subject: "Hi",
    text: "Hi"
  })
  expect(again.body).toMatchObject({ state: "suppressed" })
})

it("[handoff 6.4] [platform 9.13] a domain's records ask for reports, which come to its owner", async () => {
  const domains = (await ask("GET", "/v1/send/domains")).body.data as unknown as ReadonlyArray<Record<string, string>>
  const { id } = domains.find(({ name }) => name === "demo.test")!
  const records = (await ask("GET", `/v1/send/domains/${id}`)).body.records as unknown as ReadonlyArray<object>
  expect(records).toContainEqual(
    expect.objectContaining({
      record: "DMARC",
      name: "_dmarc.demo.test",
      value: "v=DMARC1; p=none; rua=mailto:dmarc-reports@bounces.sluice.test;"
    })
  )
  expect(records).toContainEqual(
    expect.objectContaining({
      record: "TLS-RPT",
      name: "_smtp._tls.demo.test",
      value: "v=TLSRPTv1; rua=mailto:tls-reports@bounces.sluice.test",
      required: false
    })
  )
  const xml = dmarcXml({
    domain: "demo.test",
    reporter: "reporter.test",
    reportId: "1",
    beginsAt: Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000,
    endsAt: Math.floor(Date.now() / 1_000) * 1_000,
    records: [{ source: "192.0.2.1", count: 7, disposition: "none", isDkimAligned: true, isSpfAligned: true }]
  })
  await report("dmarc-reports@bounces.sluice.test", gzipMail(xml))
  expect((await ask("GET", `/v1/send/domains/${id}/reports`)).body).toMatchObject({
    reporters: [{ name: "reporter.test", reports: 1 }],
    data: [{ source: "192.0.2.1", messages: 7, passed: 7 }]
  })
})

it("a made-up return path is refused", async () => {
  const path = returnPathTo("cy@two.test").replace(/\+(.)/, (_, first) => `+${first === "a" ? "b" : "a"}`)
  await expect(report(path, deliveryStatus({ to: path, recipient: "cy@two.test" }))).rejects.toThrow(/550/)
})

it("reports that were collected in a folder count once, however often they are imported", async () => {
  const delivered = await send({ to: "di@two.test" })
  await reaches(delivered, "sent")
  const folder = await mkdtemp(join(tmpdir(), "sluice-reports-"))
  try {
    const path = returnPathTo("di@two.test")
    const success = {
      to: path,
      recipient: "di@two.test",
      action: "delivered",
      status: "2.0.0",
      diagnostic: "smtp; 250 OK"
    }
    await writeFile(join(folder, "1.eml"), deliveryStatus(success))
    await writeFile(join(folder, "2.eml"), automaticReply(path))
    await writeFile(join(folder, "3.eml"), deliveryStatus({ ...success, to: "somebody@else.test" }))
    const at = { SLUICE_DATA_DIR: platform.dataDir }
    const counts = { files: 3, taken: 1, silent: 0, late: 0, none: 1, stray: 1 }
    expect(await okJson(["feedback", "import", folder], at)).toEqual(counts)
    await reaches(delivered, "delivered")
    expect(await okJson(["feedback", "import", folder], at)).toEqual(counts)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

it("[handoff 6.3] a signal of another mail system is told like any other report", async () => {
  const id = await send({ to: "fay@two.test" })
  await reaches(id, "sent")
  const [{ id: organization }] = await okJson(["orgs", "list"], { SLUICE_DATA_DIR: platform.dataDir })
  const client = await connect(natsOptions(inject("natsUrl")))
  try {
    const say = (data: object) =>
      client.request(
        `${logNamespaceOf(new URL(databaseUrl).pathname)}.signal.${organization}.feedback`,
        JSON.stringify(data),
        {
          timeout: patienceMillis
        }
      )
    const told = { id, from: "Ann <ann@demo.test>", recipient: "fay@two.test", what: "delivered", subject: "Hi" }
    await say({ id, what: "nonsense" })
    expect((await say(told)).json()).toMatchObject({ seq: expect.any(Number) })
    await reaches(id, "delivered")
    const at = { SLUICE_DATA_DIR: platform.dataDir }
    const reactor = ["--reactor", "sluice.signals"]
    const { records } = await okJson(["parked", "show", organization, ...reactor], at)
    expect(records).toMatchObject([{ error: expect.stringContaining("Missing key") }])
    const again = await okJson(["parked", "retry", organization, ...reactor], at)
    expect(again).toMatchObject({ retried: 0, left: 1, error: expect.stringContaining("it cannot be read") })
    const place = `${records[0].sequence}/${records[0].index}`
    expect(await okJson(["parked", "dismiss", organization, place, ...reactor], at)).toMatchObject({ left: 0 })
  } finally {
    await client.close()
  }
})

it("a recipient unsubscribes with one click, and not by a look at the page", async () => {
  const id = await send({ to: "gil@two.test", headers: { "X-Sluice-Unsubscribe": "one-click" } })
  await reaches(id, "sent")
  const { raw } = relay.taken.find(({ to }) => to[0] === "gil@two.test")!
  const link = /^List-Unsubscribe: <(\S+)>/m.exec(raw.replaceAll(/\r\n[ \t]+/g, " "))![1]!
  expect(link).toMatch(new RegExp(`^${platform.url}/unsubscribe\\?token=`))
  expect(link).not.toContain("gil")
  const page = await fetch(link)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("gil@two.test")])
  expect(await suppressed()).toEqual(["bob@two.test"])
  expect((await fetch(link.replace(/token=../, "token=00"), { method: "POST" })).status).toBe(404)
  const body = new URLSearchParams({ "List-Unsubscribe": "One-Click" })
  const done = await fetch(link, { method: "POST", body, redirect: "manual" })
  expect(done.status).toBe(200)
  await until(async () => (await suppressed()).join() === "bob@two.test,gil@two.test")
  expect((await ask("GET", "/v1/send/suppressions?origin=unsubscribe")).body.data).toMatchObject([
    { email: "gil@two.test" }
  ])
  expect(
    (await ask("POST", "/v1/send/emails", { from: "ann@demo.test", to: "gil@two.test", subject: "Hi", text: "Hi" }))
      .body
  ).toMatchObject({ state: "suppressed" })
})

/** Where the reports of feedback loops have the return path. */
const places = {
  "hal@two.test": (path: string) => ({ fields: [`Original-Mail-From: <${path}>`] }),
  "ivy@two.test": (path: string) => ({ returned: [`Return-Path: <${path}>`] }),
  "jo@two.test": (path: string) => ({
    returned: [`Received: from a (envelope-from <${path.toUpperCase()}>)\r\n\tby b`]
  })
}

it("[handoff 6] a complaint through a feedback loop counts by the return path that stands in it, and pauses an account on probation", async () => {
  const loop = "fbl@one.test"
  const sent = new Map<string, string>()
  for (const recipient of Object.keys(places)) {
    const id = await send({ to: recipient })
    await reaches(id, "sent")
    sent.set(recipient, id)
  }
  relay.sabotage.rcptTo = (address) =>
    address === "listed@two.test" ? { code: 550, text: "5.7.1 Your domain is on our list" } : undefined
  const refused = await send({ to: "listed@two.test" })
  await reaches(refused, "bounced")
  const liked = await send({ to: "ed@two.test" })
  await reaches(liked, "sent")
  const path = returnPathTo("ed@two.test")
  await report(path, abuseReport(path, "ed@two.test"))
  await reaches(liked, "complained")
  const { body } = await ask("GET", "/v1/send/tenants")
  expect(body).toMatchObject({ trustStage: "sending_paused", pauseReason: "complaint" })
  for (const [recipient, placeOf] of Object.entries(places)) {
    const own = returnPathTo(recipient)
    const madeUp = own.replace(/\+(.)/, (_, first) => `+${first === "a" ? "b" : "a"}`)
    await report(loop, abuseReport(loop, recipient, placeOf(madeUp)))
    expect(await stateOf(sent.get(recipient)!)).toBe("sent")
    await report(loop, abuseReport(loop, recipient, placeOf(own)))
    await reaches(sent.get(recipient)!, "complained")
  }
  const all = ["bob", "ed", "gil", "hal", "ivy", "jo"].map((name) => `${name}@two.test`).join()
  await until(async () => (await suppressed()).join() === all)
})
