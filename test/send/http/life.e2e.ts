/**
 * The life of accounts over HTTP, on real servers, by a clock that the test moves on for days (docs/platform.md, 9.2 to 9.6): caps that open again, promotions, held mail,
 * each trigger of a pause, and lifts. Live mail goes to a relay, and what becomes of it comes back to the listener.
 */
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { askAdmin, makeTenant, until, verifyDomain } from "../../cli/support.ts"
import { clockVariable, moveOn } from "../../support/movableClock.ts"
import { patienceMillis } from "../../support/patience.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { copyDataFolder } from "../../support/templates.ts"
import { askAt } from "../../webhooks/platform.ts"
import { abuseReport, bouncePortOf, bring, deliveryStatus } from "../feedback/intake/reports.ts"
import { type RelayServer, startRelay } from "../handoff/smtp/relayServer.ts"

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

const scope = Scope.makeUnsafe()
let folder = ""
let relay: RelayServer
let platform: Platform
const socket = () => join(folder, "clock")
const move = (millis: number) => moveOn(socket(), millis)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-life-"))
  const program = new URL("../../support/movableClock.ts", import.meta.url).pathname
  relay = await Effect.runPromise(Scope.provide(startRelay(), scope))
  const environment = {
    [clockVariable]: socket(),
    SLUICE_ADMIN_KEY: `adm_${randomBytes(24).toString("hex")}`,
    SLUICE_DEMO: "off",
    SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
    SLUICE_BOUNCE_DOMAIN: "bounces.sluice.test",
    SLUICE_BOUNCE_PORT: "0"
  }
  platform = await startPlatform(environment, await copyDataFolder(join(folder, "data")), program)
}, patienceMillis)

afterAll(async () => {
  await platform?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await rm(folder, { recursive: true, force: true })
})

/** The return path under which the relay has got the mail to a recipient. */
const returnPathTo = async (recipient: string): Promise<string> => {
  const found = () => relay.taken.find(({ to }) => to[0] === recipient)
  await until(async () => found() !== undefined)
  return found()!.from
}

/** Says that a recipient's mail has bounced, or that the recipient complains, once it was handed over. */
const report = async (what: "bounced" | "complained", recipient: string): Promise<void> => {
  const to = await returnPathTo(recipient)
  const raw = what === "bounced" ? deliveryStatus({ to, recipient }) : abuseReport(to, recipient)
  await bring(bouncePortOf(platform.stderr()), to, raw)
}

type Body = Record<string, unknown>

