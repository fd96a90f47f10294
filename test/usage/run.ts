/**
 * A kill run of usage: `sluice serve` as its users run it, while callers look numbers up (facts), read the directory (counted in memory) and report usage. It is killed (-9) again and
 * again and started anew. Then the figures are held against a recount of the log, and against what callers were told.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { usNpa } from "../cli/files.ts"
import { adminOf, ask, makeUnlimited } from "../support/ask.ts"
import { KilledPlatform, makeSeededData } from "../support/killed.ts"
import { describeViolations, type Means } from "../support/longRun.ts"
import { type AtEnd, inRunFolder } from "../support/runFolder.ts"
import { Recount } from "./recount.ts"

export interface UsageRunOptions extends Means {
  readonly kills: number
  /** Requests between two kills. */
  readonly requests: number
  readonly seed: number
}

export interface UsageRunReport {
  readonly violations: ReadonlyArray<string>
  readonly kills: number
  readonly frames: number
  /** Look-ups: asked, answered, counted. */
  readonly lookups: readonly [asked: number, answered: number, counted: number]
  /** Reads of the directory, likewise: what was answered and not counted was lost with a process. */
  readonly reads: readonly [asked: number, answered: number, counted: number]
  readonly reported: number
  /** Emails that were answered with 202. */
  readonly sent: number
}

const tenantCount = 3
const callers = 8
const partitions = 8
const patienceMillis = 60_000
const adminKey = `adm_${"Uz4".repeat(10)}`

interface Tenant {
  readonly organization: string
  readonly key: string
  /** Of test mode: it sends, and its mail reaches nobody. */
  readonly sendKey: string
  readonly credential: string
}

interface Counts {
  lookups: [asked: number, answered: number]
  reads: [asked: number, answered: number]
  reported: number
  sent: number
}

const makeTenant = async (platform: KilledPlatform, name: string): Promise<Tenant> => {
  const admin = adminOf(platform, adminKey)
  const organization = await makeUnlimited(admin, { name })
  const of = `/organizations/${organization}`
  const { key } = await admin<{ readonly key: string }>("POST", `${of}/keys`, {
    services: ["telco", "directory"],
    scopes: ["*"]
  })
  const { key: sendKey } = await admin<{ readonly key: string }>("POST", `${of}/keys`, {
    mode: "test",
    services: ["send"],
    scopes: []
  })
  // A test key's domain is verified at once.
  await ask(() => `${platform.url}/v1/send/domains`, {
    method: "POST",
    bearer: sendKey,
    body: { name: `${name}.example` }
  })
  const { credential } = await admin<{ readonly credential: string }>("POST", `${of}/site-credentials`, {})
  return { organization, key, sendKey, credential }
}

