/** The findings of `sluice doctor`, given the state of servers and machine. */
import { describe, expect, it } from "vitest"
import { type CheckResult, certificateCheck, clockCheck } from "../../src/cli/doctor/CheckResult.ts"
import { type DatabaseFacts, databaseChecks } from "../../src/cli/doctor/databaseChecks.ts"
import { diskCheck, filesCheck, publicCheck } from "../../src/cli/doctor/machineChecks.ts"
import { type NatsFacts, natsChecks } from "../../src/cli/doctor/natsChecks.ts"
import { knownFormats } from "../../src/common/formatLevels.ts"

const goodDatabase: DatabaseFacts = {
  isLocal: false,
  isEncrypted: true,
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: "on",
  encoding: "UTF8",
  mayCreate: true,
  mayConnect: 97,
  connections: 3,
  migrated: 3,
  level: knownFormats.newest,
  isServed: false,
  aheadMillis: 12
}
const needs = { connections: 16, migrations: [1, 2, 3], isCluster: false }

const goodNats: NatsFacts = { sync: "always", isEncrypted: true, isLocal: false, logs: 8, aheadMillis: -3 }
const natsNeeds = { weakSync: "refuse", partitions: 8 } as const

const named = (findings: ReadonlyArray<CheckResult>, check: string) => findings.find((one) => one.check === check)

describe("a PostgreSQL", () => {
  it("in order has no warning", () => {
    expect(databaseChecks(goodDatabase, needs).map(({ result }) => result)).toEqual(Array(7).fill("ok"))
  })

  const cases: ReadonlyArray<readonly [string, Partial<DatabaseFacts>, string, CheckResult["result"], string]> = [
    ["without encryption", { isEncrypted: false }, "PostgreSQL TLS", "warning", "sslmode=verify-full"],
    [
      "without encryption on this machine",
      { isEncrypted: false, isLocal: true },
      "PostgreSQL TLS",
      "ok",
      "this machine"
    ],
    ["without fsync", { fsync: false }, "PostgreSQL durability", "failed", "fsync is off"],
    ["without full pages", { fullPageWrites: false }, "PostgreSQL durability", "warning", "full_page_writes"],
    ["without waits", { synchronousCommit: "off" }, "PostgreSQL durability", "warning", "synchronous_commit is off"],
    ["in another encoding", { encoding: "LATIN1" }, "PostgreSQL encoding", "failed", "ENCODING 'UTF8'"],
    ["that is new", { migrated: undefined, level: undefined }, "migrations", "ok", "is empty"],
    [
      "that is new, without rights",
      { migrated: undefined, mayCreate: false },
      "migrations",
      "failed",
      "sluice migrate"
    ],
    ["that is older", { migrated: 1 }, "migrations", "warning", "(2, 3): take a backup"],
    ["that is newer", { migrated: 4 }, "migrations", "failed", "start the newer version"],
    ["of newer formats", { level: knownFormats.newest + 1 }, "migrations", "failed", "start the newer version"],
    ["with too few connections", { mayConnect: 10 }, "PostgreSQL connections", "failed", "max_connections"],
    ["with few free connections", { connections: 90 }, "PostgreSQL connections", "warning", "7 free of 97"],
    ["on which a platform runs", { isServed: true }, "other platforms", "warning", "stop it before the start"],
    ["whose clock is behind", { aheadMillis: 6_000 }, "PostgreSQL clock", "failed", "6.0 s ahead"]
  ]
  for (const [title, change, check, result, words] of cases)
    it(title, () => {
      const found = named(databaseChecks({ ...goodDatabase, ...change }, needs), check)
      expect(found).toMatchObject({ result })
      expect(found?.detail).toContain(words)
    })

  it("of a cluster may have other nodes", () => {
    const found = databaseChecks({ ...goodDatabase, isServed: true }, { ...needs, isCluster: true })
    expect(named(found, "other platforms")?.result).toBe("ok")
  })
})

describe("a NATS", () => {
  it("in order has no warning", () => {
    expect(natsChecks(goodNats, natsNeeds).map(({ result }) => result)).toEqual(Array(4).fill("ok"))
  })

  const cases: ReadonlyArray<readonly [string, Partial<NatsFacts>, string, CheckResult["result"], string]> = [
    ["without encryption", { isEncrypted: false }, "NATS TLS", "warning", "tls://"],
    ["that syncs later", { sync: "interval" }, "NATS durability", "failed", "sync_interval: always"],
    ["that does not show it", { sync: "unknown" }, "NATS durability", "warning", "does not show"],
    ["without room", { logs: "the logs do not fit" }, "NATS room", "failed", "the logs do not fit"],
    ["before the first start", { logs: 0 }, "NATS room", "ok", "0 of 8 logs are there"]
  ]
  for (const [title, change, check, result, words] of cases)
    it(title, () => {
      const found = named(natsChecks({ ...goodNats, ...change }, natsNeeds), check)
      expect(found).toMatchObject({ result })
      expect(found?.detail).toContain(words)
    })

  it("that syncs later, and was accepted", () => {
    const found = natsChecks({ ...goodNats, sync: "interval" }, { ...natsNeeds, weakSync: "accept" })
    expect(named(found, "NATS durability")?.result).toBe("warning")
  })

  it("without a log has no clock to compare", () => {
    expect(named(natsChecks({ ...goodNats, aheadMillis: undefined }, natsNeeds), "NATS clock")).toBeUndefined()
  })
})

describe("a machine", () => {
  it("needs room on its disk", () => {
    expect(diskCheck(100, 1_000, 200).result).toBe("failed")
    expect(diskCheck(40e9, 1_000e9, 200).result).toBe("warning")
    expect(diskCheck(60e9, 1_000e9, 200)).toMatchObject({ result: "ok", detail: "60.0 GB of 1000.0 GB are free" })
  })

  it("needs open files, as the kernel says them", () => {
    const limits = (hard: string) =>
      `Limit  Soft Limit  Hard Limit  Units\nMax open files            1024        ${hard}        files \n`
    expect(filesCheck(limits("4096"))).toMatchObject([{ result: "warning" }])
    expect(filesCheck(limits("1048576"))).toMatchObject([{ result: "ok" }])
    expect(filesCheck(limits("unlimited"))).toMatchObject([{ result: "ok" }])
    expect(filesCheck("")).toEqual([])
  })

  it("needs an address that others reach", () => {
    expect(publicCheck({ host: "0.0.0.0", publicUrl: undefined }).result).toBe("warning")
    expect(publicCheck({ host: "127.0.0.1", publicUrl: undefined }).result).toBe("ok")
    expect(publicCheck({ host: "0.0.0.0", publicUrl: "http://sluice.example.com" }).result).toBe("warning")
    expect(publicCheck({ host: "0.0.0.0", publicUrl: "https://sluice.example.com" }).result).toBe("ok")
  })

  it("has a clock, which may be ahead a little and behind", () => {
    const results = [0, 1_500, -60_000, 5_001].map((millis) => clockCheck("clock", millis).result)
    expect(results).toEqual(["ok", "warning", "warning", "failed"])
  })

  it("has certificates, which end", () => {
    const now = Date.parse("2026-03-01T00:00:00Z")
    const results = [-1, 13, 15].map((days) => certificateCheck("c", now + days * 86_400_000, now).result)
    expect(results).toEqual(["failed", "warning", "ok"])
  })
})
