import { Effect, Schedule } from "effect"

/** Waits until the condition holds, by the real clock; fails the test when it never does. */
export const until = <E>(condition: Effect.Effect<boolean, E>): Effect.Effect<void, E | "never"> =>
  Effect.asVoid(
    Effect.retry(
      Effect.filterOrFail(
        condition,
        (holds) => holds,
        () => "never" as const
      ),
      { schedule: Schedule.spaced("20 millis"), times: 1_500 }
    )
  )
