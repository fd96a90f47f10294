/** The account of a key over HTTP: its stage, what it has used of its limits, and a test account that begins anew. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Engine } from "../../../src/engine/Engine.ts"
import { OrganizationActor } from "../../../src/platform/OrganizationActor.ts"
import { SendAccount, SendLimits, SendSender, senderKey } from "../../../src/send/index.ts"
import type { Answer } from "../../support/api.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Tenant, useSendPlatform } from "./sendersPlatform.ts"

const platform = useSendPlatform()

const tenantOf = async (ask: Tenant["live"]): Promise<Answer["body"]> => (await ask("GET", "/v1/send/tenants")).body

/** An account that was paused for three bounces, with an email that was held by it. */
const paused = async () => {
  const tenant = await platform().tenant()
  await tenant.test("POST", "/v1/send/domains", { name: "paused.example" })
  const { organization } = tenant
  const account = { organization, key: "test" }
  await platform().run(
    Effect.gen(function* () {
      const engine = yield* Engine
      const emails = ["1", "2", "3"].map((id) => ({
        id: `${organization}-b${id}`,
        sender: "paused.example",
        recipients: ["bob@a.example"]
      }))
      const admitted = emails.map(({ sender, ...email }) => ({ ...email, from: `ann@${sender}` }))
      yield* engine.ask(SendAccount, account, { _tag: "Admit", emails: admitted, upgradeUrl: "https://a.example" })
      yield* engine.ask(SendAccount, account, { _tag: "Dispatch", emails })
      for (const what of ["handedOver", "bounced"] as const)
        yield* engine.ask(SendAccount, account, {
          _tag: "Report",
          reports: emails.map(({ id, sender }) => ({
            id,
            sender,
            what,
            suppresses: false,
            ...(what === "bounced" ? { recipient: "bob@a.example" } : {})
          }))
        })
    })
  )
  return tenant
}

