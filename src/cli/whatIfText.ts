/** Writes the answer to `sluice what-if` (docs/what-if.md) for people and for spreadsheets. Pure. */
import type { WhatIfShown } from "../admin/whatIfApi.ts"
import { csvLine } from "../http/csvLine.ts"
import { shownTime, tableText } from "./output.ts"

type Day = WhatIfShown["asItWas"]["days"][number]

const refusedOf = ({ refused }: Day): number => Object.values(refused).reduce((sum, emails) => sum + emails, 0)

const hours = (millis: number): string => `${(millis / 3_600_000).toFixed(1)} h`
const percent = (used: number | null): string => (used === null ? "" : `${used} %`)

/** A value under the rules in force, and under the others where it differs. */
const both = (was: number, would: number): string => (was === would ? `${was}` : `${was} -> ${would}`)

const columns = ["DAY", "ACCEPTED", "REFUSED", "HELD", "LONGEST WAIT", "MONTH", "PROBATION"] as const

const emptyDay = (day: string): Day => ({
  day,
  requests: 0,
  accepted: 0,
  refused: {},
  held: 0,
  heldMillis: null,
  monthUsed: null,
  probationUsed: null
})

/** The days of both, each once. */
const pairs = ({ asItWas, underRules }: WhatIfShown): ReadonlyArray<readonly [was: Day, would: Day]> => {
  const by = (days: ReadonlyArray<Day>) => new Map(days.map((one) => [one.day, one]))
  const [was, would] = [by(asItWas.days), by(underRules.days)]
  return [...new Set([...was.keys(), ...would.keys()])]
    .sort()
    .map((day) => [was.get(day) ?? emptyDay(day), would.get(day) ?? emptyDay(day)])
}

const csvColumns = ["day", "rules", "requests", "accepted", "refused", "held", "longest_wait_ms", "month_percent"]

/** A line for each day and rules, and one of names. */
export const whatIfCsv = (shown: WhatIfShown): string =>
  [
    csvColumns,
    ...pairs(shown).flatMap(([was, would]) =>
      [["in force", was] as const, ["other", would] as const].map(([rules, day]) => [
        day.day,
        rules,
        `${day.requests}`,
        `${day.accepted}`,
        `${refusedOf(day)}`,
        `${day.held}`,
        `${day.heldMillis?.longest ?? ""}`,
        `${day.monthUsed ?? ""}`
      ])
    )
  ]
    .map((line) => csvLine(line))
    .join("")
    .trimEnd()

const pausesText = (title: string, { pauses }: WhatIfShown["asItWas"]): string =>
  `${title}: ${pauses.length === 0 ? "none" : pauses.map(({ at, reason }) => `${shownTime(at)} for ${reason}`).join(", ")}`

/** Sentences about what the history does not say. */
const doubts = ({ agreement: { other, same }, unknown }: WhatIfShown): ReadonlyArray<string> => [
  `The rules in force decide ${same} of ${same + other} requests as they were answered.`,
  ...(unknown.fates === 0
    ? []
    : [`${unknown.fates} emails were refused and would be accepted. They are taken to arrive without a bounce.`]),
  ...(unknown.refusedSince === null
    ? ["No refused request is known of this time."]
    : [`Refused requests are known from ${shownTime(unknown.refusedSince)} on.`]),
  ...(unknown.requests === 0
    ? []
    : [`The request log counted ${unknown.requests} refused requests without keeping them.`]),
  ...(unknown.beginning ? ["The account's facts do not reach back so far: it begins with its present stage."] : [])
]

/** The answer as a table by day, and sentences. */
export const whatIfText = (shown: WhatIfShown): string => {
  const days = pairs(shown).map(([was, would]) => [
    was.day,
    both(was.accepted, would.accepted),
    both(refusedOf(was), refusedOf(would)),
    both(was.held, would.held),
    would.heldMillis === null ? "" : hours(would.heldMillis.longest),
    percent(would.monthUsed),
    percent(would.probationUsed)
  ])
  return [
    days.length === 0 ? "The account has no requests in this time." : tableText(columns, days),
    "",
    pausesText("Pauses under the rules in force", shown.asItWas),
    pausesText("Pauses under the others", shown.underRules),
    ...doubts(shown)
  ].join("\n")
}
