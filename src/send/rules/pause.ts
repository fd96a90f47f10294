/**
 * Decides whether to pause an account on probation (docs/platform.md, 9.4): for bounces of its first emails, a
 * complaint about one of them, a spike, or risky content. "First" is by order of acceptance since probation began,
 * whenever the bounce comes. This rule only says so; the trust stage pauses the account. Pure.
 */
import * as Rolling from "../../limits/rollingRules.ts"
import {
  firstEmailsForBounces,
  firstEmailsForComplaints,
  pausingBounces,
  pausingSignals,
  signalsMillis,
  spikeEmails,
  spikeFactor,
  spikeHours,
  spikeWarning
} from "../limits.ts"
import { type Decider, decided } from "./decider.ts"
import { addHour, emptyHours, type HoursState, hourOf, sumHours } from "./hours.ts"

/** The reasons for which an account is paused. See {@link pauseTriggers}. */
export const pauseReasons = ["bounces", "complaint", "spike", "risky_content"] as const
/** The reason why an account is paused. See {@link pauseTriggers}. */
export type PauseReason = (typeof pauseReasons)[number]

/** The state of the triggers in a probation. See {@link pauseTriggers}. */
export interface PauseState {
  /** Ids of the first 100 emails, in the order of their acceptance. */
  readonly first: ReadonlyArray<string>
  /** Bit n says that email n of `first` has bounced; the first 25 only. */
  readonly bounced: number
  /** Accepted emails by hour. */
  readonly accepted: HoursState
  /** The UTC hour of the first email; null before it. */
  readonly firstHour: number | null
  readonly signals: Rolling.RollingState
}

/** A command of the triggers. See {@link pauseTriggers}. */
export type PauseCommand =
  /**
   * Emails that are accepted now. `lastHour`: emails accepted in the hour that ends now, these included. `signals`:
   * their risky signals.
   */
  | {
      readonly _tag: "Accept"
      readonly emails: ReadonlyArray<string>
      readonly signals: number
      readonly lastHour: number
    }
  /** A permanent bounce of an email; a second one of the same email counts no more. */
  | { readonly _tag: "Bounce"; readonly email: string }
  | { readonly _tag: "Complain"; readonly email: string }
  /** Probation begins again after a pause, or is over: nothing of before counts. */
  | { readonly _tag: "Restart" }

/** A fact of the triggers. See {@link pauseTriggers}. */
export type PauseFact =
  /** `first`: the ids of those that are among the first 100. */
  | {
      readonly _tag: "Accepted"
      readonly at: number
      readonly emails: number
      readonly first: ReadonlyArray<string>
      readonly signals: number
    }
  | { readonly _tag: "Bounced"; readonly at: number; readonly email: string }
  | { readonly _tag: "Restarted"; readonly at: number }

/** The figures from which on an account is paused. See {@link pauseTriggersBy}. */
export interface PauseFigures {
  /** Bounced emails among the first 25. */
  readonly bounces: number
  /** Whether a complaint about one of the first 100 pauses. */
  readonly complaints: boolean
  /** The least emails of a spike, and the multiple of the mean of the hours before. */
  readonly spikeEmails: number
  readonly spikeFactor: number
  /** Risky signals in 24 hours. */
  readonly signals: number
}

/** The figures in force (docs/platform.md, 9.4). See {@link pauseTriggersBy}. */
export const pauseFigures: PauseFigures = {
  bounces: pausingBounces,
  complaints: true,
  spikeEmails,
  spikeFactor,
  signals: pausingSignals
}

/** The reason to pause the account; null if there is none. See {@link pauseTriggers}. */
export interface PauseAnswer {
  readonly pause: PauseReason | null
}

const initialState: PauseState = {
  first: [],
  bounced: 0,
  accepted: emptyHours(1),
  firstHour: null,
  signals: Rolling.initial
}

const bouncedBit = (state: PauseState, email: string): number => {
  const place = state.first.indexOf(email)
  return place === -1 || place >= firstEmailsForBounces ? 0 : 1 << place
}

const bitsOf = (mask: number): number => {
  let bits = 0
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits++
  return bits
}

const evolve = (state: PauseState, fact: PauseFact): PauseState => {
  switch (fact._tag) {
    case "Accepted":
      return {
        ...state,
        first: fact.first.length === 0 ? state.first : [...state.first, ...fact.first],
        accepted: addHour(state.accepted, fact.at, 0, fact.emails),
        firstHour: state.firstHour ?? hourOf(fact.at),
        signals:
          fact.signals === 0 ? state.signals : Rolling.record(state.signals, signalsMillis, fact.signals, fact.at)
      }
    case "Bounced":
      return { ...state, bounced: state.bounced | bouncedBit(state, fact.email) }
    case "Restarted":
      return initialState
  }
}

/** Which of the new emails are among the first 100. */
export const amongFirst = (state: PauseState, emails: ReadonlyArray<string>): ReadonlyArray<string> =>
  emails.slice(0, Math.max(0, firstEmailsForComplaints - state.first.length))

