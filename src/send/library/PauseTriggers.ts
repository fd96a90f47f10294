/**
 * Defines `PauseTriggers`: the reasons to pause an account on probation (docs/send.md, 2.2). Time comes from the Clock.
 * `layerMemory` counts in this process and needs nothing else.
 */
import { Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import { assertInteger } from "../../limits/windowDecision.ts"
import type { Unanswered } from "../errors.ts"
import { maximumEmails } from "../limits.ts"
import {
  type PauseAnswer,
  type PauseCommand,
  type PauseFact,
  type PauseReason,
  type PauseState,
  pauseTriggers
} from "../rules/pause.ts"
import { pauseTriggersActor } from "./deciderActors.ts"
import { deciderLayers, type EngineOptions } from "./engineDecider.ts"
import { assertCount, checked, type KeyedDecider, type MemoryOptions } from "./keyedDecider.ts"

/** Emails that are accepted together. See {@link PauseTriggers}. */
export interface AcceptedEmails {
  /** Their ids, in order, at most 100. */
  readonly emails: ReadonlyArray<string>
  /** Emails of the account in the hour that ends now, these included, as `ProbationWindow` counts them. */
  readonly lastHour: number
  /** Risky signals of all of them. Default 0. */
  readonly signals?: number | undefined
}

/**
 * The triggers that pause an account on probation: bounces, complaints, spikes, risky content (docs/send.md, 2.2).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { PauseTriggers } from "sluice/send"
 *
 * const paused = Effect.gen(function* () {
 *   const triggers = yield* PauseTriggers
 *   yield* triggers.accept("ann", { emails: ["a"], lastHour: 1 })
 *   return yield* triggers.complain("ann", "a")
 * })
 * console.log(await Effect.runPromise(Effect.provide(paused, PauseTriggers.layerMemory()))) // complaint
 * ```
 */
export class PauseTriggers extends Context.Service<
  PauseTriggers,
  {
    readonly accept: (account: string, accepted: AcceptedEmails) => Effect.Effect<PauseReason | null, Unanswered>
    /** A permanent bounce of an email, whenever it comes. */
    readonly bounce: (account: string, email: string) => Effect.Effect<PauseReason | null, Unanswered>
    readonly complain: (account: string, email: string) => Effect.Effect<PauseReason | null, Unanswered>
    /** Starts over, as after a pause that was lifted. */
    readonly restart: (account: string) => Effect.Effect<void, Unanswered>
  }
>()("sluice/send/PauseTriggers") {
  /** Triggers in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryOptions = {}): Layer.Layer<PauseTriggers, InvalidArgument> =>
    layers.layerMemory(PauseTriggers, options, make)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = pauseTriggersActor

  /** Triggers on an engine. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<PauseTriggers, never, Engine> =>
    layers.layer(PauseTriggers, options, make)
}

const layers = deciderLayers(pauseTriggers, pauseTriggersActor)

const make = (
  triggers: KeyedDecider<PauseCommand, PauseFact, PauseState, PauseAnswer, never>
): PauseTriggers["Service"] => {
  const ask = (account: string, command: PauseCommand) =>
    Effect.map(triggers.ask(account, command), ({ reply }) => reply.pause)
  return {
    accept: (account, { emails, lastHour, signals = 0 }) =>
      checked(
        () => {
          assertInteger("emails", emails.length, 1, maximumEmails)
          assertInteger("signals", signals, 0, Number.MAX_SAFE_INTEGER)
          assertCount("lastHour", lastHour)
        },
        ask(account, { _tag: "Accept", emails, lastHour, signals })
      ),
    bounce: (account, email) => ask(account, { _tag: "Bounce", email }),
    complain: (account, email) => ask(account, { _tag: "Complain", email }),
    restart: (account) => Effect.asVoid(ask(account, { _tag: "Restart" }))
  }
}
