/**
 * A kill run: `sluice serve` as its users run it, on servers that it starts itself, while callers look numbers up and a receiver in a process of
 * its own takes the events. The platform is killed (-9) at moments that the seed chooses, alone or with its servers, and started again. Then
 * the reckoning: every lookup that was answered is in the event log once and has arrived, signed, with the same bytes.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { setTimeout as pause } from "node:timers/promises"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { usNpa } from "../cli/files.ts"
import { ask, listed } from "../support/ask.ts"
import { KilledPlatform, makeSeededData, momentOf } from "../support/killed.ts"
import type { Means } from "../support/longRun.ts"
import { type AtEnd, inRunFolder, timed } from "../support/runFolder.ts"
import type { Arrival, FromReceiver } from "./receiverProcess.ts"
import { type ListedDelivery, type LoggedEvent, type Reckoning, reckon, type TenantFacts } from "./reckoning.ts"
import { makeRunTenant, type RunTenant } from "./tenants.ts"

export interface KillRunOptions extends Means {
  /** Lookups that are to be answered. */
  readonly events: number
  readonly kills: number
  readonly seed: number
}

export interface KillRunReport extends Reckoning {
  readonly kills: number
  readonly seconds: number
}

/** Organizations, over several of the log's partitions. */
const tenantCount = 4

/** Lookups at the same time. */
const callers = 32

/** After a kill, what was in flight is attempted again when twice this and 5 s have passed. */
const timeoutMillis = 2_000

/** Enough waits for an event that is caught by every kill. */
const retryDelays = Array.from({ length: 10 }, () => "300ms").join(",")

/** How long what is under way after the last lookup may take. */
const patienceMillis = 120_000

const adminKey = `adm_${"Kr7".repeat(10)}`

interface Kill {
  /** How much of the work is done: answers and arrivals, from 0 to 1. */
  readonly at: number
  readonly withServers: boolean
}

const planOf = (seed: number, kills: number): ReadonlyArray<Kill> => {
  const random = new Prng(seed, "kills")
  return Array.from({ length: kills }, (_, index) => ({
    at: momentOf(index, kills, random),
    withServers: random.chance(0.5)
  }))
}

class Receiver {
  arrived = 0
  private readonly child: ChildProcess

  private constructor(child: ChildProcess) {
    this.child = child
    child.on("message", (message: FromReceiver) => {
      if (message._tag === "arrived") this.arrived = message.total
    })
  }

  static async start(): Promise<{ readonly receiver: Receiver; readonly url: string }> {
    const child = fork(new URL("receiverProcess.ts", import.meta.url))
    const [message] = (await once(child, "message")) as [FromReceiver]
    if (message._tag !== "listening") throw new Error("the receiver does not listen")
    return { receiver: new Receiver(child), url: `http://127.0.0.1:${message.port}` }
  }

  /** Everything that has arrived. */
  async all(): Promise<ReadonlyArray<Arrival>> {
    this.child.send("all")
    for (;;) {
      const [message] = (await once(this.child, "message")) as [FromReceiver]
      if (message._tag === "all") return message.arrivals
    }
  }

  stop(): void {
    this.child.disconnect()
  }
}

interface Asking {
  readonly asked: Set<string>
  readonly answered: Set<string>
}

/** The number of a lookup: each organization asks for each once. */
const numberOf = (index: number): string =>
  `${usNpa}${200 + (index % 800)}${String(Math.floor(index / 800)).padStart(4, "0")}`

