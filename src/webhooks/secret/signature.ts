/**
 * Signs webhook deliveries, and checks them for a receiver (docs/platform.md, 7.2 and 7.3). Each attempt has a
 * signature of its own. Needs no service and no Effect runtime.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto"
import { Schema } from "effect"
import { Event } from "../../events/index.ts"
import { isSignedPublic, publicKeyPrefix, secretOf, signPublic } from "./keyPair.ts"

/** The header with the time and the signatures. See {@link sign}. */
export const signatureHeader = "X-PlatformWebhook-Signature"
/** The header that names the event. See {@link deliveryHeaders}. */
export const eventIdHeader = "X-PlatformWebhook-Id"
/** The header that has the time of the attempt, in Unix seconds. See {@link deliveryHeaders}. */
export const timestampHeader = "X-PlatformWebhook-Timestamp"

/** The `User-Agent` of every delivery. See {@link deliveryHeaders}. */
export const deliveryUserAgent = "PlatformWebhook/1.0"

/** The prefix of a signing secret; part of the key of the signature. See {@link makeSecret}. */
export const secretPrefix = "whsec_"

/** Random bytes of a secret: as long as the digest. */
const secretBytes = 32

/** Names of the headers of Standard Webhooks (standardwebhooks.com), which accompany ours. */
export const standardIdHeader = "webhook-id"
export const standardTimestampHeader = "webhook-timestamp"
export const standardSignatureHeader = "webhook-signature"

/** Base64 in its strictest form: whole groups of four, with padding. */
const strictBase64 = /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/

/** The shortest key that Standard Webhooks allows, in bytes. */
const standardKeyBytesLeast = 24

/** How far a delivery's time may be from the receiver's by default, in seconds. See {@link verifyWebhook}. */
export const defaultToleranceSeconds = 300

/** The longest signature header that is examined, in characters. The platform sends four signatures at most. */
const maximumHeaderLength = 1024

/** The most secrets that a receiver may give: the current and previous one of a rotation, and room for a mistake. */
const maximumSecrets = 8

/**
 * Makes a signing secret (docs/platform.md, 6.8) from the system's secure random source. Its whole text is the key of
 * our signature; the bytes behind the prefix are the key of Standard Webhooks.
 *
 * @example
 * ```ts
 * import { makeSecret, secretPrefix } from "sluice/webhook"
 *
 * console.log(makeSecret().startsWith(secretPrefix)) // true
 * ```
 */
export const makeSecret = (): string => `${secretPrefix}${randomBytes(secretBytes).toString("base64")}`

/** A secret's key for Standard Webhooks; undefined for secrets from before the platform supported it. */
const standardKeyOf = (secret: string): KeyObject | undefined => {
  const text = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : ""
  if (!strictBase64.test(text)) return undefined
  const key = Buffer.from(text, "base64")
  // Node takes an object ten times faster than the bytes.
  return key.length < standardKeyBytesLeast ? undefined : createSecretKey(key)
}

/** The body exactly as sent or received. A string means its UTF-8 bytes. See {@link verifyWebhook}. */
export type RawBody = string | Uint8Array

const hmac = (secret: string, timestamp: string, rawBody: RawBody): Buffer =>
  createHmac("sha256", secret).update(`${timestamp}.`).update(rawBody).digest()

/**
 * The value of the signature header: `t=<timestamp>,v1=<hex>` with one `v1` per secret, in the given order: during the
 * overlap of a rotation the new one first. `timestampSeconds` is Unix seconds. Throws without a secret.
 *
 * @example
 * ```ts
 * import { sign } from "sluice/webhook"
 *
 * console.log(sign(["whsec_one"], 1_700_000_000, "{}").slice(0, 22)) // t=1700000000,v1=e6f424
 * ```
 */
export const sign = (secrets: ReadonlyArray<string>, timestampSeconds: number, rawBody: RawBody): string => {
  if (secrets.length === 0 || secrets.includes("")) throw new TypeError("a delivery needs a secret to be signed with")
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0)
    throw new RangeError("a delivery's time must be whole seconds since the Unix epoch")
  const timestamp = String(timestampSeconds)
  return [`t=${timestamp}`, ...secrets.map((secret) => `v1=${hmac(secret, timestamp, rawBody).toString("hex")}`)].join(
    ","
  )
}

