/**
 * Patterns of event types (docs/platform.md, 5.3). Pure, needs no service.
 *
 * - `*` matches every event.
 * - `x.*` matches every type that begins with `x.`, and all events of the service `x` if there is one: `platform.*` covers
 *   `subscription.created`, which the platform emits.
 * - `x.y.*`, or longer, matches every type that begins with `x.y.`, whatever its service.
 * - Anything else is an exact type. `*` is the whole pattern or its last segment; the first segment is a service or that of a known type.
 *
 * A list of patterns matches what one of them matches. Matching is by case; patterns are lower case like types.
 */
import { Result, Schema } from "effect"
import { catalogue, knownTypes } from "./catalogue.ts"
import { eventServices, isEventType, maximumTypeLength } from "./event.ts"

/** The most patterns in one `enabled_events`. See {@link parsePatterns}. */
export const maximumPatterns = 50

/** The longest part of a refused pattern that its message quotes, in characters. */
const maximumQuotedLength = 64

/**
 * A text that is no pattern, or a list without patterns. The message quotes it. Terminal. See {@link parsePatterns}.
 */
export class InvalidPattern extends Schema.TaggedError<InvalidPattern>()("InvalidPattern", {
  reason: Schema.Literals([
    /** Not an array of texts, or one without an element. */
    "list",
    /** More than `maximumPatterns`. */
    "too_many",
    /** Longer than `maximumTypeLength`. */
    "too_long",
    /** `*` elsewhere than alone or as the last segment. */
    "wildcard",
    /** Neither a pattern nor a type: an empty segment, a forbidden character, or only one segment. */
    "malformed",
    /** Begins with what is neither a service nor the first segment of a type. */
    "unknown"
  ]),
  message: Schema.String
}) {}

/** A valid pattern, taken apart. See {@link matches}. */
export type EventPattern =
  | { readonly _tag: "All" }
  /** `prefix` ends with a dot; `service` is set where a single segment is the name of one. */
  | { readonly _tag: "Prefix"; readonly prefix: string; readonly service: string | undefined }
  | { readonly _tag: "Exact"; readonly type: string }

/** The given patterns that match no type of the catalogue, so that nothing emits what they wait for. */
export const unmatchedPatterns = (given: ReadonlyArray<string>): ReadonlyArray<string> =>
  given.filter((text) => {
    const patterns = parsePatterns([text])
    return (
      Result.isSuccess(patterns) &&
      !Object.entries(catalogue).some(([type, { service }]) => matchesAny(patterns.success, { type, service }))
    )
  })

/** The parts of an event that matching looks at. See {@link matches}. */
export interface Matchable {
  readonly type: string
  readonly service: string
}

const services: ReadonlySet<string> = new Set(eventServices)

/** The first segments that a pattern may begin with, in order. */
export const knownFirstSegments: ReadonlyArray<string> = [
  ...new Set([...eventServices, ...[...knownTypes.keys()].map((type) => type.slice(0, type.indexOf(".")))])
].toSorted()

const quote = (pattern: string): string =>
  JSON.stringify(pattern.length > maximumQuotedLength ? `${pattern.slice(0, maximumQuotedLength)}…` : pattern)

const refuse = (reason: InvalidPattern["reason"], message: string): Result.Result<never, InvalidPattern> =>
  Result.fail(new InvalidPattern({ reason, message }))

/** The allowed first segments: a list, or `any` for an embedder with event types of its own. See {@link parsePattern}. */
export type FirstSegments = ReadonlyArray<string> | "any"

/**
 * Parses one pattern. `firstSegments` default to the platform's. Fails with `InvalidPattern`.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import { parsePattern } from "sluice/webhook"
 *
 * // with first segments of your own; those of the platform without
 * console.log(Result.isSuccess(parsePattern("orders.*", "any"))) // true
 * console.log(Result.isSuccess(parsePattern("ord*rs", "any"))) // false
 * ```
 */
