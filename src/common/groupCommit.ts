/**
 * Writes the items of many fibers with few statements: items that arrive while one batch is being written form the next
 * one. A single item is written immediately, unless a linger is configured, for items whose answer no caller waits for.
 * Used for outcomes of a work queue and the like. Needs no service.
 */
import { Duration, Effect, Exit, Latch, type Scope, Semaphore } from "effect"

export interface GroupCommitOptions<Item, Answer, E> {
  /**
   * Writes a batch and answers one value for each item, in order. When it fails, all items of the batch fail with its
   * error.
   */
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Answer>, E>
  /** Items of one batch at most. */
  readonly maximumBatch: number
  /** Most items that wait. Beyond that, `submit` itself waits. */
  readonly maximumWaiting: number
  /** Batches written at the same time; default 1, which keeps them in order. */
  readonly writers?: number
  /** How long a batch waits for more after its first item, in milliseconds; default 0. */
  readonly lingerMillis?: number
}

export interface GroupCommit<Item, Answer, E> {
  /** Waits until the item is written. An accepted item is written even if its fiber is interrupted. */
  readonly submit: (item: Item) => Effect.Effect<Answer, E>
  /** Writes the waiting items immediately and turns lingering off, for a shutdown. */
  readonly hurry: Effect.Effect<void>
}

interface Waiting<Item, Answer, E> {
  readonly item: Item
  readonly answer: (effect: Effect.Effect<Answer, E>) => void
}

/** Starts the writers. They end with the scope, and submitters that still wait are interrupted. */
export const make = <Item, Answer, E>(
  options: GroupCommitOptions<Item, Answer, E>
): Effect.Effect<GroupCommit<Item, Answer, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { lingerMillis = 0, maximumBatch, maximumWaiting, write, writers = 1 } = options
    let isHurried = lingerMillis <= 0
    /** One writer at a time waits for a batch, since two would share what comes in meanwhile. */
    const collecting = Semaphore.makeUnsafe(1)
    let waiting: Array<Waiting<Item, Answer, E>> = []
    const writing = new Set<ReadonlyArray<Waiting<Item, Answer, E>>>()
    const something = Latch.makeUnsafe(false)
    /** Open when a batch need not linger, because it is full or must hurry. */
    const enough = Latch.makeUnsafe(isHurried)
    const room = Latch.makeUnsafe(true)
    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
        room.openUnsafe()
        for (const { answer } of [...writing, waiting].flat()) answer(Effect.interrupt)
      })
    )
    const linger = Effect.raceFirst(Effect.sleep(Duration.millis(lingerMillis)), enough.await)
    const take = Effect.sync(() => {
      const batch = waiting.slice(0, maximumBatch)
      waiting = waiting.slice(maximumBatch)
      if (waiting.length === 0) something.closeUnsafe()
      if (waiting.length < maximumBatch && !isHurried) enough.closeUnsafe()
      if (waiting.length < maximumWaiting) room.openUnsafe()
      writing.add(batch)
      return batch
    })
    const collect = collecting.withPermit(
      Effect.andThen(
        something.await,
        Effect.suspend(() => (enough.isOpen() ? take : Effect.andThen(linger, take)))
      )
    )
    const writeNext = Effect.gen(function* () {
      const batch = yield* collect
      const exit = yield* Effect.exit(write(batch.map(({ item }) => item)))
      writing.delete(batch)
      for (const [index, { answer }] of batch.entries())
        answer(Exit.isSuccess(exit) ? Effect.succeed(exit.value[index] as Answer) : Effect.failCause(exit.cause))
    })
    for (let writer = 0; writer < writers; writer++) yield* Effect.forkScoped(Effect.forever(writeNext))
    const submit = (item: Item): Effect.Effect<Answer, E> =>
      Effect.callback<Answer, E>((resume) => {
        if (isClosed) {
          resume(Effect.interrupt)
          return
        }
        if (waiting.length >= maximumWaiting) {
          room.closeUnsafe()
          resume(Effect.andThen(room.await, submit(item)))
          return
        }
        waiting.push({ item, answer: resume })
        something.openUnsafe()
        if (waiting.length >= maximumBatch) enough.openUnsafe()
      })
    const hurry = Effect.sync(() => {
      isHurried = true
      enough.openUnsafe()
    })
    return { hurry, submit }
  })