/** The beginning of the signed text of Standard Webhooks, before the body. */
const standardBeginning = (id: string, timestamp: string): string => `${id}.${timestamp}.`

/** The signed text of Standard Webhooks: id, time and body, with dots between them. */
const standardContent = (id: string, timestamp: string, rawBody: RawBody): Buffer =>
  Buffer.concat([
    Buffer.from(standardBeginning(id, timestamp)),
    typeof rawBody === "string" ? Buffer.from(rawBody) : rawBody
  ])

/** The headers of Standard Webhooks; none when no secret has a key for that scheme. */
const standardHeaders = (delivery: DeliveryToSign, timestampSeconds: number): Readonly<Record<string, string>> => {
  const { eventId, rawBody, secrets } = delivery
  const timestamp = String(timestampSeconds)
  // In two parts, since most deliveries have no signature that needs the text as one.
  const beginning = standardBeginning(eventId, timestamp)
  const symmetric = secrets.flatMap((text) => {
    const key = standardKeyOf(secretOf(text))
    return key === undefined
      ? []
      : [`v1,${createHmac("sha256", key).update(beginning).update(rawBody).digest("base64")}`]
  })
  const asymmetric = secrets.flatMap(
    (text) => signPublic(text, () => standardContent(eventId, timestamp, rawBody)) ?? []
  )
  const signatures = [...symmetric, ...asymmetric]
  return signatures.length === 0
    ? {}
    : {
        [standardIdHeader]: delivery.eventId,
        [standardTimestampHeader]: String(timestampSeconds),
        [standardSignatureHeader]: signatures.join(" ")
      }
}

/** The input of an attempt's headers. See {@link deliveryHeaders}. */
export interface DeliveryToSign {
  readonly eventId: string
  /** The moment of this attempt, milliseconds since the Unix epoch. */
  readonly nowMillis: number
  readonly rawBody: RawBody
  /**
   * The current secret, and behind it the previous one while it still signs. A text that is stored with a private key
   * signs with both.
   */
  readonly secrets: ReadonlyArray<string>
}

/**
 * The headers of one attempt (docs/platform.md, 7.2). Throws like `sign`.
 *
 * @example
 * ```ts
 * import { deliveryHeaders, makeSecret } from "sluice/webhook"
 *
 * const delivery = { eventId: "evt_1", rawBody: "{}", secrets: [makeSecret()], nowMillis: 1_700_000_000_000 }
 * console.log(deliveryHeaders(delivery)["X-PlatformWebhook-Timestamp"]) // 1700000000
 * ```
 */
export const deliveryHeaders = (delivery: DeliveryToSign): Readonly<Record<string, string>> => {
  const timestampSeconds = Math.floor(delivery.nowMillis / 1000)
  return {
    "Content-Type": "application/json",
    "User-Agent": deliveryUserAgent,
    [eventIdHeader]: delivery.eventId,
    [timestampHeader]: String(timestampSeconds),
    [signatureHeader]: sign(delivery.secrets.map(secretOf), timestampSeconds, delivery.rawBody),
    ...standardHeaders(delivery, timestampSeconds)
  }
}

/**
 * The reason not to trust a delivery. The message never contains the secret, the body or the expected signature.
 *
 * @example
 * ```ts
 * import { verifyWebhook, WebhookVerificationError } from "sluice/webhook"
 *
 * try {
 *   verifyWebhook("{}", {}, "whsec_one")
 * } catch (error) {
 *   console.log(error instanceof WebhookVerificationError && error.reason) // missing_header
 * }
 * ```
 */
export class WebhookVerificationError extends Schema.TaggedError<WebhookVerificationError>()(
  "WebhookVerificationError",
  {
    reason: Schema.Literals([
      /** A header is not there. */
      "missing_header",
      /** A header occurs more than once or is not what the platform sends. */
      "malformed_header",
      /** No signature fits the body, the timestamp and one of the secrets. */
      "signature_mismatch",
      /** Signed, but too long ago or too far ahead: perhaps a replay, perhaps a wrong clock. */
      "timestamp_outside_tolerance",
      /** Signed, but the body is no event, or its id differs from the id header. */
      "invalid_event"
    ]),
    message: Schema.String
  }
) {}

