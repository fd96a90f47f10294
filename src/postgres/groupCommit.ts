/**
 * Writes what many fibers want to write with few statements: what comes in while one batch is being written is the next one. A
 * single writer never waits for company, unless a linger is asked for, where nobody waits for the answer. For outcomes of a work queue and the like. Needs no service.
 */
import { Cause, Deferred, Duration, Effect, Exit, Latch, Queue, type Scope, Semaphore } from "effect"

export interface GroupCommitOptions<Item, Answer, E> {
  /** Writes a batch and answers one value for each item, in order. What it fails with is what all items of the batch fail with. */
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Answer>, E>
  /** Items of one batch at most. */
  readonly maximumBatch: number
  /** Items that wait at most; beyond, who submits is held up. */
  readonly maximumWaiting: number
  /** Batches written at the same time; default 1, which keeps them in order. */
  readonly writers?: number
  /** How long a batch waits for more after its first item, in milliseconds; default 0. */
  readonly lingerMillis?: number
}

export interface GroupCommit<Item, Answer, E> {
  /** Waits until the item was written. An item that was taken in is written even if its fiber is interrupted. */
  readonly submit: (item: Item) => Effect.Effect<Answer, E>
  /** Writes what waits at once, and lets nothing linger from now on: for a shutdown. */
  readonly hurry: Effect.Effect<void>
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
    const { lingerMillis = 0, maximumBatch, maximumWaiting, write, writers = 1 } = options
    const hurried = Latch.makeUnsafe(lingerMillis <= 0)
    /** One writer at a time waits for a batch, since two would share what comes in meanwhile. */
    const collecting = Semaphore.makeUnsafe(1)
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
    const take = Queue.takeBetween(queue, 1, maximumBatch)
    const linger = Effect.raceFirst(Effect.sleep(Duration.millis(lingerMillis)), hurried.await)
    const collect =
      lingerMillis <= 0
        ? take
        : collecting.withPermit(
            // what lingers stays in the queue, so that an interruption loses nothing
            Effect.andThen(
              Queue.peek(queue),
              Effect.andThen(
                Effect.suspend(() => (Queue.sizeUnsafe(queue) >= maximumBatch ? Effect.void : linger)),
                take
              )
            )
          )
    const writeNext = Effect.gen(function* () {
      const batch = yield* collect
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
      hurry: Effect.asVoid(hurried.open),
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
