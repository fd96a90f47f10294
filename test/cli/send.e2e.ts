/** Operators and accounts that send: why one was paused, lifts, risk and limits, by the command line and the admin API; the risk of sign-ups. */
import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { sluice } from "../support/commands.ts"
import { startPlatformHere } from "../support/here.ts"
import type { RunningPlatform } from "../support/platform.ts"
import { sending } from "./sendAccounts.ts"
import { askAdmin, makeKey, makeOrganization, ok, okJson, query, refusal, useDatabases } from "./support.ts"

const adminKey = `adm_${"Ab1".repeat(10)}`
const database = useDatabases()
let databaseUrl = ""
let platform: RunningPlatform
let at: Readonly<Record<string, string>>

const serve = async () => {
  platform = await startPlatformHere({
    DATABASE_URL: databaseUrl,
    NATS_URL: inject("natsUrl"),
    SLUICE_ADMIN_KEY: adminKey,
    SLUICE_DEMO: "off"
  })
  at = { SLUICE_DATA_DIR: platform.dataDir }
}

beforeAll(async () => {
  databaseUrl = await database("seeded")
  await serve()
})

afterAll(() => platform?.stop())

const makeAcme = (more: object = {}): Promise<string> =>
  makeOrganization(platform, { name: `Acme ${randomUUID()}`, ...more })

const riskOf = async (id: string) => (await askAdmin(platform, "GET", `/organizations/${id}`)).risk

const actsOf = (id: string) =>
  query<{ readonly act: string; readonly detail: Record<string, unknown> }>(
    databaseUrl,
    "select act, detail from admin_acts where subject = $1 order by id",
    [id]
  )

