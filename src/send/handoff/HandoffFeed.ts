/** Tells the workers of this process which accounts have mail to hand over, after the SQL reactor has committed it. Needs no service. */
import { Context, Effect, Layer, type Scope } from "effect"

/** A group of the work queue, with the partition that its jobs are in. */
export interface HandoffGroup {
  readonly partition: number
  readonly group: string
}

/** Must not throw. */
export type HandoffListener = (groups: ReadonlyArray<HandoffGroup>) => void

export class HandoffFeed extends Context.Service<
  HandoffFeed,
  {
    /** Tells the workers, if this process has any. */
    readonly committed: HandoffListener
    /** Makes this listener the one of the process until the scope ends. */
    readonly attach: (listener: HandoffListener) => Effect.Effect<void, never, Scope.Scope>
  }
>()("sluice/send/HandoffFeed") {
  static readonly layer: Layer.Layer<HandoffFeed> = Layer.sync(HandoffFeed, () => {
    let current: HandoffListener | undefined
    return HandoffFeed.of({
      committed: (groups) => current?.(groups),
      attach: (listener) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => {
              current = listener
            }),
            () =>
              Effect.sync(() => {
                if (current === listener) current = undefined
              })
          )
        )
    })
  })
}