/**
 * More than five times the mean of the hourly counts before; an account in its first hour has nothing to compare with.
 */
const isSpike = (state: PauseState, lastHour: number, now: number, figures: PauseFigures): boolean => {
  if (lastHour < figures.spikeEmails || state.firstHour === null) return false
  const hour = Math.max(state.accepted.hour, hourOf(now))
  const hours = Math.min(spikeHours, hour - state.firstHour)
  return hours > 0 && lastHour * hours > figures.spikeFactor * sumHours(state.accepted, 0, hour - hours, hour)
}

/** The progress of a trigger: an account is paused when `count` reaches `limit`. See {@link pauseTriggers}. */
export interface TriggerCount {
  readonly trigger: PauseReason
  readonly count: number
  readonly limit: number
}

/**
 * Emails in an hour from which on it is a spike. In its first hour an account has nothing to compare with, and the
 * least of all counts.
 */
const spikeLimit = (state: PauseState, now: number): number => {
  if (state.firstHour === null) return spikeEmails
  const hour = Math.max(state.accepted.hour, hourOf(now))
  const hours = Math.min(spikeHours, hour - state.firstHour)
  if (hours <= 0) return spikeEmails
  return Math.max(spikeEmails, Math.floor((spikeFactor * sumHours(state.accepted, 0, hour - hours, hour)) / hours) + 1)
}

/**
 * The progress of each trigger, in the order of `pauseReasons`. `lastHour`: emails accepted in the hour that ends now.
 */
export const triggerCounts = (state: PauseState, lastHour: number, now: number): ReadonlyArray<TriggerCount> => [
  { trigger: "bounces", count: bitsOf(state.bounced), limit: pausingBounces },
  // Any complaint pauses, so that none is counted before.
  { trigger: "complaint", count: 0, limit: 1 },
  { trigger: "spike", count: lastHour, limit: spikeLimit(state, now) },
  { trigger: "risky_content", count: Rolling.used(state.signals, signalsMillis, now), limit: pausingSignals }
]

/**
 * From which count on an account is warned: one step before the end, and of a spike at four fifths of it. A complaint
 * has no step before.
 */
const warnsFrom = ({ limit, trigger }: TriggerCount): number =>
  trigger === "complaint" ? limit : trigger === "spike" ? Math.ceil(limit * spikeWarning) : limit - 1

/** The triggers that have come to their last step between two moments, in which nothing has paused. */
export const warningsBetween = (
  before: ReadonlyArray<TriggerCount>,
  after: ReadonlyArray<TriggerCount>
): ReadonlyArray<TriggerCount> =>
  after.filter((now, at) => {
    const was = before[at]
    return now.count >= warnsFrom(now) && now.count < now.limit && !(was !== undefined && was.count >= warnsFrom(was))
  })

/** The rule of the triggers with other figures than those in force. See {@link pauseTriggers}. */
export const pauseTriggersBy = (
  figures: PauseFigures
): Decider<PauseCommand, PauseFact, PauseState, PauseAnswer, never> => ({
  initialState,
  evolve,
  decide: (state, command, now) => {
    switch (command._tag) {
      case "Accept": {
        const { emails, lastHour, signals } = command
        const fact: PauseFact = {
          _tag: "Accepted",
          at: now,
          emails: emails.length,
          first: amongFirst(state, emails),
          signals
        }
        const signalled = signals > 0 && Rolling.used(state.signals, signalsMillis, now) + signals >= figures.signals
        const pause = isSpike(state, lastHour, now, figures) ? "spike" : signalled ? "risky_content" : null
        return decided({ facts: [fact], reply: { pause } })
      }
      case "Bounce": {
        const bit = bouncedBit(state, command.email)
        if (bit === 0 || (state.bounced & bit) !== 0) return decided({ reply: { pause: null } })
        const pause = bitsOf(state.bounced | bit) >= figures.bounces ? "bounces" : null
        return decided({ facts: [{ _tag: "Bounced", at: now, email: command.email }], reply: { pause } })
      }
      case "Complain": {
        const isPausing = figures.complaints && state.first.includes(command.email)
        return decided({ reply: { pause: isPausing ? "complaint" : null } })
      }
      case "Restart":
        return decided({ facts: [{ _tag: "Restarted", at: now }], reply: { pause: null } })
    }
  }
})

/**
 * The rule of `PauseTriggers` alone, as a decider.
 *
 * @example
 * ```ts
 * import { pauseTriggers } from "sluice/send"
 *
 * const { initialState } = pauseTriggers
 * const accept = { _tag: "Accept", emails: ["a"], signals: 5, lastHour: 1 } as const
 * console.log(pauseTriggers.decide(initialState, accept, 0).reply?.pause) // risky_content
 * ```
 */
export const pauseTriggers: Decider<PauseCommand, PauseFact, PauseState, PauseAnswer, never> =
  pauseTriggersBy(pauseFigures)