describe("an account", () => {
  it("[platform 9.16] on probation tells every cap with what was used of it", async () => {
    const { admitted, live, test } = await platform().tenant()
    const before = await tenantOf(test)
    expect(before).toMatchObject({ mode: "test", plan: "hobby", trustStage: "probation" })
    expect(Date.parse(before.probationEndsAt) - Date.now()).toBeGreaterThan(71 * 3_600_000)
    expect(before.caps).toEqual({
      emailsPerMonth: { limit: 3_000, used: 0, resetsAt: expect.stringMatching(/-01T00:00:00\.000Z$/) },
      emailsPerHour: { limit: 50, used: 0, resetsAt: null },
      emailsPerDay: { limit: 200, used: 0, resetsAt: null },
      recipientDomainsPerHour: { limit: 25, used: 0, resetsAt: null },
      senders: { limit: 1_000, used: 0, resetsAt: null }
    })
    expect(before.triggers).toEqual([
      { trigger: "bounces", count: 0, limit: 3 },
      { trigger: "complaint", count: 0, limit: 1 },
      { trigger: "spike", count: 0, limit: 100 },
      { trigger: "risky_content", count: 0, limit: 5 }
    ])
    await test("POST", "/v1/send/domains", { name: "counted.example" })
    for (const to of ["a@one.example", "b@one.example", "c@two.example"])
      expect(await admitted("test", "ann@counted.example", to)).toBe("queued")
    const { caps, triggers } = await tenantOf(test)
    expect(triggers[2]).toEqual({ trigger: "spike", count: 3, limit: 100 })
    const used = Object.values(caps as Record<string, { readonly used: number }>).map((cap) => cap.used)
    expect(used).toEqual([3, 3, 3, 2, 1])
    expect((await tenantOf(live)).caps.emailsPerMonth.used).toBe(0)
  })

  it("[platform 9.16] shows a change of its plan to the next read", async () => {
    const { live, organization } = await platform().tenant()
    await tenantOf(live)
    for (const sendPlan of ["pro", "enterprise", "hobby", "pro", "hobby"] as const) {
      const change = { _tag: "SetPlans", sendPlan, by: "operator" } as const
      await platform().run(Effect.flatMap(Engine, (engine) => engine.ask(OrganizationActor, { organization }, change)))
      const { caps, plan } = await tenantOf(live)
      const limit = SendLimits.emailsPerMonthByPlan[sendPlan]
      expect([plan, caps.emailsPerMonth.limit]).toEqual([sendPlan, limit === "unlimited" ? null : limit])
    }
  })

  it("[platform 9.11] that is paused by an email shows at once why that is held", async () => {
    const mail = {
      from: "ann@risky.example",
      to: "bob@a.example",
      subject: "Verify your account",
      text: "https://bit.ly/3x"
    }
    const reasons = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const { test } = await platform().tenant()
        await test("POST", "/v1/send/domains", { name: "risky.example" })
        for (;;) {
          const { body, status } = await test("POST", "/v1/send/emails", mail)
          expect(status).toBe(202)
          if (body.state !== "held") continue
          const { held, state } = (await test("GET", `/v1/send/emails/${body.id}`)).body
          return [state, held?.reason, held?.sender]
        }
      })
    )
    expect(reasons).toEqual(reasons.map(() => ["held", "sending_paused", "risky.example"]))
  })

  it("[platform 9.16] that is paused says since when and why, and a test key starts it anew", async () => {
    const { admitted, test } = await paused()
    const before = await tenantOf(test)
    expect(before).toMatchObject({ trustStage: "sending_paused", pauseReason: "bounces" })
    expect(Date.parse(before.pausedAt)).toBeLessThanOrEqual(Date.now())
    expect(before.probationEndsAt).toBeUndefined()
    expect(before.caps.emailsPerHour).toBeUndefined()
    expect(before.triggers).toBeUndefined()
    expect(await admitted("test", "ann@paused.example")).toBe("sending_paused")

    const { body, status } = await test("POST", "/v1/send/tenants/reset")
    expect(status).toBe(200)
    expect(body).toMatchObject({ trustStage: "probation", caps: { emailsPerMonth: { used: 0 }, senders: { used: 1 } } })
    expect(body.pausedAt).toBeUndefined()
    expect(await tenantOf(test)).toEqual(body)
    expect(await admitted("test", "ann@paused.example")).toBe("queued")
  })

  it("lets go what waited for the end of its pause, when it is started anew", async () => {
    const { admitted, organization, test } = await paused()
    const sender = { organization, key: senderKey("test", "paused.example") }
    const engine = <A, E>(f: (engine: Engine["Service"]) => Effect.Effect<A, E>) =>
      platform().run(Effect.flatMap(Engine, f))
    await test("POST", "/v1/send/tenants/reset")
    await engine((one) => one.ask(SendSender, sender, { _tag: "SetDailyCap", cap: 1 }))
    expect(await admitted("test", "ann@paused.example")).toBe("held")
    // Pauses it again, by content.
    const emails = Array.from({ length: 2 }, (_, at) => ({
      id: `${organization}-s${at}`,
      from: "ann@paused.example",
      recipients: ["bob@a.example"],
      signals: ["foreign_link", "shortened_link", "verification_subject"] as const
    }))
    await engine((one) =>
      one.ask(SendAccount, { organization, key: "test" }, { _tag: "Admit", emails, upgradeUrl: "https://a.example" })
    )
    expect((await tenantOf(test)).pauseReason).toBe("risky_content")
    await engine((one) => one.ask(SendSender, sender, { _tag: "SetDailyCap", cap: 100 }))
    const waiting = () => engine((one) => one.state(SendAccount, { organization, key: "test" }))
    await expect.poll(async () => (await waiting()).waiting, { timeout: patienceMillis }).toEqual(["paused.example"])
    await test("POST", "/v1/send/tenants/reset")
    const domains = await test("GET", "/v1/send/domains")
    const held = async () => (await test("GET", `/v1/send/domains/${domains.body.data[0].id}`)).body.held
    await expect.poll(held, { timeout: patienceMillis }).toBe(0)
  })

  it("[platform 9.16] of live keys is never started anew", async () => {
    const { live } = await platform().tenant()
    const refused = await live("POST", "/v1/send/tenants/reset")
    expect([refused.status, refused.body.error.code]).toEqual([403, "forbidden"])
  })
})
