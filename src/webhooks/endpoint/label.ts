/**
 * Checks the label of an endpoint (docs/platform.md, 6.13): a name that a platform gives to the endpoints of one of its
 * customers. Pure.
 */

/** The longest label, in characters. */
export const maximumLabelLength = 128

/** Endpoints of one label up to which its portals make new ones, so that no customer takes all of an organization's. */
export const maximumPortalEndpoints = 10

export const labelPattern = /^[A-Za-z0-9._:@-]{1,128}$/

/** The fault of a label, in words; undefined without one. */
export const labelFault = (label: string): string | undefined =>
  labelPattern.test(label)
    ? undefined
    : `label must be 1 to ${maximumLabelLength} letters, digits and . _ : @ -, or null`
