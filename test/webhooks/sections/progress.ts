/** Where an event and a replay have got to, as their owner asks for it over HTTP, on the running platform with a real receiver. */
import { describe, expect, it } from "vitest"
import { usNpa } from "../../cli/files.ts"
import { answering } from "../receiver.ts"
import { bodyOf, eventually, type ShownDelivery, type Whole } from "../whole.ts"

interface Page {
  readonly data: ReadonlyArray<ShownDelivery & { readonly endpointId: string; readonly replayId: string | null }>
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string }
}

const lookup = `/v1/telco/lookup/${usNpa}5540123`

export const progressSection = (whole: () => Whole): void => {
  describe("GET …/replays/{id}", () => {
    it("says what was asked, queued and delivered, and each delivery names its replay", async () => {
      const tenant = await whole().tenant()
      await bodyOf(tenant.ask("GET", lookup))
      await bodyOf(tenant.ask("GET", lookup))
      const since = (await tenant.events(2)).at(-1)!.createdAt
      const [hook, other] = [await tenant.hook(), await tenant.hook()]
      whole().receiver.answer(hook.to, (response, received, count) =>
        answering(count === 0 ? 200 : 500)(response, received, count)
      )
      const made = await bodyOf<{ readonly replayId: string }>(
        tenant.ask("POST", `${hook.path}/replay`, { since, types: ["telco.*"] }),
        202
      )
      const path = `${hook.path}/replays/${made.replayId}`
      await eventually(async () =>
        expect(await bodyOf(tenant.ask("GET", path))).toEqual({
          id: made.replayId,
          since,
          until: expect.any(Number),
          types: ["telco.*"],
          status: "done",
          asked: 2,
          queued: 2,
          delivered: 1,
          failed: 1,
          createdAt: expect.any(Number),
          finishedAt: expect.any(Number)
        })
      )
      const { data } = await bodyOf<Page>(tenant.ask("GET", `${hook.path}/deliveries`))
      expect(data.map(({ replayId }) => replayId)).toEqual([made.replayId, made.replayId])
      // Nobody else's, and none that is not there.
      for (const [ask, at] of [
        [tenant.ask, `${other.path}/replays/${made.replayId}`],
        [tenant.ask, `${hook.path}/replays/rpl_none`],
        [tenant.askTest, path],
        [(await whole().tenant()).ask, path]
      ] as const)
        expect((await ask("GET", at)).status, at).toBe(404)
    })
  })

  describe("GET /v1/events/{id}/deliveries", () => {
    it("shows what became of an event at each endpoint, replays and retries included", async () => {
      const tenant = await whole().tenant()
      const [one, other, test] = [await tenant.hook(), await tenant.hook(["*"]), await tenant.testHook(["*"])]
      whole().receiver.answer(one.to, answering(500))
      await tenant.happens("telco.lookup.completed")
      const [event] = await tenant.events(1)
      const path = `/v1/events/${event!.eventId}/deliveries`
      const [failed] = await one.deliveries(1, "failed")
      await bodyOf(tenant.ask("POST", `${one.path}/deliveries/${failed!.id}/retry`), 202)
      await other.deliveries(1, "succeeded")
      const { replayId } = await bodyOf<{ readonly replayId: string }>(
        tenant.ask("POST", `${other.path}/replay`, { since: event!.createdAt }),
        202
      )
      await eventually(async () => {
        const { data, pagination } = await bodyOf<Page>(tenant.ask("GET", path))
        expect(pagination).toEqual({ hasMore: false })
        const told = data.map((row) => [row.endpointId, row.origin, row.replayId, row.status, row.attemptCount])
        expect(told).toHaveLength(3)
        expect(told[0]).toEqual([other.id, "event", replayId, "succeeded", 1])
        expect(told).toContainEqual([other.id, "event", null, "succeeded", 1])
        expect(told).toContainEqual([one.id, "retry", null, "failed", 7])
      })
      const first = await bodyOf<Page>(tenant.ask("GET", `${path}?limit=2`))
      expect(first.pagination.hasMore).toBe(true)
      const rest = await bodyOf<Page>(tenant.ask("GET", `${path}?limit=2&cursor=${first.pagination.nextCursor}`))
      expect(new Set([...first.data, ...rest.data].map(({ id }) => id)).size).toBe(3)
      // An operator's test event went to both modes; each key is shown its own.
      await test.deliveries(1, "succeeded")
      expect((await bodyOf<Page>(tenant.askTest("GET", path))).data).toMatchObject([{ endpointId: test.id }])
    })

    it("an event of nobody, of another organization or of the other mode has none", async () => {
      const tenant = await whole().tenant()
      await bodyOf(tenant.ask("GET", lookup))
      const [event] = await tenant.events(1)
      for (const [ask, id] of [
        [tenant.ask, "evt_00000000-0000-8000-8000-000000000000"],
        [tenant.ask, "x"],
        [tenant.askTest, event!.eventId],
        [(await whole().tenant()).ask, event!.eventId]
      ] as const) {
        const reply = await ask("GET", `/v1/events/${id}/deliveries`)
        expect([reply.status, reply.body]).toEqual([
          404,
          { success: false, error: { code: "not_found", message: `No event has the id "${id}".` } }
        ])
      }
      expect((await bodyOf<Page>(tenant.ask("GET", `/v1/events/${event!.eventId}/deliveries`))).data).toEqual([])
    })
  })
}
