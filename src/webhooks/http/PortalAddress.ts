/** Holds the address at which browsers reach the console, for the links of portals. Needs no service. */
import { Context } from "effect"

/** The address of the public API without a slash at its end; empty if unknown. It is known once the API listens. */
export const PortalAddress = Context.Reference<() => string>("sluice/webhooks/PortalAddress", {
  defaultValue: () => () => ""
})