/** Looks numbers up until so many were answered; `progressed` is called after each. */
const lookUp = async (
  platform: KilledPlatform,
  tenants: ReadonlyArray<RunTenant>,
  askings: ReadonlyArray<Asking>,
  events: number,
  progressed: (answered: number) => void
): Promise<void> => {
  let next = 0
  let answered = 0
  const caller = async (): Promise<void> => {
    while (answered < events) {
      await platform.away
      const at = next++
      const { key } = tenants[at % tenants.length]!
      const { answered: got, asked } = askings[at % tenants.length]!
      const tn = numberOf(Math.floor(at / tenants.length))
      asked.add(tn)
      // Asked once each: whether it was stored is for the log to say.
      const response = await fetch(`${platform.url}/v1/telco/lookup/${tn}`, { headers: { "x-api-key": key } }).catch(
        () => undefined
      )
      // An answer counts when all of it is there.
      const text = await response?.text().catch(() => undefined)
      if (response?.status === 200 && text !== undefined) {
        got.add(tn)
        answered++
        progressed(answered)
      } else if (response !== undefined && response.status !== 200 && response.status !== 503)
        throw new Error(`the lookup of ${tn} is answered with ${response.status} ${text}`)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

/** What an organization's owner sees. */
const look = async (platform: KilledPlatform, { endpoint, key }: RunTenant) => {
  const pages: Array<string> = []
  const logged = await listed<LoggedEvent>(
    () => `${platform.url}/v1/events`,
    key,
    (text) => pages.push(text)
  )
  const deliveries = await listed<ListedDelivery>(() => `${platform.url}/v1/webhooks/${endpoint}/deliveries`, key)
  const shown = await ask<TenantFacts["endpoint"]>(() => `${platform.url}/v1/webhooks/${endpoint}`, { bearer: key })
  return { pages, logged, deliveries, endpoint: shown }
}

const run = async (options: KillRunOptions, folder: string, atEnd: AtEnd): Promise<KillRunReport> => {
  const { events, kills, seed, tell } = options
  const { say, seconds } = timed(tell)
  tell(`seed ${seed}: ${events} events, ${kills} kills`)
  const data = await makeSeededData(folder, atEnd)
  const { receiver, url } = await Receiver.start()
  atEnd(() => receiver.stop())
  const platform = new KilledPlatform({
    folder: data,
    environment: {
      SLUICE_ADMIN_KEY: adminKey,
      SLUICE_DEMO: "off",
      SLUICE_WEBHOOK_TIMEOUT_MILLIS: String(timeoutMillis),
      SLUICE_WEBHOOK_RETRY_DELAYS: retryDelays
    }
  })
  atEnd(() => platform.stop())
  await platform.start()
  const names = Array.from({ length: tenantCount }, (_, index) => `tenant${index + 1}`)
  const tenants = await Promise.all(names.map((name) => makeRunTenant(platform, adminKey, url, name)))
  const askings = tenants.map((): Asking => ({ asked: new Set(), answered: new Set() }))
  say("the platform is ready")

  const left = [...planOf(seed, kills)]
  const downs: Array<Promise<void>> = []
  let answered = 0
  const progressed = (): void => {
    const [kill] = left
    if (kill === undefined || platform.away !== undefined) return
    if ((answered + Math.min(receiver.arrived, events)) / (2 * events) < kill.at) return
    left.shift()
    say(
      `kill -9 ${kill.withServers ? "with its servers" : "alone"} at ${answered} answers, ${receiver.arrived} arrivals`
    )
    platform.kill(kill.withServers ? "everything" : "platform")
    downs.push(platform.away!.then(() => say("it is ready again")))
    // Whoever waits for it fails; the others need not.
    downs.at(-1)!.catch(() => {})
  }
  await lookUp(platform, tenants, askings, events, (count) => {
    answered = count
    progressed()
  })
  say(`${answered} answers`)

  /** Everything that happened has arrived and is settled. */
  const isSettled = async (): Promise<boolean> => {
    progressed()
    await platform.away
    if (left.length > 0 || receiver.arrived < answered) return false
    const seen = await Promise.all(tenants.map((tenant) => look(platform, tenant)))
    return seen.every(
      ({ deliveries, logged }, index) =>
        logged.length >= askings[index]!.answered.size &&
        deliveries.length >= logged.length &&
        deliveries.every(({ status }) => status !== "pending")
    )
  }
  const deadline = performance.now() + patienceMillis
  while (!(await isSettled()) && performance.now() < deadline) await pause(100)
  await Promise.all(downs)
  say(`${receiver.arrived} arrivals`)

  const arrivals = Map.groupBy(await receiver.all(), ({ endpoint }) => endpoint)
  const facts = await Promise.all(
    tenants.map(async (tenant, index): Promise<TenantFacts> => {
      const name = names[index]!
      const seen = await look(platform, tenant)
      const ofTenant = arrivals.get(name) ?? []
      return {
        ...seen,
        ...askings[index]!,
        name,
        secret: tenant.secret,
        arrivals: ofTenant,
        answeredAttempts: await answeredAttempts(platform, tenant, seen.deliveries, ofTenant)
      }
    })
  )
  return { ...reckon(facts), kills: downs.length, seconds: seconds() }
}

/** How many attempts were answered, of each delivery that has more than there are arrivals. */
const answeredAttempts = async (
  platform: KilledPlatform,
  { endpoint, key }: RunTenant,
  deliveries: ReadonlyArray<ListedDelivery>,
  arrivals: ReadonlyArray<Arrival>
): Promise<ReadonlyMap<string, number>> => {
  const arrived = Map.groupBy(arrivals, ({ id }) => id)
  const answered = new Map<string, number>()
  for (const { attemptCount, eventId, id } of deliveries) {
    if (attemptCount <= (arrived.get(eventId)?.length ?? 0)) continue
    const { attempts } = await ask<{ readonly attempts: ReadonlyArray<{ readonly status: number }> }>(
      () => `${platform.url}/v1/webhooks/${endpoint}/deliveries/${id}`,
      { bearer: key }
    )
    answered.set(id, attempts.filter(({ status }) => status !== 0).length)
  }
  return answered
}

/** Runs it in a folder of its own. */
export const runKills = (options: KillRunOptions): Promise<KillRunReport> =>
  inRunFolder("kills", options.signal, (folder, atEnd) => run(options, folder, atEnd))