/**
 * Headers as `fetch` has them, or as `node:http` and most frameworks do. Names in any case. See {@link verifyWebhook}.
 */
export type ReceivedHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const refuse = (reason: WebhookVerificationError["reason"], message: string): never => {
  throw new WebhookVerificationError({ reason, message })
}

const isFetchHeaders = (
  headers: ReceivedHeaders
): headers is Extract<ReceivedHeaders, { readonly get: (name: string) => string | null }> =>
  typeof headers.get === "function"

const headerOf = (headers: ReceivedHeaders, name: string): string => {
  const found: Array<string> = []
  if (isFetchHeaders(headers)) {
    const value = headers.get(name)
    if (value !== null) found.push(value)
  } else {
    const lower = name.toLowerCase()
    for (const [key, value] of Object.entries(headers)) {
      if (key.toLowerCase() === lower && value !== undefined)
        found.push(...(typeof value === "string" ? [value] : value))
    }
  }
  if (found.length > 1) refuse("malformed_header", `The header ${name} is there ${found.length} times`)
  return found[0] ?? refuse("missing_header", `The header ${name} is missing`)
}

/** Parses `t=…,v1=…,v1=…`; schemes of other versions are skipped. */
const parseSignature = (header: string): { readonly timestamp: string; readonly signatures: ReadonlyArray<Buffer> } => {
  if (header.length > maximumHeaderLength)
    return refuse("malformed_header", `The header ${signatureHeader} is longer than ${maximumHeaderLength} characters`)
  let timestamp: string | undefined
  const signatures: Array<Buffer> = []
  for (const part of header.split(",")) {
    const equals = part.indexOf("=")
    const [name, value] = [part.slice(0, equals).trim(), part.slice(equals + 1).trim()]
    if (name === "t") {
      if (timestamp !== undefined) refuse("malformed_header", `The header ${signatureHeader} has two timestamps`)
      timestamp = value
    } else if (name === "v1" && /^[0-9a-f]{64}$/.test(value)) signatures.push(Buffer.from(value, "hex"))
  }
  if (timestamp === undefined || signatures.length === 0)
    return refuse("malformed_header", `The header ${signatureHeader} is not of the form t=<timestamp>,v1=<hex>`)
  return { timestamp, signatures }
}

const secretsOf = (secret: string | ReadonlyArray<string>): ReadonlyArray<string> => {
  const secrets = typeof secret === "string" ? [secret] : secret
  // An empty key would let anyone sign; that is a fault of the receiver's configuration, not of the delivery.
  if (
    secrets.length === 0 ||
    secrets.length > maximumSecrets ||
    secrets.some((one) => typeof one !== "string" || one === "")
  )
    throw new TypeError(`verifyWebhook needs 1 to ${maximumSecrets} signing secrets, none of them empty`)
  return secrets
}

/**
 * An event as a receiver sees it. Unknown types and services of a newer platform are allowed. See
 * {@link verifyWebhook}.
 */
export const ReceivedEvent = Schema.Struct({ ...Event.fields, type: Schema.String, service: Schema.String })
export type ReceivedEvent = typeof ReceivedEvent.Type

const decodeEvent = Schema.decodeUnknownSync(ReceivedEvent)

const eventOfBody = (rawBody: RawBody): ReceivedEvent => {
  try {
    const text = typeof rawBody === "string" ? rawBody : new TextDecoder("utf-8", { fatal: true }).decode(rawBody)
    return decodeEvent(JSON.parse(text))
  } catch {
    return refuse("invalid_event", "The body is signed but is no event")
  }
}

/** The id and the time of a delivery, and whether it is signed. */
interface Checked {
  readonly id: string
  readonly timestamp: string
  readonly isSigned: boolean
}

const unixSeconds = /^(?:0|[1-9][0-9]{0,14})$/

const checkShared = (rawBody: RawBody, headers: ReceivedHeaders, secrets: ReadonlyArray<string>): Checked => {
  const timestamp = headerOf(headers, timestampHeader)
  const id = headerOf(headers, eventIdHeader)
  const signed = parseSignature(headerOf(headers, signatureHeader))
  if (!unixSeconds.test(timestamp)) refuse("malformed_header", `The header ${timestampHeader} is not Unix seconds`)
  if (signed.timestamp !== timestamp)
    refuse("malformed_header", `The headers ${timestampHeader} and ${signatureHeader} differ in their timestamp`)
  let isSigned = false
  for (const one of secrets) {
    const expected = hmac(one, timestamp, rawBody)
    // The loop runs to its end, so that its time does not reveal which signature fitted.
    for (const signature of signed.signatures) isSigned = timingSafeEqual(expected, signature) || isSigned
  }
  return { id, timestamp, isSigned }
}

