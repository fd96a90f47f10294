/**
 * Measures the lists of events and emails of one organization with a large past: each filter, rare and common, and totals, beside the newest page. The rows
 * are written straight into PostgreSQL; requests go over HTTP, one after the other.
 */
import pg from "pg"
import { dayMillis, dayOf, partitionOfDay } from "../../src/postgres/dayPartitions.ts"
import { makeAccount } from "../sending/accounts.ts"
import { adminOf, ask } from "../support/ask.ts"
import { KilledPlatform } from "../support/killed.ts"
import type { Means } from "../support/longRun.ts"
import { inRunFolder } from "../support/runFolder.ts"

export interface SearchOptions extends Means {
  readonly events: number
  readonly emails: number
  readonly requests: number
}

/** Times of one search, in milliseconds. */
export interface SearchRow {
  readonly name: string
  readonly median: number
  readonly p95: number
  /** The median of the newest page of the same list. */
  readonly newest: number
  /** How many times as long as that it may take. */
  readonly factor: number
}

export interface SearchReport {
  readonly rows: ReadonlyArray<SearchRow>
}

const maximumP95Millis = 300

/** A search takes at most this many times as long as the newest page. */
const maximumFactor = 2

/** The same for the total of a word that every email has: PostgreSQL gathers them all before it counts 10,000. */
const frequentTotalFactor = 6

/** Slower than it should be; a millisecond more or less is nothing. */
export const isSlow = ({ factor, median, newest, p95 }: SearchRow): boolean =>
  p95 > maximumP95Millis || median > Math.max(factor * newest, newest + 1)

export const describeSearches = ({ rows }: SearchReport): string =>
  rows
    .map(
      (row) =>
        `${row.name.padEnd(48)} median ${row.median.toFixed(1).padStart(7)} ms   p95 ${row.p95.toFixed(1).padStart(7)} ms   ${(row.median / row.newest).toFixed(2)} of the newest page${isSlow(row) ? "   TOO SLOW" : ""}`
    )
    .join("\n")

const adminKey = `adm_${"Cs8".repeat(10)}`

/** Days of the log that have events. */
const days = 29

/** Rare events are in the oldest day. */
const rareEvents = 3

const makeDay = async (database: pg.Client, table: string, day: number): Promise<string> => {
  const name = partitionOfDay(table, day)
  const { rows } = await database.query("select to_regclass($1) as found", [name])
  if (rows[0].found === null) {
    await database.query(`create table "${name}" (like ${table} including all)`)
    const bounds = `from (${day * dayMillis}) to (${(day + 1) * dayMillis})`
    await database.query(`alter table ${table} attach partition "${name}" for values ${bounds}`)
  }
  return name
}

/** Fills the log of an organization: look-ups, sent emails, and few of other types. */
const fillEvents = async (database: pg.Client, organization: string, events: number): Promise<void> => {
  const today = dayOf(Date.now())
  const perDay = Math.ceil(events / days)
  for (let back = days; back >= 1; back--) {
    const name = await makeDay(database, "events", today - back)
    const begin = (today - back) * dayMillis
    // Sequences are below those of the platform's own log of that day.
    await database.query(
      `insert into "${name}" (organization_id, event_id, type, service, livemode, created_at, sequence, idx, body, for_both_modes, object)
       select $1, 'evt_' || md5($2::text || n), made.type, made.service, made.livemode, $2::int8 + n * (86400000 / $3::int8), 1, n,
         json_build_object('eventId', 'evt_' || md5($2::text || n), 'type', made.type, 'service', made.service,
           'data', json_build_object('tn', made.object), 'livemode', made.livemode, 'createdAt', $2::int8 + n)::text, false, made.object
       from generate_series(1, $3::int4) n
       cross join lateral (select
         case when $4 and n <= ${rareEvents} then 'platform.webhook.paused' when n % 3 = 0 then 'send.email.sent' else 'telco.lookup.completed' end as type,
         case when $4 and n <= ${rareEvents} then 'platform' when n % 3 = 0 then 'send' else 'telco' end as service,
         not ($4 and n between 10 and 12) as livemode,
         case when $4 and n <= ${rareEvents} then 'we_rare' when n % 2 = 0 then 'common' else '2' || lpad((n % 100000)::text, 9, '0') end as object) made`,
      [organization, begin, perDay, back === days]
    )
  }
  await database.query("vacuum analyze events")
}

