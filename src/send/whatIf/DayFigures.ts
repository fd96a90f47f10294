/** Counts what became of requests by UTC day. Pure, but for the counts it keeps. */
import { dayMillis } from "../limits.ts"
import type { SendRejection } from "../rules/rejections.ts"

/** The reasons for which a request is refused. */
export type RefusalCode = SendRejection["code"]

/** The figures of a day. Emails, unless said otherwise. */
export interface DayFigure {
  /** The day, such as `2026-11-28`. */
  readonly day: string
  readonly requests: number
  readonly accepted: number
  /** Refused emails by the reason. */
  readonly refused: Readonly<Partial<Record<RefusalCode, number>>>
  /** Accepted emails that had to wait for a cap or a pause. */
  readonly held: number
  /** The time that emails waited which were released on this day: the median and the longest, milliseconds. */
  readonly heldMillis: { readonly median: number; readonly longest: number } | null
  /** The largest part of a limit that was used, in hundredths; null where none was in force. */
  readonly monthUsed: number | null
  readonly probationUsed: number | null
}

interface Counts {
  requests: number
  accepted: number
  refused: Partial<Record<RefusalCode, number>>
  held: number
  waited: Array<number>
  monthUsed: number | null
  probationUsed: number | null
}

/** The UTC day of an instant. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

const percent = (used: number, limit: number): number | null =>
  Number.isFinite(limit) ? Math.round((100 * used) / Math.max(1, limit)) : null

const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other)

export class DayFigures {
  private readonly days = new Map<number, Counts>()

  private at(at: number): Counts {
    const day = Math.floor(at / dayMillis)
    let counts = this.days.get(day)
    if (counts === undefined) {
      counts = { requests: 0, accepted: 0, refused: {}, held: 0, waited: [], monthUsed: null, probationUsed: null }
      this.days.set(day, counts)
    }
    return counts
  }

  accepted(at: number, emails: number): void {
    const counts = this.at(at)
    counts.requests++
    counts.accepted += emails
  }

  refused(at: number, emails: number, code: RefusalCode): void {
    const counts = this.at(at)
    counts.requests++
    counts.refused[code] = (counts.refused[code] ?? 0) + emails
  }

  held(at: number, emails: number): void {
    if (emails > 0) this.at(at).held += emails
  }

  released(at: number, waitedMillis: number): void {
    this.at(at).waited.push(waitedMillis)
  }

  /** Takes note of how much of a limit is used. */
  used(at: number, what: "monthUsed" | "probationUsed", used: number, limit: number): void {
    const counts = this.at(at)
    counts[what] = larger(counts[what], percent(used, limit))
  }

  /** The days in order, from the one of an instant on. */
  list(since: number): ReadonlyArray<DayFigure> {
    return [...this.days]
      .filter(([day]) => day >= Math.floor(since / dayMillis))
      .sort(([one], [other]) => one - other)
      .map(([day, { waited, ...counts }]) => {
        const sorted = waited.sort((one, other) => one - other)
        const longest = sorted.at(-1)
        const heldMillis =
          longest === undefined ? null : { median: sorted[Math.floor((sorted.length - 1) / 2)]!, longest }
        return { day: dayOf(day * dayMillis), ...counts, heldMillis }
      })
  }
}
