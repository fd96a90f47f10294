/** Signing and verifying, by vectors from `openssl dgst -sha256 -hmac`, by alterations, and through real HTTP headers. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { catalogue } from "../../../src/events/catalogue.ts"
import { encodeEvent } from "../../../src/events/event.ts"
import {
  deliveryHeaders,
  deliveryUserAgent,
  makeSecret,
  sign,
  verifyWebhook,
  WebhookVerificationError
} from "../../../src/webhooks/index.ts"

const secret = "whsec_4fTq9ZpR2mXw7Ks1"
const oldSecret = "whsec_oldSecret"
const time = 1_782_864_000
const eventId = "evt_00000000-0000-8000-8000-000000000000"
const body = `{"eventId":"${eventId}","type":"platform.test","service":"platform","data":{"message":"Grüße ☎","endpoint_id":"we_1"},"livemode":false,"createdAt":1782864000000}`

/** `printf '%s.%s' 1782864000 "$body" | openssl dgst -sha256 -hmac "$secret" -hex`, and so on. */
const vectors = {
  body: "990f7a44588c9cb275462f46a7c03881e4062653688e5fe14ea34084757e8bb3",
  bodyOldSecret: "22450adbbcd303421fdf1137c03ba7e438a5eec99434b330f484384ef59ecb6d",
  emptyBodyTime1: "d47181d3814f88607164b64164d7b3b8ac5264858410e2e1386a042d560734ff",
  bytes00fffe: "54f0bc7f6942d503752c5f5badda727660838383400e909b6d64879032257caf"
}

const headers = (changes: Readonly<Record<string, string | undefined>> = {}) => ({
  "x-platformwebhook-signature": `t=${time},v1=${vectors.body}`,
  "x-platformwebhook-id": eventId,
  "x-platformwebhook-timestamp": String(time),
  ...changes
})

/** `verifyWebhook` at the moment of the delivery, unless told otherwise. */
const verify = (
  changes: {
    readonly body?: string | Uint8Array
    readonly headers?: Parameters<typeof verifyWebhook>[1]
    readonly secret?: string | ReadonlyArray<string>
    readonly tolerance?: number
    readonly at?: number
  } = {}
) =>
  verifyWebhook(
    changes.body ?? body,
    changes.headers ?? headers(),
    changes.secret ?? secret,
    changes.tolerance ?? 300,
    (changes.at ?? time) * 1000
  )

const reasonOf = (verifying: () => unknown): string => {
  try {
    verifying()
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason
    throw error
  }
  return "verified"
}

describe("signing", () => {
  it("[platform 7.3] is HMAC-SHA256, hexadecimal, of <timestamp>.<raw body>, keyed with the whole secret", () => {
    expect(sign([secret], time, body)).toBe(`t=${time},v1=${vectors.body}`)
    expect(sign([secret], time, Buffer.from(body))).toBe(`t=${time},v1=${vectors.body}`)
    expect(sign([secret], 1, "")).toBe(`t=1,v1=${vectors.emptyBodyTime1}`)
    expect(sign([secret], time, Uint8Array.of(0x00, 0xff, 0xfe))).toBe(`t=${time},v1=${vectors.bytes00fffe}`)
  })

  it("has both secrets sign during a rotation, the new one first", () => {
    expect(sign([secret, oldSecret], time, body)).toBe(`t=${time},v1=${vectors.body},v1=${vectors.bodyOldSecret}`)
  })

  it("[platform 7.2] makes the documented headers, in whole Unix seconds", () => {
    expect(deliveryHeaders({ eventId, nowMillis: time * 1000 + 999, rawBody: body, secrets: [secret] })).toEqual({
      "X-PlatformWebhook-Signature": `t=${time},v1=${vectors.body}`,
      "X-PlatformWebhook-Id": eventId,
      "X-PlatformWebhook-Timestamp": String(time),
      "Content-Type": "application/json",
      "User-Agent": "PlatformWebhook/1.0"
    })
  })

  it("never happens without a secret or a time", () => {
    expect(() => sign([], time, body)).toThrow(TypeError)
    expect(() => sign([secret, ""], time, body)).toThrow(TypeError)
    for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => sign([secret], wrong, body)).toThrow(RangeError)
  })

  it("uses secrets that cannot be guessed", () => {
    const secrets = Array.from({ length: 200 }, makeSecret)
    expect(new Set(secrets).size).toBe(200)
    for (const one of secrets) expect(one).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/)
  })
})

