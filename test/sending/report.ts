/** How a kill run is told. */
import type { SendingReport } from "./run.ts"

const shownViolations = 20

export const describeReport = ({
  answered,
  duplicates,
  held,
  kills,
  refused,
  seconds,
  sent,
  unanswered,
  violations
}: SendingReport): string =>
  [
    `${answered} emails answered, ${unanswered} more accepted without an answer, ${refused} requests refused for a cap; ${kills} kills in ${seconds.toFixed(0)} s`,
    `${sent} handed over, ${held} held; ${duplicates} handed over more than once, each by different lives of the platform`,
    violations.length === 0 ? "no violation" : `${violations.length} VIOLATIONS`,
    ...violations.slice(0, shownViolations).map((text) => `  ${text}`)
  ].join("\n")
