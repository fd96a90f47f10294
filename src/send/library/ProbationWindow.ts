/**
 * Defines `ProbationWindow`: the caps of accounts on probation (docs/send.md, 2.1). Time comes from the Clock.
 * `layerMemory` counts in this process and needs nothing else.
 */
import { Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import type { Unanswered } from "../errors.ts"
import { type ProbationCaps, probationCaps } from "../limits.ts"
import { domainKey, domainOf } from "../rules/domainKey.ts"
import {
  assertProbationCaps,
  type CapReached,
  emailsInLastHour,
  type ProbationCommand,
  type ProbationFact,
  type ProbationState,
  probationWindow
} from "../rules/probation.ts"
import { probationWindowActor } from "./deciderActors.ts"
import { deciderLayers, type EngineOptions } from "./engineDecider.ts"
import { checked, type KeyedDecider, type MemoryOptions } from "./keyedDecider.ts"

/** The caps of accounts. See {@link ProbationWindow}. */
export interface ProbationCapsOptions {
  /** The caps of an account, by default those of a standard risk; the function is called for each request. */
  readonly caps?: ((account: string) => ProbationCaps) | undefined
}

/** The caps, and how many accounts are kept. See {@link ProbationWindow}. */
export interface ProbationWindowOptions extends ProbationCapsOptions, MemoryOptions {}

/** The caps took the request. See {@link ProbationWindow}. */
export interface ProbationCount {
  /** Emails of the account in the hour that ends now, the request's included. */
  readonly lastHour: number
}

/**
 * The caps of a new account over any hour: emails, and domains of recipients (docs/send.md, 2.1).
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { ProbationWindow } from "sluice/send"
 *
 * const over = Effect.flatMap(ProbationWindow, ({ take }) => Effect.flip(take("ann", 51, ["bob@one.test"])))
 * const error = await Effect.runPromise(Effect.provide(over, ProbationWindow.layerMemory()))
 * console.log(error._tag === "CapReached" && [error.limit, error.metric, error.window]) // [ 50, 'sends', 'hour' ]
 * ```
 */
export class ProbationWindow extends Context.Service<
  ProbationWindow,
  {
    /**
     * Asks for a request of `emails` emails to `recipients`, the addresses of all of them, and counts it if it passes
     * every cap. Fails with the cap that it crosses, of several the one that it must wait for longest; nothing is
     * counted then.
     */
    readonly take: (
      account: string,
      emails: number,
      recipients: ReadonlyArray<string>
    ) => Effect.Effect<ProbationCount, CapReached | Unanswered>
    /** Starts over, as after a pause. */
    readonly restart: (account: string) => Effect.Effect<void, Unanswered>
  }
>()("sluice/send/ProbationWindow") {
  /** Windows in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: ProbationWindowOptions = {}): Layer.Layer<ProbationWindow, InvalidArgument> =>
    layers.layerMemory(ProbationWindow, options, (asks) => make(asks, options))

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = probationWindowActor

  /** Windows on an engine. */
  static readonly layer = (
    options: ProbationCapsOptions & EngineOptions = {}
  ): Layer.Layer<ProbationWindow, never, Engine> =>
    layers.layer(ProbationWindow, options, (asks) => make(asks, options))
}

const layers = deciderLayers(probationWindow, probationWindowActor)

const make = (
  windows: KeyedDecider<ProbationCommand, ProbationFact, ProbationState, null, CapReached>,
  { caps: capsOf = () => probationCaps.standard }: ProbationCapsOptions
): ProbationWindow["Service"] => {
  return {
    take: (account, emails, recipients) => {
      const caps = capsOf(account)
      const domains = [...new Set(recipients.map((recipient) => domainKey(domainOf(recipient))))]
      const asked = windows.ask(account, { _tag: "Take", emails, domains, caps })
      return Effect.map(
        checked(() => assertProbationCaps(caps), asked),
        ({ facts, state }) => ({ lastHour: emailsInLastHour(state, facts[0]?.at ?? 0) })
      )
    },
    // A restart is never rejected.
    restart: (account) =>
      Effect.asVoid(Effect.catchTag(windows.ask(account, { _tag: "Restart" }), "CapReached", Effect.die))
  }
}
