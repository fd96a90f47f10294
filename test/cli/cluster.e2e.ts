/**
 * Two nodes on one database and one NATS: they share the partitions, every node answers every organization, and what a node had is served by the
 * other one when it is killed or stopped. Times are printed, and judged by `npm run test:cluster`.
 */
import { connect } from "@nats-io/transport-node"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { partitionOf } from "../../src/engine/address.ts"
import { sluice } from "../support/commands.ts"
import { commandHere } from "../support/here.ts"
import { patienceMillis } from "../support/patience.ts"
import { logNamespaceOf, type Platform, startPlatform } from "../support/platform.ts"
import { inOneWindow, minuteMillis } from "../support/windows.ts"
import { askAdmin, makeTenant, ok, okJson, query, refusal, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
const adminKey = `adm_${"Cl1".repeat(10)}`
const partitions = 8

let databaseUrl = ""
let first: Platform
let second: Platform
/** Organizations of all partitions, and their keys. */
const ids: Array<string> = []
const keys: Array<string> = []

const environment = (name: string) => ({
  DATABASE_URL: databaseUrl,
  NATS_URL: inject("natsUrl"),
  SLUICE_ADMIN_KEY: adminKey,
  SLUICE_PLACEMENT: "cluster",
  SLUICE_NODE: name,
  SLUICE_PARTITIONS: String(partitions)
})

const start = async (name: string): Promise<Platform> => startPlatform(environment(name), await folder())

/** The partitions that a node serves, as it says itself. */
const served = async (node: Platform): Promise<ReadonlyArray<number>> => {
  const answer = await (await fetch(`${node.url}/readyz`)).json()
  const detail: string = (answer as { checks: { cluster: { detail: string } } }).checks.cluster.detail
  const listed = /serves partitions? ([\d, ]+) of/.exec(detail)?.[1] ?? ""
  return listed === "" ? [] : listed.split(", ").map(Number)
}

const all = Array.from({ length: partitions }, (_, partition) => partition)

/** Whether both serve something, and together every partition. */
const isSpread = async () => {
  const [here, there] = [await served(first), await served(second)]
  return here.length > 0 && there.length > 0 && new Set([...here, ...there]).size === partitions
}

/** A decision that is stored: its event is in the log before it is answered. */
const decide = async (node: Platform, key: string) => {
  const answer = await fetch(`${node.url}/v1/telco/lookup/2125550100`, { headers: { authorization: `Bearer ${key}` } })
  await answer.arrayBuffer()
  return {
    status: answer.status,
    retryAfter: answer.headers.get("retry-after"),
    left: answer.headers.get("x-ratelimit-remaining")
  }
}

/** Asks for every organization again and again until each was served; answers how long that took. Nobody is told anything but to come again. */
const untilServed = async (node: Platform): Promise<number> => {
  const begunAt = Date.now()
  for (const key of keys) {
    await until(async () => {
      const { retryAfter, status } = await decide(node, key)
      if (status !== 200)
        expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) })
      return status === 200
    })
  }
  return Date.now() - begunAt
}

beforeAll(async () => {
  databaseUrl = await database("seeded")
  ;[first, second] = await Promise.all([start("one"), start("two")])
  // While partitions go to a node that has just come, their requests are answered 503.
  await until(isSpread)
  for (let organization = 0; organization < 2 * partitions; organization++) {
    const { id, key } = await makeTenant(first, { name: `Org ${organization}`, plan: "team" }, "telco")
    ids.push(id)
    keys.push(key)
  }
})

afterAll(async () => {
  await Promise.all([first?.stop(), second?.stop()])
})

