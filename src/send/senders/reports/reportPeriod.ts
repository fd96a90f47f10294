/** Decides which days a request for reports is about (docs/platform.md, 9.21). Days are those of UTC. Pure. */
import { Result } from "effect"
import { PeriodInvalid } from "../../../common/figuresPeriod.ts"
import { dayMillis } from "../../limits.ts"
import { shownReportsMillis } from "./limits.ts"
import { dayOf } from "./reportText.ts"

/** The period of a request that names no beginning. */
const defaultMillis = 30 * dayMillis

/** Whole days from `since`, inclusive, to `until`, exclusive. Unix milliseconds. */
export interface ReportPeriod {
  readonly since: number
  readonly until: number
}

const invalid = (parameter: "since" | "until", given: number | undefined, expected: string) =>
  Result.fail(
    new PeriodInvalid({
      message: `Invalid parameter '${parameter}'${given === undefined ? "" : `: "${given}"`}. ${expected}`
    })
  )

const keptFor = "Reports are kept for 90 days."

/** The period of a request: the whole days that its times touch. */
export const reportPeriodOf = (
  { since, until }: { readonly since?: number | undefined; readonly until?: number | undefined },
  now: number
): Result.Result<ReportPeriod, PeriodInvalid> => {
  const end = until ?? now + 1
  const oldest = dayOf(now) - shownReportsMillis
  const begin = since ?? Math.max(dayOf(end - 1) - defaultMillis + dayMillis, oldest)
  if (end > now + 2 * dayMillis) return invalid("until", until, "Expected a time that is at most two days ahead.")
  if (end <= oldest) return invalid("until", until, keptFor)
  if (begin >= end)
    return invalid("since", since, "Expected a time before 'until', which is the present where it is left out.")
  if (begin < oldest) return invalid("since", since, keptFor)
  return Result.succeed({ since: dayOf(begin), until: dayOf(end - 1) + dayMillis })
}
