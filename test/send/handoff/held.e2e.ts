/** A platform that holds its mail (docs/handoff.md, 2.2), as after a restore: it takes emails, and the relay gets them after a start that does not hold them. */
import { Effect, Exit, Scope } from "effect"
import { afterAll, expect, inject, it } from "vitest"
import { until, useDatabases, useFolders } from "../../cli/support.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { askAt } from "../../webhooks/platform.ts"
import { startRelay } from "./smtp/relayServer.ts"

const database = useDatabases()
const folder = useFolders()
const scope = Scope.makeUnsafe()
let platform: Platform | undefined
afterAll(async () => {
  await platform?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

it(
  "[platform 8.1] holds accepted mail until a start without SLUICE_HOLD_MAIL",
  async () => {
    const relay = await Effect.runPromise(Scope.provide(startRelay(), scope))
    const databaseUrl = await database("seeded")
    const dataDir = await folder()
    const start = (more: Readonly<Record<string, string>>) =>
      startPlatform(
        {
          DATABASE_URL: databaseUrl,
          NATS_URL: inject("natsUrl"),
          SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
          ...more
        },
        dataDir
      )
    platform = await start({ SLUICE_HOLD_MAIL: "on" })
    const key = platform.demoKey!
    const ready = (await (await fetch(`${platform.url}/readyz`)).json()) as {
      readonly checks: { readonly mail: object }
    }
    expect(ready.checks.mail).toEqual({ ok: true, detail: "mail is held (SLUICE_HOLD_MAIL): accepted mail waits" })
    const mail = { from: "ann@demo.test", to: "bob@example.com", subject: "Hello", text: "Hi" }
    const { body, status } = await askAt(platform.url, key)("POST", "/v1/send/emails", mail)
    expect(status).toBe(202)
    const { id } = body as { readonly id: string }
    const stateOf = async () =>
      ((await askAt(platform!.url, key)("GET", `/v1/send/emails/${id}`)).body as { readonly state?: string }).state
    await until(async () => (await stateOf()) === "queued")
    await platform.stop()
    // It would have handed over what was under way.
    expect(relay.connections()).toBe(0)

    platform = await start({})
    await until(() => relay.taken.length > 0)
    await until(async () => (await stateOf()) === "sent")
    expect(relay.taken.map(({ to }) => to)).toEqual([["bob@example.com"]])
  },
  patienceMillis
)
