/**
 * A kill run of sending: the platform as its users run it, on servers that it starts itself and with a relay, while callers send. The platform, its NATS, its PostgreSQL, all of
 * them or the relay are killed (-9) at moments that the seed chooses. Then the audit: what was answered was handed over, refused or is held, once under each key, and no cap was
 * crossed.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { listed } from "../support/ask.ts"
import { KilledPlatform, makeSeededData, momentOf, victims } from "../support/killed.ts"
import type { Means } from "../support/longRun.ts"
import { type AtEnd, inRunFolder, timed } from "../support/runFolder.ts"
import { type AccountPlan, liftPause, makeAccount, maximumProbationEmails, type RunAccount } from "./accounts.ts"
import {
  type AccountFacts,
  type Audit,
  audit,
  type EndEvent,
  type Killed,
  type ListedEmail,
  type Taken
} from "./audit.ts"
import { KilledRelay, nobody } from "./relay.ts"
import { portVariable, witnessVariable } from "./relayProcess.ts"

export interface SendingOptions extends Means {
  /** Emails that are to be accepted. */
  readonly sends: number
  readonly kills: number
  readonly seed: number
}

export interface SendingReport extends Audit {
  readonly killed: ReadonlyArray<Killed>
  /** From the relay's having taken a mail until the platform has recorded it, of some mails, rising, in milliseconds. */
  readonly recordedMillis: ReadonlyArray<number>
  readonly seconds: number
  /** Requests that were refused because they would have crossed a cap. */
  readonly refused: number
}

/** Requests at the same time. */
const callers = 32

/** Emails of a request that has several, and which of the requests those are: one in so many. */
const batchSize = 5
const oneBatchIn = 20

/** Emails that the account with a small cap of its sender lets go in a day. */
const smallDailyCap = 50

/** How much more is asked for than the cap of the account that is to meet it. */
const overCap = 1.2

/** How long it may take until one more of the mails that are under way after the last request has come to something. */
const patienceMillis = 180_000

/** How often all emails are listed meanwhile. */
const lookMillis = 1_000

/** Domains of recipients: no domain gets all connections to the relay. */
const recipientDomains = 20

const adminKey = `adm_${"Se5".repeat(10)}`

/** Which emails go to an address that the relay refuses: one in so many, and none of those that an account on probation is judged by. */
const oneRefusedIn = 97
const firstRefused = 150

/** Mails of which it is looked up when they were recorded. */
const lookedAt = 300

interface Kill {
  /** How much of the work is done, from 0 to 1. */
  readonly at: number
  readonly victim: Killed["victim"]
}

const allVictims: ReadonlyArray<Killed["victim"]> = [...victims, "relay"]

/** Every kind of victim, where there are kills enough. */
const planOf = (seed: number, kills: number): ReadonlyArray<Kill> => {
  const random = new Prng(seed, "kills")
  const first = random.int(0, allVictims.length - 1)
  return Array.from({ length: kills }, (_, index) => ({
    at: momentOf(index, kills, random),
    victim: allVictims[(first + index) % allVictims.length]!
  }))
}

/** Accounts for so many emails: one whose cap is met, one whose sender's cap is met, and as many others as the rest needs. */
const plansFor = (sends: number): ReadonlyArray<AccountPlan & { readonly share: number }> => {
  const small = Math.ceil(sends / 10)
  const rest = sends - 2 * small
  const count = Math.ceil(rest / (maximumProbationEmails * 0.9))
  const large = { emailsPerHour: maximumProbationEmails, dailyCap: 50_000 }
  return [
    { name: "capped", emailsPerHour: small, dailyCap: 50_000, share: Math.ceil(small * overCap) },
    { name: "holding", emailsPerHour: maximumProbationEmails, dailyCap: smallDailyCap, share: small },
    ...Array.from({ length: count }, (_, index) => ({
      ...large,
      name: `plain${index + 1}`,
      share: Math.ceil(rest / count)
    }))
  ]
}

interface Sender {
  readonly account: RunAccount
  readonly share: number
  readonly answered: Map<string, string>
  readonly keyed: Set<string>
}

const recipientOf = (subject: string): string => {
  const number = Number(subject.split(" ")[1])
  const isRefused = number >= firstRefused && number % oneRefusedIn === 0
  return `${isRefused ? `${nobody}-${number}` : "bob"}@two-${number % recipientDomains}.example`
}

