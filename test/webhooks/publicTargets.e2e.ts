/**
 * Where webhooks may go (decisions, "Events and webhooks": "Targets"), on a running platform as operators run it: only to public addresses.
 */
import { once } from "node:events"
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bodyOf, useWhole } from "./whole.ts"

const whole = useWhole({ SLUICE_WEBHOOK_TARGETS: "public" })

describe("decisions: targets", () => {
  let connections = 0
  const inside = createServer((socket) => {
    connections++
    socket.destroy()
  })
  let port = 0

  beforeAll(async () => {
    inside.listen(0, "127.0.0.1")
    await once(inside, "listening")
    port = (inside.address() as { readonly port: number }).port
  })
  afterAll(() => {
    inside.close()
  })

  it.each([
    "localhost",
    "127.0.0.1",
    "[::ffff:127.0.0.1]",
    "2130706433"
  ])("hosts that resolve to a loopback, private, link-local, metadata or other non-public address are refused at connect time: %s", async (host) => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook(["telco.*"], `https://${host}:${port}`)
    await tenant.happens("telco.lookup.completed")
    const [delivery] = await hook.deliveries(1, "failed")
    expect(delivery!.attempts).toHaveLength(6)
    for (const { error, response, status } of delivery!.attempts) {
      expect({ response, status }).toEqual({ response: null, status: 0 })
      expect(error).toMatch(/ is not a public address, nothing is delivered there$/)
    }
    expect(connections).toBe(0)
  })

  it("any http:// is always `Webhook URL must use HTTPS`", async () => {
    const tenant = await whole().tenant()
    for (const url of ["http://127.0.0.1:3000/hook", "http://localhost/", "http://hooks.example.com/"])
      expect(await bodyOf(tenant.ask("POST", "/v1/webhooks", { url, enabled_events: ["*"] }), 400)).toEqual({
        error: "Webhook URL must use HTTPS"
      })
  })
})
