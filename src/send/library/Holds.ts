/**
 * Defines `Holds`: the queue of emails over a daily cap (docs/send.md, 2.5). Time comes from the Clock. `layerMemory`
 * keeps the places, not the emails, in this process, and needs nothing else. The caller asks for a release at
 * `nextRelease`.
 */
import { Context, Effect, type Layer } from "effect"
import type { AnyActor } from "../../engine/Actor.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { InvalidArgument } from "../../limits/errors.ts"
import type { Unanswered } from "../errors.ts"
import { type HoldsAnswer, type HoldsFact, type NotHeld, nextRelease } from "../rules/hold.ts"
import { type QueueAnswer, type QueueCommand, type QueueState, queueWithPages } from "../rules/queue.ts"
import { holdsActor } from "./deciderActors.ts"
import { deciderLayers, type EngineOptions } from "./engineDecider.ts"
import { assertCount, checked, type KeyedDecider, type MemoryOptions } from "./keyedDecider.ts"

/**
 * `cap` is the sender's daily cap in force, an integer of at least 1.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { Holds } from "sluice/send"
 *
 * const accepted = Effect.flatMap(Holds, (queue) => queue.accept("one.test", 203, 200))
 * const { held, released } = await Effect.runPromise(Effect.provide(accepted, Holds.layerMemory()))
 * console.log(released, held.length) // 200 3
 * ```
 */
export class Holds extends Context.Service<
  Holds,
  {
    /** The first `released` of the emails may go; the others got places, each with the midnight at which it fits. */
    readonly accept: (sender: string, emails: number, cap: number) => Effect.Effect<HoldsAnswer, Unanswered>
    /** The places of the release step that is due, none before its time. */
    readonly release: (sender: string, cap: number) => Effect.Effect<ReadonlyArray<number>, Unanswered>
    /** The places that a raised cap releases immediately. */
    readonly raiseCap: (sender: string, cap: number) => Effect.Effect<ReadonlyArray<number>, Unanswered>
    /** Takes a place out of the queue, so that it uses up no cap. */
    readonly cancel: (sender: string, place: number) => Effect.Effect<void, NotHeld | Unanswered>
    /** Releases nothing more until the pause is lifted. */
    readonly pause: (sender: string) => Effect.Effect<void, Unanswered>
    /** Ends the pause; `release` then releases immediately what fits. */
    readonly lift: (sender: string) => Effect.Effect<void, Unanswered>
    /**
     * Unix milliseconds at which `release` has something to do; undefined where nothing waits, or all of it is paused.
     */
    readonly nextRelease: (sender: string, cap: number) => Effect.Effect<number | undefined, Unanswered>
  }
>()("sluice/send/Holds") {
  /** Queues in this process. The layer fails for options outside their range. */
  static readonly layerMemory = (options: MemoryOptions = {}): Layer.Layer<Holds, InvalidArgument> =>
    layers.layerMemory(Holds, options, make)

  /** The actor that an engine for `layer` must have. */
  static readonly actor: AnyActor = holdsActor

  /** Queues on an engine. One with cancelled places in more than 40 pages between its ends does not fit an actor. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<Holds, never, Engine> =>
    layers.layer(Holds, options, make)
}

const layers = deciderLayers(queueWithPages, holdsActor)

const make = (queues: KeyedDecider<QueueCommand, HoldsFact, QueueState, QueueAnswer, NotHeld>): Holds["Service"] => {
  // Only a cancel is ever rejected.
  const tell = (sender: string, command: Exclude<QueueCommand, { _tag: "Cancel" }>) =>
    Effect.map(Effect.catchTag(queues.ask(sender, command), "NotHeld", Effect.die), ({ reply }) => reply)
  const released = (
    sender: string,
    _tag: "Release" | "RaiseCap",
    cap: number
  ): Effect.Effect<ReadonlyArray<number>, Unanswered> =>
    checked(
      () => assertCount("cap", cap),
      Effect.map(tell(sender, { _tag, cap }), ({ places }) => places)
    )
  return {
    accept: (sender, emails, cap) =>
      checked(
        () => {
          assertCount("emails", emails)
          assertCount("cap", cap)
        },
        Effect.map(tell(sender, { _tag: "Accept", emails, cap }), ({ held, released }) => ({ released, held }))
      ),
    release: (sender, cap) => released(sender, "Release", cap),
    raiseCap: (sender, cap) => released(sender, "RaiseCap", cap),
    cancel: (sender, place) => Effect.asVoid(queues.ask(sender, { _tag: "Cancel", place })),
    pause: (sender) => Effect.asVoid(tell(sender, { _tag: "Pause" })),
    lift: (sender) => Effect.asVoid(tell(sender, { _tag: "Lift" })),
    nextRelease: (sender, cap) => Effect.map(queues.state(sender), ({ queue }) => nextRelease(queue, cap))
  }
}
