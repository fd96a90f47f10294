/**
 * Names actors and their places: an actor is a key of a kind in an organization; an organization lives in one partition
 * (docs/architecture.md, "The way of a command"). Pure, needs no service.
 */

/** The name of one actor. `key` is empty for a kind of which an organization has one. See {@link Actor.make}. */
export interface ActorAddress {
  readonly organization: string
  readonly kind: string
  readonly key: string
}

/** The longest organization, kind or key, in UTF-16 units. */
export const maximumNameLength = 256

/** The order in which timers of the same instant fire: organization, kind, key, each by UTF-16 code units. */
export const compareAddresses = (left: ActorAddress, right: ActorAddress): number =>
  compareStrings(left.organization, right.organization) ||
  compareStrings(left.kind, right.kind) ||
  compareStrings(left.key, right.key)

const compareStrings = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** The order in which keys are listed: by their UTF-8 bytes, as stores order them. */
export const compareKeys = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right))

/** The order in which stores list actors: organization, kind, key, each by its UTF-8 bytes. */
export const compareByBytes = (left: ActorAddress, right: ActorAddress): number =>
  compareKeys(left.organization, right.organization) ||
  compareKeys(left.kind, right.kind) ||
  compareKeys(left.key, right.key)

/** `kind organization key`, for messages to people. */
export const formatAddress = (address: ActorAddress): string =>
  address.key === ""
    ? `${address.kind} of ${address.organization}`
    : `${address.kind} ${address.key} of ${address.organization}`

const encoder = new TextEncoder()

/** FNV-1a, 32 bits, over the UTF-8 bytes: the hash of NATS's deterministic `partition(P, n)` mapping. */
export const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) return fnv1aOfBytes(encoder.encode(text))
    hash = Math.imul(hash ^ unit, 0x01000193)
  }
  return hash >>> 0
}

const fnv1aOfBytes = (bytes: Uint8Array): number => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/**
 * The partition of an organization, 0 to `partitions - 1`. Equals NATS's `partition(partitions, 1)` of a subject
 * token.
 */
export const partitionOf = (organization: string, partitions: number): number => fnv1a(organization) % partitions

/**
 * Whether a name can be one token of a NATS subject, as organizations must be: visible ASCII without dot, asterisk, `>`
 * and blanks.
 */
export const isSubjectToken = (name: string): boolean =>
  name.length > 0 && name.length <= maximumNameLength && /^[!-)+-\-/-=?-~]+$/.test(name)

/** The actor that an ask is for. See {@link Engine.Engine}. */
export interface Target {
  readonly organization: string
  /** Empty for a kind of which an organization has one. */
  readonly key?: string
  /** Claims that the actor has had no fact yet, so that it need not be loaded (docs/architecture.md, rule 20). */
  readonly fresh?: boolean
}
