/**
 * Where webhooks may go (docs/platform.md, 6.9), on a running platform as operators run it: only to public addresses.
 */
import { once } from "node:events"
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bodyOf, useWhole } from "../whole.ts"

const whole = useWhole({ SLUICE_WEBHOOK_TARGETS: "public" })

describe("targets of a platform in production", () => {
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

  it("[platform 6.9] a name that leads inside is not connected to, and its owner reads what an unknown name says", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook(["telco.*"], `https://localhost:${port}`)
    const unknown = await tenant.hook(["telco.*"], `https://no-such-name.invalid:${port}`)
    await tenant.happens("telco.lookup.completed")
    // A name that leads inside and one that is not known read alike.
    for (const { deliveries } of [hook, unknown]) {
      const [delivery] = await deliveries(1, "failed")
      expect(delivery!.attempts).toHaveLength(6)
      for (const { error, response, status } of delivery!.attempts) {
        expect({ response, status }).toEqual({ response: null, status: 0 })
        expect(error).toBe("The host name has no public address")
      }
    }
    expect(connections).toBe(0)
  })

  it.each([
    "127.0.0.1",
    "[::ffff:127.0.0.1]",
    "2130706433"
  ])("[platform 6.9] an address inside makes no endpoint: %s", async (host) => {
    const tenant = await whole().tenant()
    const reply = await tenant.ask("POST", "/v1/webhooks", { url: `https://${host}:${port}/`, enabled_events: ["*"] })
    expect([reply.status, reply.body]).toEqual([
      400,
      { error: "invalid_request", message: expect.stringMatching(/^url has the address \S+, which is not public/) }
    ])
  })

  it("[platform 6.9] plain http makes none, not even to this machine", async () => {
    const tenant = await whole().tenant()
    for (const url of ["http://127.0.0.1:3000/hook", "http://localhost/", "http://hooks.example.com/"])
      expect(await bodyOf(tenant.ask("POST", "/v1/webhooks", { url, enabled_events: ["*"] }), 400)).toEqual({
        error: "Webhook URL must use HTTPS"
      })
  })
})