export const parsePattern = (
  pattern: string,
  firstSegments: FirstSegments = knownFirstSegments
): Result.Result<EventPattern, InvalidPattern> => {
  if (pattern === "*") return Result.succeed({ _tag: "All" })
  const quoted = quote(pattern)
  if (pattern.length > maximumTypeLength)
    return refuse("too_long", `The event pattern ${quoted} is longer than ${maximumTypeLength} characters`)
  const isPrefix = pattern.endsWith(".*")
  const named = isPrefix ? pattern.slice(0, -2) : pattern
  if (named.includes("*"))
    return refuse("wildcard", `In the event pattern ${quoted} the * is neither alone nor the whole last segment`)
  // A type has at least two segments; before `.*` one is enough.
  if (!isEventType(isPrefix ? `${named}.x` : named)) {
    const hint = services.has(named) ? `; did you mean "${named}.*"?` : ""
    return refuse("malformed", `${quoted} is neither an event type nor a pattern of types${hint}`)
  }
  const dot = named.indexOf(".")
  const first = dot === -1 ? named : named.slice(0, dot)
  if (firstSegments !== "any" && !firstSegments.includes(first))
    return refuse("unknown", `The event pattern ${quoted} begins with none of ${firstSegments.join(", ")}`)
  if (!isPrefix) return Result.succeed({ _tag: "Exact", type: pattern })
  const service = dot === -1 && services.has(named) ? named : undefined
  return Result.succeed({ _tag: "Prefix", prefix: `${named}.`, service })
}

/**
 * Parses what a caller gave as `enabled_events`: an array of 1 to `maximumPatterns` patterns. Fails with
 * `InvalidPattern` on the first bad one.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import { parsePatterns } from "sluice/webhook"
 *
 * const parsed = parsePatterns(["telco.*", "nothing.like.it"])
 * console.log(Result.isFailure(parsed) && parsed.failure.reason) // unknown
 * ```
 */
export const parsePatterns = (
  given: unknown,
  firstSegments: FirstSegments = knownFirstSegments
): Result.Result<ReadonlyArray<EventPattern>, InvalidPattern> => {
  if (!Array.isArray(given) || given.length === 0)
    return refuse("list", "enabled_events must be an array of at least one event pattern")
  if (given.length > maximumPatterns)
    return refuse("too_many", `enabled_events has ${given.length} patterns, at most ${maximumPatterns} are allowed`)
  const patterns: Array<EventPattern> = []
  for (const pattern of given) {
    if (typeof pattern !== "string") return refuse("list", "enabled_events must contain texts only")
    const parsed = parsePattern(pattern, firstSegments)
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    patterns.push(parsed.success)
  }
  return Result.succeed(patterns)
}

/**
 * Whether one pattern matches an event.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import { matches, parsePattern } from "sluice/webhook"
 *
 * const pattern = Result.getOrThrow(parsePattern("telco.*"))
 * console.log(matches(pattern, { type: "telco.lookup.completed", service: "telco" })) // true
 * ```
 */
export const matches = (pattern: EventPattern, event: Matchable): boolean => {
  switch (pattern._tag) {
    case "All":
      return true
    case "Prefix":
      return event.type.startsWith(pattern.prefix) || event.service === pattern.service
    case "Exact":
      return event.type === pattern.type
  }
}

/**
 * Whether one of the patterns matches an event.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import { matchesAny, parsePatterns } from "sluice/webhook"
 *
 * const patterns = Result.getOrThrow(parsePatterns(["send.email.bounced", "telco.*"]))
 * console.log(matchesAny(patterns, { type: "send.email.sent", service: "send" })) // false
 * ```
 */
export const matchesAny = (patterns: ReadonlyArray<EventPattern>, event: Matchable): boolean =>
  patterns.some((pattern) => matches(pattern, event))

/** Whether one pattern matches every event that another one matches. Never true by the catalogue alone. */
const covers = (wide: EventPattern, narrow: EventPattern): boolean => {
  switch (wide._tag) {
    case "All":
      return true
    case "Exact":
      return narrow._tag === "Exact" && narrow.type === wide.type
    case "Prefix":
      if (narrow._tag === "Exact") return narrow.type.startsWith(wide.prefix)
      return (
        narrow._tag === "Prefix" &&
        narrow.prefix.startsWith(wide.prefix) &&
        (narrow.service === undefined || narrow.service === wide.service)
      )
  }
}

/**
 * The given patterns that may match an event that none of the allowed ones matches. Texts that are no patterns are left
 * out.
 */
export const patternsBeyond = (allowed: ReadonlyArray<string>, given: ReadonlyArray<string>): ReadonlyArray<string> => {
  const parsed = (text: string) => Result.getOrUndefined(parsePattern(text))
  const wide = allowed.flatMap((text) => parsed(text) ?? [])
  return given.filter((text) => {
    const narrow = parsed(text)
    return narrow !== undefined && !wide.some((pattern) => covers(pattern, narrow))
  })
}
