/**
 * Connects the workers of this process with their surroundings: after a commit the SQL reactor reports accounts with
 * mail to hand over, and a node that hands over its partitions stops the workers first. Needs no service.
 */
import { Context, Effect, Layer, type Scope, type Tracer } from "effect"

/** A group of the work queue, with the partition that its jobs are in. */
export interface HandoffGroup {
  readonly partition: number
  readonly group: string
  /** The span that has made mail of it due, where anybody sees spans. */
  readonly cause?: Tracer.AnySpan
}

/** The workers of a process. */
export interface HandoffWorkers {
  /** Must not throw. */
  readonly committed: (groups: ReadonlyArray<HandoffGroup>) => void
  /** Takes no more mail, and waits until that under way is handed over and recorded. */
  readonly drain: Effect.Effect<void>
}

export class HandoffFeed extends Context.Service<
  HandoffFeed,
  {
    /** Tells the workers, if this process has any. */
    readonly committed: HandoffWorkers["committed"]
    /** Has the workers stop, if this process has any. */
    readonly drain: Effect.Effect<void>
    /** Makes these workers those of the process until the scope ends. */
    readonly attach: (workers: HandoffWorkers) => Effect.Effect<void, never, Scope.Scope>
  }
>()("sluice/send/HandoffFeed") {
  static readonly layer: Layer.Layer<HandoffFeed> = Layer.sync(HandoffFeed, () => {
    let current: HandoffWorkers | undefined
    return HandoffFeed.of({
      committed: (groups) => current?.committed(groups),
      drain: Effect.suspend(() => current?.drain ?? Effect.void),
      attach: (workers) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => {
              current = workers
            }),
            () =>
              Effect.sync(() => {
                if (current === workers) current = undefined
              })
          )
        )
    })
  })
}