/** An organization with an account that has a verified domain. */
const made = async (name: string, mode: "live" | "test") => {
  const domain = `${name}.example`
  const plans = { plan: "team", sendPlan: "enterprise" }
  const keyFor = { services: ["send"], scopes: ["*"], mode }
  const { id: organization, key } = await makeTenant(platform, { name, ...plans }, keyFor)
  const ask = askAt(platform.url, key)
  const done = async (status: number, method: string, path: string, body?: unknown): Promise<Body> => {
    const answer = await ask(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    return answer.body as Body
  }
  const { id: domainId } = await done(201, "POST", "/v1/send/domains", { name: domain })
  if (mode === "live") await verifyDomain(platform, organization, domain)
  const mails = (count: number, more: object = {}) =>
    Array.from({ length: count }, () => ({
      from: `ann@${domain}`,
      to: mode === "test" ? "delivered@simulator.invalid" : "bob@two.example",
      subject: "Hello",
      text: "Hi",
      ...more
    }))
  const standing = () => done(200, "GET", "/v1/send/tenants")
  return {
    organization,
    ask,
    done,
    mails,
    standing,
    sender: () => done(200, "GET", `/v1/send/domains/${domainId}`),
    /** Sends a batch, which is accepted; its answers. */
    send: async (count: number, more: object = {}) =>
      (await done(202, "POST", "/v1/send/emails/batch", mails(count, more))).data as ReadonlyArray<{
        readonly id: string
        readonly state: string
        readonly heldUntil?: string
      }>,
    /** What the one event of a type says, which comes a moment later. */
    event: async (type: string): Promise<Body> => {
      const found = async () =>
        (await done(200, "GET", `/v1/events?type=${type}`)).data as ReadonlyArray<{ readonly data: Body }>
      await until(async () => (await found()).length > 0)
      const all = await found()
      expect(all).toHaveLength(1)
      return all[0]!.data
    },
    /** Sends to somebody of whom it is reported so, and answers when the account knows. */
    reported: async (what: "bounced" | "complained", local: string): Promise<void> => {
      const recipient = `${local}@to-${name}.example`
      const { id } = await done(202, "POST", "/v1/send/emails", mails(1, { to: recipient })[0])
      await report(what, recipient)
      await until(async () => (await done(200, "GET", `/v1/send/emails/${id}`)).state === what)
    },
    stateOf: async (id: string) => (await done(200, "GET", `/v1/send/emails/${id}`)).state,
    /** Waits until the account is in this stage, and answers it. */
    reaches: async (trustStage: string): Promise<Body> => {
      await until(async () => (await standing()).trustStage === trustStage)
      return standing()
    }
  }
}

/** Gives an account more on probation than a sender has a day. */
const widen = async (organization: string): Promise<void> => {
  const probation = { emailsPerHour: 500, emailsPerDay: 1_000, domainsPerHour: 25 }
  await askAdmin(platform, "PUT", `/organizations/${organization}/send/limits`, { emailsPerMonth: null, probation })
}

type Account = Awaited<ReturnType<typeof made>>

const errorOf = (body: unknown) => (body as { readonly error: Body }).error

/** Meets the cap, and sends again when the answer says so. */
const meetsCap = async ({ ask, mails }: Account, expected: object): Promise<void> => {
  const refused = await ask("POST", "/v1/send/emails/batch", mails(1))
  expect(refused.status).toBe(429)
  expect(errorOf(refused.body)).toMatchObject({ code: "probation_limit_reached", ...expected })
  const seconds = Number(refused.headers.get("retry-after"))
  const now = await move(seconds * 1_000)
  expect(now).toBeGreaterThanOrEqual(Date.parse(errorOf(refused.body).resetsAt as string))
}

describe("an account's life", { timeout: patienceMillis }, () => {
  it("[platform 9.3] leads from probation with its caps by clean days to trusted", async () => {
    const account = await made("clean", "live")
    const { event, reaches, send, sender, standing, stateOf } = account
    const begun = await standing()
    expect(begun.trustStage).toBe("probation")
    const now = await move(0)
    const endsAt = Date.parse(begun.probationEndsAt as string)
    expect(endsAt % hourMillis).toBe(0)
    expect(endsAt - now).toBeGreaterThan(72 * hourMillis - 60_000)
    expect(endsAt - now).toBeLessThanOrEqual(73 * hourMillis)

    await send(50)
    await meetsCap(account, { limit: 50, window: "hour", metric: "sends" })
    for (let hour = 0; hour < 3; hour++) {
      await send(50)
      await move(hourMillis + 1_000)
    }
    await meetsCap(account, { limit: 200, window: "day", metric: "sends" })
    const wide = account.mails(1, { to: Array.from({ length: 26 }, (_, index) => `bob@d${index}.example`) })
    expect(errorOf((await account.ask("POST", "/v1/send/emails/batch", wide)).body)).toMatchObject({
      limit: 25,
      window: "hour",
      metric: "recipient_domains"
    })
    const [last] = await send(1)
    await until(async () => (await stateOf(last!.id)) === "sent")
    expect(await sender()).toMatchObject({ tier: "new" })

    await move(endsAt - (await move(0)))
    const established = await reaches("established")
    expect(established).not.toHaveProperty("probationEndsAt")
    expect(established.caps).not.toHaveProperty("emailsPerHour")
    expect(await event("send.account.promoted")).toMatchObject({ trustStage: "established" })

    // A hundred emails and three days: the sender has more a day, and the account has no caps of probation.
    await until(async () => (await sender()).tier === "warming")
    const all = [...(await send(100)), ...(await send(100)), ...(await send(100))]
    expect(new Set(all.map(({ state }) => state))).toEqual(new Set(["queued"]))
    await until(async () => (await stateOf(all.at(-1)!.id)) === "sent")

    await move(14 * dayMillis + hourMillis)
    await reaches("trusted")
  })

  it("[platform 9.3] goes on in probation where a window was not clean", async () => {
    const { reaches, send, standing, stateOf } = await made("unclean", "test")
    const endsAt = Date.parse((await standing()).probationEndsAt as string)
    await move(endsAt - 10 * hourMillis - (await move(0)))
    await send(20)
    const [bounced] = await send(1, { to: "bounced@simulator.invalid" })
    await until(async () => (await stateOf(bounced!.id)) === "bounced")
    await move(10 * hourMillis)
    await until(async () => Date.parse((await standing()).probationEndsAt as string) === endsAt + 72 * hourMillis)
    expect((await standing()).trustStage).toBe("probation")
    await move(72 * hourMillis)
    await reaches("established")
  })

  it("[platform 9.11] shows what its emails said for seven days after their end, and their room counts until then", async () => {
    const { done, send, stateOf } = await made("forgetful", "test")
    const [sent] = await send(1)
    await until(async () => (await stateOf(sent!.id)) === "delivered")
    const text = async () => (await done(200, "GET", `/v1/send/emails/${sent!.id}`)).text
    const storage = async () =>
      ((await done(200, "GET", "/v1/billing/usage")).usage as { readonly storage: number }).storage
    await until(async () => (await storage()) > 0)
    await move(7 * dayMillis - hourMillis)
    expect([await text(), (await storage()) > 0]).toEqual(["Hi", true])
    await move(2 * hourMillis)
    expect([await text(), await storage()]).toEqual([null, 0])
  })

  it("[platform 9.6] has mail over a sender's daily cap held until the next day", async () => {
    const { organization, send, sender, stateOf } = await made("holding", "live")
    await widen(organization)
    const [first, second] = [await send(100), await send(100)]
    const third = await send(3)
    expect(new Set([...first, ...second].map(({ state }) => state))).toEqual(new Set(["queued"]))
    const now = await move(0)
    const midnight = (Math.floor(now / dayMillis) + 1) * dayMillis
    expect(third.map(({ heldUntil, state }) => [state, Date.parse(heldUntil!)])).toEqual(
      Array.from({ length: 3 }, () => ["held", midnight])
    )
    await until(async () => (await sender()).held === 3)
    await move(midnight - now - 60_000)
    expect(await stateOf(third[0]!.id)).toBe("held")
    await move(60_000 + 11 * 60_000)
    for (const { id } of third) await until(async () => (await stateOf(id)) === "sent")
    expect(await sender()).toMatchObject({ held: 0, releasedToday: 3 })
  })
})

/** The next day at one, far from midnight, so that a day's mail is one day's. */
const toNextDay = async (): Promise<void> => {
  const soon = (await move(0)) + dayMillis
  await move(Math.floor(soon / dayMillis) * dayMillis + hourMillis - (await move(0)))
}

const toNextHour = async (): Promise<void> => {
  const now = await move(0)
  await move((Math.floor(now / hourMillis) + 1) * hourMillis - now)
}

describe("a domain", { timeout: patienceMillis }, () => {
  let climbing: Awaited<ReturnType<typeof made>>
  const emailsMissing = async () => ((await climbing.sender()).nextTier as { emailsMissing: number }).emailsMissing
  const handedOver = (missing: number) => until(async () => (await emailsMissing()) === missing)

  it("climbs by what becomes of its mail, and lets go what its cap held", async () => {
    climbing = await made("climbing", "live")
    const { reaches, reported, send, sender, standing, stateOf } = climbing
    await reported("bounced", "gone")
    for (let hour = 0; hour < 2; hour++) {
      await send(49)
      await move(hourMillis + 1_000)
    }
    await send(1)
    await handedOver(0)
    const endsAt = Date.parse((await standing()).probationEndsAt as string)
    await move(endsAt - (await move(0)))
    await reaches("established")
    // One bounce of a hundred is one too many.
    await toNextDay()
    expect(await sender()).toMatchObject({ tier: "new", nextTier: { bounceRate: 0.01, bounceRateBelow: 0.01 } })
    for (let sent = 0; sent < 200; sent += 100) await send(100)
    const over = await send(5)
    expect(new Set(over.map(({ state }) => state))).toEqual(new Set(["held"]))
    await until(async () => ((await sender()).nextTier as { bounceRate: number }).bounceRate < 0.01)
    await toNextHour()
    await until(async () => (await sender()).tier === "warming")
    for (const { id } of over) await until(async () => (await stateOf(id)) === "sent")
    expect(await sender()).toMatchObject({ tier: "warming", dailyCap: 2_000, held: 0 })
  })

  // Thousands of mails to a real relay take minutes: `npm run test:climb`.
  if (process.env.SLUICE_TEST_LONG === "1")
    it("climbs on, by 5,000 mails and fourteen days", async () => {
      const { reported, send, sender, stateOf } = climbing
      const sendMany = async (count: number) => {
        for (let sent = 0; sent < count; sent += 100) await send(100)
      }
      await reported("complained", "angry")
      await toNextDay()
      while ((await emailsMissing()) > 2_000) {
        const before = await emailsMissing()
        await sendMany(1_500)
        await handedOver(before - 1_500)
        await move(dayMillis)
      }
      await move(15 * dayMillis)
      // Its days are there, and the 5,000 mails are not.
      expect(await sender()).toMatchObject({ tier: "warming", dailyCap: 2_000 })
      await sendMany(2_000)
      const over = await send(5)
      expect(new Set(over.map(({ state }) => state))).toEqual(new Set(["held"]))
      await handedOver(0)
      await toNextHour()
      await until(async () => (await sender()).tier === "trusted")
      for (const { id } of over) await until(async () => (await stateOf(id)) === "sent")
      expect(await sender()).toMatchObject({ tier: "trusted", dailyCap: 50_000, held: 0, nextTier: null })
    })
})

describe("a pause", { timeout: patienceMillis }, () => {
  const triggers: ReadonlyArray<readonly [reason: string, pull: (account: Account) => Promise<unknown>]> = [
    [
      "bounces",
      async ({ reaches, reported }) => {
        await reported("bounced", "gone-1")
        await reported("bounced", "gone-2")
        await reaches("probation")
        await reported("bounced", "gone-3")
      }
    ],
    ["complaint", ({ reported }) => reported("complained", "angry")],
    [
      "spike",
      async ({ organization, reported, send, stateOf }) => {
        await widen(organization)
        await reported("bounced", "gone")
        await move(3 * hourMillis)
        for (const { id } of await send(60)) await until(async () => (await stateOf(id)) === "sent")
        // The request that pulls the trigger is accepted, and held.
        expect(new Set((await send(50)).map(({ state }) => state))).toEqual(new Set(["held"]))
      }
    ],
    [
      "risky_content",
      async ({ reported, send, stateOf }) => {
        await reported("bounced", "gone")
        const risky = { subject: "Verify your account", text: "Go to https://bit.ly/3x now" }
        const [first] = await send(1, risky)
        await until(async () => (await stateOf(first!.id)) === "sent")
        await move(hourMillis)
        expect((await send(1, risky))[0]!.state).toBe("held")
      }
    ]
  ]

  it.each(triggers)("[platform 9.4] for %s holds what waits until it is lifted", async (reason, pull) => {
    const account = await made(`paused-${reason.replace("_", "-")}`, "live")
    const { ask, done, event, mails, organization, reaches, send, stateOf } = account
    const scheduledAt = new Date((await move(0)) + 5 * hourMillis).toISOString()
    const { id: scheduled } = await done(202, "POST", "/v1/send/emails", mails(1, { scheduled_at: scheduledAt })[0])
    await pull(account)
    expect(await reaches("sending_paused")).toMatchObject({ pauseReason: reason, pausedAt: expect.any(String) })
    const refused = await ask("POST", "/v1/send/emails/batch", mails(1))
    expect([refused.status, errorOf(refused.body).code]).toEqual([403, "sending_paused"])

    // Its time comes while the account is paused, and it does not go.
    await move(6 * hourMillis)
    await until(async () => (await stateOf(scheduled as string)) === "held")
    await move(4 * dayMillis)
    expect((await reaches("sending_paused")).pauseReason).toBe(reason)

    await askAdmin(platform, "POST", `/organizations/${organization}/send/lift`, {})
    const lifted = await reaches("probation")
    const now = await move(0)
    expect(Date.parse(lifted.probationEndsAt as string) - now).toBeGreaterThan(71 * hourMillis)
    await until(async () => (await stateOf(scheduled as string)) === "sent")
    const [again] = await send(1)
    await until(async () => (await stateOf(again!.id)) === "sent")
    expect(await event("send.account.paused")).toMatchObject({ trustStage: "sending_paused", pauseReason: reason })
    await move(73 * hourMillis)
    await reaches("established")
  })
})
