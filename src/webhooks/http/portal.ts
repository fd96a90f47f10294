/**
 * Checks a request for a portal (docs/platform.md, 6.14), and the patterns that a portal's endpoints may have. Pure.
 */
import { Result } from "effect"
import { eventServices, InvalidPattern, parsePatterns, patternsBeyond } from "../../events/index.ts"
import { quote } from "../../http/parameters.ts"
import type { Portal, Principal } from "../../platform/model.ts"
import { defaultPortalMillis, maximumPortalMillis } from "../../platform/PortalLinks.ts"
import { EndpointInvalid } from "../endpoint/model.ts"

/**
 * The patterns of a portal that names none: every service but the platform itself, whose events are about the
 * organization and about the endpoints of all labels.
 */
export const defaultPortalTypes: ReadonlyArray<string> = eventServices
  .filter((service) => service !== "platform")
  .map((service) => `${service}.*`)

/** A request for a portal. Times are milliseconds since the Unix epoch. */
export interface AskedPortal {
  readonly label: string
  readonly expiresAt?: number
  readonly types?: ReadonlyArray<string>
}

/** The portal that is asked for, and its end; or the fault of the request. */
export const portalOf = (
  { expiresAt, label, types = defaultPortalTypes }: AskedPortal,
  now: number
): Result.Result<{ readonly portal: Portal; readonly expiresAtMillis: number }, EndpointInvalid | InvalidPattern> => {
  const parsed = parsePatterns(types)
  if (Result.isFailure(parsed)) {
    const { message, reason } = parsed.failure
    // A message about the list itself names the usual field of patterns.
    return Result.fail(new InvalidPattern({ reason, message: message.replace("enabled_events", "types") }))
  }
  const expiresAtMillis = expiresAt ?? now + defaultPortalMillis
  return expiresAtMillis > now && expiresAtMillis <= now + maximumPortalMillis
    ? Result.succeed({ portal: { label, types }, expiresAtMillis })
    : Result.fail(
        new EndpointInvalid({
          field: "expiresAt",
          message: `expiresAt must be later than now, by at most ${maximumPortalMillis / 3_600_000} hours`
        })
      )
}

/** The fault of patterns for an endpoint if its caller is a portal that does not allow them; undefined without one. */
export const portalPatternsProblem = (
  { session }: Principal,
  enabledEvents: ReadonlyArray<string>
): EndpointInvalid | undefined => {
  if (session?.portal === undefined) return undefined
  const [beyond] = patternsBeyond(session.portal.types, enabledEvents)
  return beyond === undefined
    ? undefined
    : new EndpointInvalid({
        field: "enabled_events",
        message: `enabled_events may not have ${quote(beyond)} here; allowed: ${session.portal.types.join(", ")}`
      })
}
