/**
 * Two workers behind one port (`sluice serve --workers 2`): they share the partitions and count together, a killed one is started again and nothing that was
 * answered is lost, and what cannot start says so once and ends.
 */
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { commandHere } from "../support/here.ts"
import { type Platform, sluice, startPlatform } from "../support/platform.ts"
import { inOneWindow, minuteMillis } from "../support/windows.ts"
import {
  descendants,
  living,
  makeTenant,
  query,
  refusal,
  type Tenant,
  until,
  useDatabases,
  useFolders
} from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const partitions = 4
const workers = 2

/** Between two requests of a caller. */
const restMillis = 100

/** How long a caller waits for an answer. */
const patienceMillis = 5_000

let databaseUrl = ""
let platform: Platform
const organizations: Array<Tenant> = []

const environment = () => ({
  DATABASE_URL: databaseUrl,
  NATS_URL: inject("natsUrl"),
  SLUICE_ADMIN_KEY: `adm_${"Wk1".repeat(10)}`,
  SLUICE_PARTITIONS: String(partitions),
  SLUICE_WORKERS: String(workers),
  SLUICE_DEMO: "off"
})

const processes = async () => (await descendants(platform.pid)).map(({ pid }) => pid).sort((one, other) => one - other)

/** Each request on a connection of its own, so that they go to the workers in turn. */
const get = (path: string, key?: string) =>
  fetch(`${platform.url}${path}`, {
    // A connection that was being handed to a worker when it was killed is answered by nobody.
    signal: AbortSignal.timeout(patienceMillis),
    headers: { connection: "close", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) }
  })

/** Whether some worker serves each partition. */
const isReady = async () => {
  const answer = await get("/readyz").catch(() => undefined)
  if (answer?.status !== 200) return false
  return ((await answer.json()) as { checks: { workers: { ok: boolean } } }).checks.workers.ok
}

const metrics = async () => (await get("/metrics").catch(() => undefined))?.text() ?? ""

/** The partitions that a worker says it has. */
const owned = (text: string, worker: number) =>
  [...text.matchAll(new RegExp(`^sluice_partition_owned\\{worker="${worker}".*partition="(\\d+)".*\\} 1$`, "gm"))].map(
    ([, partition]) => Number(partition)
  )

/** Whether both workers have something, and together every partition. */
const isSpread = async () => {
  const text = await metrics()
  const [one, two] = [owned(text, 1), owned(text, 2)]
  return one.length > 0 && two.length > 0 && new Set([...one, ...two]).size === partitions
}

beforeAll(async () => {
  databaseUrl = await database("seeded")
  platform = await startPlatform(environment(), await folder())
  // While partitions go to the worker that came last, their requests are answered 503.
  await until(async () => (await isSpread()) && (await isReady()))
  for (let number = 0; number < 3; number++)
    organizations.push(await makeTenant(platform, { name: `Organization ${number}`, plan: "team" }, "telco"))
})

afterAll(() => platform?.stop())

it("workers share the partitions, answer behind one port, and show their metrics in one text", async () => {
  expect(await processes()).toHaveLength(workers)
  await until(isSpread)
  const ready = await get("/readyz")
  expect(await ready.json()).toMatchObject({ status: "ready", checks: { workers: { ok: true } } })
  const answered = new Set<string>()
  for (let request = 0; request < 4; request++) {
    const { checks } = (await (await get("/readyz")).json()) as { checks: { cluster: { detail: string } } }
    answered.add(checks.cluster.detail.split(" ")[0]!)
  }
  expect([...answered].map((name) => name.split(".").at(-1)).toSorted()).toEqual(["1", "2"])
  const text = await metrics()
  for (const worker of [1, 2]) expect(text).toContain(`sluice_worker_up{worker="${worker}"} 1\n`)
  expect(text.match(/^# TYPE sluice_partition_owned gauge$/gm)).toHaveLength(1)
})

it("count an organization's requests together", async () => {
  const left = async () => {
    const lefts: Array<number> = []
    for (let request = 0; request < 6; request++) {
      const answer = await get("/v1/telco/lookup/2125550100", organizations[0]!.key)
      await answer.arrayBuffer()
      lefts.push(Number(answer.headers.get("x-ratelimit-remaining")))
    }
    return lefts
  }
  const lefts = await inOneWindow(minuteMillis, left)
  expect(lefts).toEqual(lefts.map((_, index) => lefts[0]! - index))
})

it("one that is killed is started again, and nothing that was answered is lost", async () => {
  const answered = organizations.map(() => new Set<string>())
  const unexpected: Array<number> = []
  let isGoing = true
  const callers = organizations.map(async ({ key }, index) => {
    for (let number = 0; isGoing; number++) {
      const tn = `212555${String(1000 + number)}`
      const status = await get(`/v1/telco/lookup/${tn}`, key).then(
        async (answer) => {
          await answer.arrayBuffer()
          if (answer.status === 503 && answer.headers.get("retry-after") === null) return -503
          return answer.status
        },
        // The connection was one to the killed worker.
        () => 0
      )
      if (status === 200) answered[index]!.add(tn)
      else if (status !== 503 && status !== 0) unexpected.push(status)
      // Whoever asks without a rest keeps the cores from the worker that starts.
      await pause(restMillis)
    }
  })
  const more = async () => {
    const before = answered.map(({ size }) => size)
    await until(() => answered.every(({ size }, index) => size > before[index]! + 3))
  }
  await more()
  const before = await processes()
  process.kill(before[1]!, "SIGKILL")
  await until(async () => {
    const now = await processes()
    return now.length === workers && !now.includes(before[1]!)
  })
  await until(async () => owned(await metrics(), 1).length < partitions && (await isReady()))
  await more()
  isGoing = false
  await Promise.all(callers)
  expect(unexpected).toEqual([])
  expect(await processes()).toContain(before[0])
  expect(platform.stderr()).toMatch(/Worker \d ended with SIGKILL, and is started again/)
  for (const [index, { id }] of organizations.entries()) {
    await until(async () => {
      const rows = await query<{ readonly tn: string }>(
        databaseUrl,
        `select substring(body from '"tn":"([0-9]{10})"') as tn from events e where e.organization_id = $1`,
        [id]
      )
      const stored = new Set(rows.map(({ tn }) => tn))
      return [...answered[index]!].every((tn) => stored.has(tn))
    })
  }
})

it("stop in order, and leave no process behind", async () => {
  const before = await descendants(platform.pid)
  const finished = await platform.stop()
  expect(finished).toMatchObject({ code: 0, signal: null })
  expect(await living(before)).toEqual([])
})

it("that cannot start are told of once, by a clear sentence and exit code", async () => {
  const refused = await sluice(["serve"], {
    ...environment(),
    SLUICE_PARTITIONS: "5",
    SLUICE_PORT: "0",
    SLUICE_DATA_DIR: await folder()
  })
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/^sluice: .*partitions/m)
  expect(refused.stderr).toMatch(
    /^sluice: Worker \d ended with code 1 before it served, for the reason above; the other workers are stopped$/m
  )
  const tooMany = await commandHere(["serve", "--workers", "20"], { SLUICE_DATA_DIR: await folder() })
  expect(refusal(tooMany)).toMatch(/SLUICE_WORKERS must be at most 5 with the embedded PostgreSQL/)
})
