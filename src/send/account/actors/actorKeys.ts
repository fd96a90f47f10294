/**
 * Names the actors of an account. An organization has two accounts, live and test, whose actors share no counter, so
 * every key begins with the mode or belongs to an email, whose id is used once. Pure.
 */
import { hash } from "node:crypto"
import { suppressionBuckets } from "../../limits.ts"
import { domainKey, domainOf } from "../../rules/domainKey.ts"

/** The account of live keys, and that of test keys. An account actor's key. See {@link Admission}. */
export const modes = ["live", "test"] as const
/** Which of an organization's two accounts. See {@link Admission}. */
export type Mode = (typeof modes)[number]

/** The organization's other account. */
export const otherMode = (mode: Mode): Mode => (mode === "live" ? "test" : "live")

const withoutName = (address: string): string => address.slice(address.lastIndexOf("<") + 1)

const withDomain = (bare: string, domain: string): string =>
  `${bare.slice(0, bare.lastIndexOf("@")).trim().toLowerCase()}@${domain}`

/** An address without a name around it, in lower case, its domain in punycode. */
export const bareAddress = (address: string): string => {
  const bare = withoutName(address)
  return withDomain(bare, domainOf(bare))
}

/** The names that the sender of a `from` may have: its domain, then its address. */
export const namesOf = (from: string): readonly [domain: string, address: string] => {
  const bare = withoutName(from)
  const domain = domainOf(bare)
  return [senderName(domain), senderName(withDomain(bare, domain))]
}

/**
 * The name under which states and facts keep a sender, a domain or a bare address: itself where it is short, else a
 * digest.
 */
export const senderName = (sender: string): string => domainKey(sender)

/** The key of a sender by its name. */
export const senderKey = (mode: Mode, name: string): string => `${mode}/${name}`

/** The mode and the sender's name in a key. */
export const partsOfSender = (key: string): readonly [mode: Mode, name: string] => {
  const slash = key.indexOf("/")
  // Only `senderKey` makes keys of senders.
  return [key.slice(0, slash) as Mode, key.slice(slash + 1)]
}

/** The key of a page of cancelled places. */
export const pageKey = (sender: string, page: number): string => `${sender}/${page}`

/** The place of a suppressed address: the key of its bucket, and its entry there. */
export interface SuppressionPlace {
  readonly key: string
  readonly entry: string
}

/** Characters of an entry: 66 bits of a hash, behind the 8 that choose the bucket. */
export const entryLength = 11

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** The bucket that the first characters of a hash choose. */
const bucketOf = (digest: string): number =>
  ((alphabet.indexOf(digest[0] as string) << 2) | (alphabet.indexOf(digest[1] as string) >> 4)) % suppressionBuckets

/**
 * The place of an address in an account's suppression list. The hash is of organization and mode as well, so that lists
 * of two accounts do not show that they have an address in common.
 */
export const suppressionPlace = (organization: string, mode: Mode, address: string): SuppressionPlace => {
  const digest = hash("sha256", `${organization}\n${mode}\n${bareAddress(address)}`, "base64url")
  return { key: `${mode}/${bucketOf(digest)}`, entry: digest.slice(2, 2 + entryLength) }
}
