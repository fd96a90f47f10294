/**
 * Waits until a log that was just opened has a leader that accepts its frames. A cluster reports that a stream is
 * created before every server has heard who leads it, and then says "no responders" for some milliseconds; under load,
 * or during an election, for longer.
 */
import { Duration, Effect, Schedule } from "effect"
import { JournalUnavailable, type Log, type PublishAnswer } from "../engine/ports/Journal.ts"
import { apiTimeoutMillis } from "./jetStreamApi.ts"

/** Longer than a cluster takes to elect a leader where the old one was killed. */
export const leaderPatienceMillis = 10_000

const retryMillis = 20

/** No log gets that far, so nothing is ever stored behind it. */
const neverLast = Number.MAX_SAFE_INTEGER

/** An attempt that must be refused: by whom it is, takes frames. */
const attempt = (log: Pick<Log, "publish">): Effect.Effect<PublishAnswer> =>
  log.publish({
    bytes: new Uint8Array(),
    identity: "",
    expectedLast: neverLast,
    timeoutMillis: apiTimeoutMillis
  })

const isSilence = ({ _tag }: PublishAnswer): boolean => _tag === "NoLeader" || _tag === "NoAnswer" || _tag === "NotSent"

/** Returns once a leader answers, and stores nothing. */
export const awaitLeader = (log: Pick<Log, "partition" | "publish">): Effect.Effect<void, JournalUnavailable> =>
  attempt(log).pipe(
    Effect.repeat({ while: isSilence, schedule: Schedule.spaced(Duration.millis(retryMillis)) }),
    Effect.asVoid,
    Effect.timeoutOrElse({
      duration: Duration.millis(leaderPatienceMillis),
      orElse: () =>
        Effect.fail(
          new JournalUnavailable({
            partition: log.partition,
            message: `the log of partition ${log.partition} cannot be opened now: nobody has taken frames for ${leaderPatienceMillis} ms`
          })
        )
    })
  )
