/**
 * Decides about mail over a sender's daily cap (docs/platform.md, 9.6). Each held email has a place in a queue that
 * only grows; the places before `head` are released. Cancelled places are noted in pages beside the state, so that a
 * queue of any length costs the sender a few numbers. Pure.
 */

import { dayMillis, maximumPagesPerStep, placesPerPage, releaseMillis, releaseSteps } from "../limits.ts"
import { type Decider, decided, rejected } from "./decider.ts"

/** Plain data. See {@link holds}. */
export interface HoldsState {
  /** The UTC day of the counts: days since 1970-01-01. */
  readonly day: number
  /** Emails released on that day. */
  readonly released: number
  /** Release steps of that day that were taken. */
  readonly steps: number
  /** The first place that is not released, and the place that the next held email gets. */
  readonly head: number
  readonly tail: number
  /** Cancelled places in [head, tail). */
  readonly cancelled: number
  /** Nothing is released while the account is paused. */
  readonly paused: boolean
}

/** Cancelled places of one page, 32 a number. Plain data. See {@link withCancelled}. */
export type CancelledPage = ReadonlyArray<number>

/** A page without cancelled places. See {@link withCancelled}. */
export const emptyPage: CancelledPage = Array.from({ length: placesPerPage / 32 }, () => 0)

/**
 * The page of a place.
 *
 * @example
 * ```ts
 * import { pageOf } from "sluice/send"
 *
 * console.log(pageOf(4_095), pageOf(4_096)) // 0 1
 * ```
 */
export const pageOf = (place: number): number => Math.floor(place / placesPerPage)

export const isCancelled = (page: CancelledPage, place: number): boolean => {
  const bit = place % placesPerPage
  return (((page[bit >>> 5] as number) >>> (bit & 31)) & 1) === 1
}

/**
 * The page with a place cancelled.
 *
 * @example
 * ```ts
 * import { emptyPage, withCancelled } from "sluice/send"
 *
 * console.log(withCancelled(emptyPage, 1)[0]) // 2
 * ```
 */
export const withCancelled = (page: CancelledPage, place: number): CancelledPage => {
  const bit = place % placesPerPage
  return page.with(bit >>> 5, ((page[bit >>> 5] as number) | (1 << (bit & 31))) >>> 0)
}

/** `cap` is the sender's daily cap in force, at least 1; `pages` gives the page of a number. See {@link holds}. */
export type HoldsCommand =
  | { readonly _tag: "Accept"; readonly emails: number; readonly cap: number }
  /** A step of the release, if one is due. */
  | { readonly _tag: "Release"; readonly cap: number; readonly pages: (page: number) => CancelledPage }
  /** The cap was raised: mail that fits under it goes immediately. */
  | { readonly _tag: "RaiseCap"; readonly cap: number; readonly pages: (page: number) => CancelledPage }
  | { readonly _tag: "Cancel"; readonly place: number; readonly pages: (page: number) => CancelledPage }
  /** Nothing is released from now on. */
  | { readonly _tag: "Pause" }
  /** The pause is over: mail that fits under the cap is due immediately. */
  | { readonly _tag: "Lift" }

/** A fact of a queue of held email. See {@link holds}. */
export type HoldsFact =
  /** The first `released` emails of the request went, the next `held` got the places from the tail on. */
  | { readonly _tag: "Accepted"; readonly at: number; readonly released: number; readonly held: number }
  /** The places from..through were left: `emails` of them were released, the others were cancelled before. */
  | {
      readonly _tag: "Released"
      readonly at: number
      readonly from: number
      readonly through: number
      readonly emails: number
      readonly steps: number
    }
  /** Goes to the page of the place as well. */
  | { readonly _tag: "Cancelled"; readonly at: number; readonly place: number }
  | { readonly _tag: "Paused"; readonly at: number }
  | { readonly _tag: "Lifted"; readonly at: number }

