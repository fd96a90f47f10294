/** The `resend` package as it is published, against the send endpoints: what it sends is understood, what it is answered it can read (docs/platform.md, 9.10 to 9.12). */
import { Resend } from "resend"
import { describe, expect, it } from "vitest"
import { until } from "../../cli/support.ts"
import { inOneWindow, minuteMillis } from "../../support/windows.ts"
import { type AccountOptions, mail, useSendPlatform } from "./emailsPlatform.ts"

const platform = useSendPlatform()

const clientOf = (key: string) => new Resend(key, { baseUrl: `${platform().url}/v1/send` })

const account = async (options: AccountOptions = {}) => {
  const made = await platform().account(options)
  return { ...made, resend: clientOf(made.key) }
}

/** What a call has answered; a failure fails the test. */
const dataOf = <A>({ data, error }: { readonly data: A | null; readonly error: unknown }): A => {
  expect(error).toBeNull()
  return data!
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

describe("the resend package", () => {
  it("[platform 9.10] sends an email with everything it can say, and gets it back", async () => {
    const { resend } = await account()
    const { id } = dataOf(
      await resend.emails.send({
        from: mail.from,
        to: ["bob@two.test", "Cara <cara@two.test>"],
        cc: "dora@two.test",
        bcc: ["emil@two.test"],
        replyTo: "support@three.test",
        subject: "Hello",
        html: "<p>Hi</p>",
        text: "Hi",
        headers: { "X-Entity-Ref-ID": "1" },
        tags: [{ name: "campaign", value: "spring" }],
        attachments: [
          { filename: "a.txt", content: Buffer.from("text"), contentType: "text/plain" },
          { filename: "b.pdf", path: "https://files.example.com/b.pdf", contentId: "b" }
        ]
      })
    )
    const email = dataOf(await resend.emails.get(id))
    expect(email).toMatchObject({
      object: "email",
      id,
      from: mail.from,
      to: ["bob@two.test", "Cara <cara@two.test>"],
      cc: ["dora@two.test"],
      bcc: ["emil@two.test"],
      reply_to: ["support@three.test"],
      subject: "Hello",
      html: "<p>Hi</p>",
      text: "Hi",
      tags: [{ name: "campaign", value: "spring" }],
      last_event: "queued",
      scheduled_at: null
    })
    expect(Number.isNaN(Date.parse(email.created_at))).toBe(false)
  })

  it("[platform 9.10] sends a batch", async () => {
    const { resend } = await account()
    const { data } = dataOf(await resend.batch.send([mail, { ...mail, subject: "Second" }]))
    expect(data).toHaveLength(2)
    expect(dataOf(await resend.emails.get(data[1]!.id)).subject).toBe("Second")
  })

  it("repeats a request under a key", async () => {
    const { resend } = await account()
    const first = dataOf(await resend.emails.send(mail, { idempotencyKey: "k" }))
    const again = await resend.emails.send(mail, { idempotencyKey: "k" })
    expect(dataOf(again)).toEqual(first)
    expect(again.headers?.["idempotency-replayed"]).toBe("true")
    const batch = dataOf(await resend.batch.send([mail], { idempotencyKey: "b" }))
    expect(dataOf(await resend.batch.send([mail], { idempotencyKey: "b" }))).toEqual(batch)
  })

  it("lists emails, newest first, page by page", async () => {
    const { resend, sent } = await account()
    const ids: Array<string> = []
    for (const subject of ["1", "2", "3"]) ids.unshift(await sent({ subject }))
    const page = async (options: Parameters<typeof resend.emails.list>[0] = {}) => {
      const { data, has_more } = dataOf(await resend.emails.list(options))
      return { ids: data.map(({ id }) => id), has_more }
    }
    await until(async () => (await page()).ids.length === 3)
    expect(await page()).toEqual({ ids, has_more: false })
    expect(await page({ limit: 2 })).toEqual({ ids: ids.slice(0, 2), has_more: true })
    expect(await page({ limit: 2, after: ids[1]! })).toEqual({ ids: ids.slice(2), has_more: false })
    expect(await page({ limit: 1, before: ids[2]! })).toEqual({ ids: [ids[1]], has_more: true })
    expect(await page({ before: ids[2]! })).toEqual({ ids: ids.slice(0, 2), has_more: false })
    const [first] = dataOf(await resend.emails.list({ limit: 1 })).data
    expect(first).toMatchObject({ to: ["bob@two.test"], from: mail.from, subject: "3", last_event: "queued" })
  })

  it("schedules, reschedules and cancels an email", async () => {
    const { resend } = await account()
    const at = inAnHour()
    const { id } = dataOf(await resend.emails.send({ ...mail, scheduledAt: at }))
    expect(dataOf(await resend.emails.get(id))).toMatchObject({ last_event: "scheduled", scheduled_at: at })
    const later = new Date(Date.parse(at) + 60_000).toISOString()
    expect(dataOf(await resend.emails.update({ id, scheduledAt: later }))).toEqual({
      object: "email",
      id,
      scheduled_at: later
    })
    expect(dataOf(await resend.emails.get(id)).scheduled_at).toBe(later)
    const words = dataOf(await resend.emails.send({ ...mail, scheduledAt: "in 1 min" }))
    expect(dataOf(await resend.emails.get(words.id)).last_event).toBe("scheduled")
    expect(dataOf(await resend.emails.cancel(id))).toEqual({ object: "email", id })
    expect(dataOf(await resend.emails.get(id)).last_event).toBe("canceled")
  })
})

/** What a call that fails is told: by the name that the package gives it. */
const errorOf = ({
  data,
  error,
  headers
}: {
  data: unknown
  error: unknown
  headers: Record<string, string> | null
}) => {
  expect(data).toBeNull()
  const { message, name, statusCode } = error as { name: string; message: string; statusCode: number }
  expect(message).toEqual(expect.any(String))
  return { name, statusCode, error: (error as { error: Record<string, unknown> }).error, headers }
}

describe("the resend package is told by name", () => {
  it("that its key is unknown", async () => {
    const told = await clientOf("sk_live_0123456789abcdef012345").emails.send(mail)
    expect(errorOf(told)).toMatchObject({ name: "invalid_api_key", statusCode: 401 })
  })

  it("that its key lacks the service", async () => {
    const { newKey } = await account()
    const told = await clientOf(await newKey({ services: [] })).emails.send(mail)
    expect(errorOf(told)).toMatchObject({ name: "restricted_api_key", statusCode: 403 })
  })

  it("that a request is malformed", async () => {
    const { resend } = await account()
    expect(errorOf(await resend.emails.send({ ...mail, to: "nobody" }))).toMatchObject({
      name: "validation_error",
      statusCode: 400
    })
    expect(errorOf(await resend.batch.send([mail], { batchValidation: "permissive" }))).toMatchObject({
      name: "validation_error",
      statusCode: 400
    })
  })

  it("[platform 9.10] that its rate is used up, and for how long", async () => {
    const over = await inOneWindow(minuteMillis, async () => {
      const { limits, resend } = await account()
      await limits({ requestsPerMinute: 1 })
      await resend.emails.send(mail)
      return resend.emails.send(mail)
    })
    const told = errorOf(over)
    expect(told).toMatchObject({ name: "rate_limit_exceeded", statusCode: 429 })
    expect(Number(told.headers?.["retry-after"])).toBeGreaterThan(0)
  })

  it("that the sender is not verified", async () => {
    const { resend } = await account({ verified: false })
    expect(errorOf(await resend.emails.send(mail))).toMatchObject({ name: "validation_error", statusCode: 403 })
  })

  it("that sending is paused", async () => {
    const { resend, sent } = await account()
    const risky = { subject: "Verify your account", text: "https://bit.ly/3x" }
    await sent(risky)
    await sent(risky)
    expect(errorOf(await resend.emails.send(mail))).toMatchObject({ name: "invalid_access", statusCode: 403 })
  })

  it("that the month is used up", async () => {
    const { limits, resend } = await account()
    await limits({ emailsPerMonth: 1 })
    expect(errorOf(await resend.batch.send([mail, mail]))).toMatchObject({
      name: "monthly_quota_exceeded",
      statusCode: 429,
      error: { limit: 1, used: 0, resetsAt: expect.any(String), upgradeUrl: expect.any(String) }
    })
  })

  it("that a cap of the probation is reached", async () => {
    const { resend } = await account()
    const told = errorOf(await resend.batch.send(Array.from({ length: 51 }, () => mail)))
    expect(told).toMatchObject({
      name: "daily_quota_exceeded",
      statusCode: 429,
      error: { limit: 50, window: "hour", metric: "sends", resetsAt: expect.any(String) }
    })
  })

  it("that its idempotency key was used for another request", async () => {
    const { resend } = await account()
    await resend.emails.send(mail, { idempotencyKey: "k" })
    const told = await resend.emails.send({ ...mail, subject: "Other" }, { idempotencyKey: "k" })
    expect(errorOf(told)).toMatchObject({ name: "invalid_idempotent_request", statusCode: 409 })
  })

  it("that there is no such email, and that one can no longer be changed", async () => {
    const { resend, sent } = await account()
    expect(errorOf(await resend.emails.get("em_0"))).toMatchObject({ name: "not_found", statusCode: 404 })
    const id = await sent()
    expect(errorOf(await resend.emails.update({ id, scheduledAt: inAnHour() }))).toMatchObject({
      name: "validation_error",
      statusCode: 409
    })
    dataOf(await resend.emails.cancel(id))
    expect(errorOf(await resend.emails.cancel(id))).toMatchObject({ name: "validation_error", statusCode: 409 })
  })
})
