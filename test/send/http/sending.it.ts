/** Requests to send over HTTP (docs/platform.md, 9.10): what is accepted, what is refused with which answer, and repeats. */
import { Pool } from "undici"
import { describe, expect, it } from "vitest"
import { until } from "../../cli/support.ts"
import { patienceMillis } from "../../support/patience.ts"
import { dayMillis, inOneWindow, minuteMillis } from "../../support/windows.ts"
import { askAt } from "../../webhooks/platform.ts"
import { mail, useSendPlatform } from "./emailsPlatform.ts"

const platform = useSendPlatform()

const send = "/v1/send/emails/send"
const batch = "/v1/send/emails/batch"

describe("a request to send", () => {
  it("[platform 9.10] is accepted, and the email can be read at once", async () => {
    const { ask } = await platform().account()
    const answer = await ask("POST", send, mail)
    expect(answer.status).toBe(202)
    expect(answer.body).toEqual({ id: expect.stringMatching(/^em_\w{22}$/), state: "queued" })
    const { id } = answer.body as { readonly id: string }
    const shown = await ask("GET", `/v1/send/emails/${id}`)
    expect(shown.status).toBe(200)
    expect(shown.body).toMatchObject({
      object: "email",
      id,
      from: "Ann <ann@one.test>",
      to: ["bob@two.test"],
      cc: null,
      bcc: null,
      reply_to: null,
      subject: "Hello",
      text: "Hi Bob",
      html: null,
      scheduled_at: null,
      last_event: "queued",
      state: "queued",
      history: [{ state: "queued", at: expect.any(Number) }]
    })
  })

  it("[platform 1.2] is read as UTF-8, by both ways through the server", async () => {
    const { newKey } = await platform().account()
    const key = await newKey()
    const status = async (bytes: string, headers: Readonly<Record<string, string>> = {}) => {
      const text = `{"from":"ann@one.test","to":"bob@two.test","subject":"caf${bytes}","text":"t"}`
      const answer = await fetch(`${platform().url}${send}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: new Uint8Array(Buffer.from(text, "latin1"))
      })
      const { error } = (await answer.json()) as { readonly error?: { readonly message: string } }
      return [answer.status, error?.message]
    }
    // A media type with more parameters takes the general path.
    for (const headers of [{}, { "content-type": "application/json; a=b" }]) {
      for (const bytes of ["\xe9", "\xc3", "\xed\xa0\x80", "\xc0\x80", "\xff\xfe"])
        expect(await status(bytes, headers), bytes).toEqual([400, "Invalid request body. Expected UTF-8."])
      for (const bytes of ["\xc3\xa9", "\xef\xbf\xbd", "\\ufffd", "\\ud83d\\ude00", "\\\\u0000"])
        expect(await status(bytes, headers), bytes).toEqual([202, undefined])
      for (const bytes of ["\\u0000", "\\ud83d", "\\uDE00"])
        expect(await status(bytes, headers), bytes).toEqual([
          400,
          "Invalid field 'subject'. Expected text without U+0000 and without half a surrogate pair."
        ])
    }
  })

  it("[platform 9.10] says how many requests the key has left, and nothing of the platform's rate", async () => {
    const seen = await inOneWindow(minuteMillis, async () => {
      const { ask, limits } = await platform().account({ plan: "hobby" })
      await limits({ requestsPerMinute: 3 })
      const answers: Array<unknown> = []
      for (const body of [mail, { ...mail, to: "nobody" }, mail, mail]) {
        const { headers, status } = await ask("POST", send, body)
        answers.push([status, headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-remaining")])
        expect(headers.get("x-ratelimit-reset")).toBeNull()
        expect(headers.has("retry-after")).toBe(status === 429)
      }
      return answers
    })
    expect(seen).toEqual([
      [202, "3", "2"],
      [400, "3", "1"],
      [202, "3", "0"],
      [429, "3", "0"]
    ])
  })

  it("[platform 9.10] counts for its key alone, and a batch once", async () => {
    const { ask, limits, newKey } = await platform().account()
    await limits({ requestsPerMinute: 2 })
    const other = askAt(platform().url, await newKey())
    expect((await ask("POST", batch, [mail, mail, mail])).headers.get("x-ratelimit-remaining")).toBe("1")
    expect((await other("POST", send, mail)).headers.get("x-ratelimit-remaining")).toBe("1")
  })

  it.each([
    ["hobby", "10"],
    ["pro", "60"],
    ["enterprise", "600"]
  ] as const)("has the rate of the plan %s: %s a minute", async (plan, limit) => {
    const { ask } = await platform().account({ plan })
    expect((await ask("POST", send, mail)).headers.get("x-ratelimit-limit")).toBe(limit)
  })

  it("counts with a key that lacks the service too", async () => {
    const { newKey } = await platform().account()
    const other = await askAt(platform().url, await newKey({ services: ["directory"] }))("POST", send, mail)
    expect(other.status).toBe(403)
    expect(other.headers.get("x-ratelimit-remaining")).not.toBeNull()
  })

  it("[platform 9.10] answers recipients that are left out, and an email without any other is suppressed", async () => {
    const { ask, suppress } = await platform().account()
    await suppress("bob@two.test")
    const some = await ask("POST", send, { ...mail, to: ["Bob <Bob@two.test>", "cara@two.test"] })
    expect(some.body).toMatchObject({ state: "queued", suppressed: ["Bob <Bob@two.test>"] })
    expect((await ask("POST", send, mail)).body).toMatchObject({ state: "suppressed", suppressed: ["bob@two.test"] })
  })

  it("[platform 9.10] of several emails is answered in their order", async () => {
    const { ask } = await platform().account()
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const answer = await ask("POST", batch, [mail, { ...mail, scheduled_at: at }])
    expect(answer.status).toBe(202)
    expect(answer.body).toEqual({
      data: [
        { id: expect.any(String), state: "queued" },
        { id: expect.any(String), state: "scheduled", scheduled_at: at }
      ]
    })
  })

  it("[platform 9.10] with words for its time is answered with that time, and a repeat with the same one", async () => {
    const { ask, key } = await platform().account()
    const body = { ...mail, scheduled_at: "in 2 hours" }
    const before = Date.now()
    const first = await ask("POST", send, body, { "idempotency-key": key })
    const { id, scheduled_at: at } = first.body as { readonly id: string; readonly scheduled_at: string }
    const after = Date.now()
    expect(first.body).toEqual({ id, state: "scheduled", scheduled_at: new Date(Date.parse(at)).toISOString() })
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before + 7_200_000)
    expect(Date.parse(at)).toBeLessThanOrEqual(after + 7_200_000)
    expect((await ask("GET", `/v1/send/emails/${id}`)).body).toMatchObject({ state: "scheduled", scheduled_at: at })
    await until(async () => Date.now() > after)
    const again = await ask("POST", send, body, { "idempotency-key": key })
    expect(again.headers.get("idempotency-replayed")).toBe("true")
    expect(again.body).toEqual(first.body)
    const other = await ask("POST", send, { ...body, scheduled_at: "in 3 hours" }, { "idempotency-key": key })
    expect(other.status).toBe(409)
  })

  it("[platform 9.6] over the sender's daily cap is held, with the midnight at which it fits", async () => {
    const over = await inOneWindow(dayMillis, async () => {
      const { ask, limits } = await platform().account()
      await limits({ probation: { emailsPerHour: 1_000, emailsPerDay: 1_000, domainsPerHour: 10 } })
      const hundred = Array.from({ length: 100 }, () => mail)
      for (let request = 0; request < 2; request++) expect((await ask("POST", batch, hundred)).status).toBe(202)
      return ask("POST", send, mail)
    })
    expect(over.body).toEqual({
      id: expect.any(String),
      state: "held",
      heldUntil: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:(?:00:00|10:00)\.000Z$/)
    })
  })
})

const errorOf = (body: unknown) =>
  (body as { readonly error: { readonly code: string; readonly message: string } }).error

describe("a request is refused", () => {
  it("where its sender is not verified", async () => {
    const { ask } = await platform().account({ verified: false })
    const answer = await ask("POST", send, mail)
    expect([answer.status, answer.body]).toEqual([
      403,
      { error: { code: "sender_not_verified", message: expect.stringContaining("ann@one.test") } }
    ])
  })

  it("[platform 9.7] where sending is paused", async () => {
    const { ask, tell, sent } = await platform().account()
    const risky = { subject: "Verify your account", text: "https://bit.ly/3x" }
    await sent(risky)
    await sent(risky)
    await tell({ _tag: "Check" })
    const answer = await ask("POST", send, mail)
    expect([answer.status, errorOf(answer.body).code]).toEqual([403, "sending_paused"])
    expect(Object.keys(errorOf(answer.body))).toEqual(["code", "message"])
  })

  it("[platform 9.1, 9.7] where the month is used up, and waiting is not offered", async () => {
    const { ask, limits } = await platform().account()
    await limits({ emailsPerMonth: 2 })
    const answer = await ask("POST", batch, [mail, mail, mail])
    expect(answer.status).toBe(429)
    expect(answer.body).toEqual({
      error: {
        code: "monthly_limit_reached",
        message: expect.any(String),
        limit: 2,
        used: 0,
        resetsAt: expect.stringMatching(/-01T00:00:00\.000Z$/),
        upgradeUrl: expect.any(String)
      }
    })
    expect(answer.headers.has("retry-after")).toBe(false)
  })

  it("[platform 9.7] where a cap of the probation is crossed, with the time after which it passes", async () => {
    const { ask } = await platform().account()
    expect(
      (
        await ask(
          "POST",
          batch,
          Array.from({ length: 50 }, () => mail)
        )
      ).status
    ).toBe(202)
    const answer = await ask("POST", send, mail)
    expect(answer.status).toBe(429)
    expect(answer.body).toEqual({
      error: {
        code: "probation_limit_reached",
        message: expect.any(String),
        limit: 50,
        window: "hour",
        metric: "sends",
        resetsAt: expect.any(String)
      }
    })
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(3_500)
  })

  it("[platform 1.4] in the fields that clients of Resend's API read, for those alone", async () => {
    const { ask } = await platform().account({ verified: false })
    const flat = await ask("POST", send, mail, { "user-agent": "resend-node:6.38.0" })
    expect(flat.body).toMatchObject({
      error: { code: "sender_not_verified" },
      name: "validation_error",
      message: errorOf(flat.body).message,
      statusCode: 403
    })
    expect(Object.keys((await ask("POST", send, mail)).body as object)).toEqual(["error"])
  })

  it("[platform 9.10] where its body is larger than 241,664 bytes, on both ways", async () => {
    const { ask } = await platform().account()
    const text = "x".repeat(241_664)
    const answer = await ask("POST", send, { ...mail, text })
    expect([answer.status, errorOf(answer.body).code]).toEqual([413, "payload_too_large"])
    expect(answer.headers.get("x-ratelimit-remaining")).not.toBeNull()
    const fits = JSON.stringify({ ...mail, text: "" })
    const whole = await ask("POST", send, { ...mail, text: "x".repeat(241_664 - fits.length) })
    expect(whole.status).toBe(202)
  })

  it("where it asks for what only other APIs have", async () => {
    const { ask } = await platform().account()
    for (const more of [{ template: { id: "t" } }, { topic_id: "t" }])
      expect((await ask("POST", send, { ...mail, ...more })).status).toBe(400)
    const permissive = await ask("POST", batch, [mail], { "x-batch-validation": "permissive" })
    expect([permissive.status, errorOf(permissive.body).code]).toEqual([400, "invalid_request"])
    expect((await ask("POST", batch, [mail], { "x-batch-validation": "strict" })).status).toBe(202)
  })

  it("[platform 9.10] whole where one email of a batch is at fault, which it names", async () => {
    const { ask } = await platform().account()
    const answer = await ask("POST", batch, [mail, { ...mail, to: [] }])
    expect([answer.status, errorOf(answer.body).message]).toEqual([
      400,
      "Email 1: Invalid field 'to'. Expected at least one address."
    ])
    for (const body of [[], Array.from({ length: 101 }, () => mail)])
      expect((await ask("POST", batch, body)).status).toBe(400)
  })

  it("[platform 9.10] where a live key sends to the simulator", async () => {
    const live = await platform().account()
    const test = await platform().account({ mode: "test" })
    const body = { ...mail, to: "bounced+1@simulator.invalid" }
    expect((await live.ask("POST", send, body)).status).toBe(400)
    expect((await test.ask("POST", send, body)).status).toBe(202)
  })
})

describe("a repeat under an Idempotency-Key", () => {
  it("[platform 9.10] has the first answer, and is accepted once", async () => {
    const { ask, limits } = await platform().account()
    const key = { "idempotency-key": "a key, with signs" }
    const first = await ask("POST", send, mail, key)
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([202, null])
    // A month in which nothing more fits.
    await limits({ emailsPerMonth: 1 })
    const again = await ask("POST", send, mail, key)
    expect([again.status, again.headers.get("idempotency-replayed"), again.body]).toEqual([202, "true", first.body])
    expect((await ask("POST", send, mail)).status).toBe(429)
  })

  it("of a batch has the first answer too, on either path of one email", async () => {
    const { ask } = await platform().account()
    const key = { "idempotency-key": "1" }
    const first = await ask("POST", batch, [mail, mail], key)
    expect((await ask("POST", batch, [mail, mail], key)).body).toEqual(first.body)
    const one = await ask("POST", send, mail, { "idempotency-key": "2" })
    expect((await ask("POST", "/v1/send/emails", mail, { "idempotency-key": "2" })).body).toEqual(one.body)
  })

  it("is another request in the other mode", async () => {
    const { ask, newKey } = await platform().account()
    const key = { "idempotency-key": "k" }
    expect((await ask("POST", send, mail, key)).status).toBe(202)
    const test = askAt(platform().url, await newKey({ mode: "test" }))
    expect((await test("POST", send, { ...mail, subject: "Other" }, key)).status).toBe(403)
  })

  it("decides anew what was refused", async () => {
    const { ask, limits } = await platform().account()
    const key = { "idempotency-key": "k" }
    await limits({ emailsPerMonth: 1 })
    expect((await ask("POST", batch, [mail, mail], key)).status).toBe(429)
    await limits({ emailsPerMonth: 2 })
    const accepted = await ask("POST", batch, [mail, mail], key)
    expect([accepted.status, accepted.headers.get("idempotency-replayed")]).toEqual([202, null])
  })
})

describe("2,000 requests at once", { timeout: patienceMillis }, () => {
  it("against a cap of 50 are accepted 50 times", async () => {
    const { ask, key, limits } = await platform().account()
    await limits({ requestsPerMinute: "unlimited" })
    // All are under way at the same time, on fewer connections than a listener refuses.
    const pool = new Pool(platform().url, { connections: 100, pipelining: 20 })
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const sendNumber = async (number: number) => {
      const body = JSON.stringify({ ...mail, subject: `Number ${number}` })
      const answer = await pool.request({ method: "POST", path: send, headers, body, idempotent: true })
      return { status: answer.statusCode, body: (await answer.body.json()) as object }
    }
    const answers = await Promise.all(Array.from({ length: 2_000 }, (_, number) => sendNumber(number)))
    await pool.close()
    const statuses = Map.groupBy(answers, ({ status }) => status)
    expect([...statuses].map(([status, all]) => [status, all.length]).toSorted()).toEqual([
      [202, 50],
      [429, 1_950]
    ])
    for (const { body } of statuses.get(429)!) expect(errorOf(body).code).toBe("probation_limit_reached")
    const ids = new Set(statuses.get(202)!.map(({ body }) => (body as { readonly id: string }).id))
    expect(ids.size).toBe(50)
    await until(async () => {
      const page = await ask("GET", "/v1/send/emails?limit=100")
      return (page.body as { readonly data: ReadonlyArray<object> }).data.length === 50
    })
  })
})
