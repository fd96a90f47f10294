/**
 * Defines `TrustStage`: the stage of an account between probation and trusted (docs/send.md, 2.3). Time comes from the
 * Clock; the next call takes a transition that is due, at the hour it was due. `layerMemory` keeps stages in this
 * process and needs nothing else.
 */
import { Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import type { Unanswered } from "../errors.ts"
import type { Risk } from "../limits.ts"
import type { PauseReason } from "../rules/pause.ts"
import {
  type NotPaused,
  nextTransition,
  type TrustCommand,
  type TrustFact,
  type TrustState,
  type TrustView,
  trustStage
} from "../rules/trust.ts"
import { trustStageActor } from "./deciderActors.ts"
import { deciderLayers, type EngineOptions } from "./engineDecider.ts"
import { assertCount, checked, type KeyedDecider, type MemoryOptions } from "./keyedDecider.ts"

/**
 * The trust stage of an account, and its reason (docs/send.md, 2.3).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { TrustStage } from "sluice/send"
 *
 * const begun = Effect.flatMap(TrustStage, (stage) => stage.begin("ann", "higher"))
 * console.log((await Effect.runPromise(Effect.provide(begun, TrustStage.layerMemory()))).trustStage) // probation
 * ```
 */
export class TrustStage extends Context.Service<
  TrustStage,
  {
    /** Begins probation, once; any other first call begins it with the standard risk. */
    readonly begin: (account: string, risk: Risk) => Effect.Effect<TrustView, Unanswered>
    readonly handOver: (account: string, emails: number) => Effect.Effect<TrustView, Unanswered>
    /** The first permanent bounce of an email. */
    readonly bounce: (account: string) => Effect.Effect<TrustView, Unanswered>
    readonly complain: (account: string) => Effect.Effect<TrustView, Unanswered>
    /** Pauses an account on probation; any other stays as it is. */
    readonly pause: (account: string, reason: PauseReason) => Effect.Effect<TrustView, Unanswered>
    readonly lift: (account: string) => Effect.Effect<TrustView, NotPaused | Unanswered>
    readonly setRisk: (account: string, risk: Risk) => Effect.Effect<TrustView, Unanswered>
    /** The stage now. */
    readonly check: (account: string) => Effect.Effect<TrustView, Unanswered>
    /** Unix milliseconds of the next transition if nothing happens before; undefined for none. */
    readonly nextCheck: (account: string) => Effect.Effect<number | undefined, Unanswered>
  }
>()("sluice/send/TrustStage") {
  /** Stages in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryOptions = {}): Layer.Layer<TrustStage, InvalidArgument> =>
    layers.layerMemory(TrustStage, options, make)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = trustStageActor

  /** Stages on an engine. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<TrustStage, never, Engine> =>
    layers.layer(TrustStage, options, make)
}

const layers = deciderLayers(trustStage, trustStageActor)

const make = (
  accounts: KeyedDecider<TrustCommand, TrustFact, TrustState, TrustView, NotPaused>
): TrustStage["Service"] => {
  const ask = (account: string, command: TrustCommand) =>
    Effect.map(accounts.ask(account, command), ({ reply }) => reply)
  // Only a lift is ever rejected.
  const tell = (
    account: string,
    command: Exclude<TrustCommand, { _tag: "Lift" }>
  ): Effect.Effect<TrustView, Unanswered> => Effect.catchTag(ask(account, command), "NotPaused", Effect.die)
  return {
    begin: (account, risk) => tell(account, { _tag: "Begin", risk }),
    handOver: (account, emails) =>
      checked(() => assertCount("emails", emails), tell(account, { _tag: "HandOver", emails })),
    bounce: (account) => tell(account, { _tag: "Bounce" }),
    complain: (account) => tell(account, { _tag: "Complain" }),
    pause: (account, reason) => tell(account, { _tag: "Pause", reason }),
    lift: (account) => ask(account, { _tag: "Lift" }),
    setRisk: (account, risk) => tell(account, { _tag: "SetRisk", risk }),
    check: (account) => tell(account, { _tag: "Check" }),
    nextCheck: (account) => Effect.map(accounts.state(account), (state) => nextTransition(state)?.at)
  }
}