/** The answer of a queue of held email. See {@link holds}. */
export interface HoldsAnswer {
  /** Emails that may go now. */
  readonly released: number
  /**
   * The held emails of the request in order: their places, and the midnight at which each fits under the cap; null
   * while paused.
   */
  readonly held: ReadonlyArray<{ readonly place: number; readonly heldUntil: number | null }>
}

/** A cancel of a place that holds nothing: released, cancelled before, or never given. See {@link holds}. */
export interface NotHeld {
  readonly _tag: "NotHeld"
  readonly place: number
}

const initialState: HoldsState = { day: 0, released: 0, steps: 0, head: 0, tail: 0, cancelled: 0, paused: false }

/**
 * Emails that wait.
 *
 * @example
 * ```ts
 * import { holds, waiting } from "sluice/send"
 *
 * const { facts } = holds.decide(holds.initialState, { _tag: "Accept", emails: 203, cap: 200 }, 0)
 * console.log(waiting(facts.reduce(holds.evolve, holds.initialState))) // 3
 * ```
 */
export const waiting = (state: HoldsState): number => state.tail - state.head - state.cancelled

/** The state on the day of `at`; a clock that was set back stays on the later day. */
const onDay = (state: HoldsState, at: number): HoldsState => {
  const day = Math.floor(at / dayMillis)
  return day > state.day ? { ...state, day, released: 0, steps: 0 } : state
}

const roomOf = (state: HoldsState, cap: number): number => (state.paused ? 0 : Math.max(0, cap - state.released))

/** The state in which mail that fits under the cap goes immediately, and not in the steps of its day. */
export const unspread = (state: HoldsState, at: number): HoldsState => ({ ...onDay(state, at), steps: releaseSteps })

/** The upper bound of an email's release, with `ahead` emails waiting before it; null while it is unknown. */
export const heldUntil = (state: HoldsState, ahead: number, cap: number, now: number): number | null => {
  if (state.paused) return null
  const today = onDay(state, now)
  const room = roomOf(today, cap)
  if (ahead < room) return Math.max(today.day * dayMillis + releaseMillis, now)
  return (today.day + 1 + Math.floor((ahead - room) / cap)) * dayMillis
}

/**
 * When the next step is due, in Unix milliseconds; undefined where nothing waits or all of it is paused. A time that
 * has passed means now.
 *
 * @example
 * ```ts
 * import { holds, nextRelease } from "sluice/send"
 *
 * const { facts } = holds.decide(holds.initialState, { _tag: "Accept", emails: 203, cap: 200 }, 0)
 * console.log(nextRelease(facts.reduce(holds.evolve, holds.initialState), 200)) // 86400000
 * ```
 */
export const nextRelease = (state: HoldsState, cap: number): number | undefined => {
  if (waiting(state) === 0 || state.paused) return undefined
  if (roomOf(state, cap) === 0) return (state.day + 1) * dayMillis
  if (state.steps >= releaseSteps) return state.day * dayMillis
  return state.day * dayMillis + state.steps * (releaseMillis / releaseSteps)
}

const evolve = (before: HoldsState, fact: HoldsFact): HoldsState => {
  const state = onDay(before, fact.at)
  switch (fact._tag) {
    case "Accepted":
      return { ...state, released: state.released + fact.released, tail: state.tail + fact.held }
    case "Released":
      return {
        ...state,
        released: state.released + fact.emails,
        steps: fact.steps,
        head: fact.through + 1,
        cancelled: state.cancelled - (fact.through + 1 - fact.from - fact.emails)
      }
    case "Cancelled": {
      const after = { ...state, cancelled: state.cancelled + 1 }
      return waiting(after) > 0 ? after : { ...after, head: after.tail, cancelled: 0 }
    }
    case "Paused":
      return { ...state, paused: true }
    case "Lifted":
      return { ...unspread(state, fact.at), paused: false }
  }
}

/** The pages that leaving up to `emails` places may ask for, first and last; undefined where it needs none. */
export const pagesAsked = (state: HoldsState): readonly [first: number, last: number] | undefined => {
  if (state.cancelled === 0) return undefined
  const first = pageOf(state.head)
  return [first, Math.min(pageOf(state.tail - 1), first + maximumPagesPerStep - 1)]
}

