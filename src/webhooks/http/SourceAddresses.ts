/**
 * Holds the addresses from which deliveries come, as operators have set them (docs/platform.md, 6.12). Needs no service.
 */
import { Context } from "effect"

/** IP addresses and ranges in CIDR form; empty where they are not known. */
export const SourceAddresses = Context.Reference<ReadonlyArray<string>>("sluice/webhooks/SourceAddresses", {
  defaultValue: () => []
})
