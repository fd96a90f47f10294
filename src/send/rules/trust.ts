/**
 * Decides the trust stage of an account (docs/platform.md, 9.3): probation, established, trusted; paused, and lifted
 * again. Checks are at whole UTC hours and look at the 24 hours before. `nextTransition` names the next one if nothing
 * happens before, so that an actor wakes only for a change. Every event is judged after all checks before it, so a
 * check that comes late decides the same. Pure.
 */

import {
  ceilHour,
  checkedHours,
  cleanBounceBasisPoints,
  establishedMillis,
  hourMillis,
  isBelow,
  nextHour,
  probationMillis,
  type Risk
} from "../limits.ts"
import { type Decider, decided, rejected, type Transition, takeDue } from "./decider.ts"
import { addHour, emptyHours, type HoursState, hourOf, sumHours } from "./hours.ts"
import type { PauseReason } from "./pause.ts"

/** Stages of an account. See {@link trustStage}. */
export const stages = ["probation", "established", "trusted", "sending_paused"] as const
/** A stage of an account. See {@link trustStage}. */
export type Stage = (typeof stages)[number]

/** Plain data. Times are Unix milliseconds, null where there was none. See {@link trustStage}. */
export interface TrustState {
  readonly stage: Stage
  readonly risk: Risk
  /** When the risk was set. */
  readonly riskAt: number | null
  /** When the stage began; on probation its present window. Null before the account's first fact. */
  readonly since: number | null
  readonly pauseReason: PauseReason | null
  /** Emails handed over, emails that bounced, complaints, by hour. */
  readonly mail: HoursState
  readonly handedOverAt: number | null
  readonly complainedAt: number | null
  /** The UTC hour up to which checks were judged while established. */
  readonly checkedHour: number
  /** The last check while established that was not clean. */
  readonly uncleanAt: number | null
}

/** A command of the rule of trust. See {@link trustStage}. */
export type TrustCommand =
  /** The account begins, on probation. Once. */
  | { readonly _tag: "Begin"; readonly risk: Risk }
  | { readonly _tag: "HandOver"; readonly emails: number }
  /** The first permanent bounce of an email. */
  | { readonly _tag: "Bounce" }
  | { readonly _tag: "Complain" }
  /** Changes something on probation only. */
  | { readonly _tag: "Pause"; readonly reason: PauseReason }
  | { readonly _tag: "Lift" }
  | { readonly _tag: "SetRisk"; readonly risk: Risk }
  /** Takes the transitions that are due, and nothing else. */
  | { readonly _tag: "Check" }

/** A fact of an account's trust. See {@link trustStage}. */
export type TrustFact =
  | { readonly _tag: "Began"; readonly at: number; readonly risk: Risk }
  | { readonly _tag: "HandedOver"; readonly at: number; readonly emails: number }
  | { readonly _tag: "Bounced"; readonly at: number }
  | { readonly _tag: "Complained"; readonly at: number }
  | { readonly _tag: "Paused"; readonly at: number; readonly reason: PauseReason }
  | { readonly _tag: "Lifted"; readonly at: number }
  | { readonly _tag: "RiskSet"; readonly at: number; readonly risk: Risk }
  /** The window was not clean: a new one of the same length. */
  | { readonly _tag: "ProbationProlonged"; readonly at: number }
  | { readonly _tag: "Established"; readonly at: number }
  | { readonly _tag: "Trusted"; readonly at: number }

/** An account's view of its stage. See {@link trustStage}. */
export interface TrustView {
  readonly trustStage: Stage
  /** Unix milliseconds of the check that ends the present window; on probation only. */
  readonly probationEndsAt?: number
  readonly pausedAt?: number
  readonly pauseReason?: PauseReason
}

/** A lift of an account that is not paused. See {@link trustStage}. */
export interface NotPaused {
  readonly _tag: "NotPaused"
  readonly trustStage: Stage
}

const handedOver = 0
const bounced = 1
const complained = 2
const noMail = emptyHours(3)

const initialState: TrustState = {
  stage: "probation",
  risk: "standard",
  riskAt: null,
  since: null,
  pauseReason: null,
  mail: noMail,
  handedOverAt: null,
  complainedAt: null,
  checkedHour: 0,
  uncleanAt: null
}

