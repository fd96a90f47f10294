/** Notifies the fiber that sends replays of one that the reactor has recorded. */
import { Context, Effect, Layer, Queue } from "effect"

/** Notifies the sender of replays. */
export class ReplaySignal extends Context.Service<
  ReplaySignal,
  {
    readonly notify: () => void
    /** Waits until there was a `notify` since the last wait. */
    readonly wait: Effect.Effect<void>
  }
>()("sluice/webhooks/ReplaySignal") {
  static readonly layer: Layer.Layer<ReplaySignal> = Layer.effect(
    ReplaySignal,
    Effect.map(Queue.sliding<void>(1), (queue) =>
      ReplaySignal.of({ notify: () => void Queue.offerUnsafe(queue, undefined), wait: Queue.take(queue) })
    )
  )
}
