/**
 * Writes what many fibers want to write with few statements: what comes in while one batch is being written is the next one. A
 * single writer never waits for company. For outcomes of a work queue and the like. Needs no service.
 */
import { Cause, Deferred, Effect, Exit, Queue, type Scope } from "effect"

export interface GroupCommitOptions<Item, Answer, E> {
  /** Writes a batch and answers one value for each item, in order. What it fails with is what all items of the batch fail with. */
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Answer>, E>
  /** Items of one batch at most. */
  readonly maximumBatch: number
  /** Items that wait at most; beyond, who submits is held up. */
  readonly maximumWaiting: number
  /** Batches written at the same time; default 1, which keeps them in order. */
  readonly writers?: number
}

export interface GroupCommit<Item, Answer, E> {
  /** Waits until the item was written. An item that was taken in is written even if its fiber is interrupted. */
  readonly submit: (item: Item) => Effect.Effect<Answer, E>
}

interface Waiting<Item, Answer, E> {
  readonly item: Item
  readonly answer: Deferred.Deferred<Answer, E>
}

/** Starts the writers; with the scope they end, and what is still waiting is interrupted. */
export const make = <Item, Answer, E>(
  options: GroupCommitOptions<Item, Answer, E>
): Effect.Effect<GroupCommit<Item, Answer, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { maximumBatch, maximumWaiting, write, writers = 1 } = options
    const unanswered = new Set<Deferred.Deferred<Answer, E>>()
    const settle = (answer: Deferred.Deferred<Answer, E>, effect: Effect.Effect<Answer, E>) => {
      unanswered.delete(answer)
      Deferred.doneUnsafe(answer, effect)
    }
    const queue = yield* Effect.acquireRelease(Queue.bounded<Waiting<Item, Answer, E>>(maximumWaiting), (held) =>
      Effect.andThen(
        Queue.shutdown(held),
        Effect.sync(() => {
          for (const answer of unanswered) settle(answer, Effect.interrupt)
        })
      )
    )
    const writeNext = Effect.gen(function* () {
      const batch = yield* Queue.takeBetween(queue, 1, maximumBatch)
      yield* Effect.onExit(write(batch.map(({ item }) => item)), (exit) =>
        Effect.sync(() => {
          for (const [index, { answer }] of batch.entries()) {
            settle(
              answer,
              Exit.isSuccess(exit) ? Effect.succeed(exit.value[index] as Answer) : Effect.failCause(exit.cause)
            )
          }
        })
      )
    }).pipe(Effect.catchCause((cause) => (Cause.hasInterrupts(cause) ? Effect.failCause(cause) : Effect.void)))
    for (let writer = 0; writer < writers; writer++) yield* Effect.forkScoped(Effect.forever(writeNext))
    return {
      submit: (item) =>
        Effect.suspend(() => {
          const answer = Deferred.makeUnsafe<Answer, E>()
          unanswered.add(answer)
          return Effect.flatMap(
            Effect.onInterrupt(Queue.offer(queue, { item, answer }), () =>
              Effect.sync(() => unanswered.delete(answer))
            ),
            (taken) => (taken ? Deferred.await(answer) : Effect.interrupt)
          )
        })
    }
  })
