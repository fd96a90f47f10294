/**
 * Decides for a sender's queue together with its pages of cancelled places, for callers that keep a queue alone. The
 * pages of an account's senders are actors of their own. Pure.
 */
import { type Decider, decided, rejected } from "./decider.ts"
import {
  type CancelledPage,
  emptyPage,
  type HoldsAnswer,
  type HoldsCommand,
  type HoldsFact,
  type HoldsState,
  holds,
  isCancelled,
  type NotHeld,
  pageOf,
  withCancelled
} from "./hold.ts"

/**
 * Plain data: the queue, and the pages from that of its first place on. A page in which nothing was cancelled is empty.
 */
export interface QueueState {
  readonly queue: HoldsState
  readonly firstPage: number
  readonly pages: ReadonlyArray<CancelledPage>
}

export type QueueCommand =
  | { readonly _tag: "Accept"; readonly emails: number; readonly cap: number }
  | { readonly _tag: "Release" | "RaiseCap"; readonly cap: number }
  | { readonly _tag: "Cancel"; readonly place: number }
  | { readonly _tag: "Pause" | "Lift" }

export interface QueueAnswer extends HoldsAnswer {
  /** The released places, in order. */
  readonly places: ReadonlyArray<number>
}

const pagesOf =
  ({ firstPage, pages }: QueueState) =>
  (page: number): CancelledPage => {
    const found = pages[page - firstPage]
    return found === undefined || found.length === 0 ? emptyPage : found
  }

const withoutPassed = (state: QueueState): QueueState => {
  const { head, tail } = state.queue
  const first = pageOf(head)
  if (head === tail) return { ...state, firstPage: first, pages: [] }
  return first === state.firstPage
    ? state
    : { ...state, firstPage: first, pages: state.pages.slice(first - state.firstPage) }
}

const evolve = (state: QueueState, fact: HoldsFact): QueueState => {
  const after = { ...state, queue: holds.evolve(state.queue, fact) }
  if (fact._tag !== "Cancelled") return withoutPassed(after)
  const page = pageOf(fact.place)
  const length = Math.max(state.pages.length, page - state.firstPage + 1)
  const pages = Array.from({ length }, (_, index) => state.pages[index] ?? [])
  return withoutPassed({
    ...after,
    pages: pages.with(page - state.firstPage, withCancelled(pagesOf(state)(page), fact.place))
  })
}

const placesOf = (state: QueueState, fact: HoldsFact | undefined): ReadonlyArray<number> => {
  if (fact?._tag !== "Released") return []
  const pages = pagesOf(state)
  const all = Array.from({ length: fact.through - fact.from + 1 }, (_, index) => fact.from + index)
  return all.filter((place) => !isCancelled(pages(pageOf(place)), place))
}

const withPages = (state: QueueState, command: QueueCommand): HoldsCommand => {
  switch (command._tag) {
    case "Release":
    case "RaiseCap":
      return { _tag: command._tag, cap: command.cap, pages: pagesOf(state) }
    case "Cancel":
      return { ...command, pages: pagesOf(state) }
    case "Accept":
      return command
    default:
      return { _tag: command._tag }
  }
}

export const queueWithPages: Decider<QueueCommand, HoldsFact, QueueState, QueueAnswer, NotHeld> = {
  initialState: { queue: holds.initialState, firstPage: 0, pages: [] },
  evolve,
  decide: (state, command, now) => {
    const { facts, rejection, reply } = holds.decide(state.queue, withPages(state, command), now)
    if (rejection !== undefined) return rejected(rejection)
    return decided({ facts, reply: { released: 0, held: [], ...reply, places: placesOf(state, facts[0]) } })
  }
}
