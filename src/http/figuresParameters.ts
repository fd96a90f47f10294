/** Describes the parameters and common fields of figures over time (docs/platform.md, 3.5). */
import { Schema } from "effect"
import { figureIntervals } from "../common/figuresPeriod.ts"
import { integerParameter } from "./parameters.ts"

const expectedInterval = `Expected one of ${figureIntervals.join(", ")}`

const time = (description: string) => Schema.optional(integerParameter(0)).annotate({ description })

/** The parameters of a request for figures. */
export const figuresParameters = {
  since: time(
    "The first hour or day, milliseconds since the Unix epoch: by default a day before `until`, of days 30. At most 30 days ago"
  ),
  until: time("The end, milliseconds since the Unix epoch, exclusive; by default now"),
  interval: Schema.optional(
    Schema.Literals(figureIntervals).annotate({
      message: expectedInterval,
      description: "The step of the series; days are those of UTC. By default `hour`"
    })
  )
}

const Instant = (description: string) => Schema.Int.annotate({ description })

/** The fields that say what figures are about: the whole intervals that the request touches. */
export const figuresPeriodFields = {
  interval: Schema.Literals(figureIntervals),
  since: Instant("Milliseconds since the Unix epoch, inclusive"),
  until: Instant("Milliseconds since the Unix epoch, exclusive")
}

/** The start of an interval of a series. */
export const figuresAt = Instant("The start of the interval, milliseconds since the Unix epoch")

/** Half of the durations, and 95 of 100, are no longer; estimated from a histogram, in milliseconds. */
export const Percentiles = Schema.Struct({
  p50: Schema.NullOr(Schema.Int),
  p95: Schema.NullOr(Schema.Int)
}).annotate({
  identifier: "FigurePercentiles",
  description: "Milliseconds, estimated from a histogram; null where nothing was measured"
})

/** A share from 0 to 1. */
export const Rate = (description: string) =>
  Schema.NullOr(Schema.Finite).annotate({ description: `${description}, from 0 to 1; null of nothing` })
