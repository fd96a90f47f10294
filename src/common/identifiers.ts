/**
 * Random identifiers and keys: letters and digits from the system's secure source. Not through Effect's `Random`,
 * which is predictable by design; nothing that a simulation replays depends on these.
 */
import { hash, randomBytes } from "node:crypto"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** 22 characters of 62 are 131 bits, above the 128 that the decisions ask of a key. */
const identifierLength = 22
/** Bytes below this are an even number of alphabets, so that every character is equally likely. */
const unbiased = 256 - (256 % alphabet.length)

/** `length` characters of the alphabet, each equally likely. */
export const randomText = (length: number = identifierLength): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < unbiased && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

/** The digest under which a key is stored and looked up: SHA-256, hexadecimal. */
export const keyDigest = (key: string): string => hash("sha256", key, "hex")
