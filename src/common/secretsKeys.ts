/**
 * Encrypts secrets at rest, such as signing secrets of webhooks and keys of mail: AES-256-GCM under a configured key. A
 * sealed text names its key, so a new key can be put first while the earlier ones still open their texts. Pure except
 * for the nonce, needs no service.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash, type KeyObject } from "node:crypto"
import { drawBytes } from "./identifiers.ts"

/** Bytes of a key: AES-256. */
export const secretsKeyBytes = 32

/** The most configured keys. */
const maximumKeys = 8

/** Bytes of the nonce and of the tag, those that GCM is made for. */
const nonceBytes = 12
const tagBytes = 16

/** Characters of a key's id. */
const keyIdLength = 8

export interface SecretsKey {
  /** Identifies the key and reveals nothing of it. */
  readonly id: string
  readonly bytes: Buffer
  /** The same as Node takes it: each use of bare bytes costs ten times as much. */
  readonly key: KeyObject
}

/** At least one; the first seals, all open. */
export type SecretsKeys = readonly [SecretsKey, ...ReadonlyArray<SecretsKey>]

const keyOf = (bytes: Buffer): SecretsKey => ({
  id: hash("sha256", Buffer.concat([Buffer.from("sluice secrets key\n"), bytes]), "hex").slice(0, keyIdLength),
  bytes,
  key: createSecretKey(bytes)
})

const bytesOf = (text: string): Buffer | undefined => {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex")
  // 32 bytes are 43 characters, and one of padding that may be left out.
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, "base64") : undefined
}

/**
 * Reads keys separated by commas, each 32 bytes in base64, base64url or hexadecimal. Undefined when one of them is
 * malformed.
 */
export const parseSecretsKeys = (text: string): SecretsKeys | undefined => {
  const keys = text.split(",").map((one) => bytesOf(one.trim()))
  if (keys.length > maximumKeys || keys.some((bytes) => bytes?.length !== secretsKeyBytes)) return undefined
  const [first, ...others] = keys.map((bytes) => keyOf(bytes!))
  return first === undefined ? undefined : [first, ...others]
}

/** A text that was sealed. */
export interface Sealed {
  readonly keyId: string
  /** Nonce, ciphertext and tag in base64url. */
  readonly ciphertext: string
}

/**
 * Seals a text with the first key. Opening it needs the same `about`, which says what the text belongs to, so it fits
 * nowhere else.
 */
export const seal = ([key]: SecretsKeys, text: string, about: string): Sealed => {
  const nonce = drawBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key.key, nonce).setAAD(Buffer.from(about))
  const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]
  return { keyId: key.id, ciphertext: Buffer.concat(parts).toString("base64url") }
}

/** Opens what `seal` made; undefined when its key is not given, or a bit of the text or of `about` has changed. */
export const unseal = (keys: SecretsKeys, { ciphertext, keyId }: Sealed, about: string): string | undefined => {
  const key = keys.find(({ id }) => id === keyId)
  const bytes = Buffer.from(ciphertext, "base64url")
  if (key === undefined || bytes.length < nonceBytes + tagBytes) return undefined
  const decipher = createDecipheriv("aes-256-gcm", key.key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes
  })
    .setAAD(Buffer.from(about))
    .setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8")
  } catch {
    return undefined
  }
}

/** A keyed digest of a text. The last key makes it, because a new key is put first and the last one stays longest. */
export const fingerprint = (keys: SecretsKeys, text: string): string =>
  createHmac("sha256", keys.at(-1)!.key).update("sluice fingerprint\n").update(text).digest("hex")