/** Subjects of the emails that are sent in truth, by their length; the others are copies of them. */
const frequentSubject = "Hello"
const middleSubject = "A letter in forty"
const rareSubject = "The rarest letter of all"
const allSubjects = [frequentSubject, middleSubject, rareSubject]

/** Terms that each copy has beside those of its original: of a name, a number and a longer subject. */
const otherTerms = 24

const fillEmails = async (
  database: pg.Client,
  { organization, domain, emails }: { readonly organization: string; readonly domain: string; readonly emails: number }
): Promise<void> => {
  const { rows: originals } = await database.query(
    `select pointer, terms from send_emails e join send_email_terms t using (organization_id, id)
     where organization_id = $1 order by cardinality(terms)`,
    [organization]
  )
  const pointers = originals.map(({ pointer }) => pointer)
  const begin = Date.now() - 3 * dayMillis
  for (const day of [dayOf(begin), dayOf(begin + emails)]) await makeDay(database, "send_email_terms", day)
  await database.query(
    `insert into send_emails (organization_id, id, mode, accepted_at, state, pointer, scheduled_at, sequence, history, domain)
     select $1, 'em_' || md5(n::text), 'live', $2::int8 + n, made.state,
       ($3::text[])[case when n <= ${rareEvents} then 3 when n % 40 = 0 then 2 else 1 end], null, 1,
       '["queued",' || ($2::int8 + n) || ']', made.domain
     from generate_series(1, $4::int4) n
     cross join lateral (select
       case when n <= 5 then 'complained' when n % 50 = 0 then 'bounced' else 'sent' end as state,
       case when n between 6 and 9 then 'rare.example' else $5 end as domain) made`,
    [organization, begin, pointers, emails, domain]
  )
  // Other terms are drawn so that some are frequent and most are rare.
  await database.query(
    `with originals as materialized (
       select pointer, terms from send_emails e join send_email_terms t using (organization_id, id)
       where organization_id = $1
     )
     insert into send_email_terms (organization_id, mode, accepted_at, id, terms)
     select $1, mode, accepted_at, e.id, o.terms || array(
       select (power(random(), 3) * 100000)::int4 + one from generate_series(1, ${otherTerms}) one where e.id <> '')
     from send_emails e join originals o using (pointer)
     where organization_id = $1 and sequence = 1
     on conflict do nothing`,
    [organization]
  )
  await database.query("vacuum analyze send_emails, send_email_terms")
}

const percentile = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!

/** Searches of a list, by their query; the first is the newest page. */
const searchesOf = (
  domain: string,
  now: number
): ReadonlyArray<readonly [path: string, least: number, mode?: "test"]> => [
  ["/v1/events?limit=25", 25],
  ["/v1/events?limit=25&type=telco.*", 25],
  ["/v1/events?limit=25&type=platform.webhook.paused", rareEvents],
  ["/v1/events?limit=25&type=platform.*", rareEvents],
  ["/v1/events?limit=25&type=invoice.*", 0],
  ["/v1/events?limit=25", rareEvents, "test"],
  ["/v1/events?limit=25&object=common", 25],
  ["/v1/events?limit=25&object=we_rare&type=platform.webhook.*", rareEvents],
  [`/v1/events?limit=25&until=${now - 20 * dayMillis}`, 25],
  ["/v1/send/emails?limit=25", 25],
  ["/v1/send/emails?limit=25&state=sent", 25],
  ["/v1/send/emails?limit=25&state=complained", 5],
  [`/v1/send/emails?limit=25&domain=${domain}`, 25],
  ["/v1/send/emails?limit=25&domain=rare.example", 4],
  [`/v1/send/emails?limit=25&domain=${domain}&state=bounced`, 25],
  ["/v1/send/emails?limit=25&state=failed", 0],
  ["/v1/send/emails?limit=25&subject=hello", 25],
  ["/v1/send/emails?limit=25&subject=forty", 25],
  ["/v1/send/emails?limit=25&subject=rarest", rareEvents],
  ["/v1/send/emails?limit=25&subject=hello%20rarest", 0],
  ["/v1/send/emails?limit=25&search=bob%20forty", 25],
  ["/v1/send/emails?limit=25&to=bob@example.com&state=complained", 5],
  ["/v1/send/emails?limit=25&search=nobody", 0],
  [`/v1/send/emails?limit=25&subject=forty&until=${now - 4 * dayMillis}`, 0]
]

