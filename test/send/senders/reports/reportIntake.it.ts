/**
 * Reports about domains from a mail system, by SMTP, into PostgreSQL, and out over HTTP: whose they are, that each counts once, and what they may add.
 */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { Effect, Exit, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { removeAged } from "../../../../src/postgres/agedRows.ts"
import { listenForBounces } from "../../../../src/send/feedback/intake/BounceListener.ts"
import { DomainChecks } from "../../../../src/send/senders/domains/DomainChecks.ts"
import type { DmarcRecord } from "../../../../src/send/senders/reports/model.ts"
import { ReportIntake } from "../../../../src/send/senders/reports/ReportIntake.ts"
import { type Tenant, useSendPlatform } from "../../http/sendersPlatform.ts"
import { smtpClient } from "../../listener/smtpClient.ts"
import { bareMail, dmarcXml, gzipMail, mailWith, tlsJson, zipOf } from "./samples.ts"

const platform = useSendPlatform()
const scope = Scope.makeUnsafe()
let port = 0

beforeAll(async () => {
  port = await platform().run(
    Scope.provide(Effect.orDie(listenForBounces({ host: "127.0.0.1", port: 0, domain: "bounces.test" })), scope)
  )
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Brings a mail by SMTP; the last answer. */
const bring = (mail: string, to = "dmarc-reports@bounces.test"): Promise<string> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { say } = yield* smtpClient(port)
        yield* say("MAIL FROM:<noreply@reporter.example>")
        yield* say(`RCPT TO:<${to}>`)
        yield* say("DATA")
        return yield* say(`${mail}.`)
      })
    )
  )

/** Gives a mail to the intake, as if it came from an address. */
const take = (mail: string, address = "192.0.2.9") =>
  platform().run(Effect.flatMap(ReportIntake, (intake) => intake.take(Buffer.from(mail, "latin1"), address)))

