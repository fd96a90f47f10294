/**
 * The ordinary platform of a worker: started when a test of it first asks, on a copy of the bundled data, and there until the worker ends. Each file has organizations
 * of its own on it and looks at nothing else's, since files before it have left theirs. Tests that stop or break a platform, or set it in another way, start their own.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, inject } from "vitest"
import { query } from "../cli/support.ts"
import { adminUrlOf, type Reached, reach } from "../http/harness.ts"
import { urlOf } from "./database.ts"
import { patienceMillis } from "./patience.ts"
import { startPlatform } from "./platform.ts"
import { templateDatabase } from "./templates.ts"

type Started = Pick<Reached, "process" | "adminUrl" | "adminKey" | "databaseUrl">

/** Its receivers are on this machine, and what fails there is not tried again while somebody looks. */
const settings = { SLUICE_WEBHOOK_TARGETS: "any", SLUICE_WEBHOOK_RETRY_DELAYS: "1h,1h,1h,1h,1h" }

const start = async (): Promise<Started> => {
  const name = `test_${randomUUID().replaceAll("-", "")}`
  await query(inject("postgresUrl"), `create database "${name}" template "${await templateDatabase("bundled")}"`)
  const adminKey = `adm_${randomBytes(24).toString("hex")}`
  const process = await startPlatform(
    {
      ...settings,
      DATABASE_URL: urlOf(name),
      NATS_URL: inject("natsUrl"),
      SLUICE_ADMIN_KEY: adminKey,
      SLUICE_METRICS: "admin",
      SLUICE_TEST_PROGRAM: globalThis.process.env.SLUICE_TEST_PROGRAM!
    },
    await mkdtemp(join(tmpdir(), "sluice-shared-")),
    fileURLToPath(new URL("leashed.ts", import.meta.url)),
    true
  )
  return { process, adminUrl: await adminUrlOf(process), adminKey, databaseUrl: urlOf(name) }
}

// Files of a worker may have modules of their own, and share the process.
const worker = globalThis as { sluiceSharedPlatform?: Promise<Started> }

/** The worker's platform, with an organization and a key of the file; to be asked for inside tests and hooks only. */
export const useSharedPlatform = (): (() => Reached) => {
  let reached: Reached | undefined
  beforeAll(async () => {
    worker.sluiceSharedPlatform ??= start()
    reached = await reach(await worker.sluiceSharedPlatform)
  }, patienceMillis)
  return () => reached!
}