/** Whether few enough of the emails in the 24 hours before a whole hour have bounced. */
const fewBounced = (mail: HoursState, hour: number): boolean =>
  isBelow(
    sumHours(mail, bounced, hour - checkedHours, hour),
    sumHours(mail, handedOver, hour - checkedHours, hour),
    cleanBounceBasisPoints
  )

/** The checks after `checkedHour`, up to the hour `through`, that are not clean as far as is known, in order. */
const uncleanChecks = (state: TrustState, through: number): ReadonlyArray<number> => {
  const { mail } = state
  // Most accounts have neither, and a decision should not pay for 24 checks.
  if (sumHours(mail, bounced, 0, mail.hour + 1) + sumHours(mail, complained, 0, mail.hour + 1) === 0) return []
  const unclean: Array<number> = []
  for (let hour = state.checkedHour + 1; hour <= Math.min(through, mail.hour + checkedHours); hour++) {
    const complaints = sumHours(mail, complained, hour - checkedHours, hour)
    if (complaints > 0 || !fewBounced(mail, hour)) unclean.push(hour * hourMillis)
  }
  return unclean
}

/** The last check up to the hour `through` that was not clean. */
const lastUnclean = (state: TrustState, through: number): number | null =>
  uncleanChecks(state, through).at(-1) ?? state.uncleanAt

/** When an account whose last unclean check was at `base` is trusted, if all later ones are clean. */
const trustedAt = (base: number, handedOverAt: number): number | undefined =>
  handedOverAt < base ? undefined : Math.max(ceilHour(base + establishedMillis), nextHour(handedOverAt))

/** When an established account is trusted if nothing happens before. */
const nextTrusted = (state: TrustState, since: number, handedOverAt: number): number | undefined => {
  let base = Math.max(since, state.uncleanAt ?? since)
  // A check that will not be clean, because the hours that outweigh its bounces leave the window, comes too late for
  // one before it.
  for (const unclean of uncleanChecks(state, Number.POSITIVE_INFINITY)) {
    const at = trustedAt(base, handedOverAt)
    if (at !== undefined && at < unclean) return at
    base = unclean
  }
  return trustedAt(base, handedOverAt)
}

/** Lengths of a probation window by risk, in milliseconds. See {@link trustStageBy}. */
export type ProbationLengths = Readonly<Record<Risk, number>>

/** When a probation's window is checked, in Unix milliseconds. */
const probationEnd = (state: TrustState, since: number, lengths: ProbationLengths = probationMillis): number => {
  const end = ceilHour(since + lengths[state.risk])
  // A window that a lower risk has ended already is checked from then on, not in the past.
  return state.riskAt === null ? end : Math.max(end, nextHour(state.riskAt))
}

const nextTransitionBy = (state: TrustState, lengths: ProbationLengths): Transition<TrustFact> | undefined => {
  const { complainedAt, handedOverAt, mail, since, stage } = state
  if (since === null) return undefined
  if (stage === "probation") {
    const at = probationEnd(state, since, lengths)
    const isClean = () => !(complainedAt !== null && complainedAt >= since) && fewBounced(mail, hourOf(at))
    return { at, fact: () => ({ _tag: isClean() ? "Established" : "ProbationProlonged", at }) }
  }
  if (stage !== "established" || handedOverAt === null) return undefined
  const at = nextTrusted(state, since, handedOverAt)
  return at === undefined ? undefined : { at, fact: () => ({ _tag: "Trusted", at }) }
}

/**
 * The transition that comes if nothing happens before it; undefined where none can.
 *
 * @example
 * ```ts
 * import { nextTransition, trustStage } from "sluice/send"
 *
 * const { facts } = trustStage.decide(trustStage.initialState, { _tag: "Begin", risk: "standard" }, 0)
 * console.log(nextTransition(facts.reduce(trustStage.evolve, trustStage.initialState))?.at) // 259200000
 * ```
 */
export const nextTransition = (state: TrustState): Transition<TrustFact> | undefined =>
  nextTransitionBy(state, probationMillis)

