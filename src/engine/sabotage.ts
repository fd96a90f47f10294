/**
 * Rules of the engine that the simulator switches off one at a time, to prove that its checkers notice (TigerBeetle, "the simulator must
 * bite"). A test provides the reference; nothing else does, and it is not exported to users. Each name stands where the rule is applied.
 */
import { Context } from "effect"

export const sabotages = [
  "no-fence",
  "reply-before-ack",
  "no-claim-frame",
  "retry-after-fenced",
  "duplicate-accepted-unseen",
  "silence-means-not-sent",
  "rejection-does-not-wait",
  "draft-visible",
  "cursor-before-effect",
  "cursor-without-compare",
  "signals-not-deduplicated",
  "purge-too-far",
  "checkpoint-between-frames",
  "clock-may-go-back",
  "lane-evicted-early",
  "no-witness-check",
  "no-freshness-check"
] as const
export type Sabotage = (typeof sabotages)[number]

/** The rules that are switched off; none outside of the simulator's own tests. */
export const SabotageReference = Context.Reference<ReadonlySet<Sabotage>>("sluice/engine/Sabotage", {
  defaultValue: () => new Set<Sabotage>()
})
