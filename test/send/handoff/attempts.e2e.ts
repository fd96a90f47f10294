/**
 * The attempts at a mail as the relay and the customer see them (docs/handoff.md, 2), through the whole platform: a relay that puts mail off for days, by a clock that the test
 * moves on, and a database that is away when the relay has answered. Nothing here knows how mail is handed over.
 */
import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, beforeEach, expect, inject, it } from "vitest"
import { makeTenant, until, useDatabases } from "../../cli/support.ts"
import { proxyTo, type Proxy as TcpProxy } from "../../postgres/support.ts"
import { clockVariable, moveOn } from "../../support/movableClock.ts"
import { type Platform, startPlatform } from "../../support/platform.ts"
import { askAt } from "../../webhooks/platform.ts"
import { type RelayServer, startRelay } from "./smtp/relayServer.ts"

const minuteMillis = 60_000
const hourMillis = 60 * minuteMillis

/** The waits between attempts that docs/handoff.md, 2 promises. */
const waitsMillis = [
  ...[1, 5, 15, 30].map((minutes) => minutes * minuteMillis),
  ...[1, 2, 4, ...Array.from({ length: 8 }, () => 8)].map((hours) => hours * hourMillis)
]

type Body = Readonly<Record<string, unknown>>

const database = useDatabases()
const scope = Scope.makeUnsafe()
let folder = ""
let relay: RelayServer
let postgres: TcpProxy
let platform: Platform
/** How far the platform's clock is ahead. */
let ahead = 0
const move = (millis: number) => {
  ahead += millis
  return moveOn(join(folder, "clock"), millis)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-attempts-"))
  relay = await Effect.runPromise(Scope.provide(startRelay(), scope))
  postgres = await Effect.runPromise(Scope.provide(proxyTo(await database("seeded")), scope))
  platform = await startPlatform(
    {
      [clockVariable]: join(folder, "clock"),
      DATABASE_URL: postgres.url,
      NATS_URL: inject("natsUrl"),
      SLUICE_ADMIN_KEY: `adm_${randomBytes(24).toString("hex")}`,
      SLUICE_SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
      // Each recipient is handed over by itself.
      SLUICE_BOUNCE_DOMAIN: "bounces.sluice.test",
      SLUICE_BOUNCE_PORT: "0"
    },
    join(folder, "data"),
    new URL("../../support/movableClock.ts", import.meta.url).pathname
  )
})

afterAll(async () => {
  await platform?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  relay.sabotage.rcptTo = () => undefined
  relay.sabotage.ending = () => "take"
})

const askPlatform = (method: string, path: string, body?: unknown) =>
  askAt(platform.url, platform.demoKey!)(method, path, body)

