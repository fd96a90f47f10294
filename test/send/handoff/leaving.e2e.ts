/** A node of a cluster that is stopped while it hands mail over (docs/handoff.md, 2.5): no mail goes twice. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { until, useDatabases } from "../../cli/support.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { askAt } from "../../webhooks/platform.ts"
import { type RelayServer, startRelay } from "./smtp/relayServer.ts"

const database = useDatabases()
const scope = Scope.makeUnsafe()
let folder = ""
let relay: RelayServer
let databaseUrl = ""
let platform: Platform

const start = () =>
  startPlatform(
    {
      DATABASE_URL: databaseUrl,
      NATS_URL: inject("natsUrl"),
      SLUICE_PLACEMENT: "cluster",
      SLUICE_NODE: "one",
      SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`
    },
    join(folder, "data")
  )

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-leaving-"))
  relay = await Effect.runPromise(Scope.provide(startRelay(), scope))
  databaseUrl = await database("seeded")
  platform = await start()
})

afterAll(async () => {
  await platform?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await rm(folder, { recursive: true, force: true })
})

it("[platform 6.4] [platform 8] given mail under way at a stop, then the node records it before it gives its partitions away", async () => {
  const key = platform.demoKey!
  const ask = (method: string, path: string, body?: unknown) => askAt(platform.url, key)(method, path, body)
  const recipients = Array.from({ length: 40 }, (_, number) => `reader-${number}@stop.example`)
  // Long enough that the stop comes while the relay works on some of them.
  relay.sabotage.workMillis = 200
  const mails = recipients.map((to) => ({ from: "ann@demo.test", to, subject: "Hello", text: "Hi" }))
  const { body, status } = await ask("POST", "/v1/send/emails/batch", mails)
  expect(status, JSON.stringify(body)).toBe(202)
  const ids = (body as { readonly data: ReadonlyArray<{ readonly id: string }> }).data.map(({ id }) => id)
  await until(() => relay.taken.length > 0)
  await platform.stop()
  const takenBefore = relay.taken.length
  relay.sabotage.workMillis = 0
  platform = await start()
  for (const id of ids)
    await until(async () => {
      const { body } = await ask("GET", `/v1/send/emails/${id}`)
      return (body as { readonly state?: string }).state === "sent"
    })
  expect(takenBefore).toBeLessThan(recipients.length)
  const copies = recipients.map((recipient) => relay.taken.filter(({ to }) => to.includes(recipient)).length)
  expect(copies).toEqual(recipients.map(() => 1))
})
