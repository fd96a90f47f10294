/** Figures of emails over HTTP (docs/platform.md, 9.19 and 3.5). */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { patienceMillis } from "../../support/patience.ts"
import { askAt } from "../../webhooks/platform.ts"
import { type Account, useSendPlatform } from "./emailsPlatform.ts"

const platform = useSendPlatform()

const hour = 3_600_000
const waiting = { timeout: patienceMillis, interval: 50 }

interface Figures {
  readonly accepted: number
  readonly sent: number
  readonly delivered: number
  readonly rates: Readonly<Record<string, number | null>>
  readonly timeToHandOver: { readonly p50: number | null; readonly p95: number | null }
}

interface Metrics {
  readonly domain: string | null
  readonly since: number
  readonly until: number
  readonly totals: Figures
  readonly series: ReadonlyArray<Figures & { readonly at: number }>
}

const metricsOf = async (ask: Account["ask"], search = ""): Promise<Metrics> => {
  const { body, status } = await ask("GET", `/v1/send/metrics${search}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body as Metrics
}

describe("GET /v1/send/metrics", () => {
  it("[platform 9.19] says what became of the account's emails, and of nobody else's", async () => {
    const account = await platform().account()
    const other = await platform().account()
    const ids = [await account.sent(), await account.sent({ from: "ann@one.test" }), await account.sent()]
    await account.suppress("gone@two.test")
    await account.sent({ to: "gone@two.test" })
    const sender = "one.test"
    const recipients = ["bob@two.test"]
    await account.tell({ _tag: "Dispatch", emails: ids.map((id) => ({ id, sender, recipients })) })
    const reports = ids.map((id) => ({ id, sender, what: "handedOver" as const }))
    await account.tell({ _tag: "Report", reports })
    const delivered = { id: ids[0]!, sender, what: "delivered" as const, recipient: "bob@two.test" }
    await account.tell({ _tag: "Report", reports: [delivered, { ...delivered, id: ids[1]!, what: "bounced" }] })
    const totals = async () => (await metricsOf(account.ask)).totals
    await expect.poll(totals, waiting).toEqual({
      accepted: 4,
      held: 0,
      sent: 3,
      delivered: 1,
      bounced: 1,
      complained: 0,
      suppressed: 1,
      failed: 0,
      canceled: 0,
      rates: { held: 0, suppressed: 0.25, failed: 0, delivered: 0.3333, bounced: 0.3333, complained: 0 },
      timeToHandOver: { p50: expect.any(Number), p95: expect.any(Number) }
    })
    const { series, since, until } = await metricsOf(account.ask)
    expect(series.map(({ at }) => at)).toEqual(
      Array.from({ length: (until - since) / hour }, (_, index) => since + index * hour)
    )
    expect(series.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(4)
    expect((await metricsOf(account.ask, "?domain=One.test")).totals.accepted).toBe(4)
    // A domain of somebody else is like one that nobody has.
    expect((await metricsOf(account.ask, "?domain=two.test")).totals.accepted).toBe(0)
    expect((await metricsOf(other.ask, "?domain=one.test")).totals.accepted).toBe(0)
    const test = askAt(platform().url, await account.newKey({ mode: "test" }))
    expect(await metricsOf(test)).toMatchObject({ mode: "test", domain: null, totals: { accepted: 0 } })
  })

  it("[platform 3.5] adds hours up to days", async () => {
    const { ask, organization } = await platform().account()
    const day = 24 * hour
    const today = Date.now() - (Date.now() % day)
    const insert = (at: number, domain: string, accepted: number, sent: number) =>
      query(
        platform().databaseUrl,
        `insert into send_hours select $1, 'live', $2, $3, $4, 0, $5, 0, 0, 0, 0, 0, 0, 0, $5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0`,
        [organization, at, domain, accepted, sent]
      )
    await insert(today - day, "one.test", 3, 2)
    await insert(today - 1 * hour, "one.test", 5, 5)
    await insert(today - 1 * hour, "two.test", 1, 0)
    await insert(today - 29 * day, "one.test", 7, 0)
    const { series, since, totals } = await metricsOf(ask, "?interval=day")
    expect(since).toBe(today - 30 * day)
    expect(series.map(({ accepted, at }) => [(at - today) / day, accepted]).filter(([, count]) => count! > 0)).toEqual([
      [-29, 7],
      [-1, 9]
    ])
    expect(totals).toMatchObject({ accepted: 16, sent: 7, timeToHandOver: { p50: 175, p95: 242 } })
    const of = `?since=${today - 2 * hour}&until=${today}&domain=one.test`
    expect((await metricsOf(ask, of)).series.map(({ accepted }) => accepted)).toEqual([0, 5])
    expect((await metricsOf(ask, of)).series[0]).toMatchObject({
      rates: { delivered: null },
      timeToHandOver: { p50: null }
    })
  })

  it("refuses times that make no period, and names the parameter", async () => {
    const { ask } = await platform().account()
    for (const [search, named] of [
      ["?since=0", "since"],
      ["?until=0", "until"],
      [`?since=${Date.now()}&until=${Date.now() - 10_000}`, "since"],
      [`?until=${Date.now() + 48 * hour}`, "until"],
      ["?interval=minute", "interval"],
      ["?domain=x", "domain"]
    ]) {
      const { body, status } = await ask("GET", `/v1/send/metrics${search}`)
      expect(status, search).toBe(400)
      expect(body).toEqual({ error: { code: "invalid_request", message: expect.stringContaining(`'${named}'`) } })
    }
  })
})
