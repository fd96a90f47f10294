/** Works in a place, which accounts get in turn, and for which a work waits so long; else nothing was begun (docs/handoff.md, 2.1). Needs no service. */
import { Deferred, Duration, Effect } from "effect"
import { AccountTurns, type AccountTurnsOptions, type Wish } from "./AccountTurns.ts"

interface Waiting extends Wish {
  readonly turn: Deferred.Deferred<void>
}

export type InTurn = <A, E>(wish: Wish, work: Effect.Effect<A, E>, late: A) => Effect.Effect<A, E>

export const makeInTurn = (options: AccountTurnsOptions, waitMillis: number): InTurn => {
  const turns = new AccountTurns<Waiting>(options)
  const go = () => {
    for (let next = turns.next(); next !== undefined; next = turns.next()) Deferred.doneUnsafe(next.turn, Effect.void)
  }
  return ({ account, domain }, work, late) =>
    Effect.acquireUseRelease(
      Effect.sync((): Waiting => {
        const wish = { account, domain, turn: Deferred.makeUnsafe<void>() }
        turns.want(wish)
        go()
        return wish
      }),
      (wish) =>
        Effect.gen(function* () {
          const got = yield* Effect.timeoutOption(Deferred.await(wish.turn), Duration.millis(waitMillis))
          // A turn that has come in the same moment is given back behind the work.
          return got._tag === "None" ? late : yield* work
        }),
      (wish) =>
        Effect.sync(() => {
          if (!turns.withdraw(wish)) turns.ended(wish)
          go()
        })
    )
}
