/**
 * Every decision that was asked for: what it should have done, and what its callers were told. Compact, because a long run
 * makes a million of them.
 */

/** What a caller knows of a decision, from the least to the most. */
export const known = {
  /** Every answer said that nothing was stored, or it was never asked. */
  refused: 0,
  /** It may be stored. */
  unknown: 1,
  /** It is stored. */
  acknowledged: 2
} as const
export type Known = (typeof known)[keyof typeof known]

/** Errors after which surely nothing of the ask is stored (the engine's own words). */
const nothingStored = new Set(["Overloaded", "PartitionMoved", "PartitionUnavailable"])

/** What an answer with this error leaves known. */
export const knownAfter = (error: string): Known => (nothingStored.has(error) ? known.refused : known.unknown)

const transferFlag = 4
const announceFlag = 8
const knownMask = 3

const firstCapacity = 65_536

export interface Decision {
  readonly organization: string
  readonly transfer: boolean
  readonly announce: boolean
}

export class Decisions {
  /** Organizations by their number. */
  readonly organizations: Array<string> = []
  private readonly numbers = new Map<string, number>()
  private flags = new Uint8Array(firstCapacity)
  private places = new Int32Array(firstCapacity)
  count = 0

  /** The number of a new decision. */
  add({ announce, organization, transfer }: Decision): number {
    const decision = this.count++
    if (decision === this.flags.length) {
      const flags = new Uint8Array(decision * 2)
      flags.set(this.flags)
      this.flags = flags
      const places = new Int32Array(decision * 2)
      places.set(this.places)
      this.places = places
    }
    let place = this.numbers.get(organization)
    if (place === undefined) {
      place = this.organizations.push(organization) - 1
      this.numbers.set(organization, place)
    }
    this.places[decision] = place
    this.flags[decision] = (transfer ? transferFlag : 0) | (announce ? announceFlag : 0)
    return decision
  }

  get(decision: number): Decision {
    const flags = this.flags[decision]!
    return {
      organization: this.organizations[this.places[decision]!]!,
      transfer: (flags & transferFlag) !== 0,
      announce: (flags & announceFlag) !== 0
    }
  }

  /** Records that a decision has: its facts and its event. */
  recordsOf(decision: number): number {
    const flags = this.flags[decision]!
    return 1 + ((flags & transferFlag) === 0 ? 0 : 1) + ((flags & announceFlag) === 0 ? 0 : 1)
  }

  knownOf(decision: number): Known {
    return (this.flags[decision]! & knownMask) as Known
  }

  /** Knowledge only grows: what one answer did not know another does. */
  learn(decision: number, what: Known): void {
    if (what > this.knownOf(decision)) this.flags[decision] = (this.flags[decision]! & ~knownMask) | what
  }
}
