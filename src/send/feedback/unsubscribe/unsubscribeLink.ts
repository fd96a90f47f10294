/**
 * Makes and reads the links by which a recipient leaves an account's mail (docs/platform.md, 9.15). A link names
 * account and address, encrypted: it shows neither, cannot be forged, and is valid as long as its key is configured.
 * Pure but for the nonce.
 */
import { type SecretsKeys, seal, unseal } from "../../../common/secretsKeys.ts"
import { type Mode, modes } from "../../account/actors/index.ts"

/** The recipient that leaves, and the account that it leaves. */
export interface Unsubscription {
  readonly organizationId: string
  readonly mode: Mode
  readonly address: string
}

export const unsubscribePath = "/unsubscribe"

const about = "unsubscribe link"

/** Longest token that is looked at: an address has at most 320 characters. */
const maximumTokenLength = 1_000

/** The link's path and query. */
export const unsubscribeLink = (keys: SecretsKeys, { address, mode, organizationId }: Unsubscription): string => {
  const { ciphertext, keyId } = seal(keys, JSON.stringify([organizationId, mode, address]), about)
  return `${unsubscribePath}?token=${keyId}.${ciphertext}`
}

/** Reads a link's token; undefined if it was not made with one of these keys. */
export const readUnsubscribeToken = (keys: SecretsKeys, token: string): Unsubscription | undefined => {
  const [, keyId, ciphertext] = /^([0-9a-f]+)\.([\w-]+)$/.exec(token.slice(0, maximumTokenLength)) ?? []
  const text = keyId === undefined ? undefined : unseal(keys, { keyId, ciphertext: ciphertext! }, about)
  if (text === undefined) return undefined
  // Only `unsubscribeLink` seals such a text.
  const [organizationId, given, address] = JSON.parse(text) as readonly [string, Mode, string]
  return { organizationId, mode: modes.find((mode) => mode === given) ?? "live", address }
}
