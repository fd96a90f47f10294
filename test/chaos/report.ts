/** A run's report for people. */
import { describeViolations } from "../support/longRun.ts"
import type { ChaosReport } from "./run.ts"

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, left], [, right]) => right - left)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ") || "none"

export const describeReport = (report: ChaosReport): string => {
  const { asked, acknowledged, lost, storedUnacknowledged } = report.decisions
  const errors = Object.entries(report.errors).map(
    ([error, { count, message }]) => `    ${error} ${count} (such as: ${message})`
  )
  return [
    `decisions     ${asked} asked for; ${acknowledged} acknowledged; ${storedUnacknowledged} stored unacknowledged; ${lost} not stored`,
    `callers       ${report.asks} asks; ${report.callers.looks} looks; ${report.callers.repeats} repeats, ${report.callers.recognized} recognized; ${report.callers.lateAnswers} answers to callers that had left`,
    `log           ${report.log.records} records in ${report.log.frames} frames, ${report.log.claims} of them claims; ${report.log.purgedFrames} purged since`,
    `projection    ${report.projectedRows} rows`,
    `messages      ${report.messages} to other organizations, each taken in once`,
    `processes     ${report.processes} started, ${report.failedStarts} of them too early; ${report.fences} fences, ${report.restarts} restarts of partitions`,
    `rule 2        ${counted(report.branches)}`,
    `errors seen${errors.length === 0 ? "   none" : ""}`,
    ...errors,
    describeViolations(
      report.violations,
      "every acknowledged decision is there once, whole, in log, state and projection",
      report.violationCount
    )
  ].join("\n")
}
