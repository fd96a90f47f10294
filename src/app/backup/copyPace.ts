/** Bounds the reads of a backup: their rate, so that the platform keeps its share of the disks, and their patience. */
import { Clock, Duration, Effect } from "effect"
import { BackupRefused } from "./errors.ts"

/** How long a copy may make no progress. */
const stallMillis = 60_000

/** How often the progress is looked at. */
const lookMillis = 1_000

/** Waits as long as bytes take that were read. */
export type Pace = (bytes: number) => Effect.Effect<void>

/** Makes one bound on bytes per second, for everything that is read. */
export const makePace = (bytesPerSecond: number): Pace => {
  let freeAt = 0
  return (bytes) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      freeAt = Math.max(now, freeAt) + (bytes * 1000) / bytesPerSecond
      return freeAt - now < 1 ? Effect.void : Effect.sleep(Duration.millis(freeAt - now))
    })
}

/** Runs a copy, and gives it up when its progress stands still. `what` begins the sentence about that. */
export const unlessStalled = <A, E, R>(
  progress: () => number,
  what: string,
  copy: Effect.Effect<A, E, R>
): Effect.Effect<A, E | BackupRefused, R> =>
  Effect.raceFirst(
    copy,
    Effect.gen(function* () {
      let seen = progress()
      let since = yield* Clock.currentTimeMillis
      while (true) {
        yield* Effect.sleep(Duration.millis(lookMillis))
        const now = yield* Clock.currentTimeMillis
        if (progress() === seen && now - since >= stallMillis)
          return yield* new BackupRefused({ message: `${what}: nothing has moved for ${stallMillis} ms. Try again` })
        if (progress() === seen) continue
        seen = progress()
        since = now
      }
    })
  )

/** Turns a failure to write or read a file into a sentence. */
export const fileFailure =
  (what: string) =>
  (cause: unknown): BackupRefused =>
    cause instanceof BackupRefused
      ? cause
      : new BackupRefused({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })
