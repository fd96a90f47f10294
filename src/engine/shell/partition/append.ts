/**
 * Interprets the answers of the log: the fenced append of docs/architecture.md, rule 2. One frame at a time. An attempt
 * counts as failed only after the leader was read, and a refusal counts only once no copy of the frame can be stored
 * any more. Runs over the low-level `Log`, so that every answer can be simulated.
 */
import { Duration, Effect } from "effect"
import { Pauses } from "../../../common/backoff.ts"
import type { Instant } from "../../core/PartitionTime.ts"
import { sameBytes } from "../../frame.ts"
import { awayDeadlineMillis, outcomeDeadlineMillis, publishTimeoutMillis } from "../../limits.ts"
import type { JournalUnavailable, Log, PublishAnswer, StoredFrame } from "../../ports/Journal.ts"

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
 * - `Stored`: at expected + 1. `provenAt`: when the exchange began that showed it as the log's end; undefined when the
 *   log has moved on behind it.
 * - `Fenced`: another frame is there, or the log has moved on. `certain`: the frame is surely not stored.
 * - `Fenced off`: refused, and the fence is at its place: surely not stored, and never will be.
 * - `Refused`: refused, as the fence was, or there is none: a copy under way may still be stored.
 * - `Not sent`: there was no connection, and no attempt was sent: surely not stored.
 * - `Unknown`: the deadline passed first. The frame may be stored, or be stored later.
 */
export type AppendOutcome =
  | { readonly _tag: "Stored"; readonly branch: AppendBranch; readonly provenAt: Instant | undefined }
  | { readonly _tag: "Fenced"; readonly branch: AppendBranch; readonly certain: boolean }
  | {
      readonly _tag: "Fenced off"
      readonly branch: AppendBranch
      readonly fence: Uint8Array
      readonly provenAt: Instant | undefined
    }
  | { readonly _tag: "Refused"; readonly branch: AppendBranch }
  | { readonly _tag: "Not sent"; readonly branch: AppendBranch }
  | { readonly _tag: "Unknown"; readonly branch: AppendBranch }

export interface AppendRequest {
  readonly bytes: Uint8Array
  readonly identity: string
  readonly expectedLast: number
  /** A small frame with the same identity for the same place, appended when this one is refused. */
  readonly fence?: () => Uint8Array
}

/** The pause before the next attempt or read while the log cannot be reached; it doubles up to the last one. */
const firstRetryMillis = 20
const lastRetryMillis = 250

/** Appends a frame; ends within `outcomeDeadlineMillis`. Never fails. `read` returns both clocks. */
export const append = (log: Log, request: AppendRequest, read: () => Instant): Effect.Effect<AppendOutcome> =>
  Effect.suspend(() => {
    const begunAt = read()
    const rest = (answer: PublishAnswer) => {
      const left = outcomeDeadlineMillis - (read().monotonic - begunAt.monotonic)
      return Effect.map(
        Effect.timeoutOption(
          new Attempts(log, request, read).resolve(answer, begunAt),
          Duration.millis(Math.max(0, left))
        ),
        (outcome): AppendOutcome => (outcome._tag === "Some" ? outcome.value : { _tag: "Unknown", branch: "unknown" })
      )
    }
    // A publish has its own timeout, so the usual case needs no race against the deadline, which costs two fibers.
    return Effect.flatMap(publish(log, request, request.bytes), (answer) =>
      isStored(answer, request)
        ? Effect.succeed<AppendOutcome>({ _tag: "Stored", branch: "acked", provenAt: begunAt })
        : rest(answer)
    )
  })

const publish = (
  log: Log,
  { expectedLast, identity }: AppendRequest,
  bytes: Uint8Array
): Effect.Effect<PublishAnswer> => log.publish({ bytes, identity, expectedLast, timeoutMillis: publishTimeoutMillis })

/** A duplicate is never believed without a check of the stored bytes. */
const isStored = (answer: PublishAnswer, { expectedLast }: AppendRequest): boolean =>
  answer._tag === "Acked" && answer.sequence === expectedLast + 1 && !answer.duplicate

/** The content of the log at a frame's place. */
type Place =
  | { readonly _tag: "Absent" }
  /** The log ends before the frame's predecessor. */
  | { readonly _tag: "Behind" }
  /** The log has moved on and the frame at that place was purged; it may have been ours. */
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Taken"; readonly by: StoredFrame; readonly isLast: boolean; readonly readAt: Instant }

/** The attempts to append one frame, after the first attempt was not plainly acknowledged. */
class Attempts {
  private readonly log: Log
  private readonly request: AppendRequest
  private readonly read: () => Instant
  /** Attempts that may have reached the log. */
  private sent = 0
  private readonly pauses = new Pauses(firstRetryMillis, lastRetryMillis)
  /** The frame being appended or, once it was refused, its fence. */
  private current: Uint8Array
  private fence: Uint8Array | undefined = undefined
  private refused: "full" | "too-large" | undefined = undefined

