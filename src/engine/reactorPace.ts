/**
 * Decides when a reactor's next transaction may begin (docs/architecture.md, rule 11). A transaction costs much by
 * itself and little by record, so under load fewer and larger ones leave more for other work. The pace is a budget of
 * time: it grows by a share of the passing time, and each transaction spends its duration. A reactor with little to do
 * never spends it all and never waits; a busy one waits after each transaction, longer after a longer one, as when the
 * process or the database is busy. Pure: times come in.
 */

/** The share of time that a reactor's transactions may take. See {@link Reactor.adaptive}. */
export interface Pace {
  /**
   * The share of time that transactions may take while there is always work, above 0 and up to 1. With 1 none ever
   * waits.
   */
  readonly share: number
  /** Most time that a reactor with little to do can save up for transactions, milliseconds. */
  readonly burstMillis: number
  /** The longest wait, milliseconds. */
  readonly maximumWaitMillis: number
}

/**
 * No pace: a transaction begins as soon as there is work.
 *
 * @example
 * ```ts
 * import { Reactor } from "sluice"
 *
 * export const watched = Reactor.make({
 *   name: "watched",
 *   pace: Reactor.immediate,
 *   parts: [Reactor.events(["orders.*"], (records) => Reactor.onCommit(() => console.log(records.length)))]
 * })
 * ```
 */
export const immediate: Pace = { share: 1, burstMillis: 0, maximumWaitMillis: 0 }

/**
 * The pace of a reactor that names none.
 *
 * @example
 * ```ts
 * import { Reactor } from "sluice"
 *
 * // the default with twice the share
 * export const eager: Reactor.Pace = { ...Reactor.adaptive, share: 1 }
 * console.log(Reactor.adaptive) // { share: 0.5, burstMillis: 50, maximumWaitMillis: 50 }
 * ```
 */
export const adaptive: Pace = { share: 0.5, burstMillis: 50, maximumWaitMillis: 50 }

/** The rest of a reactor's budget. */
export interface Budget {
  /** Time that transactions may still take, milliseconds; below 0 the reactor waits. */
  readonly millis: number
  /** The time of this figure, monotonic milliseconds. */
  readonly at: number
}

export const fullBudget = (pace: Pace, at: number): Budget => ({ millis: pace.burstMillis, at })

/** The budget after a transaction. One transaction costs at most the longest wait. */
export const spend = (pace: Pace, budget: Budget, begunAt: number, endedAt: number): Budget => {
  const grown = Math.min(pace.burstMillis, budget.millis + Math.max(0, endedAt - budget.at) * pace.share)
  const left = grown - Math.max(0, endedAt - begunAt)
  return { millis: Math.max(left, -pace.maximumWaitMillis * pace.share), at: endedAt }
}

/** How long the next transaction has to wait from now on, milliseconds; 0 when it may begin. */
export const waitMillis = (pace: Pace, budget: Budget, now: number): number => {
  if (budget.millis >= 0 || pace.share >= 1) return 0
  const due = budget.at - budget.millis / pace.share
  return Math.min(Math.max(0, due - now), pace.maximumWaitMillis)
}

/** Says why a pace cannot work; undefined when it can. */
export const paceProblem = ({ burstMillis, maximumWaitMillis, share }: Pace): string | undefined => {
  if (!(share > 0 && share <= 1)) return `its share must be above 0 and at most 1, not ${share}`
  if (!(burstMillis >= 0 && Number.isFinite(burstMillis)))
    return `its burstMillis must be at least 0, not ${burstMillis}`
  if (!(maximumWaitMillis >= 0 && maximumWaitMillis <= longestWaitMillis))
    return `its maximumWaitMillis must be from 0 to ${longestWaitMillis}, not ${maximumWaitMillis}`
  return undefined
}

/** The longest wait that a pace may have, milliseconds: reactors that wait keep frames in memory. */
export const longestWaitMillis = 1_000
