/** Lists the figures of the signals of a higher risk (docs/platform.md, 9.8). */
import { dayMillis } from "../../limits.ts"

/**
 * Within which time organizations of one address domain are counted together, in milliseconds. See {@link RiskSignals}.
 */
export const sameDomainMillis = dayMillis

/** The organization of one address domain, within that time, that is of a higher risk: the third. */
export const sameDomainOrganizations = 3

/** The time for looking up a domain's mail hosts, waiting for a turn included, in milliseconds. */
export const mailHostsMillis = 4_000

/** Such look-ups at a time, over all organizations and of each. */
export const mailHostLookups = 64
export const mailHostLookupsOfOrganization = 4