it("[platform 9.9] a paused account is shown with the facts that paused it, and its pause is lifted", async () => {
  const [risky, bouncing] = [await makeAcme({ sendPlan: "pro" }), await makeAcme()]
  await platform.stop()
  const on = { databaseUrl, natsUrl: inject("natsUrl") }
  const signals = ["foreign_link", "verification_subject"] as const
  const mails = Array.from({ length: 4 }, (_, number) => ({ id: `${risky}-${number}`, signals }))
  await sending(on, { organization: risky, mode: "live" }, mails, [])
  const ids = Array.from({ length: 4 }, (_, number) => ({ id: `${bouncing}-${number}` }))
  const bounces = ids.slice(1).map(({ id }) => ({ id, what: "bounced" as const }))
  await sending(on, { organization: bouncing, mode: "test" }, ids, bounces)
  await serve()

  const shown = await okJson(["send", "show", "--org", risky], at)
  expect(shown).toMatchObject({
    mode: "live",
    trustStage: "sending_paused",
    pauseReason: "risky_content",
    pausedAt: expect.any(Number),
    probationEndsAt: null,
    risk: "standard",
    custom: { emailsPerMonth: null, probation: null },
    inForce: { emailsPerMonth: 50_000, probation: null }
  })
  expect(shown.facts.map(({ sentence }: { sentence: string }) => sentence)).toEqual([
    "Probation began, with standard risk",
    "Accepted 4 emails, with 8 risky signals",
    "Sending was paused: five risky signals in its emails within 24 hours"
  ])
  const text = await ok(["send", "show", "--org", risky], at)
  expect(text).toMatch(/stage +sending_paused\npaused +\d{4}-\d\d-\d\d \d\d:\d\d UTC for risky_content\n/)
  expect(text).toMatch(/began.*\n.*8 risky signals\n.*was paused/)

  const bounced = await okJson(["send", "show", "--org", bouncing, "--mode", "test"], at)
  expect(bounced.facts.map(({ sentence }: { sentence: string }) => sentence)).toEqual([
    "Probation began, with standard risk",
    ...bounces.map(({ id }) => `Email ${id} bounced for good`),
    "Sending was paused: three of its first 25 emails have bounced for good"
  ])
  // The two accounts of an organization share no fact of what they send.
  expect(await okJson(["send", "show", "--org", bouncing], at)).toMatchObject({ trustStage: "probation", facts: [] })

  const key = await makeKey(platform, risky, { services: ["send"] })
  const emails = `${platform.url}/v1/send/emails`
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const mail = JSON.stringify({ from: "ann@one.test", to: "bob@two.test", subject: "Hello", text: "Hi" })
  const send = () => fetch(emails, { method: "POST", headers, body: mail })
  const paused = await send()
  expect([paused.status, await paused.json()]).toMatchObject([403, { error: { code: "sending_paused" } }])
  const cap = ["send", "cap", "One.test"]
  expect(await okJson([...cap, "5", "--org", risky], at)).toEqual({
    mode: "live",
    sender: "one.test",
    isVerified: true,
    tier: "new",
    dailyCap: 5,
    waiting: expect.any(Number)
  })
  expect(await ok([...cap, "tier", "--org", bouncing, "--mode", "test"], at)).toContain("200 emails a day, tier new")
  // Of this mode it has no sender.
  expect(refusal(await sluice([...cap, "5", "--org", bouncing], at))).toContain("no verified sender")

  const patient = await okJson(["what-if", "--org", risky, "--since", "1d", "--pause-signals", "0"], at)
  expect(patient).toMatchObject({
    asItWas: { pauses: [{ reason: "risky_content" }], days: [{ accepted: 4, held: 4 }] },
    underRules: { pauses: [], days: [{ accepted: 5, held: 0, refused: {} }] },
    agreement: { same: 2, other: 0 },
    unknown: { fates: 1 }
  })
  expect(await ok(["what-if", "--org", risky, "--pause-signals", "0"], at)).toContain("Pauses under the others: none")

  const lifted = await okJson(["send", "lift", "--org", risky], at)
  expect(lifted).toMatchObject({ trustStage: "probation", pausedAt: null, probationEndsAt: expect.any(Number) })
  const accepted = await send()
  expect(accepted.status).toBe(202)
  const { id, state } = (await accepted.json()) as { readonly id: string; readonly state: string }
  expect(state).toBe("queued")
  const kept = await fetch(`${emails}/${id}`, { headers })
  expect(await kept.json()).toMatchObject({ id, subject: "Hello", text: "Hi", state: "queued" })
  const metrics = await (await fetch(`${platform.url}/metrics`)).text()
  expect(metrics).toMatch(/^sluice_send_emails_accepted_total\{.*mode="live".*\} 1$/m)
  expect(metrics).toMatch(/^sluice_send_requests_refused_total\{.*code="sending_paused".*\} 1$/m)
  expect(refusal(await sluice(["send", "lift", "--org", risky], at))).toContain("not paused: its stage is probation")
  expect(refusal(await sluice(["send", "lift", "--org", bouncing], at))).toContain("not paused")
  expect(await ok(["send", "lift", "--org", bouncing, "--mode", "test"], at)).toMatch(/stage +probation/)
  expect((await actsOf(risky)).slice(1)).toEqual([
    { act: "send.cap_set", detail: { mode: "live", sender: "One.test", dailyCap: 5 } },
    { act: "send.lifted", detail: { mode: "live" } }
  ])
  expect((await actsOf(bouncing)).slice(1)).toEqual([
    { act: "send.cap_set", detail: { mode: "test", sender: "One.test", dailyCap: null } },
    { act: "send.lifted", detail: { mode: "test" } }
  ])
})