/** Asks until so many requests were made in this life; each is asked once, but reports until they are answered. */
const call = async (
  platform: KilledPlatform,
  tenants: ReadonlyArray<Tenant>,
  counts: ReadonlyArray<Counts>,
  { requests, round }: { readonly requests: number; readonly round: number },
  progressed: (asked: number) => void
): Promise<void> => {
  let next = 0
  const get = async (path: string, key: string, tally: [number, number]) => {
    tally[0]++
    const answer = await fetch(`${platform.url}${path}`, { headers: { "x-api-key": key } }).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.status === 200 && text !== undefined) tally[1]++
    else if (answer !== undefined && answer.status !== 503 && text !== undefined)
      throw new Error(`${path} is answered with ${answer.status} ${text}`)
  }
  const report = async ({ credential }: Tenant, tally: Counts, name: string) => {
    for (;;) {
      const answer = await fetch(`${platform.url}/api/billing/usage`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${credential}`,
          "content-type": "application/json",
          "idempotency-key": name
        },
        body: JSON.stringify({ product: "transcribe", usageType: "storage", quantity: 7 })
      }).catch(() => undefined)
      if (answer?.status === 202) break
      await answer?.body?.cancel()
      await pause(50)
    }
    tally.reported += 7
  }
  /** What a cap refuses is sent nowhere and counts nothing. */
  const sendMail = async ({ sendKey }: Tenant, from: string, tally: Counts) => {
    const answer = await fetch(`${platform.url}/v1/send/emails`, {
      method: "POST",
      headers: { authorization: `Bearer ${sendKey}`, "content-type": "application/json" },
      body: JSON.stringify({ from, to: "delivered@simulator.invalid", subject: "Hello", text: "x".repeat(500) })
    }).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.status === 202) tally.sent++
    else if (answer !== undefined && text !== undefined && answer.status !== 503 && answer.status !== 429)
      throw new Error(`an email is answered with ${answer.status} ${text}`)
  }
  const caller = async (): Promise<void> => {
    while (next < requests) {
      const at = next++
      const tenant = tenants[at % tenantCount]!
      const tally = counts[at % tenantCount]!
      progressed(at)
      if (at % 20 === 5) await sendMail(tenant, `ann@tenant${(at % tenantCount) + 1}.example`, tally)
      else if (at % 10 === 0) await report(tenant, tally, `round ${round} report ${at}`)
      else if (at % 2 === 0)
        await get(`/v1/telco/lookup/${usNpa}2000${String(at % 1000).padStart(3, "0")}`, tenant.key, tally.lookups)
      else await get(`/v1/npa/${usNpa}?limit=1`, tenant.key, tally.reads)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

/** The figures as they stand in the database, like the recount's sums. */
const figuresOf = async ({ postgresUrl }: KilledPlatform): Promise<Map<string, number>> => {
  const client = new pg.Client({ connectionString: postgresUrl })
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, string>>("select * from usage_hours")
    return new Map(
      rows.map((row) => [`${row.organization_id} ${row.hour} ${row.product} ${row.usage_type}`, Number(row.quantity)])
    )
  } finally {
    await client.end()
  }
}

const sumOf = (sums: ReadonlyMap<string, number>, { organization }: Tenant, product: string, type: string): number =>
  [...sums].reduce((sum, [name, quantity]) => {
    const [of, , ...rest] = name.split(" ")
    return of === organization && rest.join(" ") === `${product} ${type}` ? sum + quantity : sum
  }, 0)

const same = (one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean =>
  one.size === other.size && [...one].every(([name, quantity]) => other.get(name) === quantity)

/** What callers were told against what was counted. */
const judge = (
  tenants: ReadonlyArray<Tenant>,
  counts: ReadonlyArray<Counts>,
  figures: ReadonlyMap<string, number>
): ReadonlyArray<string> =>
  tenants.flatMap((tenant, index) => {
    const { lookups, reads, reported } = counts[index]!
    const [askedLookups, answeredLookups] = lookups
    const counted = sumOf(figures, tenant, "telco", "apiCalls")
    const countedReads = sumOf(figures, tenant, "directory", "apiCalls")
    const storage = sumOf(figures, tenant, "transcribe", "storage")
    return [
      ...(counted < answeredLookups || counted > askedLookups
        ? [`${counted} look-ups are counted of ${askedLookups}, of which ${answeredLookups} were answered`]
        : []),
      ...(countedReads > reads[0] ? [`${countedReads} reads are counted of ${reads[0]}`] : []),
      ...(storage !== reported ? [`${storage} bytes are counted of ${reported} reported`] : [])
    ]
  })

const total = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)

const run = async (options: UsageRunOptions, folder: string, atEnd: AtEnd): Promise<UsageRunReport> => {
  const { kills, requests, seed, tell } = options
  const random = new Prng(seed, "usage")
  tell(`seed ${seed}: ${kills} kills, ${requests} requests between them`)
  const data = await makeSeededData(folder, atEnd)
  const platform = new KilledPlatform({
    folder: data,
    environment: { SLUICE_ADMIN_KEY: adminKey, SLUICE_DEMO: "off" }
  })
  atEnd(() => platform.stop())
  await platform.start()
  const names = Array.from({ length: tenantCount }, (_, index) => `tenant${index + 1}`)
  const tenants = await Promise.all(names.map((name) => makeTenant(platform, name)))
  const counts = tenants.map((): Counts => ({ lookups: [0, 0], reads: [0, 0], reported: 0, sent: 0 }))
  const recount = new Recount()
  for (let round = 0; round <= kills; round++) {
    const at = round === kills ? Number.POSITIVE_INFINITY : Math.floor(requests * (0.2 + 0.7 * random.next()))
    let killed: Promise<void> | undefined
    await call(platform, tenants, counts, { requests, round }, (asked) => {
      if (asked < at || killed !== undefined) return
      tell(`kill -9 at request ${asked} of round ${round + 1}`)
      platform.kill("platform")
      killed = platform.recovering
    })
    await killed
    await recount.readOn(platform.natsUrl, partitions)
  }
  const deadline = performance.now() + patienceMillis
  let figures = await figuresOf(platform)
  let last = ""
  // Counts of the last second are on their way, and the projection follows.
  for (;;) {
    await recount.readOn(platform.natsUrl, partitions)
    figures = await figuresOf(platform)
    const seen = JSON.stringify([...figures])
    if ((same(figures, recount.sums) && seen === last) || performance.now() > deadline) break
    last = seen
    await pause(2_000)
  }
  const differs = same(figures, recount.sums) ? [] : ["the figures differ from the recount of the log"]
  const sums = (product: string) => total(tenants.map((tenant) => sumOf(figures, tenant, product, "apiCalls")))
  return {
    violations: [...recount.violations, ...differs, ...judge(tenants, counts, figures)],
    kills,
    frames: recount.frames,
    lookups: [total(counts.map((one) => one.lookups[0])), total(counts.map((one) => one.lookups[1])), sums("telco")],
    reads: [total(counts.map((one) => one.reads[0])), total(counts.map((one) => one.reads[1])), sums("directory")],
    reported: total(counts.map((one) => one.reported)),
    sent: total(counts.map((one) => one.sent))
  }
}

/** Runs it in a folder of its own. */
export const runUsage = (options: UsageRunOptions): Promise<UsageRunReport> =>
  inRunFolder("usage", options.signal, (folder, atEnd) => run(options, folder, atEnd))

export const describeUsage = ({ frames, kills, lookups, reads, reported, sent, violations }: UsageRunReport): string =>
  [
    `${kills} kills, ${frames} frames read again`,
    `look-ups: ${lookups[0]} asked, ${lookups[1]} answered, ${lookups[2]} counted`,
    `reads: ${reads[0]} asked, ${reads[1]} answered, ${reads[2]} counted`,
    `${reported} bytes reported, ${sent} emails sent`,
    describeViolations(violations, "no violation")
  ].join("\n")
