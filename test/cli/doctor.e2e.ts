/** `sluice doctor` on real servers: what is in order, what a start would refuse, and that nothing is made. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, inject, it } from "vitest"
import { freePort } from "../../src/embedded/freePort.ts"
import { sluice } from "../support/commands.ts"
import { okJson, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()

describe("sluice doctor", () => {
  it("shows servers in order, and makes nothing", async () => {
    const databaseUrl = await database("seeded")
    const dataDir = join(await folder(), "made", "later")
    const environment = {
      DATABASE_URL: databaseUrl,
      NATS_URL: inject("natsUrl"),
      SLUICE_SECRETS_KEY: "5e".repeat(32),
      SLUICE_DATA_DIR: dataDir,
      SLUICE_LOG_NAMESPACE: "doctor",
      SLUICE_LOG_MAX_BYTES: "16777216",
      SLUICE_PORT: "0"
    }
    const found: ReadonlyArray<{ readonly check: string; readonly result: string; readonly detail: string }> =
      JSON.parse((await sluice(["doctor", "--json"], environment)).stdout)
    const of = (check: string) => found.find((one) => one.check === check)
    // The server of the tests is quick because it has no fsync, and is told so.
    expect(found.filter(({ result }) => result === "failed").map(({ check }) => check)).toEqual([
      "PostgreSQL durability"
    ])
    expect(of("data folder")).toMatchObject({ result: "ok", detail: `${dataDir} will be made` })
    expect(of("PostgreSQL")?.detail).toMatch(/^18\.\d+ at 127\.0\.0\.1:\d+, database test_\w+, user \w+$/)
    expect(of("PostgreSQL TLS")).toMatchObject({ result: "ok", detail: "the connection stays on this machine" })
    expect(of("migrations")).toMatchObject({ result: "ok" })
    expect(of("NATS")?.detail).toMatch(/^2\.\d+\.\d+ at 127\.0\.0\.1:\d+$/)
    expect(of("NATS durability")).toMatchObject({ result: "ok" })
    expect(of("NATS room")).toMatchObject({ result: "ok", detail: expect.stringContaining(" logs are there") })
    expect(of("relay")).toMatchObject({ result: "warning" })
    expect(existsSync(dataDir)).toBe(false)
    const { code, stdout: text } = await sluice(["doctor"], environment)
    expect(code).toBe(1)
    expect(text).toMatch(/^CHECK +RESULT +FINDING\n/)
    expect(text).toMatch(/\n\d+ checks, 1 failed, (?:one warning|\d+ warnings)\.\n$/)
    expect(text).not.toContain(new URL(databaseUrl).password)
  })

  it("says what a start would refuse, in one run, and ends with 1", async () => {
    const nowhere = `127.0.0.1:${await Effect.runPromise(freePort)}`
    const taken = new URL(inject("natsUrl")).port
    const { code, stderr, stdout } = await sluice(["doctor"], {
      DATABASE_URL: `postgres://sluice:s3cr3t@${nowhere}/sluice`,
      NATS_URL: `nats://u:s3cr3t@${inject("natsUrl").split("@")[1]}`,
      SLUICE_SMTP_URL: `smtp://relay:s3cr3t@${nowhere}`,
      SLUICE_SMTP_TLS: "opportunistic",
      SLUICE_DATA_DIR: await folder(),
      SLUICE_SECRETS_KEY: "",
      SLUICE_PORT: taken
    })
    expect(code).toBe(1)
    expect(stderr).toContain("5 checks failed")
    expect(stdout).toMatch(/\n\d+ checks, 5 failed/)
    expect(stdout).toMatch(/^secrets key +failed +.*SLUICE_SECRETS_KEY/m)
    expect(stdout).toMatch(/^API address +failed +Cannot listen on 127\.0\.0\.1:/m)
    expect(stdout).toMatch(/^PostgreSQL +failed +.*is not reachable/m)
    expect(stdout).toMatch(/^NATS +failed +.*refuses the user, password or token/m)
    expect(stdout).toMatch(new RegExp(`^relay +failed +${nowhere}: the relay refuses the connection`, "m"))
    expect(`${stdout}${stderr}`).not.toContain("s3cr3t")
  })

  it("needs no server of one's own", async () => {
    const found: ReadonlyArray<{ readonly check: string; readonly result: string }> = await okJson(["doctor"], {
      SLUICE_DATA_DIR: await folder(),
      SLUICE_PORT: "0"
    })
    expect(found.filter(({ check }) => check === "PostgreSQL" || check === "NATS")).toMatchObject([
      { result: "ok" },
      { result: "ok" }
    ])
  })
})
