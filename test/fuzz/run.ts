/**
 * A fuzz of the whole platform: requests to every endpoint of both APIs, each one that the endpoint takes (test/http/contract) but for one odd field, many concurrently. None may be
 * answered with 5xx, and a third at least must succeed, since faults hide behind what is accepted. The platform's own log tells of loops in error, and both logs, its lines and
 * its frames, must come to rest when nobody asks any more.
 */
import { randomBytes } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { Pool } from "undici"
import { Prng } from "../../src/simulation/kernel/Prng.ts"
import { type Endpoint, endpoints } from "../http/contract/endpoints.ts"
import { givenFor } from "../http/contract/given.ts"
import {
  type Account,
  type Answer,
  accountOf,
  requester,
  startSpeech,
  voice,
  type World
} from "../http/contract/world.ts"
import { KilledPlatform, makeSeededData } from "../support/killed.ts"
import { BadOptions, describeViolations, type Means } from "../support/longRun.ts"
import { type AtEnd, inRunFolder } from "../support/runFolder.ts"
import { withOddField } from "./oddField.ts"

export interface FuzzOptions extends Means {
  readonly requests: number
  readonly seed: number
  /** Parts of the names of the endpoints that are asked, with commas between; default: all are. */
  readonly only?: string | undefined
}

export interface FuzzReport {
  readonly violations: ReadonlyArray<string>
  readonly seed: number
  readonly requests: number
  readonly succeeded: number
  /** Requests that were asked again, since the machine was too slow for the first time. */
  readonly repeated: number
  /** Answers by their status. */
  readonly statuses: ReadonlyMap<number, number>
  /** Endpoints that took none of their requests. */
  readonly untaken: ReadonlyArray<string>
  readonly lines: number
  /** Of these, lines about a machine with too much to do. */
  readonly slowLines: number
  readonly frames: number
}

/** Requests in flight. */
const askers = 12

/** An organization is left for a new one after so many requests, or when a request took away what others need. */
const requestsPerAccount = 60

/** What makes the next requests of the organization fail, where it is done. */
const endings = [
  /^DELETE \/admin\/v1\/organizations\/\{id\}$/,
  /^DELETE \/v1\/(?!console)/,
  /^DELETE \/admin\/v1\/(keys|site|organizations\/\{id\}\/(plans|numbers))/,
  /^PUT \/admin\/v1\/organizations\/\{id\}\/(limits|plans|send)/,
  /^POST \/v1\/(send\/emails\/\{id\}\/cancel|billing\/cancel|keys\/\{id\}\/rotate|send\/tenants\/reset)/,
  /^POST \/admin\/v1\/invoices/
]

interface Line {
  readonly level: string
  readonly message: unknown
  readonly [name: string]: unknown
}

/** Lines about a machine with too much to do, which are told and prove no fault. */
const slowness =
  /did not answer in time|no sign of life within|came free within|interrupted without error|lines were left out/

/** Lines of the log that are no mere notes. */
const troubles = (log: string): ReadonlyArray<string> =>
  log.split("\n").filter((text) => {
    if (!text.startsWith("{")) return false
    const { level } = JSON.parse(text) as Line
    return ["WARN", "ERROR", "FATAL"].includes(level.toUpperCase())
  })

const linesIn = (log: string): number => log.split("\n").length - 1

/** The platform as the contract's tests know it. */
const worldOf = (platform: KilledPlatform, adminKey: string, atEnd: AtEnd): World => {
  const pools = [platform.url, platform.adminUrl].map((url) => new Pool(url, { connections: askers }))
  for (const pool of pools) atEnd(() => pool.destroy())
  const [ofPublic, ofAdmin] = pools.map(requester)
  const world: World = {
    url: platform.url,
    adminUrl: platform.adminUrl,
    adminKey,
    databaseUrl: platform.postgresUrl,
    settled: async () => {},
    request: (isAdmin, request) => (isAdmin ? ofAdmin! : ofPublic!)(request),
    account: async () => {
      const account = await patiently(() => accountOf(world))
      const limits = `/admin/v1/organizations/${account.organization}/limits`
      await world.request(true, {
        method: "PUT",
        target: limits,
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        body: JSON.stringify({ requestsPerMinute: "unlimited" })
      })
      return { ...account, has: { ...account.has, delivery: deliveryOf(account) } }
    }
  }
  return world
}