/** Runs the platform with servers of its own, fills it, and measures each search with and without its total. */
export const runSearches = (options: SearchOptions): Promise<SearchReport> =>
  inRunFolder("console", options.signal, async (folder, atEnd) => {
    const platform = new KilledPlatform({
      folder,
      environment: { SLUICE_ADMIN_KEY: adminKey, SLUICE_LOG_LEVEL: "error" }
    })
    atEnd(() => platform.stop())
    await platform.start()
    const place = { url: platform.url, adminUrl: platform.adminUrl }
    const account = await makeAccount(place, adminKey, { name: "large", emailsPerHour: 100, dailyCap: 1_000 })
    const { organization } = account
    const keyOf = async (mode: "live" | "test"): Promise<string> => {
      const made = { mode, services: ["send", "telco"], scopes: ["*"] }
      const { key } = await adminOf(place, adminKey)<{ readonly key: string }>(
        "POST",
        `/organizations/${organization}/keys`,
        made
      )
      return key
    }
    const [key, testKey] = [await keyOf("live"), await keyOf("test")]
    for (const subject of allSubjects) {
      const body = { from: account.from, to: "bob@example.com", subject, text: "Hi" }
      await ask(() => `${place.url}/v1/send/emails`, { method: "POST", bearer: key, body })
    }
    const one = async (path: string, bearer = key) =>
      ask<{ readonly data: ReadonlyArray<unknown> }>(() => `${place.url}${path}`, { bearer })
    while ((await one("/v1/send/emails")).data.length < allSubjects.length);
    const database = new pg.Client({ connectionString: platform.postgresUrl })
    await database.connect()
    atEnd(() => database.end())
    const domain = "large.example"
    await fillEvents(database, organization, options.events)
    options.tell(`${options.events.toLocaleString("en-US")} events are there`)
    await fillEmails(database, { organization, domain, emails: options.emails })
    options.tell(`${options.emails.toLocaleString("en-US")} emails are there`)

    const time = async (path: string, least: number, bearer: string) => {
      const times: Array<number> = []
      for (let number = 0; number < options.requests + 10; number++) {
        const began = performance.now()
        const { data } = await one(path, bearer)
        times.push(performance.now() - began)
        if (data.length < least) throw new Error(`${path} has ${data.length} of at least ${least}`)
      }
      // The first few find nothing in caches.
      const sorted = times.slice(10).toSorted((a, b) => a - b)
      return { median: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) }
    }
    const rows: Array<SearchRow> = []
    const searches = searchesOf(domain, Date.now())
    for (const ending of ["", "&include=total"]) {
      let newest = 0
      for (const [path, least, mode] of searches) {
        const timed = await time(`${path}${ending}`, least, mode === "test" ? testKey : key)
        if (/\?limit=25$/.test(path) && mode === undefined) newest = timed.median
        const name = `${path}${ending}`.replace(/limit=25&?/, "").replace(/\?$/, "")
        const factor = /subject=hello&include=total$/.test(name) ? frequentTotalFactor : maximumFactor
        rows.push({ name: mode === undefined ? name : `${name} (test key)`, newest, factor, ...timed })
      }
    }
    return { rows }
  })
