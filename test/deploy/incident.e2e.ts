/**
 * Real incidents and the alerts that they raise (docs/runbook.md): a platform whose relay, PostgreSQL and NATS go away one after the other, its `/metrics` before and
 * during each, and the rules over those figures, each held for some minutes. In order nothing fires. The other alerts have figures written by hand (`alertCases.ts`).
 */
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { until, useDatabases } from "../cli/support.ts"
import { proxyTo, type Proxy as TcpProxy } from "../postgres/support.ts"
import { type RelayServer, startRelay } from "../send/handoff/smtp/relayServer.ts"
import { clockVariable, moveOn } from "../support/movableClock.ts"
import { needing } from "../support/needs.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { askAt } from "../webhooks/platform.ts"
import { type AlertCase, checkMetrics, testRules } from "./promtool.ts"

const adminKey = `adm_${randomBytes(24).toString("hex")}`
const database = useDatabases()
const scope = Scope.makeUnsafe()
let folder = ""
let relay: RelayServer
let postgres: TcpProxy
let nats: TcpProxy
let platform: Platform

/** The values of all series by name and labels. */
type Scrape = ReadonlyMap<string, string>

/** Figures of this machine and of the run's shared PostgreSQL, which say nothing of the platform. */
const isOfTheRun = (series: string): boolean => /^sluice_(?:postgres_|disk_free)/.test(series)

const scrapeText = async (): Promise<string> => {
  const answer = await fetch(`${platform.url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })
  expect(answer.status).toBe(200)
  return answer.text()
}

const scrape = async (): Promise<Scrape> =>
  new Map(
    (await scrapeText())
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)] as const)
      .filter(([series]) => !isOfTheRun(series))
  )

/** Scrapes until the figures show what has happened. */
const scrapeUntil = async (isThere: (found: Scrape) => boolean): Promise<Scrape> => {
  let found: Scrape = new Map()
  await until(async () => {
    found = await scrape()
    return isThere(found)
  })
  return found
}

const isBad = (check: string) => (found: Scrape) => found.get(`sluice_check_ok{check="${check}"}`) === "0"

/** Ten minutes in order, then fifty of the incident. */
const heldFor = (name: string, before: Scrape, during: Scrape, firing: AlertCase["firing"]): AlertCase => ({
  name,
  input: [...new Set([...before.keys(), ...during.keys()])].map((series) => ({
    series,
    values: `${before.has(series) ? `${before.get(series)}x9` : "_x9"} ${during.has(series) ? `${during.get(series)}x50` : "_x50"}`
  })),
  firing
})

describe("alerts on recorded metrics", needing("promtool"), () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-incident-"))
    const run = <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope))
    relay = await run(startRelay())
    postgres = await run(proxyTo(await database("seeded")))
    nats = await run(proxyTo(inject("natsUrl")))
    platform = await startPlatform(
      {
        [clockVariable]: join(folder, "clock"),
        DATABASE_URL: postgres.url,
        NATS_URL: nats.url,
        SLUICE_ADMIN_KEY: adminKey,
        SLUICE_METRICS: "admin",
        SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`
      },
      join(folder, "data"),
      new URL("../support/movableClock.ts", import.meta.url).pathname
    )
  })

  afterAll(async () => {
    for (const proxy of [postgres, nats]) if (proxy !== undefined) await Effect.runPromise(proxy.thaw)
    await platform?.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await rm(folder, { recursive: true, force: true })
  })

  it("[platform 8.2] nothing fires in order, and each system that goes away raises its own", async () => {
    const calm = await scrapeUntil((found) => found.get('sluice_check_ok{check="mail"}') === "1")
    const text = await scrapeText()
    expect(checkMetrics(text)).toMatchObject({ ok: true, output: "" })
    // Counters are there before they count.
    for (const name of ["sluice_poison_total", "sluice_send_relay_errors_total", "sluice_nats_reconnects_total"])
      expect(text).toMatch(new RegExp(`^${name}(\\{.*\\})? 0$`, "m"))
    expect(text).toMatch(/^sluice_build_info\{.*version=".+"\} 1$/m)

    await Effect.runPromise(relay.stop)
    const mail = { from: "ann@demo.test", to: "bob@example.com", subject: "Hello", text: "Hi" }
    expect((await askAt(platform.url, platform.demoKey!)("POST", "/v1/send/emails", mail)).status).toBe(202)
    await scrapeUntil(isBad("mail"))
    await moveOn(join(folder, "clock"), 1_200_000)
    const away = await scrapeUntil((found) =>
      [...found].some(([series, value]) => series.startsWith("sluice_send_oldest_due_seconds") && Number(value) > 900)
    )

    await Effect.runPromise(postgres.freeze)
    const deaf = await scrapeUntil(isBad("database"))
    await Effect.runPromise(postgres.thaw)
    await scrapeUntil((found) => !isBad("database")(found))

    await Effect.runPromise(nats.freeze)
    const cut = await scrapeUntil((found) => found.get("sluice_nats_connected") === "0")

    const ofMail = ["SluiceMailWaits", "SluiceRelayDown"]
    const { ok, output } = testRules([
      heldFor("in order", calm, calm, { 8: [], 55: [] }),
      heldFor("the relay is away", calm, away, { 8: [], 30: ofMail }),
      heldFor("PostgreSQL is away", away, deaf, { 30: ["SluicePostgresAway", ...ofMail] }),
      heldFor("NATS is away", away, cut, { 30: ["SluiceNatsAway", ...ofMail] })
    ])
    expect(ok, output).toBe(true)
  })
})
