/**
 * What the answers of the log mean: the fenced append of architecture rule 2. One frame at a time; an attempt is never believed to
 * have failed before the leader was read. Runs over the low-level `Log`, so every answer can be simulated.
 */
import { Clock, Duration, Effect } from "effect"
import { sameBytes } from "./frame.ts"
import type { JournalUnavailable, Log, PublishAnswer, StoredFrame } from "./Journal.ts"
import { awayDeadlineMillis, outcomeDeadlineMillis, publishTimeoutMillis } from "./limits.ts"
import type { Sabotage } from "./sabotage.ts"

/** The ways an append can end, for the metric. */
export const appendBranches = [
  "acked",
  "acked-after-resend",
  "read-back",
  "fenced-other-frame",
  "fenced-absent",
  "log-behind",
  "full",
  "too-large",
  "not-sent",
  "unknown"
] as const
export type AppendBranch = (typeof appendBranches)[number]

/**
 * - `Committed`: stored at expected + 1. `confirmedAtNanos` is the monotonic time at which the confirming exchange began.
 * - `Fenced`: another frame stands there, or the log has moved on. `certain`: the frame is surely not stored.
 * - `Full`, `TooLarge`: surely not stored; the log takes no such frame now.
 * - `Away`: there was no connection, and no attempt was sent: surely not stored.
 * - `Unknown`: the deadline passed first. The frame may be stored, or be stored later.
 */
export type AppendOutcome =
  | { readonly _tag: "Committed"; readonly branch: AppendBranch; readonly confirmedAtNanos: bigint }
  | { readonly _tag: "Fenced"; readonly branch: AppendBranch; readonly certain: boolean }
  | { readonly _tag: "Full"; readonly branch: AppendBranch }
  | { readonly _tag: "TooLarge"; readonly branch: AppendBranch }
  | { readonly _tag: "Away"; readonly branch: AppendBranch }
  | { readonly _tag: "Unknown"; readonly branch: AppendBranch }

export interface AppendRequest {
  readonly bytes: Uint8Array
  readonly identity: string
  readonly expectedLast: number
}

/** Wait before the next attempt or read after the log was not reachable, doubled up to the second. */
const firstRetryMillis = 20
const lastRetryMillis = 250

/** Appends a frame; ends within `outcomeDeadlineMillis`. Never fails. */
export const append = (
  log: Log,
  request: AppendRequest,
  sabotage: ReadonlySet<Sabotage>
): Effect.Effect<AppendOutcome> =>
  Clock.clockWith((clock) => {
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const rest = (answer: PublishAnswer | undefined) => {
      const left = outcomeDeadlineMillis - Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6
      return Effect.map(
        Effect.timeoutOption(resolve(log, request, clock, sabotage, answer), Duration.millis(Math.max(0, left))),
        (outcome): AppendOutcome => (outcome._tag === "Some" ? outcome.value : { _tag: "Unknown", branch: "unknown" })
      )
    }
    if (sabotage.has("no-fence")) return rest(undefined)
    // a publish ends by its own timeout: the usual case needs no watch of the deadline, which costs two fibers
    return Effect.flatMap(publish(log, request, request.expectedLast), (answer) =>
      answer._tag === "Acked" && answer.sequence === request.expectedLast + 1 && !answer.duplicate
        ? Effect.succeed<AppendOutcome>({ _tag: "Committed", branch: "acked", confirmedAtNanos: startedAt })
        : rest(answer)
    )
  })

const awayNanos = BigInt(awayDeadlineMillis) * 1_000_000n

const publish = (log: Log, { bytes, identity }: AppendRequest, expectedLast: number): Effect.Effect<PublishAnswer> =>
  log.publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })

const isNotSent = ({ _tag }: PublishAnswer, sabotage: ReadonlySet<Sabotage>): boolean =>
  _tag === "NotSent" || (_tag === "NoAnswer" && sabotage.has("silence-means-not-sent"))

