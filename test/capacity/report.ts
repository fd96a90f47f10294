/** Prints the figures of a capacity run beside those of the model. */
import type { Measured, Phase } from "./load.ts"
import type { Cost, PlatformCosts } from "./platform.ts"
import { units } from "./units.ts"

const fixed = (value: number, digits = 1): string => value.toFixed(digits)

const phase = (name: string, of: Phase): string =>
  `${name}: ${of.decisions} decisions in ${fixed(of.seconds)} s, ${Math.round(of.decisions / of.seconds)}/s, p99 ${fixed(of.p99Millis)} ms; us CPU each: node ${fixed(of.nodeMicros)}, NATS ${fixed(of.natsMicros)}, PostgreSQL ${fixed(of.postgresMicros)}; log ${fixed(of.logBytes, 0)} bytes each, ${fixed(of.decisions / of.frames)} in a frame`

export const describeMeasured = (measured: Measured): string =>
  [
    phase("first", measured.first),
    phase("skewed", measured.skewed),
    `an organization: ${fixed(measured.databaseBytes, 0)} bytes in the database, ${fixed(measured.residentBytes, 0)} in memory (${measured.inMemory} there)`
  ].join("\n")

const cost = (name: string, of: Cost): string =>
  `${name}: us CPU: node ${fixed(of.nodeMicros, 0)}, NATS ${fixed(of.natsMicros, 0)}, PostgreSQL ${fixed(of.postgresMicros, 0)}; bytes: log ${fixed(of.logBytes, 0)}, database ${fixed(of.databaseBytes, 0)}`

export const describeCosts = ({ delivered, event, send }: PlatformCosts): string =>
  [
    cost("a request with its event", event),
    cost("a request with its event and its delivery", delivered),
    cost("a send, from HTTP to the relay", send)
  ].join("\n")

/** The largest difference between run and model that is not called one. */
const factor = 2

/** Each figure of the run over the model's, whose decision of a rarely asked actor is what the first round of all organizations took. */
export const compare = ({ databaseBytes, residentBytes, skewed }: Measured): ReadonlyArray<string> => {
  const { rare } = units.costs
  const figures: ReadonlyArray<readonly [name: string, measured: number, expected: number]> = [
    ["node, us a decision", skewed.nodeMicros, rare.nodeMicros],
    ["NATS, us a decision", skewed.natsMicros, rare.natsMicros],
    ["PostgreSQL, us a decision", skewed.postgresMicros, rare.postgresMicros],
    ["log, bytes a decision", skewed.logBytes, rare.logBytes],
    ["database, bytes an organization", databaseBytes, units.organizationBytes],
    ["memory, bytes an organization", residentBytes, units.residentBytes]
  ]
  return figures.map(([name, measured, expected]) => {
    const ratio = measured / expected
    const isBeyond = ratio > factor || ratio < 1 / factor
    return `${isBeyond ? "beyond the model" : "as the model says"}: ${name}: ${fixed(measured)}, expected ${fixed(expected)} (${fixed(ratio, 2)})`
  })
}
