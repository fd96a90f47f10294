/**
 * The rules of a rebuild from states (docs/reactors.md, "From the states"): the reactor gets the state of every actor,
 * page by page, each page as it was at some checkpoint; then it gets the facts behind the first of these checkpoints,
 * without those that a page contained. Pure.
 */
import { type ActorAddress, compareByBytes } from "../../address.ts"
import type { RebuildProgress } from "../../ports/Cursors.ts"

/** The progress of a rebuild that begins. */
export const begunWalk: RebuildProgress = { step: 0, states: 0, place: undefined, isWalked: false, cuts: [] }

/** A page of actors in the order of their bytes, read as they were at a checkpoint. */
export interface WalkedPage {
  /** The last of them; undefined for an empty page, which is the last one. */
  readonly last: ActorAddress | undefined
  /** Those with a state. */
  readonly states: number
  /** The checkpoint, or 0 where there is none. */
  readonly sequence: number
  readonly isLast: boolean
}

const named = ({ key, kind, organization }: ActorAddress): ActorAddress => ({ organization, kind, key })

/** The progress after a page. */
export const walked = (
  { cuts, place, states, step }: RebuildProgress,
  { isLast, last, sequence, states: more }: WalkedPage
): RebuildProgress => {
  const reached = last === undefined ? place : named(last)
  const newest = cuts.at(-1)
  const before = newest?.sequence === sequence ? cuts.slice(0, -1) : cuts
  return {
    step: step + 1,
    states: states + more,
    place: reached,
    isWalked: isLast,
    // An empty page is the last one.
    cuts: [...before, { through: isLast ? undefined : reached, sequence }]
  }
}

/** The frame up to which the reactor has got an actor's facts, by way of its state. */
const coveredThrough = ({ cuts }: RebuildProgress, actor: ActorAddress): number =>
  cuts.find(({ through }) => through === undefined || compareByBytes(actor, through) <= 0)?.sequence ?? 0

/** Whether a fact is contained in a state that the reactor has got. */
export const isCovered = (progress: RebuildProgress, fact: ActorAddress & { readonly sequence: number }): boolean =>
  fact.sequence <= coveredThrough(progress, fact)

/** Whether all facts behind a frame are to be given, so that the rebuild is over there. */
export const isOverAt = ({ cuts, isWalked }: RebuildProgress, sequence: number): boolean =>
  isWalked && cuts.every((cut) => cut.sequence <= sequence)
