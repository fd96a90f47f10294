/** How a kill run is told. */
import { describeViolations } from "../support/longRun.ts"
import type { SendingReport } from "./run.ts"

/** The part of the sorted figures that this share of them does not exceed. */
const within = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** How many mails a kill of each victim has repeated, and how long before it they had been handed over. */
const describeRepeats = ({ killed, repeats }: SendingReport): ReadonlyArray<string> =>
  [...Map.groupBy(killed, ({ victim }) => victim)].map(([victim, kills]) => {
    const of = repeats.filter((one) => one.victim === victim)
    const windows = of.map(({ windowMillis }) => windowMillis)
    const longest =
      of.length === 0 ? "" : `, handed over ${Math.min(...windows)} to ${Math.max(...windows)} ms before it`
    return `  ${kills.length} kills of ${victim}: ${of.length} repeats${longest}`
  })

export const describeReport = (report: SendingReport): string => {
  const { answered, bounced, held, killed, recordedMillis, refused, repeats, seconds, sent, unanswered, violations } =
    report
  const [half, most] = [within(recordedMillis, 0.5), within(recordedMillis, 0.99)]
  return [
    `${answered} emails answered, ${unanswered} more accepted without an answer, ${refused} requests refused for a cap; ${killed.length} kills in ${seconds.toFixed(0)} s`,
    `${sent} handed over, ${bounced} refused by the relay, ${held} held`,
    `${repeats.length} handed over again, each after a kill:`,
    ...describeRepeats(report),
    `recorded after the relay had it: half within ${half} ms, 99 % within ${most} ms, all within ${recordedMillis.at(-1) ?? 0} ms (of ${recordedMillis.length})`,
    describeViolations(violations, "no violation")
  ].join("\n")
}
