/** The lists over all organizations that operators work with (docs/platform.md, 8.3), on the platform of the worker. */
import { randomUUID } from "node:crypto"
import { beforeAll, describe, expect, it } from "vitest"
import { ok, okJson, query, refusal } from "../cli/support.ts"
import { addDomain, ask, makeOrganization, until } from "../console/fill.ts"
import { sluice } from "../support/commands.ts"
import { useSharedPlatform } from "../support/sharedPlatform.ts"

const platform = useSharedPlatform()

const admin = (method: string, path: string, body?: unknown) => platform().admin(method, `/admin/v1${path}`, body)

type Item = Readonly<Record<string, unknown>>

const list = async (path: string): Promise<ReadonlyArray<Item>> => {
  const { body, status } = await admin("GET", path)
  expect([path, status]).toEqual([path, 200])
  return (body as { readonly data: ReadonlyArray<Item> }).data
}

/** Every item of a list, two at a time. */
const walk = async (path: string): Promise<ReadonlyArray<Item>> => {
  const items: Array<Item> = []
  let cursor = ""
  do {
    const { body } = await admin("GET", `${path}${path.includes("?") ? "&" : "?"}limit=2${cursor}`)
    const page = body as {
      readonly data: ReadonlyArray<Item>
      readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
    }
    items.push(...page.data)
    cursor = page.pagination.hasMore ? `&cursor=${encodeURIComponent(page.pagination.nextCursor!)}` : ""
  } while (cursor !== "")
  return items
}

const send = (key: string, from: string, to: string) =>
  ask("POST", `${platform().url}/v1/send/emails`, key, { from: `a@${from}`, to: [to], subject: "Hello", text: "Hello" })