const added = async ({ live }: Tenant, name: string): Promise<string> => {
  platform().names.answer(name, { addresses: ["192.0.2.1"] })
  const { body, status } = await live("POST", "/v1/send/domains", { name })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

const verified = async (tenant: Tenant, name: string): Promise<string> => {
  const id = await added(tenant, name)
  await platform().run(
    Effect.gen(function* () {
      const checks = yield* DomainChecks
      const domain = yield* checks.find({ organizationId: tenant.organization, mode: "live" }, name)
      yield* checks.vouch(domain!)
    })
  )
  return id
}

const day = 86_400_000
const today = Date.now() - (Date.now() % day)
const yesterday = today - day
const dayText = (at: number) => new Date(at).toISOString().slice(0, 10)

const good: DmarcRecord = {
  source: "192.0.2.1",
  count: 12_060,
  disposition: "none",
  isDkimAligned: true,
  isSpfAligned: false
}
const bad: DmarcRecord = {
  source: "198.51.100.7",
  count: 240,
  disposition: "reject",
  isDkimAligned: false,
  isSpfAligned: false
}

interface Said {
  readonly reportId?: string
  readonly reporter?: string
  readonly beginsAt?: number
  readonly records?: ReadonlyArray<DmarcRecord>
}

const xmlAbout = (
  domain: string,
  { beginsAt = yesterday, records = [good, bad], reporter = "google.com", reportId = "1" }: Said = {}
) => dmarcXml({ domain, reporter, reportId, beginsAt, endsAt: beginsAt + day - 1_000, records })

/** The names of an answer's fields, and those of the first items of its lists. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return [shapeOf(value[0])]
  if (typeof value !== "object" || value === null) return "value"
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
}

const reportsOf = async ({ live }: Tenant, id: string, query = "") => {
  const { body, status } = await live("GET", `/v1/send/domains/${id}/reports${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

describe("a DMARC report", () => {
  it("[handoff 6.4] [platform 9.21] is shown by source, those with most failures first, however it was packed", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "shown.example")
    const { since, until, ...nothing } = await reportsOf(tenant, id)
    expect(until - since).toBe(30 * day)
    expect(nothing).toEqual({
      object: "list",
      kind: "dmarc",
      reporters: [],
      totals: { messages: 0, passed: 0, dkimAligned: 0, spfAligned: 0, quarantined: 0, rejected: 0 },
      data: [],
      has_more: false,
      pagination: { hasMore: false }
    })
    const zip = zipOf([{ name: "report.xml", content: Buffer.from(xmlAbout("shown.example")) }])
    expect(await bring(bareMail("application/zip", zip))).toMatch(/^250 /)
    const later = xmlAbout("shown.example", {
      reporter: "Yahoo",
      records: [{ ...bad, count: 2 }],
      beginsAt: yesterday - day
    })
    expect(await bring(gzipMail(later), "TLS-reports@bounces.test")).toMatch(/^250 /)
    const shown = await reportsOf(tenant, id)
    expect(shown).toMatchObject({
      reporters: [
        { name: "Yahoo", reports: 1 },
        { name: "google.com", reports: 1 }
      ],
      totals: { messages: 12_302, passed: 12_060, dkimAligned: 12_060, spfAligned: 0, quarantined: 0, rejected: 242 }
    })
    const counts = { dkimAligned: 0, spfAligned: 0, quarantined: 0, rejected: 0 }
    expect(shown.data).toEqual([
      {
        source: "198.51.100.7",
        firstDay: dayText(yesterday - day),
        lastDay: dayText(yesterday),
        ...counts,
        messages: 242,
        passed: 0,
        rejected: 242
      },
      {
        source: "192.0.2.1",
        firstDay: dayText(yesterday),
        lastDay: dayText(yesterday),
        ...counts,
        messages: 12_060,
        passed: 12_060,
        dkimAligned: 12_060
      }
    ])
    // As the document shows it.
    const text = readFileSync(new URL("../../../../docs/platform/send.md", import.meta.url), "utf8")
    const [, command, answer] = /^### 9\.21 [\s\S]*?```sh\n(curl .*)\n```\n\n```json\n(.*)\n```/m.exec(text)!
    const environment = { PATH: process.env.PATH, KEY: tenant.keys.live, API: platform().url }
    const { stdout } = await promisify(execFile)("bash", ["-c", command!.replace(/dom_\w+/, id)], { env: environment })
    expect(shapeOf(JSON.parse(stdout))).toEqual(shapeOf(JSON.parse(answer!)))
    // Days of the request, and pages.
    expect((await reportsOf(tenant, id, `?since=${yesterday}&until=${today}`)).totals.messages).toBe(12_300)
    expect((await reportsOf(tenant, id, `?since=${today}`)).data).toEqual([])
    const first = await reportsOf(tenant, id, "?limit=1")
    expect(first).toMatchObject({ has_more: true, data: [{ source: "198.51.100.7" }] })
    const second = await reportsOf(tenant, id, `?limit=1&cursor=${first.pagination.nextCursor}`)
    expect(second).toMatchObject({ has_more: false, data: [{ source: "192.0.2.1" }] })
  })

  it("counts once, however often and concurrently it comes, and another one of the same id is another's", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "once.example")
    const mail = gzipMail(xmlAbout("once.example"))
    const outcomes = await Promise.all(["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((address) => take(mail, address)))
    expect(outcomes.sort()).toEqual(["repeated", "repeated", "taken"])
    expect(await take(gzipMail(xmlAbout("once.example", { records: [bad] })))).toBe("repeated")
    expect((await reportsOf(tenant, id)).totals.messages).toBe(12_300)
    expect(await take(gzipMail(xmlAbout("once.example", { reporter: "Yahoo" })))).toBe("taken")
    expect((await reportsOf(tenant, id)).totals.messages).toBe(24_600)
  })

  it("is that of every organization that has verified the domain, and of no other", async () => {
    const [one, other, third] = [await platform().tenant(), await platform().tenant(), await platform().tenant()]
    const [ofOne, ofOther] = [await verified(one, "shared.example"), await verified(other, "shared.example")]
    const unproven = await added(third, "shared.example")
    const foreign = await verified(third, "foreign.example")
    expect(await take(gzipMail(xmlAbout("Shared.Example")))).toBe("taken")
    expect((await reportsOf(one, ofOne)).totals.messages).toBe(12_300)
    expect((await reportsOf(other, ofOther)).totals.messages).toBe(12_300)
    expect((await reportsOf(third, unproven)).totals.messages).toBe(0)
    expect((await reportsOf(third, foreign)).totals.messages).toBe(0)
    // A domain of somebody else is like one that does not exist.
    const strange = await third.live("GET", `/v1/send/domains/${ofOne}/reports`)
    const none = await third.live("GET", "/v1/send/domains/dom_none/reports")
    expect([strange.status, none.status]).toEqual([404, 404])
    expect(JSON.stringify(strange.body).replace(ofOne, "dom_none")).toBe(JSON.stringify(none.body))
    expect((await one.test("GET", `/v1/send/domains/${ofOne}/reports`)).status).toBe(404)
    // Another organization's cursor is refused.
    await take(gzipMail(xmlAbout("foreign.example")))
    const { pagination } = await reportsOf(third, foreign, "?limit=1")
    const misused = await one.live("GET", `/v1/send/domains/${ofOne}/reports?cursor=${pagination.nextCursor}`)
    expect(misused.status).toBe(400)
  })

  it("that nobody can use is answered like any other, and changes nothing", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "hostile.example")
    expect(await take(gzipMail(xmlAbout("unknown.example")))).toBe("stray")
    expect(await take(gzipMail(xmlAbout("sub.hostile.example")))).toBe("stray")
    expect(await take(gzipMail(xmlAbout("hostile.example", { beginsAt: today - 93 * day })))).toBe("late")
    expect(await take(gzipMail(xmlAbout("hostile.example", { beginsAt: today + 2 * day })))).toBe("early")
    for (const mail of [gzipMail("<feedback>"), "Subject: Hi\r\n\r\nHello\r\n", gzipMail(xmlAbout("unknown.example"))])
      expect(await bring(mail)).toMatch(/^250 /)
    expect((await reportsOf(tenant, id)).reporters).toEqual([])
  })

  it("beyond 200 sources of a day is counted without the source", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "many.example")
    const recordsOf = (network: number, count: number) =>
      Array.from({ length: 150 }, (_, at) => ({ ...good, source: `10.0.${network}.${at}`, count }))
    await take(gzipMail(xmlAbout("many.example", { reportId: "1", records: recordsOf(1, 2) })))
    await take(gzipMail(xmlAbout("many.example", { reportId: "2", records: recordsOf(2, 3) })))
    await take(gzipMail(xmlAbout("many.example", { reportId: "3", records: [...recordsOf(1, 1), bad] })))
    const { data, totals } = await reportsOf(tenant, id, "?limit=100")
    expect(totals).toMatchObject({ messages: 300 + 450 + 150 + 240, passed: 900 })
    // The others have most failures here, because the source that fails had no row left.
    expect(data[0]).toMatchObject({ source: null, messages: 100 * 3 + 240, passed: 300 })
    const rows = await platform().run(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select 1 from send_dmarc_sources where domain_id = ${id}`)
    )
    expect(rows).toHaveLength(201)
  })

  it("[handoff 6.4] comes again later where one network, or all, have reported enough on a day", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "flooded.example")
    const had = (reports: number, network: string) =>
      platform().run(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`
            insert into send_domain_reports
              (domain_id, organization_id, day, kind, reporter, report_id, network, received_at)
            select ${id}, ${tenant.organization}, ${yesterday}, 'dmarc', ${network}, number::text, ${network}, ${Date.now()}
            from generate_series(1, ${reports}::int4) as number`
        )
      )
    await had(200, "203.0.113.5")
    const mail = (reportId: string) => gzipMail(xmlAbout("flooded.example", { reportId }))
    expect(await take(mail("a"), "203.0.113.5")).toBe("full")
    expect(await take(mail("a"), "203.0.113.6")).toBe("taken")
    expect(await take(mail("a"), "203.0.113.5")).toBe("repeated")
    await had(199, "127.0.0.1")
    expect(await bring(mail("b"))).toMatch(/^250 /)
    expect(await bring(mail("c"))).toMatch(/^451 /)
    await had(600, "203.0.113.7")
    expect(await take(mail("c"), "203.0.113.8")).toBe("full")
  })

  it("goes with its domain, and after 90 days", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "gone.example")
    await take(gzipMail(xmlAbout("gone.example")))
    await take(mailWith("application/tlsrpt+gzip", gzipSync(tlsJson("gone.example", dayText(yesterday)))))
    await take(gzipMail(xmlAbout("gone.example", { reportId: "old", beginsAt: today - 85 * day })))
    const rows = () =>
      platform().run(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [row] = yield* sql<{ readonly counts: string }>`
            select concat_ws(' ',
              (select count(*) from send_domain_reports where domain_id = ${id}),
              (select count(*) from send_dmarc_sources where domain_id = ${id}),
              (select count(*) from send_tls_sessions where domain_id = ${id})) as counts`
          return row!.counts
        })
      )
    expect(await rows()).toBe("3 4 5")
    const age = (table: string) => platform().run(removeAged({ table, column: "day", retentionMillis: 80 * day }))
    for (const table of ["send_domain_reports", "send_dmarc_sources", "send_tls_sessions"]) await age(table)
    expect(await rows()).toBe("2 2 5")
    expect((await tenant.live("DELETE", `/v1/send/domains/${id}`)).status).toBe(200)
    expect(await rows()).toBe("0 0 0")
    expect(await take(gzipMail(xmlAbout("gone.example", { reportId: "2" })))).toBe("stray")
  })
})

describe("a TLS report", () => {
  it("[handoff 6.4] is shown by day and policy, with failures by type", async () => {
    const tenant = await platform().tenant()
    const id = await verified(tenant, "tls.example")
    const mail = (at: number) => mailWith("application/tlsrpt+gzip", gzipSync(tlsJson("tls.example", dayText(at))))
    expect(await bring(mail(yesterday), "tls-reports@bounces.test")).toMatch(/^250 /)
    expect(await take(mail(yesterday))).toBe("repeated")
    expect(await take(mail(yesterday - day))).toBe("taken")
    const shown = await reportsOf(tenant, id, "?kind=tls&limit=3")
    expect(shown).toMatchObject({
      kind: "tls",
      reporters: [{ name: "Google Inc.", reports: 2 }],
      totals: { successful: 2 * 5_330, failed: 2 * 303 },
      has_more: true
    })
    expect(shown.data).toEqual([
      { day: dayText(yesterday), policy: "no-policy-found", successful: 4, failed: 0, failures: [] },
      {
        day: dayText(yesterday),
        policy: "sts",
        successful: 5_326,
        failed: 303,
        failures: [
          { type: "starttls-not-supported", sessions: 200 },
          { type: "certificate-expired", sessions: 102 },
          { type: "unspecified", sessions: 1 }
        ]
      },
      { day: dayText(yesterday - day), policy: "no-policy-found", successful: 4, failed: 0, failures: [] }
    ])
    const rest = await reportsOf(tenant, id, `?kind=tls&limit=3&cursor=${shown.pagination.nextCursor}`)
    expect(rest.data).toMatchObject([{ day: dayText(yesterday - day), policy: "sts" }])
    expect((await reportsOf(tenant, id)).data).toEqual([])
  })
})

it("a request for reports that is wrong names what is", async () => {
  const tenant = await platform().tenant()
  const id = await verified(tenant, "asked.example")
  const refused = async (query: string) => {
    const { body, status } = await tenant.live("GET", `/v1/send/domains/${id}/reports?${query}`)
    expect(status, query).toBe(400)
    return JSON.stringify(body)
  }
  expect(await refused("kind=spf")).toContain("Expected one of dmarc, tls")
  expect(await refused("since=yesterday")).toContain("since")
  expect(await refused(`since=${today - 91 * day}`)).toContain("90 days")
  expect(await refused("limit=101")).toContain("limit")
  expect(await refused("cursor=none")).toContain("cursor")
  expect(await refused("after=dom_1")).toContain("after")
})
