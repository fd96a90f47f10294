/**
 * Signs deliveries with a private key, so that a receiver needs no secret: `v1a` of Standard Webhooks, which is Ed25519
 * (docs/platform.md, 6.11 and 7.3). A private key is stored behind its signing secret, in one text. Needs no service.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signWith,
  verify as verifyWith
} from "node:crypto"
import { BoundedMap } from "../../common/BoundedMap.ts"

/** The prefix of a public key. See {@link verifyWebhook}. */
export const publicKeyPrefix = "whpk_"

/** The prefix of a private key: its seed and its public key follow, in base64. */
const privateKeyPrefix = "whsk_"

/** Bytes of a seed, and of a public key. */
const keyBytes = 32

/** Private keys that are kept ready: to make one from its text takes as long as to sign. */
const maximumReadyKeys = 1_000

const ready = new BoundedMap<string, KeyObject>(maximumReadyKeys)

/** A signing secret with a new private key behind it. */
export const withKeyPair = (secret: string): string => {
  const { d = "", x = "" } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" })
  const bytes = Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")])
  return `${secret} ${privateKeyPrefix}${bytes.toString("base64")}`
}

const privateKeyAt = (text: string): number => text.indexOf(` ${privateKeyPrefix}`)

/** The signing secret of a stored text. */
export const secretOf = (text: string): string => {
  const at = privateKeyAt(text)
  return at < 0 ? text : text.slice(0, at)
}

const privateBytesOf = (text: string): Buffer | undefined => {
  const at = privateKeyAt(text)
  return at < 0 ? undefined : Buffer.from(text.slice(at + 1 + privateKeyPrefix.length), "base64")
}

/** The public key of a stored text, `whpk_…`; null where only the secret signs. */
export const publicKeyOf = (text: string): string | null => {
  const bytes = privateBytesOf(text)
  return bytes === undefined ? null : `${publicKeyPrefix}${bytes.subarray(keyBytes).toString("base64")}`
}

const privateKeyOf = (text: string): KeyObject | undefined => {
  const known = ready.get(text)
  if (known !== undefined) return known
  const bytes = privateBytesOf(text)
  if (bytes === undefined) return undefined
  const [d, x] = [bytes.subarray(0, keyBytes), bytes.subarray(keyBytes)].map((part) => part.toString("base64url"))
  const key = createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", d: d!, x: x! }, format: "jwk" })
  ready.set(text, key)
  return key
}

/** `v1a,<base64>` of the signed content; undefined, without a look at it, where the text has no private key. */
export const signPublic = (text: string, content: () => Uint8Array): string | undefined => {
  const key = privateKeyOf(text)
  return key && `v1a,${signWith(null, content(), key).toString("base64")}`
}

/** Whether one of the signatures of a header is of the content and one of the public keys. Throws for no public key. */
export const isSignedPublic = (publicKeys: ReadonlyArray<string>, header: string, content: Uint8Array): boolean => {
  const keys = publicKeys.map((text) => {
    const bytes = Buffer.from(text.slice(publicKeyPrefix.length), "base64")
    if (bytes.length !== keyBytes)
      throw new TypeError(`a public key is ${publicKeyPrefix} and ${keyBytes} bytes in base64`)
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") }, format: "jwk" })
  })
  return header
    .split(" ")
    .filter((one) => one.startsWith("v1a,"))
    .some((one) => keys.some((key) => verifyWith(null, content, key, Buffer.from(one.slice(4), "base64"))))
}