/** A delivery that the platform has made by itself. */
const deliveryOf = (account: Account) => {
  let made: Promise<string> | undefined
  const make = async (): Promise<string> => {
    const endpoint = await account.has.endpoint()
    await account.make("POST", `/v1/webhooks/${endpoint}/test`)
    for (;;) {
      const { data } = await account.make("GET", `/v1/webhooks/${endpoint}/deliveries`)
      if (data.length > 0) return data[0].id
      await pause(20)
    }
  }
  return () => (made ??= make())
}

/** Tries again where the machine is too slow for one of the steps. */
const patiently = async <A>(make: () => Promise<A>): Promise<A> => {
  for (let repeat = 0; ; repeat++) {
    try {
      return await make()
    } catch (cause) {
      if (repeat === maximumRepeats || !/503/.test(String(cause))) throw cause
      await pause(repeatMillis)
    }
  }
}

/** The sum of every partition's last frame. */
const framesOf = async ({ adminKey, request }: World): Promise<number> => {
  const headers = { authorization: `Bearer ${adminKey}` }
  const { body } = await request(true, { method: "GET", target: "/admin/v1/partitions", headers })
  const { data } = body as { readonly data: ReadonlyArray<{ readonly sequence: number }> }
  return data.reduce((sum, { sequence }) => sum + sequence, 0)
}

/** How long both logs must stand still, and how long they may take until they do. */
const restMillis = 10_000
const settlingMillis = 180_000

/** Waits until nothing is written any more; answers false where that never is. */
const comesToRest = async (look: () => Promise<string>): Promise<boolean> => {
  const deadline = performance.now() + settlingMillis
  let seen = await look()
  for (let since = performance.now(); performance.now() < deadline; ) {
    await pause(500)
    const now = await look()
    if (now !== seen) [seen, since] = [now, performance.now()]
    if (performance.now() - since > restMillis) return true
  }
  return false
}

/** A machine with too much to do answers 503, and says that the request is safe to repeat. */
const isTooSlow = (answer: Answer | Error): boolean =>
  answer instanceof Error
    ? /safe to repeat.*expected 503/.test(answer.message)
    : answer.status === 503 && /repeat/i.test(JSON.stringify(answer.body))

const maximumRepeats = 5
const repeatMillis = 1_000

interface Tally {
  repeated: number
  readonly statuses: Map<number, number>
  readonly taken: Map<string, number>
  readonly violations: Array<string>
}

/** Asks one request with an odd field, and says whether the organization is of use still. */
const askOnce = async (
  random: Prng,
  endpoint: Endpoint,
  { account, world }: { readonly account: Account; readonly world: World },
  tally: Tally
): Promise<boolean> => {
  const { statuses, taken, violations } = tally
  const given = await givenFor(endpoint, account, world).catch((cause: unknown) => cause as Error)
  // An odd request before has taken away what this one needs.
  if (given instanceof Error) return false
  const odd = withOddField(random, endpoint, given)
  const ask = () => account.ask(endpoint, odd).catch((cause: unknown) => cause as Error)
  let answer = await ask()
  for (let repeat = 0; repeat < maximumRepeats && isTooSlow(answer); repeat++) {
    tally.repeated++
    await pause(repeatMillis)
    answer = await ask()
  }
  if (answer instanceof Error) {
    violations.push(`${endpoint.name} ${JSON.stringify(odd).slice(0, 300)} has no answer: ${answer.message}`)
    return false
  }
  const { asked, body, headers, status } = answer
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
  if (status >= 500) violations.push(`${asked} is answered ${status} ${JSON.stringify(body)}`)
  if (headers["x-injected"] !== undefined) violations.push(`a header was injected: ${asked}`)
  if (status >= 300) return true
  taken.set(endpoint.name, (taken.get(endpoint.name) ?? 0) + 1)
  return !endings.some((ending) => ending.test(endpoint.name))
}

