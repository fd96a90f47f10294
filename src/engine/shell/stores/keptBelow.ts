/**
 * Decides how much of a log stays behind its checkpoints (docs/architecture.md, rules 9 and 14): the frames younger
 * than the engine's `logKeepMillis`, so that a PostgreSQL that was restored from a backup of that age catches up by
 * itself, up to half of the log's bound.
 */
import { Effect } from "effect"
import { decodeFrame } from "../../frame.ts"
import type { JournalUnavailable, Log, LogState } from "../../ports/Journal.ts"

/** The share of a log's bound that frames behind checkpoints may fill. */
export const keptShare = 0.5

/**
 * The first sequence from `from` below `to` for which `isYoung` is true; `to` if there is none. Reads few: places are
 * in the order of time.
 */
export const firstYoung = <E>(
  from: number,
  to: number,
  isYoung: (sequence: number) => Effect.Effect<boolean, E>
): Effect.Effect<number, E> =>
  Effect.gen(function* () {
    // Nearly always the oldest one is young: a log that is not as old as it may be.
    if (from >= to || (yield* isYoung(from))) return Math.min(from, to)
    let old = from
    let young = to
    while (young - old > 1) {
      const middle = old + Math.floor((young - old) / 2)
      if (yield* isYoung(middle)) young = middle
      else old = middle
    }
    return young
  })

/**
 * The sequence up to which frames are dropped because of their bytes: those over the share, by the mean size of a
 * frame.
 */
export const overShare = ({ bytes, firstSequence, lastSequence, maximumBytes }: LogState): number => {
  const over = bytes - maximumBytes * keptShare
  const frames = lastSequence - firstSequence + 1
  return over <= 0 || frames <= 0 ? firstSequence : firstSequence + Math.ceil(over / (bytes / frames))
}

/**
 * The sequence below which frames may be dropped, among those below `below`, which no start needs. `cutoffMillis`:
 * later frames stay.
 */
export const keptBelow = Effect.fnUntraced(function* (
  log: Log,
  below: number,
  cutoffMillis: number
): Effect.fn.Return<number, JournalUnavailable> {
  const state = yield* log.state
  const isYoung = (sequence: number) =>
    Effect.map(log.frameAt(sequence), (frame) => {
      if (frame === undefined) return false
      try {
        return decodeFrame(frame.bytes).now > cutoffMillis
      } catch {
        // Unreadable frames do not help to catch up.
        return false
      }
    })
  const from = Math.min(below, Math.max(state.firstSequence, overShare(state)))
  return yield* firstYoung(from, below, isYoung)
})
