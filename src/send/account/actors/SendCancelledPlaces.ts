/**
 * Records the cancelled places of a sender's queue, 4,096 in one actor, so that a queue of any length fits
 * (docs/platform.md, 9.6).
 */
import { Schema } from "effect"
import * as Actor from "../../../engine/Actor.ts"
import { type CancelledPage, emptyPage, withCancelled } from "../../rules/hold.ts"
import { CancelledPageSchema } from "./schemas.ts"

const Fact = Schema.Union([
  Schema.TaggedStruct("Cancelled", { place: Schema.Finite }),
  /** The queue has passed the page. */
  Schema.TaggedStruct("Passed", {})
])
export type CancelledFact = typeof Fact.Type

/** The page as it is; changed by decisions about emails and senders alone. */
export const SendCancelledPlaces = Actor.make<{ readonly _tag: "Look" }, CancelledFact, CancelledPage, CancelledPage>({
  kind: "sendCancelledPlaces",
  command: Schema.TaggedStruct("Look", {}),
  fact: Fact,
  state: CancelledPageSchema,
  reply: CancelledPageSchema,
  initial: () => [],
  isOver: (page) => page.length === 0,
  evolve: (page, fact) =>
    fact._tag === "Passed" ? [] : withCancelled(page.length === 0 ? emptyPage : page, fact.place),
  decide: (page) => Actor.decided({ reply: page })
})

/** The page as the rules of a queue take it. */
export const pageOfState = (state: CancelledPage): CancelledPage => (state.length === 0 ? emptyPage : state)