/** `firstAnswer`: what the log has answered to the first attempt, when that was made already. */
const resolve = Effect.fnUntraced(function* (
  log: Log,
  request: AppendRequest,
  clock: Clock.Clock,
  sabotage: ReadonlySet<Sabotage>,
  firstAnswer: PublishAnswer | undefined
): Effect.fn.Return<AppendOutcome> {
  let expectedLast = request.expectedLast
  let awaySince: bigint | undefined
  let made = firstAnswer
  // those that may have reached the log
  let attempts = 0
  let retryMillis = firstRetryMillis
  const pause = Effect.suspend(() => {
    const wait = retryMillis
    retryMillis = Math.min(retryMillis * 2, lastRetryMillis)
    return Effect.sleep(Duration.millis(wait))
  })
  while (true) {
    if (sabotage.has("no-fence")) {
      const state = yield* Effect.option(log.state)
      if (state._tag === "Some") expectedLast = state.value.lastSequence
    }
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const answer: PublishAnswer = made ?? (yield* publish(log, request, expectedLast))
    made = undefined
    if (isNotSent(answer, sabotage) && attempts === 0) {
      // no copy of the frame is anywhere, so nothing has to be read, and it may be given up
      awaySince ??= startedAt
      if (startedAt - awaySince >= awayNanos) return { _tag: "Away", branch: "not-sent" }
      yield* pause
      continue
    }
    attempts++
    if (answer._tag === "Acked" && sabotage.has("duplicate-accepted-unseen") && answer.duplicate)
      return { _tag: "Committed", branch: "acked", confirmedAtNanos: startedAt }
    if (answer._tag === "Acked" && answer.sequence === expectedLast + 1 && !answer.duplicate) {
      return {
        _tag: "Committed",
        branch: attempts === 1 ? "acked" : "acked-after-resend",
        confirmedAtNanos: startedAt
      }
    }
    // the first attempt was answered, and nothing of it is stored; after a second one an earlier copy may be
    if (answer._tag === "Full" && attempts === 1) return { _tag: "Full", branch: "full" }
    if (answer._tag === "TooLarge" && attempts === 1) return { _tag: "TooLarge", branch: "too-large" }
    if (answer._tag === "NoLeader" || answer._tag === "Refused" || attempts > 1) yield* pause

    // everything else: the leader is read until it says what stands at expected + 1
    let absent = false
    while (!absent) {
      const readAt = clock.monotonicTimeNanosUnsafe()
      const found = yield* Effect.option(whatStandsAfter(log, expectedLast))
      if (found._tag === "None") {
        yield* pause
        continue
      }
      const place = found.value
      if (place === "absent") {
        absent = true
      } else if (place === "moved-on") {
        return { _tag: "Fenced", branch: "fenced-absent", certain: false }
      } else if (place === "behind") {
        return { _tag: "Fenced", branch: "log-behind", certain: false }
      } else if (place.identity === request.identity && sameBytes(place.bytes, request.bytes)) {
        return { _tag: "Committed", branch: "read-back", confirmedAtNanos: readAt }
      } else if (sabotage.has("retry-after-fenced")) {
        expectedLast = place.sequence
        absent = true
      } else {
        return { _tag: "Fenced", branch: "fenced-other-frame", certain: true }
      }
    }
    if (answer._tag === "Full") return { _tag: "Full", branch: "full" }
    if (answer._tag === "TooLarge") return { _tag: "TooLarge", branch: "too-large" }
  }
})

/**
 * The log's end first, then the frame: in the other order a commit between the two reads would look like a log that has moved on without us.
 * A frame that is absent although the log has gone on was purged meanwhile by a later owner, so it may have been ours.
 */
const whatStandsAfter = (
  log: Log,
  expectedLast: number
): Effect.Effect<"absent" | "behind" | "moved-on" | StoredFrame, JournalUnavailable> =>
  Effect.gen(function* () {
    const state = yield* log.state
    if (state.lastSequence === expectedLast) return "absent"
    if (state.lastSequence < expectedLast) return "behind"
    return (yield* log.frameAt(expectedLast + 1)) ?? "moved-on"
  })