const checkPublic = (rawBody: RawBody, headers: ReceivedHeaders, publicKeys: ReadonlyArray<string>): Checked => {
  const id = headerOf(headers, standardIdHeader)
  const timestamp = headerOf(headers, standardTimestampHeader)
  const signatures = headerOf(headers, standardSignatureHeader)
  if (signatures.length > maximumHeaderLength)
    refuse("malformed_header", `The header ${standardSignatureHeader} is longer than ${maximumHeaderLength} characters`)
  if (!unixSeconds.test(timestamp))
    refuse("malformed_header", `The header ${standardTimestampHeader} is not Unix seconds`)
  const content = standardContent(id, timestamp, rawBody)
  return { id, timestamp, isSigned: isSignedPublic(publicKeys, signatures, content) }
}

/**
 * For receivers: checks that a delivery comes from the platform and is fresh, and gives its event (docs/platform.md,
 * 7.3).
 *
 * `rawBody` is the body before any parsing. `secret` is the whole `whsec_…`, or a list of them: during a rotation
 * either of the two fits, because both sign. In place of secrets it may be public keys, `whpk_…`, of an endpoint that
 * signs with a private key too; one list has either. `toleranceSeconds` is how far the delivery's time may be from now in
 * either direction; `Infinity` turns that check off. `nowMillis` is for tests; by default it is the system's time,
 * because a receiver has no Effect and so no Clock. The comparison takes the same time wherever signatures differ.
 *
 * Throws `WebhookVerificationError` for a delivery that is not to be trusted (answer it with 400), `TypeError` without
 * a secret and `RangeError` for a tolerance that is none. Deliveries are at least once: remember `eventId` where that
 * matters.
 *
 * @example
 * ```ts
 * import { deliveryHeaders, makeSecret, verifyWebhook } from "sluice/webhook"
 *
 * const secret = makeSecret()
 * const eventId = "evt_00040000-0001-8000-8000-0000d0000000"
 * const rawBody = JSON.stringify({
 *   eventId,
 *   type: "orders.created",
 *   service: "orders",
 *   data: { order: 7 },
 *   livemode: true,
 *   createdAt: 1_767_225_600_000
 * })
 * const headers = deliveryHeaders({ eventId, nowMillis: Date.now(), rawBody, secrets: [secret] })
 * console.log(verifyWebhook(rawBody, headers, secret).data) // { order: 7 }
 * ```
 */
export const verifyWebhook = (
  rawBody: RawBody,
  headers: ReceivedHeaders,
  secret: string | ReadonlyArray<string>,
  toleranceSeconds: number = defaultToleranceSeconds,
  nowMillis: number = Date.now()
): ReceivedEvent => {
  if (!(toleranceSeconds >= 0)) throw new RangeError("the tolerance must be a number of seconds from 0")
  const secrets = secretsOf(secret)
  const isPublic = secrets.every((one) => one.startsWith(publicKeyPrefix))
  if (!isPublic && secrets.some((one) => one.startsWith(publicKeyPrefix)))
    throw new TypeError("verifyWebhook takes signing secrets or public keys, not both in one list")
  const { id, isSigned, timestamp } = (isPublic ? checkPublic : checkShared)(rawBody, headers, secrets)
  if (!isSigned) refuse("signature_mismatch", "No signature fits the body and the timestamp")

  const offSeconds = Math.abs(Math.floor(nowMillis / 1000) - Number(timestamp))
  if (!(offSeconds <= toleranceSeconds))
    refuse("timestamp_outside_tolerance", `The delivery's time is ${offSeconds} s off, more than ${toleranceSeconds} s`)
  const event = eventOfBody(rawBody)
  if (event.eventId !== id)
    refuse(
      "invalid_event",
      `The header ${isPublic ? standardIdHeader : eventIdHeader} does not name the event of the body`
    )
  return event
}