describe("two nodes of a cluster", () => {
  it("share the partitions, and each answers every organization", async () => {
    await until(isSpread)
    for (const key of keys) {
      for (const node of [first, second]) expect(await decide(node, key)).toMatchObject({ status: 200 })
    }
    const [row] = await query<{ readonly n: number }>(
      databaseUrl,
      "select count(distinct partition)::int as n from engine_cursors"
    )
    expect(row!.n).toBeGreaterThan(1)
  })

  it("[platform 3.1] count an organization's requests together", async () => {
    const left = async () => {
      const lefts: Array<number> = []
      for (let request = 0; request < 6; request++)
        lefts.push(Number((await decide(request % 2 === 0 ? first : second, keys[0]!)).left))
      return lefts
    }
    const lefts = await inOneWindow(minuteMillis, left)
    expect(lefts).toEqual(lefts.map((_, index) => lefts[0]! - index))
  })

  it("let no process run the partitions by itself beside them", async () => {
    const { SLUICE_PLACEMENT: _, SLUICE_NODE: __, ...alone } = environment("three")
    const refused = await commandHere(["serve"], { ...alone, SLUICE_PORT: "0", SLUICE_DATA_DIR: await folder() })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^sluice: Another process runs the partitions of this database: /m)
  })

  it("[platform 8.4] take over what a killed node had", async () => {
    second.process.kill("SIGKILL")
    await second.finished
    const millis = await untilServed(first)
    expect(await served(first)).toEqual(all)
    process.stdout.write(`  a killed node's partitions were served again after ${millis} ms\n`)
  })

  it("[platform 8.4] give a stopped node's partitions to the other one before it ends", async () => {
    second = await start("two")
    await until(isSpread)
    const begunAt = Date.now()
    second.process.kill("SIGTERM")
    await until(async () => (await served(first)).length === partitions)
    const millis = Date.now() - begunAt
    await untilServed(first)
    expect(await second.finished).toMatchObject({ code: 0 })
    process.stdout.write(`  a stopped node's partitions were served again after ${millis} ms\n`)
    second = await start("two")
  })

  it("show each other, and every partition, from any of them", async () => {
    await until(isSpread)
    for (const node of [first, second]) {
      const found = await okJson(["cluster", "status"], { SLUICE_DATA_DIR: node.dataDir })
      expect(found.placement).toBe("cluster")
      expect(found.nodes.map(({ name }: { readonly name: string }) => name)).toEqual(["one", "two"])
      const partitions: ReadonlyArray<{ readonly node: string; readonly status: string; readonly epoch: number }> =
        found.partitions
      expect(partitions.map(({ status }) => status)).toEqual(all.map(() => "Serving"))
      expect(new Set(partitions.map((one) => one.node))).toEqual(new Set(["one", "two"]))
      for (const partition of all)
        expect(await askAdmin(node, "GET", `/partitions/${partition}`)).toMatchObject({
          partition,
          status: { _tag: "Serving" },
          head: { epoch: partitions[partition]!.epoch }
        })
    }
    const [foreign] = await served(second)
    expect(await okJson(["inspect", "partition", `${foreign}`], { SLUICE_DATA_DIR: first.dataDir })).toMatchObject({
      partition: foreign,
      status: { _tag: "Serving" }
    })
  })

  it("have the owner try again and give up what is parked there, whichever of them is asked", async () => {
    await until(isSpread)
    const here = await served(first)
    const at = { SLUICE_DATA_DIR: first.dataDir }
    const organization = ids.find((id) => !here.includes(partitionOf(id, partitions)))!
    const { host, password, username } = new URL(inject("natsUrl"))
    const client = await connect({ servers: host, user: username, pass: password })
    try {
      const subject = `${logNamespaceOf(new URL(databaseUrl).pathname)}.signal.${organization}.feedback`
      await client.request(subject, JSON.stringify({ id: "em_none", what: "nonsense" }), { timeout: patienceMillis })
    } finally {
      await client.close()
    }
    const parked = () =>
      query<{ readonly reactor: string }>(databaseUrl, "select reactor from engine_parked where organization = $1", [
        organization
      ])
    await until(async () => (await parked()).length === 1)
    const signals = ["--reactor", "sluice.signals"]
    expect(await okJson(["parked", "retry", organization, ...signals], at)).toMatchObject({
      retried: 0,
      left: 1,
      error: expect.stringContaining("it cannot be read")
    })
    const { records } = await okJson(["parked", "show", organization, ...signals], at)
    const place = `${records[0].sequence}/${records[0].index}`
    expect(await okJson(["parked", "dismiss", organization, place, ...signals], at)).toMatchObject({ left: 0 })

    await query(
      databaseUrl,
      "alter table organizations add constraint no_early check (plan <> 'early_adopter') not valid"
    )
    await askAdmin(first, "PUT", `/organizations/${organization}/plans`, { plan: "early_adopter" })
    await until(async () => (await parked()).length === 1)
    await query(databaseUrl, "alter table organizations drop constraint no_early")
    const retried = await askAdmin(first, "POST", `/organizations/${organization}/parked/retry`, {})
    expect(retried).toEqual({ reactor: "projections", retried: 1, left: 0 })
  })

  it("are named by a command that needs all of them stopped", async () => {
    const { SLUICE_PLACEMENT: _, SLUICE_NODE: __, ...named } = environment("four")
    const refused = await sluice(["recover", "--partition", "0"], { ...named, SLUICE_DATA_DIR: await folder() })
    expect(refusal(refused)).toMatch(
      /^sluice: Stop every node first, and start them again when this is done: one, two\. /
    )
  })

  it("serve on when the sessions of their locks are ended", async () => {
    const sessions = async () =>
      (
        await query<{ readonly pid: number }>(
          databaseUrl,
          `select distinct pid from pg_locks join pg_stat_activity using (pid)
           where locktype = 'advisory' and objsubid = 2 and application_name like 'sluice locks of %'
             and datname = current_database()`
        )
      ).map(({ pid }) => pid)
    const before = await sessions()
    expect(before).toHaveLength(2)
    for (const pid of before) await query(databaseUrl, "select pg_terminate_backend($1)", [pid])
    // Both hold locks again, in new sessions.
    await until(async () => {
      const now = await sessions()
      return now.length === 2 && now.every((pid) => !before.includes(pid))
    })
    await until(isSpread)
    await untilServed(first)
    await untilServed(second)
  })

  it("hand their partitions over when they are asked to, and go on to answer", async () => {
    expect(await okJson(["cluster", "drain", "two"], { SLUICE_DATA_DIR: first.dataDir })).toEqual({ name: "two" })
    await until(async () => (await served(first)).length === partitions)
    await untilServed(second)
    expect(await served(second)).toEqual([])
    const none = await sluice(["cluster", "drain", "nobody"], { SLUICE_DATA_DIR: first.dataDir })
    expect(refusal(none)).toContain("no node of a cluster is named nobody")
  })

  it("have a role: requests without partitions, or partitions without requests", async () => {
    const startAs = async (role: string) =>
      startPlatform({ ...environment(`the ${role}`.replace(" ", "-")), SLUICE_ROLE: role }, await folder())
    const [api, engine] = await Promise.all([startAs("api"), startAs("engine")])
    try {
      await until(async () => (await served(engine)).length > 0)
      await untilServed(api)
      expect(await served(api)).toEqual([])
      const metrics = await (await fetch(`${engine.url}/metrics`)).text()
      for (const partition of await served(engine))
        expect(metrics).toMatch(new RegExp(`^sluice_partition_owned\\{.*partition="${partition}".*\\} 1$`, "m"))
      expect((await decide(engine, keys[0]!)).status).toBe(404)
    } finally {
      await Promise.all([api.stop(), engine.stop()])
    }
  })

  it("have the owner of a partition that refuses to start recover it, whichever of them is asked", async () => {
    await Promise.all([first.stop(), second.stop()])
    // One with an organization: its projections have come to somewhere.
    const partition = partitionOf(ids[0]!, partitions)
    const broken = await query(
      databaseUrl,
      `update engine_cursors set sequence = 100000, hash = repeat('f', 64)
       where partition = ${partition} and reactor = 'projections' returning 1`
    )
    expect(broken).toHaveLength(1)
    ;[first, second] = await Promise.all([start("one"), start("two")])
    // While no node has it, there is nothing to look into.
    const statusAt = (node: Platform): Promise<string | undefined> =>
      askAdmin(node, "GET", `/partitions/${partition}`).then(
        ({ status }) => (status as { readonly _tag: string })._tag,
        () => undefined
      )
    for (const node of [first, second]) await until(async () => (await statusAt(node)) === "Stopped")
    // One of the two does not have it.
    for (const node of [first, second]) {
      const told = await ok(["recover", "--partition", `${partition}`], { SLUICE_DATA_DIR: node.dataDir })
      expect(told).toMatch(
        new RegExp(
          `^Partition ${partition}: .*the cursor of projections has seen frame 100000.*Nothing was changed; --accept-loss does it\\.\n$`,
          "s"
        )
      )
    }
    const shown = (await askAdmin(first, "GET", "/cluster")).partitions as ReadonlyArray<{ readonly node: string }>
    const other = shown[partition]!.node === "one" ? second : first
    expect(
      await ok(["recover", "--partition", `${partition}`, "--accept-loss"], { SLUICE_DATA_DIR: other.dataDir })
    ).toContain("Moved: the cursor of projections from frame 100000")
    await until(isSpread)
    await untilServed(first)
    await untilServed(second)
  })

  it("refuse settings that do not fit", async () => {
    const refused = await commandHere(["serve", "--cluster"], { SLUICE_DATA_DIR: await folder() })
    expect(refusal(refused)).toContain("SLUICE_PLACEMENT=cluster needs DATABASE_URL and NATS_URL")
  })
})