/** The last place of the first `emails` that wait, and how many of them the pages of one step show. */
const frontOf = (state: HoldsState, emails: number, pages: (page: number) => CancelledPage) => {
  if (emails === waiting(state)) return { through: state.tail - 1, emails }
  const asked = pagesAsked(state)
  let place = state.head - 1
  if (asked === undefined) return { through: place + emails, emails }
  const last = Math.min(state.tail, (asked[1] + 1) * placesPerPage) - 1
  let found = 0
  while (found < emails && place < last) {
    place++
    if (!isCancelled(pages(pageOf(place)), place)) found++
  }
  return { through: place, emails: found }
}

const release = (
  state: HoldsState,
  fits: number,
  steps: number,
  pages: (page: number) => CancelledPage,
  at: number
) => {
  const { emails, through } = frontOf(state, fits, pages)
  const fact: HoldsFact = { _tag: "Released", at, from: state.head, through, emails, steps }
  return decided<HoldsFact, HoldsAnswer>({ facts: [fact], reply: { released: emails, held: [] } })
}

const nothing = decided<never, HoldsAnswer>({ reply: { released: 0, held: [] } })

/** The release step that an instant of the state's day lies in. */
const stepAt = (state: HoldsState, now: number): number =>
  Math.min(releaseSteps - 1, Math.max(0, Math.floor(((now - state.day * dayMillis) * releaseSteps) / releaseMillis)))

/**
 * The rule of `Holds` alone, as a decider.
 *
 * @example
 * ```ts
 * import { holds } from "sluice/send"
 *
 * const { facts, reply } = holds.decide(holds.initialState, { _tag: "Accept", emails: 203, cap: 200 }, 0)
 * console.log(reply?.released, facts.reduce(holds.evolve, holds.initialState).tail) // 200 3
 * ```
 */
export const holds: Decider<HoldsCommand, HoldsFact, HoldsState, HoldsAnswer, NotHeld> = {
  initialState,
  evolve,
  decide: (before, command, now) => {
    const state = onDay(before, now)
    switch (command._tag) {
      case "Accept": {
        const { cap, emails } = command
        // Everything waits behind waiting mail, so that no email overtakes another.
        const released = waiting(state) > 0 ? 0 : Math.min(emails, roomOf(state, cap))
        const counted = { ...state, released: state.released + released }
        const held = Array.from({ length: emails - released }, (_, index) => ({
          place: state.tail + index,
          heldUntil: heldUntil(counted, waiting(state) + index, cap, now)
        }))
        const fact: HoldsFact = { _tag: "Accepted", at: now, released, held: held.length }
        return decided({ facts: [fact], reply: { released, held } })
      }
      case "Release": {
        const fits = Math.min(waiting(state), roomOf(state, command.cap))
        if (fits === 0) return nothing
        if (state.steps >= releaseSteps) return release(state, fits, releaseSteps, command.pages, now)
        const step = stepAt(state, now)
        if (step < state.steps) return nothing
        return release(state, Math.ceil(fits / (releaseSteps - step)), step + 1, command.pages, now)
      }
      case "RaiseCap": {
        const fits = Math.min(waiting(state), roomOf(state, command.cap))
        return fits === 0 ? nothing : release(state, fits, state.steps, command.pages, now)
      }
      case "Cancel": {
        const { pages, place } = command
        const holdsIt = Number.isInteger(place) && place >= state.head && place < state.tail
        if (!holdsIt || isCancelled(pages(pageOf(place)), place)) return rejected({ _tag: "NotHeld", place })
        return decided({ facts: [{ _tag: "Cancelled", at: now, place }], reply: { released: 0, held: [] } })
      }
      case "Pause":
        return state.paused
          ? nothing
          : decided({ facts: [{ _tag: "Paused", at: now }], reply: { released: 0, held: [] } })
      case "Lift":
        return state.paused
          ? decided({ facts: [{ _tag: "Lifted", at: now }], reply: { released: 0, held: [] } })
          : nothing
    }
  }
}
