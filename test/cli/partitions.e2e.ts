/** More partitions than logs of the usual size fit the embedded server, and logs of a size that does not fit it. */
import { expect, it } from "vitest"
import { commandHere } from "../support/here.ts"
import { startPlatform } from "../support/platform.ts"
import { copyDataFolder } from "../support/templates.ts"
import { okJson, refusal, useFolders } from "./support.ts"

const folder = useFolders()

it("64 partitions serve on the embedded servers, whose store the usual logs would not fit", async () => {
  const platform = await startPlatform(
    { SLUICE_PARTITIONS: "64", SLUICE_DEMO: "off" },
    await copyDataFolder(await folder())
  )
  try {
    const ready = await fetch(`${platform.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([200, expect.not.stringContaining("has stopped")])
    const at = { SLUICE_DATA_DIR: platform.dataDir }
    const last = await okJson(["inspect", "partition", "63"], at)
    expect(last).toMatchObject({ partition: 63, status: { _tag: "Serving" } })
    const { id } = await okJson(["orgs", "create", "Acme"], at)
    expect(await okJson(["inspect", "org", id], at)).toMatchObject({ organization: id, status: { _tag: "Serving" } })
  } finally {
    expect((await platform.stop()).code).toBe(0)
  }
})

it("logs that do not fit are refused at the start, with what to set", async () => {
  const finished = await commandHere(["serve"], {
    SLUICE_DATA_DIR: await copyDataFolder(await folder()),
    SLUICE_PORT: "0",
    SLUICE_PARTITIONS: "64",
    SLUICE_LOG_LEVEL: "warn",
    SLUICE_LOG_MAX_BYTES: "4294967296"
  })
  const sentence = refusal(finished)
  expect(sentence).toMatch(
    /^sluice: the logs of 64 partitions do not fit the JetStream store: 64 new ones set aside 274877906944 bytes together \(4294967296 each\), and the server's limit of \d+ bytes \(max_file_store in nats.conf\) leaves \d+\. /
  )
  const most = Number(/set SLUICE_LOG_MAX_BYTES to at most (\d+)/.exec(sentence)?.[1])
  expect(most).toBeGreaterThan(512 * 1024 * 1024)
  expect(64 * most).toBeLessThanOrEqual(Number(/leaves (\d+)/.exec(sentence)?.[1]))
  expect(sentence).toContain("SLUICE_PARTITIONS")
})
