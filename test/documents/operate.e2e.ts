/**
 * The commands that start, stop and upgrade a platform, as README, docs/operating.md and docs/upgrade.md have them, in a
 * folder of their own.
 */
import { afterAll, expect, inject, it } from "vitest"
import { useDatabases } from "../cli/support.ts"
import { freePort } from "../support/freePort.ts"
import { patienceMillis } from "../support/patience.ts"
import { logNamespaceOf, sharedPartitions } from "../support/platform.ts"
import { blockOf, blocksOf } from "./blocks.ts"
import { DocumentShell } from "./shell.ts"

const database = useDatabases()
let shell: DocumentShell

const [stop, again] = blocksOf("docs/upgrade.md").map(({ text }) => text)

afterAll(async () => {
  // After a failure it may still run; otherwise there is nothing to stop.
  await shell.run(stop!).catch(() => {})
  await shell.close()
})

it("a platform is started, stopped, and started again on its data", { timeout: patienceMillis }, async () => {
  const port = await freePort()
  const databaseUrl = await database("seeded")
  const settings = {
    HOME: process.env.HOME ?? "/",
    SLUICE_PORT: `${port}`,
    SLUICE_LOG_NAMESPACE: logNamespaceOf(new URL(databaseUrl).pathname),
    SLUICE_PARTITIONS: `${sharedPartitions}`,
    SLUICE_LOG_MAX_BYTES: `${16 * 1024 * 1024}`,
    SLUICE_CONTENTS_MAX_BYTES: `${64 * 1024 * 1024}`
  }
  shell = new DocumentShell(process.env.SLUICE_TEST_PROGRAM!, settings, {
    "postgres://sluice:secret@db:5432/sluice": databaseUrl,
    "nats://nats:4222": inject("natsUrl"),
    "http://127.0.0.1:8080": `http://127.0.0.1:${port}`
  })
  const start = blockOf("README.md", "export SLUICE_SECRETS_KEY").text
  expect(blockOf("docs/operating.md", "export SLUICE_SECRETS_KEY").text).toBe(start)
  // An operator's shell keeps the variable; here each block has a shell of its own.
  const [setKey, serve] = start.split("\n")
  const key = (await shell.run(`${setKey}; echo $SLUICE_SECRETS_KEY`)).trim()
  const secret = { SLUICE_SECRETS_KEY: key }
  const servers = { ...secret, DATABASE_URL: databaseUrl, NATS_URL: inject("natsUrl") }
  const create = blockOf("docs/operating.md", "npx --no-install sluice orgs create").text
  const [, id] = /(org_\w+)/.exec(await shell.run(create, servers))!
  expect(await shell.begin(serve!, /is ready/, secret)).toContain("Sluice")
  const list = blockOf("README.md", "npx --no-install sluice orgs list").text
  expect(await shell.run(list)).toContain(id)

  await shell.run(stop!)
  expect(await fetch(`http://127.0.0.1:${port}/livez`).catch(() => "closed")).toBe("closed")
  // What it leaves running ends with the stop below, and its output goes to a file.
  expect(await shell.run(again!, servers)).toMatch(/"status":"ready".*sluice \d+\.\d+\.\d+$/m)
  expect(await shell.run(list)).toContain(id)
  await shell.run(stop!)
})