/** One request, asked again while nobody knows what became of it, if it has a key. Undefined where it was refused for a cap. */
const request = async (
  platform: KilledPlatform,
  account: RunAccount,
  subjects: ReadonlyArray<string>,
  key: string | undefined
) => {
  const mails = subjects.map((subject) => ({
    from: account.from,
    to: recipientOf(subject),
    subject,
    text: `This is ${subject}`
  }))
  const isBatch = mails.length > 1
  for (;;) {
    await platform.away
    const response = await fetch(`${platform.url}/v1/send/emails${isBatch ? "/batch" : ""}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${account.key}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key })
      },
      body: JSON.stringify(isBatch ? mails : mails[0])
    }).catch(() => undefined)
    // An answer counts when all of it is there.
    const text = await response?.text().catch(() => undefined)
    if (response?.status === 202 && text !== undefined) {
      const answer = JSON.parse(text) as { readonly id: string; readonly data?: ReadonlyArray<{ readonly id: string }> }
      return { ids: (answer.data ?? [answer]).map(({ id }) => id), isRefused: false }
    }
    if (response?.status === 429) return { ids: [], isRefused: true }
    if (response?.status === 403 && text?.includes('"sending_paused"') === true) {
      await liftPause(platform, adminKey, account)
      continue
    }
    if (response !== undefined && response.status !== 503 && text !== undefined)
      throw new Error(`${subjects[0]} is answered with ${response.status} ${text}`)
    if (key === undefined) return { ids: [], isRefused: false }
    await pause(20)
  }
}

interface Ask {
  readonly sender: Sender
  readonly subjects: ReadonlyArray<string>
  readonly key: string | undefined
}

/** Every request of the run, those of the accounts in turn. */
const asksOf = (senders: ReadonlyArray<Sender>): ReadonlyArray<Ask> => {
  const left = senders.map((sender) => ({ sender, asked: 0 }))
  const asks: Array<Ask> = []
  for (let open = left; open.length > 0; open = open.filter(({ asked, sender }) => asked < sender.share))
    for (const one of open) {
      const { account, share } = one.sender
      const turn = asks.length
      const size = turn % oneBatchIn === 0 ? Math.min(batchSize, share - one.asked) : 1
      const subjects = Array.from({ length: size }, (_, index) => `${account.name} ${one.asked + index}`)
      one.asked += size
      asks.push({ sender: one.sender, subjects, key: turn % 2 === 0 ? `key ${turn}` : undefined })
    }
  return asks
}

/** Sends everything, and answers how many requests were refused. `progressed` is told how many emails were asked for. */
const sendAll = async (
  platform: KilledPlatform,
  senders: ReadonlyArray<Sender>,
  progressed: (asked: number) => Promise<void>
): Promise<number> => {
  const asks = asksOf(senders).values()
  let asked = 0
  let refused = 0
  const caller = async (): Promise<void> => {
    for (const { key, sender, subjects } of asks) {
      if (key !== undefined) for (const subject of subjects) sender.keyed.add(subject)
      const { ids, isRefused } = await request(platform, sender.account, subjects, key)
      if (isRefused) refused++
      for (const [index, id] of ids.entries()) sender.answered.set(subjects[index]!, id)
      asked += subjects.length
      await progressed(asked)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return refused
}

/** Where an email of this run ends. */
const isEnd = (state: string): boolean => state === "sent" || state === "bounced" || state === "held"

const takenIn = async (file: string): Promise<ReadonlyArray<Taken>> =>
  (await readFile(file, "utf8")).split("\n").flatMap((line) => {
    const [at, id] = line.split(" ")
    return id === undefined ? [] : [{ at: Number(at), id }]
  })

/** Events by which an email ends. */
const endsOf = async (platform: KilledPlatform, key: string): Promise<ReadonlyArray<EndEvent>> => {
  const events = await listed<{ readonly type: string; readonly data: { readonly messageId: string } }>(
    () => `${platform.url}/v1/events`,
    key
  )
  return events.flatMap(({ data, type }) =>
    /^send\.email\.(?:sent|bounced|failed)$/.test(type) ? [{ type, messageId: data.messageId }] : []
  )
}

/** How long it took until the platform had recorded what the relay had taken, of mails from all over the run. */
const recordedAfter = async (
  platform: KilledPlatform,
  facts: ReadonlyArray<AccountFacts & RunAccount>,
  taken: ReadonlyArray<Taken>
): Promise<ReadonlyArray<number>> => {
  const keys = new Map(facts.flatMap(({ key, listed: all }) => all.map(({ id }) => [id, key] as const)))
  const times = new Map(taken.map(({ at, id }) => [id, at]))
  const every = Math.ceil(times.size / lookedAt)
  const found: Array<number> = []
  for (const [id, at] of [...times].filter((_, index) => index % every === 0)) {
    const answer = await fetch(`${platform.url}/v1/send/emails/${id}`, {
      headers: { authorization: `Bearer ${keys.get(id)}` }
    })
    const { history } = (await answer.json()) as { readonly history: ReadonlyArray<{ state: string; at: number }> }
    const sent = history.find(({ state }) => state === "sent")
    if (sent !== undefined) found.push(sent.at - at)
  }
  return found.sort((a, b) => a - b)
}

const run = async (options: SendingOptions, folder: string, atEnd: AtEnd): Promise<SendingReport> => {
  const { kills, seed, sends, tell } = options
  const { say, seconds } = timed(tell)
  tell(`seed ${seed}: ${sends} sends, ${kills} kills`)
  const witness = join(folder, "relay")
  await writeFile(witness, "")
  const relay = new KilledRelay((port) => ({ [witnessVariable]: witness, [portVariable]: String(port) }))
  atEnd(() => relay.stop())
  await relay.start()
  const platform = new KilledPlatform({
    folder: await makeSeededData(folder, atEnd),
    environment: {
      SLUICE_ADMIN_KEY: adminKey,
      SLUICE_DEMO: "off",
      SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`
    },
    program: new URL("platformProcess.ts", import.meta.url).pathname
  })
  atEnd(() => platform.stop())
  await platform.start()
  const senders: Array<Sender> = []
  for (const { share, ...plan } of plansFor(sends))
    senders.push({ account: await makeAccount(platform, adminKey, plan), share, answered: new Map(), keyed: new Set() })
  const total = senders.reduce((sum, { share }) => sum + share, 0)
  say(`the platform is ready, with ${senders.length} accounts`)

  const killed: Array<Killed> = []
  const left = [...planOf(seed, kills)]
  let relayReturns: Promise<void> | undefined
  const recovering = (): Promise<void> | undefined => relayReturns ?? platform.recovering
  const killNow = (victim: Killed["victim"]): void => {
    if (victim === "relay") {
      relayReturns = relay.kill().finally(() => {
        relayReturns = undefined
      })
    } else platform.kill(victim)
    const entry = { at: Date.now(), victim }
    killed.push(entry)
    recovering()?.then(
      () => {
        if (victim !== "relay") entry.at = platform.killedAt
        say("all is back")
      },
      () => {}
    )
  }
  /** Kills where it is time to. While the last one is not over, callers wait for that: each kill is to fall among requests. */
  const progressed = async (asked: number): Promise<void> => {
    const isDue = (): boolean => left[0] !== undefined && asked / total >= left[0].at
    while (isDue() && recovering() !== undefined) await recovering()
    const kill = isDue() ? left.shift() : undefined
    if (kill === undefined) return
    say(`kill -9 of ${kill.victim} at ${asked} emails`)
    killNow(kill.victim)
  }
  const refused = await sendAll(platform, senders, progressed)
  say(`${total} emails were asked for`)

  const look = (): Promise<ReadonlyArray<AccountFacts & RunAccount>> =>
    Promise.all(
      senders.map(async ({ account, answered, keyed }) => {
        await liftPause(platform, adminKey, account)
        const emails = await listed<ListedEmail>(() => `${platform.url}/v1/send/emails`, account.key)
        return { ...account, answered, keyed, listed: emails, events: [] }
      })
    )
  let deadline = performance.now() + patienceMillis
  let leastOpen = Number.POSITIVE_INFINITY
  let facts: ReadonlyArray<AccountFacts & RunAccount> | undefined
  for (;;) {
    await recovering()
    if (left.length > 0) {
      await progressed(total)
      continue
    }
    facts = await look().catch(() => facts)
    const areThere = facts?.every(({ answered, listed: all }) => {
      const ids = new Set(all.map(({ id }) => id))
      return [...answered.values()].every((id) => ids.has(id))
    })
    const open =
      facts?.reduce((sum, { listed: all }) => sum + all.filter(({ state }) => !isEnd(state)).length, 0) ?? total
    if (areThere === true && open === 0) break
    if (open < leastOpen) deadline = performance.now() + patienceMillis
    leastOpen = Math.min(open, leastOpen)
    if (performance.now() > deadline) break
    await pause(lookMillis)
  }
  if (facts === undefined) throw new Error("the emails could not be listed")
  say("everything that goes has gone")
  /** The log of events follows a moment later. */
  const withEvents = () => Promise.all(facts.map(async (one) => ({ ...one, events: await endsOf(platform, one.key) })))
  let all = await withEvents()
  const awaited = facts.reduce((sum, one) => sum + one.listed.filter(({ state }) => state !== "held").length, 0)
  while (all.reduce((sum, { events }) => sum + events.length, 0) < awaited && performance.now() < deadline) {
    await pause(200)
    all = await withEvents()
  }
  const taken = await takenIn(witness)
  const recordedMillis = await recordedAfter(platform, all, taken)
  return { ...audit(all, taken, killed), killed, recordedMillis, refused, seconds: seconds() }
}

/** Runs it in a folder of its own. */
export const runSends = (options: SendingOptions): Promise<SendingReport> =>
  inRunFolder("sending", options.signal, (folder, atEnd) => run(options, folder, atEnd))