describe("verifying", () => {
  it("gives the event of a delivery", () => {
    const event = { ...JSON.parse(body) }
    expect(verify()).toEqual(event)
    expect(verify({ body: Buffer.from(body) })).toEqual(event)
  })

  it("takes headers of fetch, of node:http and of any case", () => {
    expect(verify({ headers: new Headers(headers()) }).eventId).toBe(eventId)
    const lists = Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), [value]] as const)
    expect(verify({ headers: Object.fromEntries(lists) }).eventId).toBe(eventId)
  })

  it("holds for either secret of a rotation, on either side", () => {
    const both = headers({ "x-platformwebhook-signature": sign([secret, oldSecret], time, body) })
    for (const known of [secret, oldSecret, [oldSecret, secret], ["whsec_other", oldSecret]])
      expect(verify({ headers: both, secret: known }).eventId).toBe(eventId)
    expect(verify({ secret: [oldSecret, secret] }).eventId).toBe(eventId)
    expect(reasonOf(() => verify({ secret: oldSecret }))).toBe("signature_mismatch")
  })

  it("passes over schemes that it does not know", () => {
    const signature = `t=${time},v0=abc,v1=${"0".repeat(64)},v2=${"f".repeat(64)},v1=${vectors.body}`
    expect(verify({ headers: headers({ "x-platformwebhook-signature": signature }) }).eventId).toBe(eventId)
    const other = headers({ "x-platformwebhook-signature": `t=${time},v2=${vectors.body}` })
    expect(reasonOf(() => verify({ headers: other }))).toBe("malformed_header")
  })

  it("[platform 7.3] refuses a key that is only part of the secret", () => {
    expect(reasonOf(() => verify({ secret: secret.slice("whsec_".length) }))).toBe("signature_mismatch")
  })

  it("reads types and services that a newer platform may have", () => {
    const newer = body.replace('"service":"platform"', '"service":"fax"').replace("platform.test", "fax.Sent-2")
    const signed = headers({ "x-platformwebhook-signature": sign([secret], time, newer) })
    expect(verify({ body: newer, headers: signed })).toMatchObject({ service: "fax", type: "fax.Sent-2" })
  })

  it.each([
    ["x-platformwebhook-signature", undefined, "missing_header"],
    ["x-platformwebhook-timestamp", undefined, "missing_header"],
    ["x-platformwebhook-id", undefined, "missing_header"],
    ["x-platformwebhook-signature", "", "malformed_header"],
    ["x-platformwebhook-signature", vectors.body, "malformed_header"],
    ["x-platformwebhook-signature", `v1=${vectors.body}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time},v1=`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time},v1=${vectors.body.slice(2)}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time},t=${time},v1=${vectors.body}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time + 1},v1=${vectors.body}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time},v1=${vectors.body}${",v2=a".repeat(300)}`, "malformed_header"],
    ["x-platformwebhook-signature", `t=${time},v1=${"0".repeat(64)}`, "signature_mismatch"],
    ["x-platformwebhook-timestamp", `${time + 1}`, "malformed_header"],
    ["x-platformwebhook-timestamp", `0${time}`, "malformed_header"],
    ["x-platformwebhook-timestamp", `${time}.0`, "malformed_header"],
    ["x-platformwebhook-timestamp", "", "malformed_header"],
    ["x-platformwebhook-id", "evt_00000000-0000-8000-8000-000000000001", "invalid_event"]
  ])("refuses with %s: %s", (name, value, reason) => {
    expect(reasonOf(() => verify({ headers: headers({ [name]: value }) }))).toBe(reason)
  })

  it("refuses a header that is there twice", () => {
    for (const name of Object.keys(headers()) as ReadonlyArray<keyof ReturnType<typeof headers>>) {
      const twice = headers()[name]
      expect(reasonOf(() => verify({ headers: { ...headers(), [name]: [twice, twice] } }))).toBe("malformed_header")
      expect(reasonOf(() => verify({ headers: { ...headers(), [name.toUpperCase()]: twice } }))).toBe(
        "malformed_header"
      )
    }
  })

  it("refuses a time that signature and header agree on but that was not signed", () => {
    const later = headers({
      "x-platformwebhook-signature": `t=${time + 1},v1=${vectors.body}`,
      "x-platformwebhook-timestamp": `${time + 1}`
    })
    expect(reasonOf(() => verify({ headers: later }))).toBe("signature_mismatch")
  })

  it("refuses what is signed but no event", () => {
    for (const no of ["", "{}", "[]", body.slice(0, -1), body.replace("livemode", "live"), Uint8Array.of(0xff)]) {
      const signed = headers({ "x-platformwebhook-signature": sign([secret], time, no) })
      expect(reasonOf(() => verify({ body: no, headers: signed }))).toBe("invalid_event")
    }
  })

  it.each([
    [300, 300, "verified"],
    [-300, 300, "verified"],
    [301, 300, "timestamp_outside_tolerance"],
    [-301, 300, "timestamp_outside_tolerance"],
    [0, 0, "verified"],
    [1, 0, "timestamp_outside_tolerance"],
    [1e9, Number.POSITIVE_INFINITY, "verified"]
  ])("at %d s after the delivery with a tolerance of %d s: %s", (after, tolerance, outcome) => {
    expect(reasonOf(() => verify({ at: time + after, tolerance }))).toBe(outcome)
  })

  it("[platform 7.3] has a tolerance of five minutes, by the system's clock, without being told", () => {
    const now = Math.floor(Date.now() / 1000)
    const at = (seconds: number) =>
      headers({
        "x-platformwebhook-signature": sign([secret], seconds, body),
        "x-platformwebhook-timestamp": String(seconds)
      })
    expect(verifyWebhook(body, at(now - 200), secret).eventId).toBe(eventId)
    expect(reasonOf(() => verifyWebhook(body, at(now - 400), secret))).toBe("timestamp_outside_tolerance")
    expect(reasonOf(() => verifyWebhook(body, at(now + 400), secret))).toBe("timestamp_outside_tolerance")
  })

  it("says so when the receiver itself is configured wrongly, instead of trusting everyone", () => {
    for (const wrong of [
      "",
      [],
      [secret, ""],
      Array.from({ length: 9 }, () => secret),
      [undefined as unknown as string]
    ])
      expect(() => verify({ secret: wrong })).toThrow(TypeError)
    for (const wrong of [-1, Number.NaN]) expect(() => verify({ tolerance: wrong })).toThrow(RangeError)
  })

  it("says neither secret nor signature nor body in an error", () => {
    for (const changed of [
      { body: `${body} ` },
      { at: 0 },
      { headers: headers({ "x-platformwebhook-signature": vectors.body }) }
    ]) {
      const said = (() => {
        try {
          return verify(changed)
        } catch (error) {
          return `${String(error)} ${JSON.stringify(error)}`
        }
      })()
      expect(said).toContain("WebhookVerificationError")
      for (const hidden of [secret, vectors.body, "Grüße"]) expect(said).not.toContain(hidden)
    }
  })
})

const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))
const Bit = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))
const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(40))

describe("whatever is delivered", () => {
  it.prop("is verified as it was signed, by each of its secrets", [Text, Text, Text], ([message, first, second]) => {
    const event = { ...JSON.parse(body), data: { ...catalogue["platform.test"].example, message } }
    const rawBody = encodeEvent(event)
    const sent = deliveryHeaders({ eventId, nowMillis: time * 1000, rawBody, secrets: [first, second] })
    for (const known of [first, second])
      expect(verifyWebhook(Buffer.from(rawBody), sent, known, 0, time * 1000).data).toMatchObject(
        JSON.parse(JSON.stringify({ message }))
      )
  })

  it.prop(
    "is refused with any bit of body or signature changed",
    [Position, Bit, Schema.Boolean],
    ([at, bit, inBody]) => {
      const text = inBody ? body : vectors.body
      const bytes = Buffer.from(text, inBody ? "utf8" : "hex")
      bytes[at % bytes.length]! ^= 1 << bit
      const changed = inBody
        ? { body: bytes }
        : { headers: headers({ "x-platformwebhook-signature": `t=${time},v1=${bytes.toString("hex")}` }) }
      expect(reasonOf(() => verify(changed))).toBe("signature_mismatch")
    }
  )
})

describe("over the wire", () => {
  it("is verified from the headers that node:http receives", async () => {
    let received: { readonly eventId: string } | undefined
    let userAgent: string | undefined
    const server = createServer(async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      userAgent = request.headers["user-agent"]
      try {
        received = verifyWebhook(Buffer.concat(chunks), request.headers, secret, 0, time * 1000)
      } finally {
        response.end()
      }
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    try {
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
        method: "POST",
        headers: deliveryHeaders({ eventId, nowMillis: time * 1000, rawBody: body, secrets: [secret, oldSecret] }),
        body
      })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    expect(received?.eventId).toBe(eventId)
    expect(userAgent).toBe(deliveryUserAgent)
  })
})
