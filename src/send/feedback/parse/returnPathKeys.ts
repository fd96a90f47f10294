/**
 * Derives the keys of return paths from the keys under which secrets are stored. With a new first key, new return paths
 * are made by it, and the earlier ones stay readable. Pure.
 */
import { createHmac } from "node:crypto"
import type { SecretsKeys } from "../../../common/secretsKeys.ts"
import { readVerp, type VerpTarget } from "./verp.ts"

/** The first makes return paths, all read them. */
export type ReturnPathKeys = readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]

export const returnPathKeys = ([first, ...others]: SecretsKeys): ReturnPathKeys => {
  const derived = ({ bytes }: { readonly bytes: Buffer }) =>
    createHmac("sha256", bytes).update("sluice return paths\n").digest()
  return [derived(first), ...others.map(derived)]
}

/** Reads a return path that was made with one of these keys; null for any other address. */
export const readReturnPath = (address: string, keys: ReturnPathKeys): VerpTarget | null => {
  for (const key of keys) {
    const target = readVerp(address, key)
    if (target !== null) return target
  }
  return null
}
