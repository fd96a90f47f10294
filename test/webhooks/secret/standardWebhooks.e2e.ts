/**
 * Deliveries of the running platform checked with other people's receivers: the `standardwebhooks` package as it is published, beside the
 * documented signature; also through a rotation, and for secrets that were made before there was a second scheme.
 */
import { createPublicKey, verify } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { parseSecretsKeys, seal } from "../../../src/common/secretsKeys.ts"
import { verifyWebhook } from "../../../src/webhooks/index.ts"
import { aboutSecret } from "../../../src/webhooks/secret/WebhookSecrets.ts"
import { query } from "../../cli/support.ts"
import { expectedSignature, type Received, signaturesOf } from "../receiver.ts"
import { bodyOf, eventIn, useWhole } from "../whole.ts"

const whole = useWhole()

const standardHeaders = ({ headers }: Received) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (name.startsWith("webhook-") ? [[name, String(value)]] : []))
  )

describe("a delivery", () => {
  it("[platform 7.3] is verified by the published package with the secret as it was shown, and by ours", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook()
    await tenant.happens("telco.lookup.completed")
    const [received] = await hook.receives(1)
    const event = eventIn(received!)
    const standard = standardHeaders(received!)
    expect(standard["webhook-id"]).toBe(event.eventId)
    expect(standard["webhook-timestamp"]).toBe(received!.headers["x-platformwebhook-timestamp"])
    expect(new Webhook(hook.secret).verify(received!.body, standard)).toEqual(event)
    expect(verifyWebhook(received!.body, received!.headers, hook.secret)).toEqual(event)
    expect(signaturesOf(received!)).toEqual([expectedSignature(hook.secret, received!)])
    // Python's and others' decoders take nothing but whole groups with padding.
    expect(hook.secret).toMatch(/^whsec_(?:[A-Za-z0-9+/]{4}){10}[A-Za-z0-9+/]{3}=$/)
    expect(() => new Webhook(hook.secret).verify(`${received!.body} `, standard)).toThrow()
  })

  it("[platform 7.2] is signed with both secrets in both schemes during a rotation", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook()
    const { signing_secret } = await bodyOf<{ readonly signing_secret: string }>(
      tenant.ask("POST", `${hook.path}/rotate-secret`)
    )
    await tenant.happens("telco.lookup.completed")
    const [received] = await hook.receives(1)
    const standard = standardHeaders(received!)
    expect(standard["webhook-signature"]!.split(" ")).toHaveLength(2)
    for (const secret of [signing_secret, hook.secret]) {
      expect(new Webhook(secret).verify(received!.body, standard)).toEqual(eventIn(received!))
    }
    expect(signaturesOf(received!)).toEqual(
      [signing_secret, hook.secret].map((one) => expectedSignature(one, received!))
    )
  })

  it("[platform 6.11] is signed with a private key too where that is asked for, with both keys during a rotation", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook()
    interface Rotated {
      readonly signing_secret: string
      readonly public_key: string | null
    }
    const rotate = (body?: object) => bodyOf<Rotated>(tenant.ask("POST", `${hook.path}/rotate-secret`, body))
    const keys = async () => {
      const [, , , id] = hook.path.split("/")
      const answer = await fetch(`${whole().url}/.well-known/webhook-keys?endpoint=${id}`)
      return ((await answer.json()) as { keys: ReadonlyArray<{ key: string }> }).keys.map(({ key }) => key)
    }
    expect((await rotate()).public_key).toBeNull()
    const first = await rotate({ asymmetric: true })
    const second = await rotate()
    expect(second.public_key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
    await expect.poll(keys).toEqual([second.public_key, first.public_key])
    await tenant.happens("telco.lookup.completed")
    const [received] = await hook.receives(1)
    const event = eventIn(received!)
    const standard = standardHeaders(received!)
    const signatures = standard["webhook-signature"]!.split(" ")
    expect(signatures.map((one) => one.split(",")[0])).toEqual(["v1", "v1", "v1a", "v1a"])
    for (const key of [first.public_key!, second.public_key!]) {
      // By the specification, with nothing of ours.
      const x = Buffer.from(key.slice(5), "base64").toString("base64url")
      const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
      const content = Buffer.from(`${standard["webhook-id"]}.${standard["webhook-timestamp"]}.${received!.body}`)
      const fits = signatures.filter((one) => verify(null, content, publicKey, Buffer.from(one.slice(4), "base64")))
      expect(fits).toHaveLength(1)
      expect(verifyWebhook(received!.body, received!.headers, key)).toEqual(event)
    }
    for (const secret of [first.signing_secret, second.signing_secret])
      expect(new Webhook(secret).verify(received!.body, standard)).toEqual(event)
    const [other] = [await bodyOf<Rotated>(tenant.ask("POST", `${hook.path}/rotate-secret`, { asymmetric: false }))]
    expect(other.public_key).toBeNull()
    expect(() => verifyWebhook(`${received!.body} `, received!.headers, first.public_key!)).toThrow("No signature")
  })

  it("[platform 7.3] carries no standard headers while only a secret of the earlier form signs, and both once it was rotated", async () => {
    const tenant = await whole().tenant()
    const hook = await tenant.hook()
    // As a version before this one has stored it.
    const earlier = "whsec_Bq4OQwuqhdt53kU0vNrQybFjjAupNjCXyWXism3oXwL"
    const rows = await query<{ readonly id: string }>(
      whole().databaseUrl,
      "select id from webhook_secrets where endpoint_id = $1",
      [hook.id]
    )
    const sealed = seal(parseSecretsKeys("5e".repeat(32))!, earlier, aboutSecret(rows[0]!.id, hook.id))
    await query(whole().databaseUrl, "update webhook_secrets set ciphertext = $2 where id = $1", [
      rows[0]!.id,
      sealed.ciphertext
    ])
    await tenant.happens("telco.lookup.completed")
    const [before] = await hook.receives(1)
    expect(standardHeaders(before!)).toEqual({})
    expect(verifyWebhook(before!.body, before!.headers, earlier)).toEqual(eventIn(before!))

    const { signing_secret } = await bodyOf<{ readonly signing_secret: string }>(
      tenant.ask("POST", `${hook.path}/rotate-secret`)
    )
    await tenant.happens("telco.lookup.completed")
    const [, after] = await hook.receives(2)
    expect(standardHeaders(after!)["webhook-signature"]!.split(" ")).toHaveLength(1)
    expect(new Webhook(signing_secret).verify(after!.body, standardHeaders(after!))).toEqual(eventIn(after!))
    expect(signaturesOf(after!)).toEqual([signing_secret, earlier].map((one) => expectedSignature(one, after!)))
  })
})
