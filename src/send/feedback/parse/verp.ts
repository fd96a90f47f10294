/**
 * Makes and reads return paths that name the email and the recipient (variable envelope return paths), authenticated,
 * so that nobody can forge a bounce: `bounce+<token>@<domain>`. The token is the email's id, the recipient's index and
 * 80 bits of an HMAC-SHA256 over both, in base32, because mail systems change the case of local parts. Pure.
 */
import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto"
import { InvalidArgument } from "../../../limits/errors.ts"

/** The email and the recipient that a return path names. See {@link verpOf}. */
export interface VerpTarget {
  /** The email's id: a UUID in lower case, or up to 32 letters, digits, `-` and `_`. */
  readonly emailId: string
  /** The recipient's place among those of the email, from 0 to 255. */
  readonly recipientIndex: number
}

const localPrefix = "bounce+"
/** Octets of a local part (RFC 5321, 4.5.3.1.1). */
const maximumLocalLength = 64
const maximumTokenLength = maximumLocalLength - localPrefix.length
const minimumKeyBytes = 16
const macBytes = 10
const indexBits = 8
const maximumIdLength = 32

const digits = "abcdefghijklmnopqrstuvwxyz234567"
const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const uuidBits = 128

const bitsOf = (value: number, length: number): string => value.toString(2).padStart(length, "0")
const bitsOfBytes = (bytes: Uint8Array): string => [...bytes].map((byte) => bitsOf(byte, 8)).join("")
const bytesOf = (bits: string): Buffer =>
  Buffer.from(Array.from({ length: bits.length / 8 }, (_, at) => Number.parseInt(bits.slice(at * 8, at * 8 + 8), 2)))

/** An id in bits, behind one that tells a UUID (1) from other text (0). */
const bitsOfId = (id: string): string =>
  uuid.test(id)
    ? `1${bitsOfBytes(Buffer.from(id.replaceAll("-", ""), "hex"))}`
    : `0${[...id].map((character) => bitsOf(idCharacters.indexOf(character), 6)).join("")}`

const idOf = (bits: string): string => {
  if (bits.startsWith("1")) {
    return bytesOf(bits.slice(1))
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
  }
  return Array.from(
    { length: (bits.length - 1) / 6 },
    (_, at) => idCharacters[Number.parseInt(bits.slice(1 + at * 6, 7 + at * 6), 2)]
  ).join("")
}

const macOf = (key: Uint8Array, { emailId, recipientIndex }: VerpTarget): Buffer =>
  createHmac("sha256", createSecretKey(key))
    .update(`sluice return path\n${emailId}\n${recipientIndex}`)
    .digest()
    .subarray(0, macBytes)

const checkKey = (key: Uint8Array): void => {
  if (key.length < minimumKeyBytes) {
    throw new InvalidArgument({
      argument: "key",
      message: `key has ${key.length} bytes, and must have at least ${minimumKeyBytes}.`
    })
  }
}

/**
 * The return path for one recipient of an email (docs/send.md, 2.10). Throws `InvalidArgument` for an id or an index
 * that `VerpTarget` does not allow, and for a key of less than 16 bytes.
 *
 * @example
 * ```ts
 * import { verpOf } from "sluice/send"
 *
 * const key = Buffer.from("32 bytes of the system's secrets")
 * console.log(verpOf({ emailId: "em_1", recipientIndex: 0 }, "bounces.one.test", key)) // bounce+hu37vaahanlkjsru6zlmuya@bounces.one.test
 * ```
 */
export const verpOf = (target: VerpTarget, domain: string, key: Uint8Array): string => {
  const { emailId, recipientIndex } = target
  checkKey(key)
  if (!uuid.test(emailId) && !(/^[\w-]+$/.test(emailId) && emailId.length <= maximumIdLength)) {
    throw new InvalidArgument({
      argument: "emailId",
      message: `emailId is ${JSON.stringify(emailId)}, and must be a UUID or 1 to ${maximumIdLength} letters, digits, - and _.`
    })
  }
  if (!Number.isInteger(recipientIndex) || recipientIndex < 0 || recipientIndex >= 2 ** indexBits) {
    throw new InvalidArgument({
      argument: "recipientIndex",
      message: `recipientIndex is ${recipientIndex}, and must be a whole number from 0 to 255.`
    })
  }
  const bits = `${bitsOfId(emailId)}${bitsOf(recipientIndex, indexBits)}${bitsOfBytes(macOf(key, target))}`
  const token = (bits.match(/.{1,5}/g) ?? []).map((five) => digits[Number.parseInt(five.padEnd(5, "0"), 2)]).join("")
  return `${localPrefix}${token}@${domain}`
}

/**
 * Bits before the index, where a token of this many bits can be: an id has whole characters, and fewer than five bits
 * pad a token.
 */
const idBitsOf = (bits: string): number | null => {
  const room = bits.length - indexBits - macBytes * 8
  const length = bits.startsWith("1") ? 1 + uuidBits : 1 + Math.floor((room - 1) / 6) * 6
  return length > 1 && length <= room && room - length < 5 ? length : null
}

/**
 * The email and the recipient that a return path names; null where `verpOf` did not make it under this key. The domain
 * is not looked at: the caller takes mail for its own alone. The case of the address does not matter. Throws
 * `InvalidArgument` for a key of less than 16 bytes.
 *
 * @example
 * ```ts
 * import { readVerp, verpOf } from "sluice/send"
 *
 * const key = Buffer.from("32 bytes of the system's secrets")
 * const address = verpOf({ emailId: "em_1", recipientIndex: 0 }, "bounces.one.test", key)
 * console.log(readVerp(address, key), readVerp(`x${address}`, key)) // { emailId: 'em_1', recipientIndex: 0 } null
 * ```
 */
export const readVerp = (address: string, key: Uint8Array): VerpTarget | null => {
  checkKey(key)
  const at = address.lastIndexOf("@")
  if (at <= localPrefix.length || at > maximumLocalLength) return null
  const local = address.slice(0, at).toLowerCase()
  if (!local.startsWith(localPrefix)) return null
  const values = [...local.slice(localPrefix.length)].map((digit) => digits.indexOf(digit))
  if (values.length > maximumTokenLength || values.includes(-1)) return null
  const bits = values.map((value) => bitsOf(value, 5)).join("")
  const idBits = idBitsOf(bits)
  if (idBits === null) return null
  const macFrom = idBits + indexBits
  const macTo = macFrom + macBytes * 8
  const target = {
    emailId: idOf(bits.slice(0, idBits)),
    recipientIndex: Number.parseInt(bits.slice(idBits, macFrom), 2)
  }
  const isGenuine = timingSafeEqual(bytesOf(bits.slice(macFrom, macTo)), macOf(key, target))
  // Padding is zero, so that a return path has one spelling.
  return isGenuine && !bits.slice(macTo).includes("1") ? target : null
}