const ask = async (method: string, path: string, body?: unknown): Promise<Body> => {
  const answer = await askPlatform(method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body as Body
}

const send = async (to: string | ReadonlyArray<string>, more: object = {}): Promise<string> => {
  const mail = { from: "ann@demo.test", to, subject: "Hello", text: "Hi", ...more }
  return (await ask("POST", "/v1/send/emails", mail)).id as string
}

/** An email's state; undefined while the platform cannot tell. */
const stateOf = async (id: string) => ((await askPlatform("GET", `/v1/send/emails/${id}`)).body as Body).state

const reaches = (id: string, state: string) => until(async () => (await stateOf(id)) === state)

/** What the events of an email say, in order. */
const eventsOf = async (id: string): Promise<ReadonlyArray<{ readonly type: string; readonly data: Body }>> => {
  const { data } = await ask("GET", "/v1/events?limit=100")
  return (data as ReadonlyArray<{ readonly type: string; readonly data: Body }>)
    .filter((event) => event.data.messageId === id)
    .toReversed()
}

const copiesFor = (recipient: string) => relay.taken.filter(({ to }) => to.includes(recipient)).length

let others = 0

/** Long enough for a request, so that the mail is scheduled still when it arrives. */
const soonMillis = 150

/** Another mail comes through by way of the queue, so whatever was due there before it has had its turn. */
const othersGo = async (): Promise<void> => {
  let id: string | undefined
  // A platform that has just had its database back may refuse it at first.
  await until(async () => {
    const scheduled_at = new Date(Date.now() + ahead + soonMillis).toISOString()
    const to = `other-${++others}@three.example`
    const mail = { from: "ann@demo.test", to, subject: "Hello", text: "Hi", scheduled_at }
    const { body, status } = await askPlatform("POST", "/v1/send/emails", mail)
    expect([202, 503], JSON.stringify(body)).toContain(status)
    id = (body as { readonly id?: string }).id
    return status === 202
  })
  await reaches(id!, "sent")
}

const later = { code: 450, text: "4.2.0 Later" }

/** Puts off mail to these recipients, and counts how often the first of them was tried. */
const putOff = (...recipients: ReadonlyArray<string>) => {
  const tries = { count: 0 }
  relay.sabotage.rcptTo = (address) => {
    if (address === recipients[0]) tries.count++
    return recipients.includes(address) ? later : undefined
  }
  return tries
}

/** The hand-off of an email that goes on; undefined while there is none. */
const handoffOf = async (id: string) => {
  const { handoff } = (await askPlatform("GET", `/v1/send/emails/${id}`)).body as {
    readonly handoff?: {
      readonly attempts: number
      readonly lastAnswer: string | null
      readonly nextAttemptAt: number | null
    } | null
  }
  return handoff ?? undefined
}

/**
 * Waits until an attempt is over and its mail waits for the next one. A clock that moves on before that ends the attempt,
 * whose mail then waits from that moment.
 */
const isPutOff = (id: string, waitMillis: number): Promise<void> =>
  until(async () => {
    const handoff = await handoffOf(id)
    // While an attempt is under way, the time is the end of its lease.
    return handoff?.lastAnswer != null && (handoff.nextAttemptAt ?? 0) >= Date.now() + ahead + 0.8 * waitMillis
  })

/** Moves the clock on by the rest of a wait, and a little further where that was counted from a moment after the answer. */
const restOf = async (id: string, waitMillis: number, rest: number, hasHappened: () => boolean): Promise<void> => {
  const begun = (await handoffOf(id))?.attempts
  await move(rest * waitMillis)
  await othersGo()
  for (let part = 0; part < 10 && !hasHappened(); part++) {
    // An attempt under way would run out of time if the clock moved on.
    if ((await handoffOf(id))?.attempts !== begun) await until(hasHappened)
    else {
      await move(0.05 * waitMillis)
      await othersGo()
    }
  }
  expect(hasHappened(), `after ${waitMillis} ms`).toBe(true)
}

/** Moves the clock on until there is another try. */
const nextTry = async (id: string, tries: { readonly count: number }, waitMillis: number, rest = 1): Promise<void> => {
  const before = tries.count
  await restOf(id, waitMillis, rest, () => tries.count > before)
  expect(tries.count).toBe(before + 1)
}

it("mail that is put off is tried again after each wait, and has failed after 72 hours", async () => {
  const tries = putOff("bob@two.example")
  const id = await send("bob@two.example")
  await until(() => tries.count === 1)
  await until(async () => (await eventsOf(id)).some(({ type }) => type === "send.email.delayed"))
  for (const [index, wait] of waitsMillis.slice(0, 4).entries()) {
    const made = index + 1
    await isPutOff(id, wait)
    await othersGo()
    await move(0.85 * wait)
    await othersGo()
    expect(tries.count, `${made} tries before the wait is over`).toBe(made)
    await nextTry(id, tries, wait, 0.15)
  }
  for (const wait of waitsMillis.slice(4)) {
    expect(await stateOf(id)).toBe("sending")
    await isPutOff(id, wait)
    await nextTry(id, tries, wait)
  }
  await reaches(id, "failed")
  await move(24 * hourMillis)
  await othersGo()
  expect(tries.count).toBe(waitsMillis.length + 1)
  expect(copiesFor("bob@two.example")).toBe(0)
  const told = async () => (await eventsOf(id)).map(({ data, type }) => [type, data.kind ?? data.code])
  await until(async () => (await told()).length === 2)
  expect(await told()).toEqual([
    ["send.email.delayed", "4.2.0"],
    ["send.email.failed", "expired"]
  ])
})

it("who was not even tried at the end has bounced like those who were put off, and who has the mail has it once", async () => {
  const left = ["cy", "di", "ed", "flo", "gus"].map((name) => `${name}@two.example`)
  const tries = putOff(...left)
  const id = await send(["ann@two.example", ...left])
  await reaches(id, "sent")
  await until(() => tries.count === 1)
  for (const wait of waitsMillis.slice(0, -1)) {
    await isPutOff(id, wait)
    await nextTry(id, tries, wait)
  }
  await isPutOff(id, waitsMillis.at(-1)!)
  // The relay is so slow that the last one gets no turn.
  let hanging = 0
  const last = left.at(-1)!
  let isLastTried = false
  relay.sabotage.rcptTo = (address) => {
    if (address === last) isLastTried = true
    if (!left.includes(address)) return undefined
    hanging++
    return "hang"
  }
  await restOf(id, waitsMillis.at(-1)!, 1, () => hanging === left.length - 1)
  await move(26_000)
  const bounced = async () => (await eventsOf(id)).filter(({ type }) => type === "send.email.bounced")
  await until(async () => (await bounced()).length === left.length)
  expect(isLastTried).toBe(false)
  expect((await bounced()).map(({ data }) => [data.recipient, data.kind]).sort()).toEqual(
    left.map((recipient) => [recipient, "temporary"])
  )
  relay.sabotage.rcptTo = () => undefined
  await move(24 * hourMillis)
  await othersGo()
  expect([copiesFor("ann@two.example"), ...left.map(copiesFor)]).toEqual([1, 0, 0, 0, 0, 0])
})

it("who has the mail gets it once where nothing could be stored of it, and the others get it later", async () => {
  putOff("ivy@two.example")
  let isFrozen = false
  relay.sabotage.ending = (to) => {
    if (to.includes("hal@two.example") && !isFrozen) Effect.runSync(postgres.freeze)
    isFrozen ||= to.includes("hal@two.example")
    return "take"
  }
  const id = await send(["hal@two.example", "ivy@two.example"])
  await until(() => copiesFor("hal@two.example") === 1)
  const isReady = async () => (await fetch(`${platform.url}/readyz`)).status === 200
  await until(async () => {
    if (!(await isReady())) return true
    await move(5_000)
    return false
  })
  // Longer than anybody waits for an answer, or keeps a mail for itself.
  await move(2 * minuteMillis)
  await Effect.runPromise(Effect.andThen(postgres.cut, postgres.thaw))
  await until(isReady)
  relay.sabotage.rcptTo = () => undefined
  await othersGo()
  // It may have been counted as one attempt or two.
  await restOf(id, waitsMillis[2]!, 1, () => copiesFor("ivy@two.example") === 1)
  await reaches(id, "sent")
  await othersGo()
  expect(["hal@two.example", "ivy@two.example"].map(copiesFor)).toEqual([1, 1])
  expect((await eventsOf(id)).filter(({ type }) => type === "send.email.sent")).toHaveLength(1)
})

it("an address gets one mail, however often it is named", async () => {
  const id = await send(["Jo <jo@two.example>"], { cc: ["jo@two.example", "JO@two.example"] })
  await reaches(id, "sent")
  await othersGo()
  expect(relay.taken.filter(({ to }) => to[0]?.toLowerCase() === "jo@two.example")).toHaveLength(1)
})

it("a test key's mail never goes to the relay", async () => {
  const tenant = await makeTenant(
    platform,
    { name: "Tester", plan: "team", sendPlan: "enterprise" },
    { services: ["send"], scopes: ["*"], mode: "test" }
  )
  const askAsTester = askAt(platform.url, tenant.key)
  expect((await askAsTester("POST", "/v1/send/domains", { name: "tester.example" })).status).toBe(201)
  const mail = { from: "ann@tester.example", to: "kay@two.example", subject: "Hello", text: "Hi" }
  const { id } = (await askAsTester("POST", "/v1/send/emails", mail)).body as { readonly id: string }
  await until(async () => ((await askAsTester("GET", `/v1/send/emails/${id}`)).body as Body).state === "sent")
  await othersGo()
  expect(copiesFor("kay@two.example")).toBe(0)
})
