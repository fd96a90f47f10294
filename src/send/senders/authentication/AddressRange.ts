/** Reads ranges of IP addresses, and compares them. Pure. */
import { BlockList, isIP } from "node:net"

/** An address with the number of its leading bits that count. */
export interface AddressRange {
  readonly family: 4 | 6
  readonly address: string
  readonly bits: number
}

/** `192.0.2.0/24`, `2001:db8::/32`, or one address; undefined if it is none. */
export const parseRange = (text: string): AddressRange | undefined => {
  const slash = text.indexOf("/")
  const address = slash === -1 ? text : text.slice(0, slash)
  const family = isIP(address)
  // A zone, such as %eth0, belongs to one machine.
  if ((family !== 4 && family !== 6) || address.includes("%")) return undefined
  const most = family === 4 ? 32 : 128
  if (slash === -1) return { family, address, bits: most }
  const bits = text.slice(slash + 1)
  return /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= most ? { family, address, bits: Number(bits) } : undefined
}

const familyName = ({ family }: AddressRange) => (family === 4 ? "ipv4" : "ipv6")

/** Whether every address of a range is in the other one. */
export const isInside = (range: AddressRange, outer: AddressRange): boolean => {
  if (range.family !== outer.family || range.bits < outer.bits) return false
  const list = new BlockList()
  list.addSubnet(outer.address, outer.bits, familyName(outer))
  return list.check(range.address, familyName(range))
}

/** The term of an SPF record that allows it. */
export const rangeTerm = ({ address, bits, family }: AddressRange): string =>
  `ip${family}:${address}${bits === (family === 4 ? 32 : 128) ? "" : `/${bits}`}`
