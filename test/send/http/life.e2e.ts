/**
 * The life of accounts over HTTP, on real servers, by a clock that the test moves on for days (docs/platform.md, 9.2 to 9.6): caps that open again, promotions, held mail,
 * each trigger of a pause, and lifts.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ok, okJson, until } from "../../cli/support.ts"
import { clockVariable, moveOn } from "../../support/movableClock.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { askAt } from "../../webhooks/platform.ts"

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

let folder = ""
let platform: Platform
let at: Readonly<Record<string, string>>
const socket = () => join(folder, "clock")
const move = (millis: number) => moveOn(socket(), millis)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-life-"))
  const program = new URL("../../support/movableClock.ts", import.meta.url).pathname
  const environment = { [clockVariable]: socket(), SLUICE_DEMO: "off" }
  platform = await startPlatform(environment, join(folder, "data"), program)
  at = { SLUICE_DATA_DIR: platform.dataDir }
}, 120_000)

afterAll(async () => {
  await platform?.stop()
  await rm(folder, { recursive: true, force: true })
})

type Body = Record<string, unknown>

/** An organization with an account that has a verified domain. */
const made = async (name: string, mode: "live" | "test") => {
  const domain = `${name}.example`
  const { id: organization } = await okJson(["orgs", "create", name, "--plan", "team", "--send-plan", "enterprise"], at)
  const keyed = ["keys", "create", "--org", organization, "--services", "send", "--scopes", "*"]
  const { key } = await okJson(mode === "test" ? [...keyed, "--test"] : keyed, at)
  const ask = askAt(platform.url, key)
  const done = async (status: number, method: string, path: string, body?: unknown): Promise<Body> => {
    const answer = await ask(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    return answer.body as Body
  }
  const { id: domainId } = await done(201, "POST", "/v1/send/domains", { name: domain })
  if (mode === "live") await ok(["domains", "verify", domain, "--org", organization, "--unchecked"], at)
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
    stateOf: async (id: string) => (await done(200, "GET", `/v1/send/emails/${id}`)).state,
    /** Waits until the account is in this stage, and answers it. */
    reaches: async (trustStage: string): Promise<Body> => {
      await until(async () => (await standing()).trustStage === trustStage)
      return standing()
    }
  }
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

describe("an account's life", { timeout: 240_000 }, () => {
  it("leads from probation with its caps by clean days to trusted", async () => {
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

  it("goes on in probation where a window was not clean", async () => {
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

  it("shows what its emails said for seven days after their end, and their room counts until then", async () => {
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

  it("has mail over a sender's daily cap held until the next day", async () => {
    const { organization, send, sender, stateOf } = await made("holding", "live")
    await ok(["send", "limits", "--org", organization, "--probation", "500,1000,25"], at)
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

describe("a pause", { timeout: 240_000 }, () => {
  const triggers: ReadonlyArray<readonly [reason: string, pull: (account: Account) => Promise<unknown>]> = [
    ["bounces", ({ send }) => send(3, { to: "bounced+a@simulator.invalid" })],
    ["complaint", ({ send }) => send(1, { to: "complained@simulator.invalid" })],
    [
      "spike",
      async ({ organization, send }) => {
        await ok(["send", "limits", "--org", organization, "--mode", "test", "--probation", "500,1000,25"], at)
        await send(1)
        await move(3 * hourMillis)
        await send(60)
        // The request that pulls the trigger is accepted, and held.
        expect(new Set((await send(50)).map(({ state }) => state))).toEqual(new Set(["held"]))
      }
    ],
    [
      "risky_content",
      async ({ send }) => {
        const risky = { subject: "Verify your account", text: "Go to https://bit.ly/3x now" }
        expect((await send(1, risky))[0]!.state).toBe("queued")
        await move(hourMillis)
        expect((await send(1, risky))[0]!.state).toBe("held")
      }
    ]
  ]

  it.each(triggers)("for %s holds what waits until it is lifted, and probation begins again", async (reason, pull) => {
    const account = await made(`paused-${reason.replace("_", "-")}`, "test")
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

    await ok(["send", "lift", "--org", organization, "--mode", "test"], at)
    const lifted = await reaches("probation")
    const now = await move(0)
    expect(Date.parse(lifted.probationEndsAt as string) - now).toBeGreaterThan(71 * hourMillis)
    await until(async () => ["sent", "delivered"].includes((await stateOf(scheduled as string)) as string))
    await send(1)
    expect(await event("send.account.paused")).toMatchObject({ trustStage: "sending_paused", pauseReason: reason })
    await move(73 * hourMillis)
    await reaches("established")
  })
})
