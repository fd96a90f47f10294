/**
 * Finds the host of a link as browsers and mail programs read it: user names before `@`, backslashes, missing slashes,
 * tabs inside, percent signs, names in any script and case, addresses in any spelling. Pure.
 */
import { getDomain, parse } from "tldts"

/**
 * Longest host that is looked at, as it is written. A name has at most 253 characters, each at most three where it is
 * percent-encoded.
 */
const maximumWrittenHost = 1_024

/**
 * Longest label in another script, as it is written: it must fit 63 characters of punycode. To find its punycode takes
 * a time that grows with the square of its length.
 */
const maximumForeignLabel = 128

/** Longest label with percent signs: nine characters for each that punycode has room for. */
const maximumEncodedLabel = 576

/** The number of characters at the beginning of a link that are searched for its scheme. */
const maximumScheme = 16

/** Schemes that lead to a host. */
const schemesOfHosts: ReadonlySet<string> = new Set(["http", "https", "ftp"])

/** A name of two labels or more, or an address. */
const hostForm = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)+|\[[0-9a-f:.]+\])$/

/** The end of the host in an authority. */
const authorityEnd = /[/\\?#]/

/** Whether a host as it is written is one that no name server can know. */
const isTooLong = (written: string): boolean => {
  if (written.length > maximumWrittenHost) return true
  if (/^[!-$&-~]*$/.test(written)) return false
  return written
    .split(/[.\u3002\uff0e\uff61]/)
    .some((label) => label.length > (/[^\0-\x7f]/.test(label) ? maximumForeignLabel : maximumEncodedLabel))
}

/** The host of `user@host:port`, in lower case and punycode; undefined if there is none. */
const hostOfAuthority = (authority: string): string | undefined => {
  const written = authority.slice(authority.lastIndexOf("@") + 1)
  if (written === "" || isTooLong(written)) return undefined
  const host = URL.parse(`http://${written}/`)?.hostname.replace(/\.$/, "")
  // A name of one label leads nowhere outside its reader's own network.
  return host !== undefined && hostForm.test(host) ? host : undefined
}

/** The authority at the beginning of a text. */
const authorityOf = (text: string): string => {
  const end = text.search(authorityEnd)
  return end === -1 ? text : text.slice(0, end)
}

/** Whether a name ends with a suffix under which names are registered. */
const isRegistrable = (host: string): boolean => {
  const { domain, isIcann, isPrivate } = parse(host, { allowPrivateDomains: true, extractHostname: false })
  return domain !== null && (isIcann === true || isPrivate === true)
}

/**
 * The host of a text without a scheme that mail programs make a link of all the same: `www.one.com`, and `one.com/`,
 * where the suffix exists.
 */
export const hostOfBareLink = (text: string): string | undefined => {
  const authority = authorityOf(text)
  if (authority.includes("@")) return undefined
  const isNamed = /^www\./i.test(authority)
  if (!isNamed && authority.length === text.length) return undefined
  const host = hostOfAuthority(authority)
  // An address without a scheme is as likely a date or a fraction.
  return host !== undefined && isRegistrable(host) ? host : undefined
}

/** The host of a link in an attribute; undefined if it leads to none, or to a place in the same document. */
export const hostOfLink = (given: string): string | undefined => {
  const link = given.replace(/[\t\n\r]/g, "").replace(/^[\0- ]+/, "")
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(link.slice(0, maximumScheme))?.[1]?.toLowerCase()
  if (scheme !== undefined && schemesOfHosts.has(scheme))
    return hostOfAuthority(authorityOf(link.slice(scheme.length + 1).replace(/^[/\\]+/, "")))
  if (/^[/\\]{2}/.test(link)) return hostOfAuthority(authorityOf(link.replace(/^[/\\]+/, "")))
  // `one.com:8080/` looks like a scheme, too.
  return hostOfBareLink(link)
}

/** The domain under which a name was registered; undefined for an address and for a suffix itself. */
export const registrableDomain = (host: string): string | undefined =>
  getDomain(host, { allowPrivateDomains: true, extractHostname: false }) ?? undefined

/** Says whether a host belongs to a domain: itself, a name below it, or a name registered together with it. */
export const belongingTo = (domain: string): ((host: string) => boolean) => {
  const own = hostOfAuthority(domain) ?? domain.toLowerCase()
  const registered = registrableDomain(own)
  return (host) =>
    host === own || host.endsWith(`.${own}`) || (registered !== undefined && registrableDomain(host) === registered)
}
