/** Hashes the names of idempotency keys for tables and filters in memory. It is stored nowhere. Pure. */

/** 32 well mixed bits (the last step of MurmurHash3). */
const mixed = (bits: number): number => {
  let hash = bits
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

export class KeyHash {
  /** Two halves of the hash of the last name. */
  first = 0
  second = 0
  private organizationHash = 0
  private key: string | undefined = undefined

  set(first: number, second: number): this {
    this.key = undefined
    this.first = first
    this.second = second
    return this
  }

  /** Hashes a key of an organization, whose own hash is given. */
  of(organizationHash: number, key: string): this {
    // A key is usually looked up, not found, and added.
    if (key === this.key && organizationHash === this.organizationHash) return this
    let one = organizationHash
    let other = ~organizationHash
    for (let index = 0; index < key.length; index++) {
      const unit = key.charCodeAt(index)
      one = Math.imul(one ^ unit, 0x01000193)
      other = Math.imul(other ^ unit, 0x85ebca6b)
    }
    this.set(mixed(one), mixed(other))
    this.organizationHash = organizationHash
    this.key = key
    return this
  }
}
