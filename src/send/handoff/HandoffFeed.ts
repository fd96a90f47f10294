/**
 * Connects the workers of this process with their surroundings: acknowledged frames offer mail to them, the SQL reactor
 * reports accounts with mail in the queue after a commit, and a node that hands over its partitions stops the workers
 * first. Needs no service.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { HandoffGroup, HandoffWorkers } from "./HandoffWorkers.ts"
import { MailTasks } from "./MailTasks.ts"

export class HandoffFeed extends Context.Service<
  HandoffFeed,
  {
    /** The emails of acknowledged frames that are not recorded yet. */
    readonly tasks: MailTasks
    /** How many more mails of an account could go immediately: none where another process serves the partition. */
    readonly roomOf: (one: HandoffGroup) => number
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
    const tasks = new MailTasks(() => current)
    return HandoffFeed.of({
      tasks,
      roomOf: ({ group, partition }) =>
        tasks.isOpen(partition) ? (current?.roomOf(group) ?? 0) - tasks.waitingOf(group) : 0,
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