it("[platform 2.2] risk and limits are set, shown and recorded, and a limit that is not named stays", async () => {
  const id: string = (await okJson(["orgs", "create", `Acme ${randomUUID()}`, "--risk", "higher"], at)).id
  const caps = { emailsPerHour: 20, emailsPerDay: 100, domainsPerHour: 10 }
  // Looking at an account that nothing has happened to begins no probation.
  expect(await okJson(["send", "show", "--org", id], at)).toMatchObject({
    risk: "higher",
    probationEndsAt: null,
    inForce: { emailsPerMonth: 3_000, probation: caps },
    facts: []
  })
  expect(await okJson(["send", "risk", "standard", "--org", id], at)).toMatchObject({
    risk: "standard",
    inForce: { probation: { emailsPerHour: 50, emailsPerDay: 200, domainsPerHour: 25 } }
  })
  const own = { emailsPerHour: 100, emailsPerDay: 5_000, domainsPerHour: 50 }
  expect(await okJson(["send", "limits", "--org", id, "--probation", "100,5000,50"], at)).toMatchObject({
    custom: { emailsPerMonth: null, probation: own },
    inForce: { emailsPerMonth: 3_000, probation: own }
  })
  // Limits are the organization's, and its risk is that of each account.
  expect(await okJson(["send", "show", "--org", id, "--mode", "test"], at)).toMatchObject({
    risk: "higher",
    custom: { emailsPerMonth: null, probation: own },
    inForce: { probation: own }
  })
  expect(await ok(["send", "limits", "--org", id, "--per-month", "unlimited"], at)).toMatch(
    /emails +unlimited, set by an operator\ncaps +100 an hour, 5000 a day, 50 recipient domains an hour, set by an operator/
  )
  expect(await okJson(["send", "limits", "--org", id, "--per-month", "plan", "--probation", "risk"], at)).toMatchObject(
    { custom: { emailsPerMonth: null, probation: null } }
  )
  expect(await okJson(["send", "limits", "--org", id, "--per-minute", "7"], at)).toMatchObject({
    custom: { requestsPerMinute: 7 },
    inForce: { requestsPerMinute: 7 }
  })
  expect(await okJson(["send", "limits", "--org", id, "--per-minute", "plan"], at)).toMatchObject({
    custom: { requestsPerMinute: null },
    inForce: { requestsPerMinute: 10 }
  })
  expect(await askAdmin(platform, "GET", `/organizations/${id}/send?mode=test`)).toMatchObject({ risk: "higher" })
  expect((await actsOf(id)).slice(1)).toEqual([
    { act: "send.risk_set", detail: { mode: "live", risk: "standard" } },
    { act: "send.limits_set", detail: { mode: "live", emailsPerMonth: null, probation: own } },
    { act: "send.limits_set", detail: { mode: "live", emailsPerMonth: "unlimited", probation: own } },
    { act: "send.limits_set", detail: { mode: "live", emailsPerMonth: null, probation: null } },
    {
      act: "send.limits_set",
      detail: { mode: "live", emailsPerMonth: null, probation: null, requestsPerMinute: 7 }
    },
    { act: "send.limits_set", detail: { mode: "live", emailsPerMonth: null, probation: null } }
  ])
})

