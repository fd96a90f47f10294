/**
 * Makes random identifiers and keys: letters and digits from the system's secure source. Effect's `Random` is
 * predictable by design, so it is not used here. Nothing that a simulation replays depends on these.
 */
import { hash, randomBytes } from "node:crypto"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** 22 characters of 62 hold 131 bits (docs/platform.md, 2.3); a key must have at least 128. */
const identifierLength = 22
/** Bytes below this cover the alphabet a whole number of times, so that every character is equally likely. */
const unbiased = 256 - (256 % alphabet.length)

/** Bytes taken from the system in one call: a call for each identifier would cost a twentieth of a small request. */
const drawnBytes = 4_096
let drawn = Buffer.alloc(0)
let next = 0

/** One more byte of the system's secure source. Each is used once and wiped from the reserve. */
const randomByte = (): number => {
  if (next === drawn.length) {
    drawn = randomBytes(drawnBytes)
    next = 0
  }
  const byte = drawn[next]!
  drawn[next++] = 0
  return byte
}

/** Bytes of the system's secure source, for a nonce. */
export const drawBytes = (length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at++) bytes[at] = randomByte()
  return bytes
}

/** `length` characters of the alphabet, each equally likely. */
export const randomText = (length: number = identifierLength): string => {
  let text = ""
  while (text.length < length) {
    const byte = randomByte()
    if (byte < unbiased) text += alphabet[byte % alphabet.length]
  }
  return text
}

/** The digest under which a key is stored and looked up: SHA-256, hexadecimal. */
export const keyDigest = (key: string): string => hash("sha256", key, "hex")
