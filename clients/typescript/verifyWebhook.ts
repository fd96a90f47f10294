/** Checks that a delivery is from the platform, with the Web Crypto API, so that it runs everywhere. */

/** A delivery is not from the platform, or is too old. */
export class SignatureInvalid extends Error {
  override readonly name = "SignatureInvalid"
}

export interface VerifyOptions {
  /** The endpoint's secret; during a rotation both. */
  readonly secrets: string | ReadonlyArray<string>
  /** How far the delivery's time may be from now, in seconds; default 300. */
  readonly toleranceSeconds?: number
  /** Unix seconds; default: the clock. */
  readonly now?: number
}

/** An event as it is delivered. */
export interface WebhookEvent {
  readonly eventId: string
  readonly type: string
  readonly service: string
  readonly data: Readonly<Record<string, unknown>>
  readonly livemode: boolean
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number
}

type Headers =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const headerOf = (headers: Headers, name: string): string | undefined => {
  if ("get" in headers && typeof headers.get === "function") return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === "string" ? found : undefined
}

const text = new TextEncoder()

const concatenated = (before: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const prefix = text.encode(before)
  const whole = new Uint8Array(prefix.length + body.length)
  whole.set(prefix)
  whole.set(body, prefix.length)
  return whole
}

const bytesOf = (encoded: string, form: "hex" | "base64"): Uint8Array<ArrayBuffer> | undefined => {
  try {
    if (form === "base64") return Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0))
    if (!/^(?:[0-9a-f]{2})+$/.test(encoded)) return undefined
    return Uint8Array.from(encoded.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  } catch {
    return undefined
  }
}

/** Compares within the Web Crypto API, whose time does not depend on the bytes. */
const matches = async (
  key: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>
): Promise<boolean> => {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  return crypto.subtle.verify("HMAC", imported, signature, signed)
}

interface Signed {
  readonly time: string
  readonly signatures: ReadonlyArray<Uint8Array<ArrayBuffer>>
  readonly prefix: string
  readonly keyOf: (secret: string) => Uint8Array<ArrayBuffer> | undefined
}

const found = <A>(all: ReadonlyArray<A | undefined>): ReadonlyArray<A> => all.filter((one) => one !== undefined)

/** The platform's own header, else those of Standard Webhooks. */
const signedBy = (headers: Headers): Signed => {
  const own = headerOf(headers, "x-platformwebhook-signature")
  if (own !== undefined) {
    const parts = own.split(",").map((part) => part.split("=") as [string, string])
    const time = parts.find(([name]) => name === "t")?.[1] ?? ""
    const signatures = found(parts.map(([name, value]) => (name === "v1" ? bytesOf(value, "hex") : undefined)))
    return { time, signatures, prefix: `${time}.`, keyOf: (secret) => text.encode(secret) }
  }
  const id = headerOf(headers, "webhook-id")
  const time = headerOf(headers, "webhook-timestamp")
  const given = headerOf(headers, "webhook-signature")
  if (id === undefined || time === undefined || given === undefined)
    throw new SignatureInvalid("The delivery has no signature")
  const signatures = given
    .split(" ")
    .map((one) => (one.startsWith("v1,") ? bytesOf(one.slice(3), "base64") : undefined))
  return {
    time,
    signatures: found(signatures),
    prefix: `${id}.${time}.`,
    keyOf: (secret) => bytesOf(secret.replace(/^whsec_/, ""), "base64")
  }
}

/** The event of a delivery. `body` is exactly what was received. Throws `SignatureInvalid`. */
export const verifyWebhook = async (
  headers: Headers,
  body: string | Uint8Array,
  { now = Math.floor(Date.now() / 1000), secrets, toleranceSeconds = 300 }: VerifyOptions
): Promise<WebhookEvent> => {
  const { keyOf, prefix, signatures, time } = signedBy(headers)
  if (!/^\d{1,12}$/.test(time)) throw new SignatureInvalid("The delivery has no time")
  if (Math.abs(Number(time) - now) > toleranceSeconds)
    throw new SignatureInvalid("The delivery's time is too far from now")
  const bytes = typeof body === "string" ? text.encode(body) : body
  const signed = concatenated(prefix, bytes)
  const keys = found([secrets].flat().map(keyOf))
  for (const key of keys) {
    for (const signature of signatures)
      if (await matches(key, signature, signed)) return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent
  }
  throw new SignatureInvalid("No signature of the delivery fits")
}