it("[platform 9.13] a domain counts as verified on an operator's word, which is recorded as such", async () => {
  const id = await makeAcme()
  const key = await makeKey(platform, id, { services: ["send"] })
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" })
    }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    return (await fetch(`${platform.url}/v1/send/${path}`, sent)).json() as Promise<Record<string, unknown>>
  }
  const verify = ["domains", "verify", "Vouched.example", "--org", id]
  expect(refusal(await sluice([...verify, "--unchecked"], at))).toContain("Vouched.example")
  const { id: domain } = await ask("POST", "domains", { name: "vouched.example" })
  const show = ["domains", "show", "vouched.example", "--org", id]
  const before = (await ok(show, at)).split("\n")
  expect(before[0]).toBe("vouched.example is pending")
  expect(before[1]).toMatch(/^Ownership: set _sluice\.vouched\.example TXT sluice-verification=/)
  expect(before[2]).toMatch(/^DKIM: set sluice-\w+\._domainkey\.vouched\.example TXT v=DKIM1; /)
  expect(refusal(await sluice([...show, "--mode", "test"], at))).toContain("vouched.example")
  expect(await ok([...verify, "--unchecked"], at)).toBe("vouched.example is verified, unchecked\n")
  expect(await ok(show, at)).toBe("vouched.example is verified, unchecked\n")
  expect(await ask("GET", `domains/${domain}`)).toMatchObject({ status: "verified", tier: "new" })
  // Its SPF and DMARC verdicts, as an operator reads them.
  const verdict = {
    record: "SPF",
    name: "vouched.example",
    status: "missing",
    message: "The SPF record of vouched.example does not name the relay.",
    advised: "v=spf1 include:spf.relay.example -all"
  }
  const found = JSON.stringify({ checkedAt: 1, verdicts: [verdict] })
  await query(databaseUrl, `update send_domains set authentication = '${found}'::jsonb where id = '${domain}'`)
  expect(await ok(show, at)).toBe(
    `vouched.example is verified, unchecked\nSPF: missing. ${verdict.message}\n  set ${verdict.advised}\n`
  )
  // What other mail systems report about it, as an operator reads it.
  const reports = ["domains", "reports", "vouched.example", "--org", id]
  expect(await ok(reports, at)).toBe("No report about mail of this domain has come.\n")
  const today = Date.now() - (Date.now() % 86_400_000)
  await query(
    databaseUrl,
    `with owner as (select id, organization_id, ${today}::int8 as day from send_domains where id = '${domain}'),
     reports as (
       insert into send_domain_reports (domain_id, organization_id, day, kind, reporter, report_id, network, received_at)
       select owner.*, kind, 'google.com', '1', '192.0.2.9', ${today} from owner, unnest(array['dmarc', 'tls']) as kind),
     sessions as (
       insert into send_tls_sessions
       select owner.*, 'sts', result, sessions
       from owner, (values ('successful', 9), ('certificate-expired', 1)) as made (result, sessions))
     insert into send_dmarc_sources
     select owner.*, made.* from owner,
       (values ('192.0.2.1', 12060, 12060, 12060, 0, 0, 0), ('198.51.100.7', 240, 0, 0, 0, 0, 240)) as made`
  )
  expect(await ok(reports, at)).toBe(
    [
      "98 % of 12,300 messages passed. 198.51.100.7 sent 240 that failed both SPF and DKIM.",
      "Reported by google.com (1). Nothing proves who sent a report.",
      "SOURCE        MESSAGES  PASSED  DKIM    SPF  QUARANTINED  REJECTED",
      "198.51.100.7  240       0       0       0    0            240",
      "192.0.2.1     12,060    12,060  12,060  0    0            0",
      ""
    ].join("\n")
  )
  expect(await ok([...reports, "--kind", "tls", "--days", "1"], at)).toBe(
    [
      "90 % of 10 connections were encrypted properly.",
      "Reported by google.com (1). Nothing proves who sent a report.",
      "DAY         POLICY  SUCCESSFUL  FAILED  FAILURES",
      `${new Date(today).toISOString().slice(0, 10)}  sts     9           1       certificate-expired 1`,
      ""
    ].join("\n")
  )
  expect(JSON.parse(await ok([...reports, "--json", "--limit", "1"], at))).toMatchObject({
    kind: "dmarc",
    totals: { messages: 12_300, passed: 12_060 },
    data: [{ source: "198.51.100.7", messages: 240 }]
  })
  expect(refusal(await sluice([...reports, "--days", "92"], at))).toContain("90 days")
  expect(refusal(await sluice([...reports, "--mode", "test"], at))).toContain("vouched.example")
  expect((await actsOf(id)).slice(1)).toEqual([
    {
      act: "send.domain_verified",
      detail: { mode: "live", name: "vouched.example", status: "verified", proof: "unchecked", unchecked: true }
    }
  ])
})