  constructor(log: Log, request: AppendRequest, read: () => Instant) {
    this.log = log
    this.request = request
    this.read = read
    this.current = request.bytes
  }

  /** `answer` is the log's answer to the first attempt, which began at `begunAt`. */
  readonly resolve = Effect.fnUntraced(function* (
    this: Attempts,
    answer: PublishAnswer,
    begunAt: Instant
  ): Effect.fn.Return<AppendOutcome> {
    let at = begunAt
    let said = answer
    while (true) {
      if (said._tag === "NotSent" && this.sent === 0) {
        // No copy of the frame exists anywhere, so nothing has to be read and the frame may be given up.
        if (this.read().monotonic - begunAt.monotonic >= awayDeadlineMillis)
          return { _tag: "Not sent", branch: "not-sent" }
        yield* this.pause
      } else {
        this.sent++
        if (isStored(said, this.request)) return this.stored(this.current, at)
        const outcome = yield* this.afterAnswer(said)
        if (outcome !== undefined) return outcome
      }
      at = this.read()
      said = yield* publish(this.log, this.request, this.current)
    }
  })

  /** The outcome that follows from an answer other than a plain ack; undefined to send again. */
  private readonly afterAnswer = Effect.fnUntraced(function* (
    this: Attempts,
    answer: PublishAnswer
  ): Effect.fn.Return<AppendOutcome | undefined> {
    const isRefusal = answer._tag === "Full" || answer._tag === "TooLarge"
    if (isRefusal && this.refused === undefined) {
      this.refused = answer._tag === "Full" ? "full" : "too-large"
      this.fence = this.request.fence?.()
      if (this.fence !== undefined) {
        // The first fence that is stored ends all doubt; until then a copy of the frame may be stored.
        this.current = this.fence
        return undefined
      }
    }
    if (answer._tag === "NoLeader" || answer._tag === "Refused" || this.sent > 1) yield* this.pause
    const place = yield* this.whatStandsThere
    switch (place._tag) {
      case "Absent":
        return isRefusal ? { _tag: "Refused", branch: this.refused! } : undefined
      case "Behind":
        return { _tag: "Fenced", branch: "log-behind", certain: false }
      case "Gone":
        return { _tag: "Fenced", branch: "fenced-absent", certain: false }
      case "Taken":
        return this.found(place)
    }
  })

  /** Handles an occupied place: our frame, its fence, or another's. */
  private found({ by, isLast, readAt }: Extract<Place, { readonly _tag: "Taken" }>): AppendOutcome {
    const isOurs = by.identity === this.request.identity
    // A log that has moved on behind our place belongs to another owner by now.
    const provenAt = isLast ? readAt : undefined
    if (isOurs && sameBytes(by.bytes, this.request.bytes)) return { _tag: "Stored", branch: "read-back", provenAt }
    if (isOurs && this.fence !== undefined && sameBytes(by.bytes, this.fence))
      return { _tag: "Fenced off", branch: this.refused!, fence: this.fence, provenAt }
    return { _tag: "Fenced", branch: "fenced-other-frame", certain: true }
  }

  private stored(bytes: Uint8Array, provenAt: Instant): AppendOutcome {
    if (bytes !== this.request.bytes) return { _tag: "Fenced off", branch: this.refused!, fence: bytes, provenAt }
    return { _tag: "Stored", branch: this.sent === 1 ? "acked" : "acked-after-resend", provenAt }
  }

  private readonly pause = Effect.suspend(() => Effect.sleep(Duration.millis(this.pauses.afterFailure())))

  /** Reads the leader until it answers. */
  private readonly whatStandsThere: Effect.Effect<Place> = Effect.suspend(() =>
    Effect.catch(this.look, () => Effect.andThen(this.pause, this.whatStandsThere))
  )

  /**
   * Reads the log's end first, then the frame. In the other order a commit between the two reads would look like a log
   * that has moved on without us. When the log has gone on and the frame is absent, a later owner has purged it, so it
   * may have been ours.
   */
  private readonly look: Effect.Effect<Place, JournalUnavailable> = Effect.suspend(() => {
    const readAt = this.read()
    const { expectedLast } = this.request
    return Effect.flatMap(this.log.state, ({ lastSequence }): Effect.Effect<Place, JournalUnavailable> => {
      if (lastSequence === expectedLast) return Effect.succeed({ _tag: "Absent" })
      if (lastSequence < expectedLast) return Effect.succeed({ _tag: "Behind" })
      return Effect.map(this.log.frameAt(expectedLast + 1), (by) =>
        by === undefined ? { _tag: "Gone" } : { _tag: "Taken", by, isLast: lastSequence === expectedLast + 1, readAt }
      )
    })
  })
}
