/**
 * Encrypts the terms of a search under the data key of their organization (docs/platform.md, 9.20): equal terms of one
 * organization have equal digests, and without its key nobody tells what they say. Pure.
 */
import { createCipheriv, createSecretKey, hkdfSync, type KeyObject } from "node:crypto"
import { blocksOf, termBytes } from "./searchTerms.ts"

/** AES-256: terms are single blocks, so the whole list is one call of the cipher. */
const algorithm = "aes-256-ecb"
const digestKeyBytes = 32

/** Keys of digests, by the data keys that they come from. */
const derived = new WeakMap<KeyObject, KeyObject>()

/** A key of its own, so that a digest says nothing about contents. */
const digestKeyOf = (dataKey: KeyObject): KeyObject => {
  const found = derived.get(dataKey)
  if (found !== undefined) return found
  const made = createSecretKey(Buffer.from(hkdfSync("sha256", dataKey, "", "sluice search terms", digestKeyBytes)))
  derived.set(dataKey, made)
  return made
}

/** A digest for each term, in order: 32 bits, so that few terms share one. */
export const termDigests = (dataKey: KeyObject, terms: ReadonlyArray<string>): ReadonlyArray<number> => {
  if (terms.length === 0) return []
  const cipher = createCipheriv(algorithm, digestKeyOf(dataKey), null).setAutoPadding(false)
  const blocks = cipher.update(blocksOf(terms))
  return terms.map((_, index) => blocks.readInt32LE(index * termBytes))
}
