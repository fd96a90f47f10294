/**
 * Shares a bounded resource (slots of attempts, memory) by organization: none gets more than is still free. So one
 * organization alone has half, two have a third each, and something is always left for the next one. Pure, needs no
 * service.
 */

/** The total, and the part of it that all organizations hold together. */
export interface Stock {
  readonly capacity: number
  readonly used: number
}

/** How much more an organization may take that holds `own` of it. */
export const roomOf = (own: number, { capacity, used }: Stock): number =>
  Math.max(0, Math.ceil((capacity - used - own) / 2))

/** A stock and what each organization holds of it. */
export class Shares implements Stock {
  readonly capacity: number
  used = 0
  private readonly owned = new Map<string, number>()

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** The part that an organization holds. */
  of(organizationId: string): number {
    return this.owned.get(organizationId) ?? 0
  }

  /** How much more an organization may take. */
  roomOf(organizationId: string): number {
    return roomOf(this.of(organizationId), this)
  }

  /** Takes so much, whether there is room or not. Answers what the organization holds then. */
  take(organizationId: string, amount = 1): number {
    return this.set(organizationId, amount)
  }

  /** Gives so much back. Answers what the organization still holds. */
  give(organizationId: string, amount = 1): number {
    return this.set(organizationId, -amount)
  }

  private set(organizationId: string, change: number): number {
    const own = this.of(organizationId) + change
    this.used += change
    if (own === 0) this.owned.delete(organizationId)
    else this.owned.set(organizationId, own)
    return own
  }
}