/** Counts mail, after the checks before it were decided. */
const withMail = (state: TrustState, at: number, column: number, count: number): TrustState => {
  const mail = addHour(state.mail, at, column, count)
  if (state.stage !== "established") return { ...state, mail }
  return {
    ...state,
    mail,
    uncleanAt: lastUnclean(state, hourOf(at)),
    checkedHour: Math.max(state.checkedHour, hourOf(at))
  }
}

const evolve = (state: TrustState, fact: TrustFact): TrustState => {
  switch (fact._tag) {
    case "Began":
      return { ...state, since: fact.at, risk: fact.risk }
    case "HandedOver":
      return { ...withMail(state, fact.at, handedOver, fact.emails), handedOverAt: fact.at }
    case "Bounced":
      return withMail(state, fact.at, bounced, 1)
    case "Complained":
      return { ...withMail(state, fact.at, complained, 1), complainedAt: fact.at }
    case "Paused":
      return { ...state, stage: "sending_paused", since: fact.at, pauseReason: fact.reason }
    case "Lifted":
      return { ...initialState, risk: state.risk, since: fact.at }
    case "RiskSet":
      return { ...state, risk: fact.risk, riskAt: fact.at }
    case "ProbationProlonged":
      return { ...state, since: fact.at }
    case "Established":
      return { ...state, stage: "established", since: fact.at, checkedHour: hourOf(fact.at), uncleanAt: null }
    case "Trusted":
      return { ...state, stage: "trusted", since: fact.at }
  }
}

/** The account's view. */
export const viewOf = (state: TrustState): TrustView => {
  const { pauseReason, since, stage } = state
  if (stage === "probation" && since !== null) return { trustStage: stage, probationEndsAt: probationEnd(state, since) }
  if (stage === "sending_paused" && since !== null && pauseReason !== null)
    return { trustStage: stage, pausedAt: since, pauseReason }
  return { trustStage: stage }
}

/** The command's own facts, on a state in which nothing is due. */
const factsOf = (state: TrustState, command: TrustCommand, at: number): ReadonlyArray<TrustFact> | NotPaused => {
  switch (command._tag) {
    case "Begin":
    case "Check":
      return []
    case "HandOver":
      return [{ _tag: "HandedOver", at, emails: command.emails }]
    case "Bounce":
      return [{ _tag: "Bounced", at }]
    case "Complain":
      return [{ _tag: "Complained", at }]
    case "Pause":
      return state.stage === "probation" ? [{ _tag: "Paused", at, reason: command.reason }] : []
    case "Lift":
      return state.stage === "sending_paused"
        ? [{ _tag: "Lifted", at }]
        : { _tag: "NotPaused", trustStage: state.stage }
    case "SetRisk":
      return state.risk === command.risk ? [] : [{ _tag: "RiskSet", at, risk: command.risk }]
  }
}

/** The facts that are due at `now`: the account's beginning, if no command has made it, and transitions. */
export const takeDueTransitions = (
  state: TrustState,
  risk: Risk,
  now: number,
  lengths: ProbationLengths = probationMillis
) => {
  if (state.since !== null) return takeDue(state, now, (one) => nextTransitionBy(one, lengths), evolve)
  const began: TrustFact = { _tag: "Began", at: now, risk }
  return { state: evolve(state, began), facts: [began] }
}

/** The rule of the stage with other lengths of a probation. See {@link trustStage}. */
export const trustStageBy = (
  lengths: ProbationLengths
): Decider<TrustCommand, TrustFact, TrustState, TrustView, NotPaused> => ({
  initialState,
  evolve,
  decide: (state, command, now) => {
    const risk = command._tag === "Begin" ? command.risk : "standard"
    const due = takeDueTransitions(state, risk, now, lengths)
    const own = factsOf(due.state, command, now)
    if ("_tag" in own) return rejected(own)
    return decided({ facts: [...due.facts, ...own], reply: viewOf(own.reduce(evolve, due.state)) })
  }
})

/**
 * The rule of `TrustStage` alone, as a decider.
 *
 * @example
 * ```ts
 * import { trustStage } from "sluice/send"
 *
 * const { reply } = trustStage.decide(trustStage.initialState, { _tag: "Begin", risk: "standard" }, 0)
 * console.log(reply?.trustStage) // probation
 * ```
 */
export const trustStage: Decider<TrustCommand, TrustFact, TrustState, TrustView, NotPaused> =
  trustStageBy(probationMillis)
