/** The table of states (docs/platform.md, 6.4), row by row on the running platform. */
import { describe, expect, it } from "vitest"
import { answering } from "../receiver.ts"
import { bodyOf, eventIn, eventually, type ShownEvent, type Whole } from "../whole.ts"

export const statesSection = (whole: () => Whole): void => {
  describe("an endpoint", () => {
    it("[platform 6.1, 6.4] is Active from its creation and gets what happens", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      expect(await hook.shown()).toMatchObject({
        is_active: true,
        is_paused: false,
        consecutive_failures: 0,
        last_delivery_at: null,
        last_delivery_status: null
      })
      await tenant.happens("telco.lookup.completed")
      await hook.receives(1)
      await eventually(async () => expect(await hook.shown()).toMatchObject({ last_delivery_status: 200 }))
    })

    it("[platform 6.4] that its owner has disabled gets nothing until it is enabled", async () => {
      const tenant = await whole().tenant()
      const [hook, other] = [await tenant.hook(), await tenant.hook()]
      expect(await bodyOf(tenant.ask("PATCH", hook.path, { is_active: false }))).toMatchObject({ is_active: false })
      await tenant.happens("telco.lookup.completed")
      await other.receives(1)
      expect(hook.received()).toEqual([])
      expect(await hook.deliveries(0)).toEqual([])

      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: true }))
      await tenant.happens("telco.search.completed")
      expect((await hook.receives(1)).map(eventIn)).toMatchObject([{ type: "telco.search.completed" }])
    })

    it("[platform 6.4] is warned of after five failed deliveries in a row, Paused after ten, anew when unpaused", async () => {
      const tenant = await whole().tenant()
      const hook = await tenant.hook()
      const watcher = await tenant.hook(["platform.webhook.*"])
      whole().receiver.answer(hook.to, answering(500))
      await tenant.happens("telco.lookup.completed", 4)
      await eventually(async () => expect(await hook.shown()).toMatchObject({ consecutive_failures: 4 }))
      expect(watcher.received()).toEqual([])
      await tenant.happens("telco.lookup.completed")
      const [warning] = await watcher.receives(1)
      expect(eventIn(warning!)).toMatchObject({
        type: "platform.webhook.failing",
        service: "platform",
        data: { endpoint_id: hook.id, consecutive_failures: 5, last_delivery_status: 500 }
      })
      expect(await hook.shown()).toMatchObject({ is_paused: false, consecutive_failures: 5 })

      await tenant.happens("telco.lookup.completed", 5)
      await eventually(async () =>
        expect(await hook.shown()).toMatchObject({
          is_active: true,
          is_paused: true,
          consecutive_failures: 10,
          last_delivery_status: 500
        })
      )
      const [, paused] = (await watcher.receives(2)).map(eventIn)
      expect(paused).toMatchObject({
        type: "platform.webhook.paused",
        data: { endpoint_id: hook.id, consecutive_failures: 10, reason: "failures" }
      })
      const logged = await tenant.events(2, "&type=platform.webhook.*")
      expect(logged.map(({ eventId }) => eventId)).toEqual(
        watcher
          .received()
          .map((one): ShownEvent => eventIn(one))
          .map(({ eventId }) => eventId)
          .toReversed()
      )
      // Each was attempted six times.
      const failed = await hook.deliveries(10, "failed")
      expect(failed.map(({ attemptCount }) => attemptCount)).toEqual(Array.from({ length: 10 }, () => 6))
      await hook.receives(60)

      whole().receiver.answer(hook.to, answering(200))
      expect(await bodyOf(tenant.ask("POST", `${hook.path}/unpause`))).toMatchObject({
        is_paused: false,
        consecutive_failures: 0
      })
      await tenant.happens("telco.search.completed")
      await hook.receives(61)
      expect(await hook.shown()).toMatchObject({ is_paused: false, consecutive_failures: 0 })
    })

    it("[platform 6.4] that is Paused gets nothing, and enabling it does not change that", async () => {
      const tenant = await whole().tenant()
      const [hook, other] = [await tenant.hook(), await tenant.hook()]
      whole().receiver.answer(hook.to, answering(410))
      await tenant.happens("telco.lookup.completed")
      await eventually(async () => expect(await hook.shown()).toMatchObject({ is_paused: true }))
      whole().receiver.answer(hook.to, answering(200))
      await bodyOf(tenant.ask("PATCH", hook.path, { is_active: false }))
      expect(await bodyOf(tenant.ask("PATCH", hook.path, { is_active: true }))).toMatchObject({ is_paused: true })
      await tenant.happens("telco.search.completed")
      await other.receives(2)
      await hook.receives(1)
    })
  })
}