it("what cannot be is refused in one sentence, and nothing is done", async () => {
  const id = await makeAcme()
  const refused = async (...args: ReadonlyArray<string>) => refusal(await sluice(["send", ...args], at))
  expect(await refused("show", "--org", "org_nobody")).toContain("org_nobody")
  expect(await refused("lift", "--org", "org_nobody")).toContain("org_nobody")
  expect(await refused("limits", "--org", id)).toContain("--per-month")
  expect(await refused("limits", "--org", id, "--probation", "100,5001,50")).toContain("from 1 to 5000")
  expect(await refused("limits", "--org", id, "--probation", "0,10,10")).toContain("from 1 to 5000")
  expect(await refused("cap", "one.test", "0", "--org", id)).toContain("at least 1")
  const asked = async (...args: ReadonlyArray<string>) => refusal(await sluice(["what-if", ...args], at))
  expect(await asked("--org", "org_nobody")).toContain("org_nobody")
  expect(await asked("--org", id, "--since", "yesterday")).toContain("7d, 36h")
  expect(await asked("--org", id, "--since", "1d", "--until", "2d")).toContain("after 'since'")
  expect(await asked("--org", id, "--probation-hour", "5001")).toContain("from 1 to 5000")
  expect(await refused("cap", "one.test", "5", "--org", id)).toContain('no verified sender "one.test"')
  const { adminUrl } = JSON.parse(await readFile(join(platform.dataDir, "run.json"), "utf8"))
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    return (await fetch(`${adminUrl}/admin/v1/organizations/${id}/send${path}`, sent)).status
  }
  expect(await ask("PUT", "/risk", { risk: "lower" })).toBe(400)
  expect(await ask("PUT", "/risk", { risk: "higher", mode: "both" })).toBe(400)
  expect(await ask("PUT", "/limits", { emailsPerMonth: null })).toBe(400)
  expect(await ask("PUT", "/limits", { emailsPerMonth: 0, probation: null })).toBe(400)
  expect(await ask("PUT", "/cap", { sender: "one.test", dailyCap: 0 })).toBe(400)
  expect(await ask("PUT", "/cap", { dailyCap: null })).toBe(400)
  expect(await ask("POST", "/lift", { reason: "please" })).toBe(400)
  expect(await ask("GET", "?mode=none")).toBe(400)
  expect(await ask("GET", "?mode=test")).toBe(200)
  expect((await actsOf(id)).length).toBe(1)
})

it("an organization is of a higher risk where its sign-up speaks for it, and the act says why", async () => {
  const signalsOf = async (id: string) => (await actsOf(id))[0]?.detail.riskSignals
  const signUp = ["orgs", "create", `Acme ${randomUUID()}`, "--email", "ann@gmail.com"]
  const free: string = (await okJson(signUp, at)).id
  expect([(await okJson(["orgs", "show", free], at)).risk, await signalsOf(free)]).toEqual(["higher", ["free_address"]])
  const disposable = await makeAcme({ email: "ann@mailinator.com" })
  expect([await riskOf(disposable), await signalsOf(disposable)]).toEqual(["higher", ["disposable_address"]])
  const declared = await makeAcme({ risk: "higher" })
  expect([await riskOf(declared), await signalsOf(declared)]).toEqual(["higher", ["declared"]])
  const domain = `bücher-${randomUUID()}.test`
  // Made at once: each is counted by the next all the same.
  const same = await Promise.all(
    ["ann", "Bob", "cid"].map((name, number) =>
      makeAcme({ email: `${name}@${number === 1 ? domain.toUpperCase() : domain}` })
    )
  )
  const risks = await Promise.all(same.map(riskOf))
  expect(risks.toSorted()).toEqual(["higher", "standard", "standard"])
  expect(await signalsOf(same[risks.indexOf("higher")]!)).toEqual(["same_domain"])
  const other = await makeAcme({ email: `ann@${randomUUID()}.test` })
  expect([await riskOf(other), await signalsOf(other)]).toEqual(["standard", []])
})
