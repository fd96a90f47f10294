/**
 * Checks the fields of an endpoint, and computes the effect of a change of them (docs/platform.md, 6.1). Pure.
 */
import { Result } from "effect"
import { type InvalidPattern, parsePatterns } from "../../events/index.ts"
import { checkUrl, refusedAddress, type TargetPolicy, type UrlRefused } from "../target/targets.ts"
import { type Ordering, orderingFault } from "./deliveryOrder.ts"
import { headerNamesProblem } from "./headers.ts"
import { labelFault } from "./label.ts"
import {
  type Endpoint,
  type EndpointFact,
  EndpointInvalid,
  maximumDescriptionLength,
  maximumRateLimit
} from "./model.ts"

/** The fields of an endpoint that its owner gives. */
export type GivenFields = Omit<Extract<EndpointFact, { readonly _tag: "Updated" }>, "_tag">

const isRate = (rate: number): boolean => Number.isInteger(rate) && rate >= 1 && rate <= maximumRateLimit

/** The fault of a rate; undefined without one. */
export const rateProblem = (rateLimit: number | null | undefined): EndpointInvalid | undefined =>
  typeof rateLimit !== "number" || isRate(rateLimit)
    ? undefined
    : new EndpointInvalid({
        field: "rate_limit",
        message: `rate_limit must be an integer from 1 to ${maximumRateLimit} attempts per second, or null`
      })

/** The fault of an ordering; undefined without one. */
export const orderingProblem = (ordering: Ordering | null | undefined): EndpointInvalid | undefined => {
  const message = ordering === null || ordering === undefined ? undefined : orderingFault(ordering)
  return message === undefined ? undefined : new EndpointInvalid({ field: "ordering", message })
}

/** The fault of a label; undefined without one. */
export const labelProblem = (label: string | null | undefined): EndpointInvalid | undefined => {
  const message = typeof label === "string" ? labelFault(label) : undefined
  return message === undefined ? undefined : new EndpointInvalid({ field: "label", message })
}

/** The fault of the given fields; undefined without one. */
export const problemOf = (
  given: GivenFields,
  targets: TargetPolicy
): EndpointInvalid | UrlRefused | InvalidPattern | undefined => {
  const { description, enabledEvents, headers, label, ordering, rateLimit, url } = given
  const checkedUrl = url === undefined ? undefined : checkUrl(url, targets)
  if (checkedUrl !== undefined && Result.isFailure(checkedUrl)) return checkedUrl.failure
  const refused = checkedUrl === undefined ? undefined : refusedAddress(checkedUrl.success, targets)
  if (refused !== undefined) return refused
  const checkedEvents = enabledEvents === undefined ? undefined : parsePatterns(enabledEvents)
  if (checkedEvents !== undefined && Result.isFailure(checkedEvents)) return checkedEvents.failure
  if (typeof description === "string" && [...description].length > maximumDescriptionLength)
    return new EndpointInvalid({
      field: "description",
      message: `description is longer than ${maximumDescriptionLength} characters`
    })
  return (
    (headers && headerNamesProblem(headers.names)) ??
    rateProblem(rateLimit) ??
    orderingProblem(ordering) ??
    labelProblem(label)
  )
}

const isSameList = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((element, at) => element === other[at])

/** The given fields that differ from the endpoint's. Equal headers are those of the same secret. */
export const changesOf = (endpoint: Endpoint, given: GivenFields): GivenFields => {
  const { description, enabledEvents, headers, isActive, label, ordering, rateLimit, url } = given
  return {
    ...(url === undefined || url === endpoint.url ? {} : { url }),
    ...(enabledEvents === undefined || isSameList(enabledEvents, endpoint.enabledEvents) ? {} : { enabledEvents }),
    ...(description === undefined || description === endpoint.description ? {} : { description }),
    ...(isActive === undefined || isActive === endpoint.isActive ? {} : { isActive }),
    ...(headers === undefined || headers?.secretId === endpoint.headers?.secretId ? {} : { headers }),
    ...(rateLimit === undefined || rateLimit === endpoint.rateLimit ? {} : { rateLimit }),
    ...(ordering === undefined || ordering?.key === endpoint.ordering?.key ? {} : { ordering }),
    ...(label === undefined || label === (endpoint.label ?? null) ? {} : { label })
  }
}
