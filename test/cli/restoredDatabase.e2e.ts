/** A backup of PostgreSQL is restored beside the log as it was (docs/operating.md): the log brings what the backup lacks. */
import { afterAll, expect, inject, it } from "vitest"
import { patienceMillis } from "../support/patience.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { query, until, useDatabases, useFolders } from "./support.ts"

const database = useDatabases()
const folder = useFolders()
let platform: Platform | undefined
afterAll(() => platform?.stop())

it(
  "[platform 8.4] an older database catches up with the log at the next start",
  async () => {
    const url = await database("seeded")
    const name = new URL(url).pathname.slice(1)
    const dataDir = await folder()
    const start = () =>
      startPlatform(
        { DATABASE_URL: url, NATS_URL: inject("natsUrl"), SLUICE_ADMIN_KEY: `adm_${"Ab1".repeat(10)}` },
        dataDir
      )
    let key = ""
    const ask = async (path: string, body?: object) => {
      const answer = await fetch(`${platform!.url}${path}`, {
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }
    const lookUp = () => ask("/v1/telco/lookup/2125550100")
    const lookUps = async () =>
      ((await ask("/v1/events?type=telco.*&limit=100")).body.data as ReadonlyArray<unknown>).length

    platform = await start()
    key = platform.demoKey!
    const endpoint = await ask("/v1/webhooks", { url: "https://hooks.example.com/in", enabled_events: ["send.*"] })
    expect((await lookUp()).status).toBe(200)
    await until(async () => (await lookUps()) === 1)
    await platform.stop()
    const backup = await database(new URL(url))

    platform = await start()
    const later = await ask("/v1/webhooks", { url: "https://hooks.example.com/later", enabled_events: ["send.*"] })
    for (let count = 0; count < 20; count++) expect((await lookUp()).status).toBe(200)
    await until(async () => (await lookUps()) === 21)
    await platform.stop()

    await query(inject("postgresUrl"), `drop database "${name}" with (force)`)
    await query(inject("postgresUrl"), `alter database "${new URL(backup).pathname.slice(1)}" rename to "${name}"`)
    platform = await start()
    // Answered before the loss, and unknown to the backup.
    await until(async () => (await lookUps()) === 21)
    for (const { body } of [endpoint, later])
      expect((await ask(`/v1/webhooks/${body.id}`)).body).toMatchObject({ id: body.id })
    expect((await lookUp()).status).toBe(200)
    await until(async () => (await lookUps()) === 22)
  },
  patienceMillis
)
