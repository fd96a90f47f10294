/**
 * An endpoint gets what it missed (docs/platform.md, 6.4 to 6.8), one promise after the other, on the
 * running platform with a real receiver.
 */
import { describe, expect, it } from "vitest"
import { query } from "../../cli/support.ts"
import { answering } from "../receiver.ts"
import { bodyOf, eventIn, eventually, type Hook, type Whole, type WholeTenant } from "../whole.ts"

interface Skipped {
  readonly data: ReadonlyArray<{ readonly eventId: string; readonly eventType: string; readonly reason: string }>
}

export const missedSection = (whole: () => Whole): void => {
  const answer = (hook: Hook, status: number, headers?: Record<string, string>): void =>
    whole().receiver.answer(hook.to, answering(status, headers))

  /** An endpoint that was paused by 410, whose one delivery is pending. */
  const pausedHook = async (tenant: WholeTenant): Promise<Hook> => {
    const hook = await tenant.hook()
    answer(hook, 410)
    await tenant.happens("telco.lookup.completed")
    await eventually(async () => expect(await hook.shown()).toMatchObject({ is_paused: true }))
    await eventually(async () => expect((await hook.deliveries(1, "pending"))[0]!.attemptCount).toBe(1))
    answer(hook, 200)
    return hook
  }

  const skippedOf = (tenant: WholeTenant, hook: Hook, count: number) =>
    eventually(async () => {
      const { data } = await bodyOf<Skipped>(tenant.ask("GET", `${hook.path}/skipped`))
      expect(data).toHaveLength(count)
      return data
    })

  describe("what is pending", () => {
    it("[platform 6.4, 6.6] outlives a pause; the unpause sends it and forgets the failures", async () => {
      const tenant = await whole().tenant()
      const hook = await pausedHook(tenant)
      await bodyOf(tenant.ask("POST", `${hook.path}/unpause`))
      const [refused, taken] = await hook.receives(2)
      expect(taken!.body).toBe(refused!.body)
      const [delivery] = await hook.deliveries(1, "succeeded")
      expect(delivery!.attempts.map(({ status }) => status)).toEqual([410, 200])
      expect(await hook.shown()).toMatchObject({ is_paused: false, consecutive_failures: 0 })
    })

    it("[platform 6.4] outlives a time of being Disabled", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      answer(hook, 503, { "retry-after": "2" })
      await tenant.happens("telco.lookup.completed")
      await hook.receives(1)
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: false }))
      answer(hook, 200)
      const [pending] = await hook.deliveries(1, "pending")
      await eventually(() => expect(Date.now()).toBeGreaterThan(pending!.nextAttemptAt!))
      const enabledAt = Date.now()
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: true }))
      const [, resumed] = await hook.receives(2)
      expect(resumed!.at).toBeGreaterThanOrEqual(enabledAt)
      await hook.deliveries(1, "succeeded")
    })

    it("[platform 6.2] is cancelled together with its endpoint", async () => {
      const tenant = await whole().tenant()
      const hook = await pausedHook(tenant)
      await bodyOf(tenant.ask("DELETE", hook.path))
      expect((await tenant.ask("GET", `${hook.path}/deliveries`)).status).toBe(404)
      await eventually(async () =>
        expect(
          await query(
            whole().databaseUrl,
            "select d.status, count(j.id)::int as jobs from webhook_deliveries d left join webhook_jobs j on j.id = d.id where d.endpoint_id = $1 group by 1",
            [hook.id]
          )
        ).toEqual([{ status: "cancelled", jobs: 0 }])
      )
      await hook.receives(1)
    })
  })

  describe("what an endpoint has missed", () => {
    it("[platform 6.4] is listed as skipped, and a replay sends it: of the last 30 days, once the endpoint is Active", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: false }))
      await tenant.happens("telco.lookup.completed")
      await tenant.happens("send.email.sent")
      await tenant.happens("telco.search.completed")
      const skipped = await skippedOf(tenant, hook, 2)
      expect(skipped.map(({ eventType, reason }) => [eventType, reason])).toEqual([
        ["telco.search.completed", "disabled"],
        ["telco.lookup.completed", "disabled"]
      ])
      const events = await tenant.events(3)
      const since = events.at(-1)!.createdAt
      const replay = (body: object) => tenant.ask("POST", `${hook.path}/replay`, body)
      expect((await replay({ since })).status).toBe(409)
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: true }))
      expect((await replay({ since: Date.now() - 31 * 24 * 60 * 60 * 1000 })).status).toBe(400)
      expect(await bodyOf(replay({ since, types: ["telco.search.*"] }), 202)).toEqual({
        replayId: expect.stringMatching(/^rpl_/),
        count: 1
      })
      const [sent] = await hook.receives(1)
      expect(eventIn(sent!).eventId).toBe(skipped[0]!.eventId)
      // Again, and those before, without the type that it does not subscribe to.
      await hook.deliveries(1, "succeeded")
      expect(await bodyOf(replay({ since }), 202)).toMatchObject({ count: 2 })
      const received = await hook.receives(3)
      expect(new Set(received.map((one) => eventIn(one).eventId))).toEqual(
        new Set(skipped.map(({ eventId }) => eventId))
      )
    })

    it("[platform 6.6] is sent by an unpause that asks for it", async () => {
      const tenant = await whole().tenant()
      const hook = await pausedHook(tenant)
      await tenant.happens("telco.search.completed", 2)
      const skipped = await skippedOf(tenant, hook, 2)
      expect(skipped.map(({ reason }) => reason)).toEqual(["paused", "paused"])
      expect((await tenant.ask("POST", `${hook.path}/replay`, { since: Date.now() - 60_000 })).status).toBe(409)
      const unpaused = await bodyOf(tenant.ask("POST", `${hook.path}/unpause`, { replay: true }))
      expect(unpaused).toMatchObject({ is_paused: false, consecutive_failures: 0, replay: { count: 2 } })
      // What was pending at the pause, and what was skipped since.
      const [, ...sent] = await hook.receives(4)
      const pending = eventIn(hook.received()[0]!).eventId
      expect(new Set(sent.map((one) => eventIn(one).eventId))).toEqual(
        new Set([pending, ...skipped.map(({ eventId }) => eventId)])
      )
    })
  })

  describe("a test event", () => {
    it("[platform 6.5] is tried once, at its own endpoint, which need not subscribe to it", async () => {
      const tenant = await whole().tenant()
      const [hook, other] = [await tenant.hook(["send.*"]), await tenant.hook(["*"])]
      answer(hook, 500)
      const tested = await bodyOf<{ readonly eventId: string }>(tenant.ask("POST", `${hook.path}/test`))
      expect(tested).toEqual({ success: true, eventId: expect.any(String), message: expect.any(String) })
      const [delivery] = await hook.deliveries(1, "failed")
      expect(delivery).toMatchObject({ origin: "test", attemptCount: 1, eventId: tested.eventId })
      const [received] = await hook.receives(1)
      expect(eventIn(received!)).toEqual({
        eventId: tested.eventId,
        type: "platform.test",
        service: "platform",
        data: { message: expect.any(String), endpoint_id: hook.id },
        livemode: false,
        createdAt: expect.any(Number)
      })
      await tenant.happens("telco.lookup.completed")
      expect((await other.receives(1)).map((one) => eventIn(one).type)).toEqual(["telco.lookup.completed"])
    })

    it("[platform 6.5] reaches a paused endpoint and no disabled one; neither its failure nor that of a retry by hand counts", async () => {
      const tenant = await whole().tenant()
      const hook = await pausedHook(tenant)
      answer(hook, 500)
      await bodyOf(tenant.ask("POST", `${hook.path}/test`))
      const [failed] = await hook.deliveries(1, "failed")
      expect(failed!.origin).toBe("test")
      const retried = await bodyOf(tenant.ask("POST", `${hook.path}/deliveries/${failed!.id}/retry`), 202)
      expect(retried).toMatchObject({ id: failed!.id, status: "pending" })
      await hook.receives(3)
      await eventually(async () => expect((await hook.deliveries(1, "failed"))[0]!.attemptCount).toBe(2))
      expect(await hook.shown()).toMatchObject({ is_paused: true, consecutive_failures: 0 })
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: false }))
      expect((await tenant.ask("POST", `${hook.path}/test`)).status).toBe(409)
    })
  })

  describe("the record of a delivery", () => {
    it("[platform 7.7] tells of each attempt and of what was answered; a retry by hand adds one", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      whole().receiver.answer(hook.to, answering(500, {}, "x".repeat(3_000)))
      await tenant.happens("telco.lookup.completed")
      const [failed] = await hook.deliveries(1, "failed")
      expect(failed!.attempts).toHaveLength(6)
      for (const one of failed!.attempts)
        expect(one).toEqual({
          at: expect.any(Number),
          status: 500,
          duration: expect.any(Number),
          response: "x".repeat(1_024),
          error: null
        })
      await eventually(async () => expect(await hook.shown()).toMatchObject({ consecutive_failures: 1 }))
      answer(hook, 200)
      await bodyOf(tenant.ask("POST", `${hook.path}/deliveries/${failed!.id}/retry`), 202)
      const [delivery] = await hook.deliveries(1, "succeeded")
      expect(delivery).toMatchObject({ id: failed!.id, attemptCount: 7 })
      const received = await hook.receives(7)
      expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    })
  })
}
