/** Emails after they were accepted, over HTTP (docs/platform.md, 9.11 and 9.12): whose they are, what became of them, taking back, another time. */
import { Effect, Layer, Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { Engine } from "../../../src/engine/Engine.ts"
import { PartitionUnavailable } from "../../../src/engine/errors.ts"
import { PageCursors } from "../../../src/http/PageCursors.ts"
import * as PgClient from "../../../src/postgres/PgClient.ts"
import { SendAccount } from "../../../src/send/account/actors/index.ts"
import { MessageContents } from "../../../src/send/emails/contents/MessageContents.ts"
import { Emails } from "../../../src/send/emails/Emails.ts"
import { query, until } from "../../cli/support.ts"
import { askAt } from "../../webhooks/platform.ts"
import { mail, useSendPlatform } from "./emailsPlatform.ts"

const platform = useSendPlatform()

const emails = "/v1/send/emails"
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

interface Shown {
  readonly state: string
  readonly last_event: string
  readonly scheduled_at: string | null
  readonly history: ReadonlyArray<{ readonly state: string; readonly recipient?: string }>
}

interface Page {
  readonly object: string
  readonly has_more: boolean
  readonly data: ReadonlyArray<{ readonly id: string; readonly subject: string }>
  readonly pagination: {
    readonly hasMore: boolean
    readonly nextCursor?: string
    readonly total?: { readonly count: number; readonly isExact: boolean }
  }
}

describe("an email", () => {
  it("is nobody's but the key's organization's and mode's", async () => {
    const one = await platform().account()
    const other = await platform().account()
    const id = await one.sent()
    const test = askAt(platform().url, await one.newKey({ mode: "test" }))
    for (const ask of [other.ask, test]) {
      expect((await ask("GET", `${emails}/${id}`)).status).toBe(404)
      expect((await ask("POST", `${emails}/${id}/cancel`)).status).toBe(404)
      expect((await ask("PATCH", `${emails}/${id}`, { scheduled_at: inAnHour() })).status).toBe(404)
      expect((await ask("GET", `${emails}?after=${id}`)).status).toBe(400)
      expect(((await ask("GET", emails)).body as Page).data).toEqual([])
    }
    expect((await one.ask("GET", `${emails}/${id}`)).status).toBe(200)
  })

  it("shows what became of it, in order", async () => {
    const { ask, sent, stateOf, tell } = await platform().account()
    const id = await sent({ to: ["bob@two.test", "cara@two.test"] })
    const sender = "one.test"
    await tell({ _tag: "Dispatch", emails: [{ id, sender, recipients: ["bob@two.test", "cara@two.test"] }] })
    await tell({ _tag: "Report", reports: [{ id, sender, what: "handedOver" }] })
    await tell({ _tag: "Report", reports: [{ id, sender, what: "delivered", recipient: "bob@two.test" }] })
    await tell({ _tag: "Report", reports: [{ id, sender, what: "bounced", recipient: "cara@two.test" }] })
    expect(await stateOf(id)).toBe("bounced")
    const shown = async () => (await ask("GET", `${emails}/${id}`)).body as Shown
    // The state is there at once, the whole history a moment later.
    expect(await shown()).toMatchObject({ state: "bounced", last_event: "bounced" })
    await until(async () => (await shown()).history.at(-1)?.recipient !== undefined)
    expect((await shown()).history.map(({ recipient, state }) => [state, recipient])).toEqual([
      ["queued", undefined],
      ["sending", undefined],
      ["sent", undefined],
      ["delivered", "bob@two.test"],
      ["bounced", "cara@two.test"]
    ])
  })

  it("[platform 9.12] that waits is taken back, once", async () => {
    const { ask, sent } = await platform().account()
    for (const more of [{}, { scheduled_at: inAnHour() }]) {
      const id = await sent(more)
      const canceled = await ask("POST", `${emails}/${id}/cancel`)
      expect([canceled.status, canceled.body]).toEqual([200, { object: "email", id }])
      expect((await ask("GET", `${emails}/${id}`)).body).toMatchObject({ state: "canceled", last_event: "canceled" })
      const again = await ask("POST", `${emails}/${id}/cancel`)
      expect([again.status, again.body]).toMatchObject([
        409,
        { error: { code: "conflict", message: expect.stringContaining("is canceled") } }
      ])
    }
  })

  it("[platform 9.12] that is scheduled gets another time, at most 30 days ahead", async () => {
    const { ask, sent } = await platform().account()
    const id = await sent({ scheduled_at: inAnHour() })
    const at = new Date(Date.now() + 2 * 3_600_000).toISOString()
    expect((await ask("PATCH", `${emails}/${id}`, { scheduled_at: at })).body).toEqual({
      object: "email",
      id,
      scheduled_at: at
    })
    expect((await ask("GET", `${emails}/${id}`)).body).toMatchObject({ state: "scheduled", scheduled_at: at })
    const words = (await ask("PATCH", `${emails}/${id}`, { scheduled_at: "tomorrow at 9am" })).body as Shown
    expect((await ask("GET", `${emails}/${id}`)).body).toMatchObject({ scheduled_at: words.scheduled_at })
    expect(words.scheduled_at).toMatch(/T09:00:00\.000Z$/)
    for (const scheduled_at of [
      "tomorrow",
      "2026-02-30T00:00:00Z",
      new Date(Date.now() + 31 * 86_400_000).toISOString()
    ])
      expect((await ask("PATCH", `${emails}/${id}`, { scheduled_at })).status).toBe(400)
    expect((await ask("PATCH", `${emails}/${await sent()}`, { scheduled_at: at })).status).toBe(409)
  })
})

describe("the list of emails", () => {
  it("[platform 9.11] is in pages, newest first, by cursor and by emails", async () => {
    const { ask, sent } = await platform().account()
    for (let number = 1; number <= 5; number++) await sent({ subject: `${number}` })
    const page = async (parameters: string) => (await ask("GET", `${emails}?${parameters}`)).body as Page
    await until(async () => (await page("")).data.length === 5)
    const subjects = ({ data }: Page) => data.map(({ subject }) => subject).join("")
    const first = await page("limit=2")
    expect(first).toMatchObject({ object: "list", has_more: true, pagination: { hasMore: true } })
    const second = await page(`limit=2&cursor=${first.pagination.nextCursor}`)
    const third = await page(`limit=2&cursor=${second.pagination.nextCursor}`)
    expect([first, second, third].map(subjects)).toEqual(["54", "32", "1"])
    expect(third.pagination).toEqual({ hasMore: false })
    expect(subjects(await page(`after=${first.data[0]!.id}`))).toBe("4321")
    expect(subjects(await page(`before=${third.data[0]!.id}`))).toBe("5432")
    expect(await page(`limit=2&before=${third.data[0]!.id}`)).toMatchObject({ has_more: true })
  })

  it("[platform 9.11] shows those of a state, a domain and a time alone, with their number", async () => {
    const account = await platform().account()
    const { ask, sent } = account
    const before = Date.now()
    for (let number = 1; number <= 4; number++) await sent({ subject: `${number}` })
    await sent({ subject: "5", scheduled_at: inAnHour() })
    const page = async (parameters: string) => (await ask("GET", `${emails}?${parameters}`)).body as Page
    await until(async () => (await page("")).data.length === 5)
    const subjects = async (parameters: string) => (await page(parameters)).data.map(({ subject }) => subject).join("")
    expect(await subjects("state=scheduled")).toBe("5")
    expect(await subjects("state=queued&limit=3")).toBe("432")
    expect(await subjects("domain=ONE.test")).toBe("54321")
    expect(await subjects("domain=one.test&state=scheduled")).toBe("5")
    expect(await subjects("domain=two.test")).toBe("")
    expect(await subjects(`since=${before}&until=${Date.now() + 1}`)).toBe("54321")
    expect(await subjects(`until=${before}`)).toBe("")
    const first = await page("domain=one.test&limit=2&include=total")
    expect(first.pagination).toMatchObject({ hasMore: true, total: { count: 5, isExact: true } })
    const { nextCursor } = first.pagination
    expect(await subjects(`domain=one.test&limit=4&cursor=${nextCursor}`)).toBe("321")
    const last = first.data[1]!
    expect(await subjects(`domain=one.test&before=${last.id}`)).toBe("5")
    for (const parameters of [`state=queued&cursor=${nextCursor}`, "domain=a%20b", "include=all", "since=-1"])
      expect([parameters, (await ask("GET", `${emails}?${parameters}`)).status]).toEqual([parameters, 400])
    const other = await platform().account()
    expect(((await other.ask("GET", `${emails}?domain=one.test&include=total`)).body as Page).pagination).toEqual({
      hasMore: false,
      total: { count: 0, isExact: true }
    })
  })

  it("refuses what is no place in it", async () => {
    const { ask, sent } = await platform().account()
    const id = await sent()
    for (const parameters of [`after=${id}&before=${id}`, "after=em_0"])
      expect([parameters, (await ask("GET", `${emails}?${parameters}`)).status]).toEqual([parameters, 400])
  })
})

it("is taken back and given another time by a process that does not own its partition, for its own mode alone", async () => {
  const { organization, sent, stateOf } = await platform().account()
  const [queued, scheduled] = [await sent(), await sent({ scheduled_at: inAnHour() })]
  await until(async () => {
    const rows = await query(platform().databaseUrl, "select 1 from send_emails where organization_id = $1", [
      organization
    ])
    return rows.length === 2
  })
  const elsewhere = new PartitionUnavailable({ partition: 0, reason: "another process has it", retryAfterMillis: 1 })
  const layer = Emails.layer.pipe(
    // Commands reach the owner, its memory does not.
    Layer.provide(Layer.succeed(Engine, { ...platform().engine, state: () => Effect.fail(elsewhere) })),
    Layer.provide(Layer.mergeAll(MessageContents.layerMemory, PageCursors.layer)),
    Layer.provide(PgClient.layer({ url: Redacted.make(platform().databaseUrl), maxConnections: 2 }))
  )
  const owner = { organizationId: organization, mode: "live" } as const
  const program = Effect.gen(function* () {
    const { cancel, reschedule } = yield* Emails
    const ofOtherMode = { ...owner, mode: "test" } as const
    expect(yield* Effect.flip(cancel(ofOtherMode, queued))).toBe(elsewhere)
    yield* reschedule(owner, scheduled, Date.now() + 7_200_000)
    yield* cancel(owner, queued)
    yield* cancel(owner, scheduled)
    expect(yield* Effect.flip(cancel(owner, queued))).toMatchObject({ _tag: "EmailNotWaiting", state: "canceled" })
  })
  await Effect.runPromise(Effect.provide(program, layer))
  expect([await stateOf(queued), await stateOf(scheduled)]).toEqual(["canceled", "canceled"])
})

it("an account begins with its organization's risk", async () => {
  const { ask } = await platform().account({ risk: "higher" })
  const answer = await ask(
    "POST",
    `${emails}/batch`,
    Array.from({ length: 21 }, () => mail)
  )
  expect([answer.status, answer.body]).toMatchObject([429, { error: { limit: 20 } }])
})

it("[platform 2.2] an account of an older organization begins with the plan of its row", async () => {
  const { organization, sent } = await platform().account({ isOld: true, plan: "pro" })
  await sent()
  const account = await Effect.runPromise(platform().engine.state(SendAccount, { organization, key: "live" }))
  expect(account.plan).toBe("pro")
})
