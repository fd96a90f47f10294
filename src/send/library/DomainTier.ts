/**
 * Defines `DomainTier`: the number of emails that a sender may hand over in a day (docs/send.md, 2.4). Time comes from
 * the Clock; the next call takes a promotion that is due. `layerMemory` keeps tiers in this process and needs nothing
 * else.
 */
import { Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import type { Unanswered } from "../errors.ts"
import {
  domainTier,
  type NotVerified,
  nextPromotion,
  type TierCommand,
  type TierFact,
  type TierState,
  type TierView
} from "../rules/tier.ts"
import { domainTierActor } from "./deciderActors.ts"
import { deciderLayers, type EngineOptions } from "./engineDecider.ts"
import { assertCount, checked, type KeyedDecider, type MemoryOptions } from "./keyedDecider.ts"

/**
 * Which tier a sender has, and so how much it may hand over in a day (docs/send.md, 2.4).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { DomainTier } from "sluice/send"
 *
 * const handedOver = Effect.gen(function* () {
 *   const tiers = yield* DomainTier
 *   yield* tiers.verify("one.test")
 *   return yield* tiers.handOver("one.test", 100)
 * })
 * console.log(await Effect.runPromise(Effect.provide(handedOver, DomainTier.layerMemory()))) // { tier: 'new', dailyCap: 200 }
 * ```
 */
export class DomainTier extends Context.Service<
  DomainTier,
  {
    /** From here on totals count; a second time changes nothing. */
    readonly verify: (sender: string) => Effect.Effect<TierView, NotVerified | Unanswered>
    readonly handOver: (sender: string, emails: number) => Effect.Effect<TierView, NotVerified | Unanswered>
    /** The first permanent bounce of an email. */
    readonly bounce: (sender: string) => Effect.Effect<TierView, NotVerified | Unanswered>
    readonly complain: (sender: string) => Effect.Effect<TierView, NotVerified | Unanswered>
    /** The tier now. */
    readonly check: (sender: string) => Effect.Effect<TierView, NotVerified | Unanswered>
    /** Unix milliseconds of the next promotion if nothing happens before; undefined for none. */
    readonly nextCheck: (sender: string) => Effect.Effect<number | undefined, Unanswered>
  }
>()("sluice/send/DomainTier") {
  /** Tiers in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryOptions = {}): Layer.Layer<DomainTier, InvalidArgument> =>
    layers.layerMemory(DomainTier, options, make)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = domainTierActor

  /** Tiers on an engine. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<DomainTier, never, Engine> =>
    layers.layer(DomainTier, options, make)
}

const layers = deciderLayers(domainTier, domainTierActor)

const make = (
  senders: KeyedDecider<TierCommand, TierFact, TierState, TierView, NotVerified>
): DomainTier["Service"] => {
  const ask = (sender: string, command: TierCommand): Effect.Effect<TierView, NotVerified | Unanswered> =>
    Effect.map(senders.ask(sender, command), ({ reply }) => reply)
  return {
    verify: (sender) => ask(sender, { _tag: "Verify" }),
    handOver: (sender, emails) =>
      checked(() => assertCount("emails", emails), ask(sender, { _tag: "HandOver", emails })),
    bounce: (sender) => ask(sender, { _tag: "Bounce" }),
    complain: (sender) => ask(sender, { _tag: "Complain" }),
    check: (sender) => ask(sender, { _tag: "Check" }),
    nextCheck: (sender) => Effect.map(senders.state(sender), (state) => nextPromotion(state)?.at)
  }
}
