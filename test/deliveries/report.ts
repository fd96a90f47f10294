/** A kill run's report for people. */
import { describeViolations } from "../support/longRun.ts"
import type { KillRunReport } from "./run.ts"

export const describeReport = (report: KillRunReport): string => {
  const { answered, arrivals, duplicates, kills, loggedUnanswered, lost, refused, seconds, violations } = report
  return [
    `lookups       ${answered} answered; ${loggedUnanswered} in the event log unanswered; ${lost} lost with the platform, unanswered`,
    `deliveries    ${arrivals} arrived for ${answered + loggedUnanswered} events; ${refused} refused once and retried; ${duplicates} duplicates`,
    `kills         ${kills} in ${seconds.toFixed(0)} s`,
    describeViolations(
      violations,
      "every answered event is in the event log once and arrived, signed, with the same bytes"
    )
  ].join("\n")
}
