/** Telco while JetStream is away (decisions, "Telco"): nothing is answered whose event is not stored, and all of it comes back. */
import { describe, expect, it } from "vitest"
import type { TestPlatform } from "../harness.ts"
import { makeTenant } from "./emitted.ts"

export const telcoOutageSection = (platform: () => TestPlatform): void => {
  describe("telco, JetStream away", () => {
    it("503; the answer is given after its event is stored", async () => {
      const tenant = await makeTenant(platform(), "outage")
      const found = await tenant.get("/v1/telco/search?npa=212&limit=1")
      const [code] = (found.body as { readonly data: ReadonlyArray<{ readonly nxx: string }> }).data
      const answered: Array<string> = []
      let asked = 0
      const lookup = async () => {
        const tn = `212${code!.nxx}${String(asked++).padStart(4, "0")}`
        const reply = await tenant.get(`/v1/telco/lookup/${tn}`)
        if (reply.status === 200) answered.push(tn)
        return reply
      }
      expect((await lookup()).status).toBe(200)
      platform().nats.cut()
      try {
        for (const { body, status } of [await lookup(), await tenant.get("/v1/telco/search?npa=212")]) {
          expect([status, body]).toStrictEqual([
            503,
            { error: "unavailable", message: expect.stringMatching(/stored/) }
          ])
        }
        // What was recorded before can be read meanwhile, and what makes no event is answered.
        expect((await tenant.get("/v1/events")).status).toBe(200)
        expect((await tenant.get("/v1/telco/lookup/9995550123")).status).toBe(404)
      } finally {
        platform().nats.restore()
      }
      await expect.poll(async () => (await lookup()).status, { timeout: 30_000, interval: 100 }).toBe(200)
      const events = await tenant.events(answered.length + 1)
      expect(events.map(({ data }) => data.tn)).toEqual(expect.arrayContaining(answered))
    })
  })
}