const run = async (options: FuzzOptions, folder: string, atEnd: AtEnd): Promise<FuzzReport> => {
  const { only, requests, seed, signal, tell } = options
  const parts = only?.split(",")
  const asked = endpoints.filter(({ name }) => parts === undefined || parts.some((part) => name.includes(part)))
  if (asked.length === 0) throw new BadOptions(`no endpoint has ${only} in its name`)
  tell(`seed ${seed}: ${requests} requests to ${asked.length} endpoints`)
  const speech = await startSpeech()
  atEnd(() => speech.server.close())
  const adminKey = `adm_${randomBytes(24).toString("hex")}`
  const platform = new KilledPlatform({
    folder: await makeSeededData(folder, atEnd),
    environment: {
      SLUICE_ADMIN_KEY: adminKey,
      SLUICE_DEMO: "off",
      SLUICE_LOG_FORMAT: "json",
      SLUICE_METRICS: "open",
      SLUICE_NAME_SERVERS: "127.0.0.1:1",
      SLUICE_TALK_URL: speech.url,
      SLUICE_TALK_KEY: "sk",
      SLUICE_TALK_VOICES: voice,
      // What fails is not tried again while somebody looks.
      SLUICE_WEBHOOK_RETRY_DELAYS: "1h,1h,1h,1h,1h"
    }
  })
  atEnd(() => platform.stop())
  await platform.start()
  const world = worldOf(platform, adminKey, atEnd)
  const tally: Tally = { statuses: new Map(), taken: new Map(), violations: [], repeated: 0 }
  let next = 0
  let told = 0
  const asker = async (name: number): Promise<void> => {
    const random = new Prng(seed, `fuzz ${name}`)
    let account = await world.account()
    for (let uses = 0; next < requests && signal?.aborted !== true; uses++) {
      const at = next++
      if (uses >= requestsPerAccount) [account, uses] = [await world.account(), 0]
      if (!(await askOnce(random, asked[at % asked.length]!, { account, world }, tally))) uses = requestsPerAccount
      if (at >= told + 1_000) {
        told = at - (at % 1_000)
        tell(`${told} requests, ${tally.violations.length} violations, ${tally.repeated} asked again`)
      }
    }
  }
  await Promise.all(Array.from({ length: askers }, (_, name) => asker(name)))
  const rests = await comesToRest(async () => `${linesIn(platform.stderr())} ${await framesOf(world)}`)
  const answers = [...tally.statuses.values()].reduce((sum, one) => sum + one, 0)
  const lines = troubles(platform.stderr())
  const succeeded = [...tally.statuses].reduce((sum, [status, count]) => (status < 300 ? sum + count : sum), 0)
  return {
    seed,
    violations: [
      ...tally.violations,
      ...(succeeded * 3 < answers ? [`${succeeded} of ${answers} requests succeeded, which is less than a third`] : []),
      ...(rests ? [] : ["a log grows though nobody asks"]),
      ...lines.filter((line) => !slowness.test(line))
    ],
    requests: answers,
    succeeded,
    repeated: tally.repeated,
    statuses: tally.statuses,
    untaken: asked.map(({ name }) => name).filter((name) => !tally.taken.has(name)),
    lines: linesIn(platform.stderr()),
    slowLines: lines.filter((line) => slowness.test(line)).length,
    frames: await framesOf(world)
  }
}

/** Runs it in a folder of its own. */
export const runFuzz = (options: FuzzOptions): Promise<FuzzReport> =>
  inRunFolder("fuzz", options.signal, (folder, atEnd) => run(options, folder, atEnd))

export const describeFuzz = ({
  frames,
  lines,
  repeated,
  requests,
  seed,
  slowLines,
  statuses,
  succeeded,
  untaken,
  violations
}: FuzzReport) =>
  [
    `seed ${seed}: ${requests} requests, ${succeeded} succeeded (${((100 * succeeded) / requests).toFixed(1)} %)`,
    `answers: ${[...statuses]
      .toSorted(([one], [other]) => one - other)
      .map(([status, count]) => `${count} times ${status}`)
      .join(", ")}`,
    `${frames} frames, ${lines} lines of log (${slowLines} about a slow machine), ${repeated} requests asked again because they took too long`,
    ...(untaken.length === 0 ? [] : [`never taken: ${untaken.join(", ")}`]),
    describeViolations(violations, "no violation")
  ].join("\n")
