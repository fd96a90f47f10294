/**
 * `Holds`: what goes at once and what waits for another day (docs/send.md, 2.5). Time comes from the Clock. `layerMemory` keeps the places, not the emails, in this
 * process, and needs nothing else: the caller asks for a release at `nextRelease`.
 */
import { Context, Effect, Layer } from "effect"
import { attempt } from "../limits/attempt.ts"
import type { InvalidArgument } from "../limits/errors.ts"
import type { MemoryFull } from "./errors.ts"
import {
  type CancelledPage,
  emptyPage,
  type HoldsAnswer,
  type HoldsCommand,
  type HoldsFact,
  holds,
  isCancelled,
  type NotHeld,
  nextRelease,
  pageOf,
  withCancelled
} from "./holdRules.ts"
import { assertCount, checked, type MemoryOptions, makeKeyedDecider } from "./keyedDecider.ts"

/** Places that may go now, first in first out. */
type Places = Effect.Effect<ReadonlyArray<number>, InvalidArgument | MemoryFull>

/** `cap` is the sender's daily cap in force, an integer of at least 1. */
export class Holds extends Context.Service<
  Holds,
  {
    /** The first `released` of the emails may go; the others got places, each with the midnight at which it fits. */
    readonly accept: (
      sender: string,
      emails: number,
      cap: number
    ) => Effect.Effect<HoldsAnswer, InvalidArgument | MemoryFull>
    /** The places of the release step that is due, none before its time. */
    readonly release: (sender: string, cap: number) => Places
    /** The places that a raised cap lets go at once. */
    readonly raiseCap: (sender: string, cap: number) => Places
    /** Takes a place out of the queue, so that it uses up no cap. */
    readonly cancel: (sender: string, place: number) => Effect.Effect<void, NotHeld | InvalidArgument | MemoryFull>
    /** From here on nothing is let go, until the pause is lifted. */
    readonly pause: (sender: string) => Effect.Effect<void, InvalidArgument | MemoryFull>
    /** The pause is over; `release` then lets go at once what fits. */
    readonly lift: (sender: string) => Effect.Effect<void, InvalidArgument | MemoryFull>
    /** Unix milliseconds at which `release` has something to do; undefined where nothing waits, or all of it is paused. */
    readonly nextRelease: (sender: string, cap: number) => Effect.Effect<number | undefined>
  }
>()("sluice/send/Holds") {
  /** Queues in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryOptions = {}): Layer.Layer<Holds, InvalidArgument> =>
    Layer.effect(
      Holds,
      Effect.suspend(() => attempt(() => makeMemory(options)))
    )
}

const makeMemory = (options: MemoryOptions): Holds["Service"] => {
  const queues = makeKeyedDecider(holds, options)
  const cancelled = new Map<string, Map<number, CancelledPage>>()
  const pagesOf = (sender: string) => (page: number) => cancelled.get(sender)?.get(page) ?? emptyPage
  const noteCancelled = (sender: string, place: number): void => {
    const pages = cancelled.get(sender) ?? new Map<number, CancelledPage>()
    cancelled.set(sender, pages.set(pageOf(place), withCancelled(pages.get(pageOf(place)) ?? emptyPage, place)))
  }
  /** Pages that lie behind the head are never asked for again. */
  const dropPages = (sender: string): void => {
    const pages = cancelled.get(sender)
    const { head, tail } = queues.state(sender)
    for (const page of pages?.keys() ?? []) if (head === tail || page < pageOf(head)) pages?.delete(page)
    if (pages?.size === 0) cancelled.delete(sender)
  }
  const placesOf = (sender: string, facts: ReadonlyArray<HoldsFact>): ReadonlyArray<number> => {
    const fact = facts[0]
    if (fact?._tag !== "Released") return []
    const pages = pagesOf(sender)
    const all = Array.from({ length: fact.through - fact.from + 1 }, (_, index) => fact.from + index)
    return all.filter((place) => !isCancelled(pages(pageOf(place)), place))
  }
  // Only a cancel is ever rejected.
  const tell = (sender: string, command: Exclude<HoldsCommand, { _tag: "Cancel" }>) =>
    Effect.catchTag(queues.ask(sender, command), "NotHeld", Effect.die)
  const ask = (sender: string, command: Exclude<HoldsCommand, { _tag: "Cancel" | "Pause" | "Lift" }>) =>
    checked(() => assertCount("cap", command.cap), tell(sender, command))
  const released = (sender: string, _tag: "Release" | "RaiseCap", cap: number): Places =>
    Effect.map(ask(sender, { _tag, cap, pages: pagesOf(sender) }), ({ facts }) => {
      const places = placesOf(sender, facts)
      dropPages(sender)
      return places
    })
  return {
    accept: (sender, emails, cap) =>
      checked(
        () => assertCount("emails", emails),
        Effect.map(ask(sender, { _tag: "Accept", emails, cap }), ({ reply }) => reply)
      ),
    release: (sender, cap) => released(sender, "Release", cap),
    raiseCap: (sender, cap) => released(sender, "RaiseCap", cap),
    cancel: (sender, place) =>
      Effect.map(queues.ask(sender, { _tag: "Cancel", place, pages: pagesOf(sender) }), () => {
        noteCancelled(sender, place)
        dropPages(sender)
      }),
    pause: (sender) => Effect.asVoid(tell(sender, { _tag: "Pause" })),
    lift: (sender) => Effect.asVoid(tell(sender, { _tag: "Lift" })),
    nextRelease: (sender, cap) => Effect.sync(() => nextRelease(queues.state(sender), cap))
  }
}