describe("operators' lists", () => {
  const word = `w${randomUUID().slice(0, 8)}`
  const domain = `${word}.example`
  let made: Awaited<ReturnType<typeof makeOrganization>>
  beforeAll(async () => {
    const { adminKey, adminUrl, url } = platform()
    made = await makeOrganization({ adminKey, adminUrl }, `Ünion ${word} O'Brien & Co`)
    await addDomain(url, made.key, domain)
  })

  it("[platform 8.3] finds organizations by name, contact, id, key and domain, and nothing by other words", async () => {
    const ids = async (text: string) =>
      (await list(`/organizations?search=${encodeURIComponent(text)}`)).map(({ id }) => id)
    const own = [made.organization]
    expect(await ids(word.toUpperCase())).toEqual(own)
    expect(await ids(`brien ${word.slice(0, 6)}`)).toEqual(own)
    expect(await ids(made.organization)).toEqual(own)
    expect(await ids(made.keyId)).toEqual(own)
    expect(await ids(domain)).toEqual(own)
    expect(await ids(`ops@example.com ${word}`)).toEqual(own)
    expect(await ids(`${word} elsewhere`)).toEqual([])
    expect(await ids("org_none")).toEqual([])
    // Signs that a query language would read are only signs.
    expect(await ids(`${word} ') | !:* \\ & <->`)).toEqual(own)
    expect(await ids("& | ! :*")).toEqual([])
    const short = await admin("GET", "/organizations?search=a")
    expect(short.body).toMatchObject({ error: { message: expect.stringContaining("'search'") } })
    expect(short.status).toBe(400)
  })

  it("[platform 8.3] lists accounts by what may pause them, and those that are paused with the reason", async () => {
    const account = (filter: string) => list(`/send/accounts?organization=${made.organization}&mode=test${filter}`)
    for (const at of [1, 2]) await send(made.key, domain, `bounced+${at}@simulator.invalid`)
    const [warned] = await until(
      () => account("&warned=true"),
      (data) => (data[0]?.triggers as ReadonlyArray<Item> | undefined)?.[0]?.count === 2
    )
    expect(warned).toMatchObject({ organizationId: made.organization, stage: "probation", pausedAt: null })
    expect(warned!.triggers).toContainEqual({ trigger: "bounces", count: 2, limit: 3 })
    expect(await account("&stage=sending_paused")).toEqual([])
    await send(made.key, domain, "bounced+3@simulator.invalid")
    const [paused] = await until(
      () => account("&stage=sending_paused"),
      (data) => data.length > 0
    )
    expect(paused).toMatchObject({ pauseReason: "bounces", pausedAt: expect.any(Number), triggers: [] })
    expect(await account("&warned=true")).toEqual([])
    await admin("POST", `/organizations/${made.organization}/send/lift`, { mode: "test" })
    const [lifted] = await until(
      () => account(""),
      (data) => data[0]?.stage === "probation"
    )
    expect(lifted).toMatchObject({ pausedAt: null, pauseReason: null, warnedAt: null })
    const all = await walk("/send/accounts")
    expect(new Set(all.map(({ mode, organizationId }) => `${organizationId} ${mode}`)).size).toBe(all.length)
    expect(all.map(({ changedAt }) => changedAt)).toEqual(
      all.map(({ changedAt }) => changedAt as number).toSorted((one, other) => other - one)
    )
  })

  it("[platform 8.3] lists senders with tier and cap, by the beginning of their name", async () => {
    const [before] = await list(`/send/senders?name=${word.toUpperCase()}`)
    expect(before).toMatchObject({
      organizationId: made.organization,
      kind: "domain",
      name: domain,
      sending: { isVerified: true, tier: "new" }
    })
    await admin("PUT", `/organizations/${made.organization}/send/cap`, {
      mode: "test",
      sender: domain,
      dailyCap: 7
    })
    const [after] = await list(`/send/senders?organization=${made.organization}`)
    expect(after).toMatchObject({ sending: { dailyCap: 7 } })
    expect(await list(`/send/senders?organization=${made.organization}&mode=live`)).toEqual([])
  })

  it("[platform 8.3] lists request rates with what is left of them, and counts nothing itself", async () => {
    const path = `/rates?search=${made.organization}`
    const left = async () => ((await list(path))[0]!.left as { readonly remaining: number } | null)?.remaining
    expect((await list(path))[0]).toMatchObject({ plan: "team", own: null, inForce: 6_000 })
    expect(await list(`${path}&own=true`)).toEqual([])
    await admin("PUT", `/organizations/${made.organization}/limits`, { requestsPerMinute: 50 })
    await until(
      () => list(`${path}&own=true`),
      (data) => data[0]?.inForce === 50
    )
    const first = await left()
    expect([await left(), await left()]).toEqual([first, first])
    await ask("GET", `${platform().url}/v1/events`, made.key)
    const second = await left()
    // A new minute may have begun in between.
    expect([first! - 1, 49]).toContain(second)
  })

  it("[platform 8.3] lists operators' acts by act, subject and time, each once", async () => {
    const mine = await walk(`/acts?subject=${made.organization}`)
    expect(mine.map(({ act }) => act)).toEqual([
      "organization.limits_set",
      "send.cap_set",
      "send.lifted",
      "organization.created"
    ])
    expect(mine[0]).toMatchObject({ detail: { requestsPerMinute: 50 }, at: expect.any(Number) })
    const lifted = await list(`/acts?act=send.lifted&subject=${made.organization}&since=${mine[2]!.at}`)
    expect(lifted).toEqual([mine[2]])
    expect(await list(`/acts?subject=${made.organization}&until=${mine[3]!.at}`)).toEqual([])
  })

  it("[platform 2.11, 2.12, 8.3] shows requests, audit log and acts by the command line", async () => {
    const { adminKey, adminUrl } = platform()
    const at = { SLUICE_ADMIN_URL: adminUrl, SLUICE_ADMIN_KEY: adminKey }
    const org = ["--org", made.organization]
    const requests = await until(
      () => okJson(["requests", "list", ...org, "--method", "POST", "--hours", "1", "--limit", "1"], at),
      (found) => found.length === 1
    )
    expect(requests[0]).toMatchObject({ method: "POST", keyId: made.keyId })
    expect(await okJson(["requests", "show", requests[0].id, ...org], at)).toMatchObject({ id: requests[0].id })
    expect(await ok(["requests", "list", ...org, "--status", "5xx"], at)).toBe("No such request.\n")
    expect(refusal(await sluice(["requests", "list", ...org, "--status", "none"], at))).toContain("Invalid status")
    const acts = await okJson(["audit", "list", "--act", "send.lifted", "--subject", made.organization], at)
    expect(acts).toMatchObject([{ act: "send.lifted", subject: made.organization }])
    const entries = await okJson(["audit", "list", ...org, "--act", "domain.added"], at)
    expect(entries).toMatchObject([{ act: "domain.added", actor: { type: "key", id: made.keyId } }])
    expect(await ok(["audit", "list", ...org], at)).toContain("send.cap_set")
    expect(refusal(await sluice(["audit", "list", ...org, "--subject", "x"], at))).toContain("not both")
  })

  it("[platform 11.6] lists invoices of all organizations by state and month, and shows one", async () => {
    const { databaseUrl } = platform()
    const id = `in_${randomUUID().replaceAll("-", "")}`
    await query(
      databaseUrl,
      `insert into invoices (id, organization_id, number, amount, currency, status, description, customer_name, created_at)
       values ($1, $2, 1, 4900, 'usd', 'paid', 'Team, November', 'Acme', '2031-11-30T23:59:59Z')`,
      [id, made.organization]
    )
    const ids = async (filter: string) => (await list(`/invoices?${filter}`)).map((one) => one.id)
    expect(await ids("month=2031-11&status=paid")).toEqual([id])
    expect(await ids("month=2031-11&status=any")).toEqual([id])
    expect(await ids("month=2031-10&status=any")).toEqual([])
    expect(await ids("month=2031-11")).toEqual([])
    expect(await ids("month=2031-12&status=any")).toEqual([])
    expect((await admin("GET", "/invoices?month=2031-13")).status).toBe(400)
    expect((await admin("GET", `/invoices/${id}`)).body).toMatchObject({ id, amount: 4900, pdfUrl: null })
    expect((await admin("GET", "/invoices/in_none")).status).toBe(404)
    expect((await admin("GET", "/invoices/in_none/document")).status).toBe(404)
  })

  it("[directory 6] keeps the files that were not taken, and tells the newest data of each kind", async () => {
    const source = `/nowhere/${word}.txt`
    const run = (dryRun: boolean) => admin("POST", "/ingestions", { sources: [source], dryRun })
    await run(true)
    await run(false)
    const failures = (await list("/ingestions/failures")).filter((one) => one.source === source)
    expect(failures).toEqual([
      { id: expect.any(Number), at: expect.any(String), source, code: expect.any(String), message: expect.any(String) }
    ])
    expect(await list(`/ingestions/failures?before=${failures[0]!.id}&limit=1`)).not.toContainEqual(failures[0])
    const { body } = await admin("GET", "/ingestions/state")
    const { latest, present } = body as {
      readonly latest: ReadonlyArray<Item>
      readonly present: ReadonlyArray<Item>
    }
    expect(present.filter((one) => one.source === source)).toEqual([])
    expect(latest.map(({ kind }) => kind)).toContain("NANPA")
  })
})
