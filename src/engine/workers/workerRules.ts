/**
 * Decides what follows an attempt at a job, and which organizations' jobs a worker takes next (docs/workers.md). Pure.
 */
import { roomOf } from "../../common/Shares.ts"
import type { DueOrganization, JobClaim } from "../ports/WorkerJobs.ts"

/**
 * The pauses between the attempts at a job. A job has one attempt more than there are pauses. See {@link Worker.make}.
 */
export interface WorkerRetry {
  /** Milliseconds before the second attempt, the third, and so on: at most 100 pauses of up to 30 days each. */
  readonly pausesMillis: ReadonlyArray<number>
  /** The part of a pause, 0 to 1, by which chance shortens it, so that jobs do not come back together; default 0.2. */
  readonly jitter?: number
}

/** The result of an attempt, as the rules see it. */
export type AttemptResult =
  | { readonly _tag: "Succeeded" }
  | {
      readonly _tag: "Failed"
      readonly reason: string
      /** Whether no other attempt can help. */
      readonly isFinal: boolean
      /** How long the outside asks to wait. */
      readonly afterMillis?: number | undefined
    }

/** The step after an attempt. */
export type AttemptStep =
  | { readonly _tag: "Finish" }
  | { readonly _tag: "Again"; readonly dueAt: number; readonly reason: string }
  | { readonly _tag: "GiveUp"; readonly reason: string }

/** Most pauses of a schedule, and the longest of them. */
export const maximumPauses = 100
export const maximumPauseMillis = 30 * 24 * 3_600_000

const defaultJitter = 0.2

/** The step after the attempt of that number, from 1. `random` is from 0 to 1. */
export const stepAfter = (
  attempt: number,
  result: AttemptResult,
  { jitter = defaultJitter, pausesMillis }: WorkerRetry,
  { now, random }: { readonly now: number; readonly random: number }
): AttemptStep => {
  if (result._tag === "Succeeded") return { _tag: "Finish" }
  const { afterMillis = 0, isFinal, reason } = result
  const pause = pausesMillis[attempt - 1]
  if (isFinal || pause === undefined) return { _tag: "GiveUp", reason }
  const shortened = Math.round(pause * (1 - jitter * random))
  return { _tag: "Again", dueAt: now + Math.max(shortened, Math.min(afterMillis, maximumPauseMillis)), reason }
}

/**
 * Whether a taken job may be tried. An attempt that ended without an outcome, because its process died, counts as one:
 * a job that kills its process must not do that for ever.
 */
export const mayTry = (attempt: number, { pausesMillis }: WorkerRetry): boolean => attempt <= pausesMillis.length + 1

/** Why a schedule cannot be; undefined if it can. */
export const retryProblem = ({ jitter = defaultJitter, pausesMillis }: WorkerRetry): string | undefined => {
  if (pausesMillis.length > maximumPauses) return `retry has more than ${maximumPauses} pauses`
  const isPause = (pause: number) => Number.isSafeInteger(pause) && pause >= 0 && pause <= maximumPauseMillis
  if (!pausesMillis.every(isPause)) return `a pause of retry is 0 to ${maximumPauseMillis} whole milliseconds`
  return jitter >= 0 && jitter <= 1 ? undefined : "jitter is from 0 to 1"
}

/** The jobs that a worker has taken, by organization, and in which turn it has last taken one of an organization. */
export interface HeldJobs {
  readonly capacity: number
  readonly used: number
  readonly of: (organization: string) => number
  /** 0 for an organization of which none was taken of late. */
  readonly turnOf: (organization: string) => number
}

/**
 * The jobs to take now. Each round gives every organization one slot, those that wait longest for their turn first, and
 * none gets more than half of what the others leave free: so a large backlog of one delays no other. If a worker is
 * ordered, an organization has one job at a time.
 */
export const claimsOf = (
  due: ReadonlyArray<DueOrganization>,
  held: HeldJobs,
  { isOrdered, now }: { readonly isOrdered: boolean; readonly now: number }
): ReadonlyArray<JobClaim> => {
  const limits = new Map<DueOrganization, number>()
  let used = held.used
  const waiting = due
    .filter(({ dueAt }) => dueAt <= now)
    .sort(
      (left, right) =>
        held.of(left.organization) - held.of(right.organization) ||
        held.turnOf(left.organization) - held.turnOf(right.organization) ||
        left.dueAt - right.dueAt
    )
  for (let given = -1; given !== 0; ) {
    given = 0
    for (const one of waiting) {
      const limit = limits.get(one) ?? 0
      const own = held.of(one.organization) + limit
      if (used >= held.capacity || (isOrdered && own > 0)) continue
      if (roomOf(own, { capacity: held.capacity, used }) === 0) continue
      limits.set(one, limit + 1)
      used++
      given++
    }
  }
  return [...limits].map(([{ organization, partition }, limit]) => ({ organization, partition, limit }))
}
