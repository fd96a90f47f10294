/**
 * Classifies the IP addresses to which a webhook may be delivered: the public ones (docs/platform.md, 6.9). The ranges
 * are those of the IANA registries of special-purpose IPv4 and IPv6 addresses, and the metadata services of clouds.
 * Pure, needs no service.
 */
import { BlockList, isIP, isIPv4 } from "node:net"
import { Result } from "effect"
import { NetAddress } from "effect/net"

/** Why an address is refused. */
export type AddressClass =
  | "loopback"
  | "private"
  | "link-local"
  | "metadata"
  | "multicast"
  | "documentation"
  | "translation"
  | "reserved"
  | "invalid"

type Ranges = ReadonlyArray<readonly [AddressClass, ReadonlyArray<string>]>

/** If ranges overlap, the first one that holds the address names the class. */
const ranges4: Ranges = [
  // The first is used by every large cloud; the second is Azure's wire server, a public address that answers only
  // inside a machine.
  ["metadata", ["169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32"]],
  ["loopback", ["127.0.0.0/8"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]],
  ["link-local", ["169.254.0.0/16"]],
  ["documentation", ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]],
  ["multicast", ["224.0.0.0/4"]],
  // This network, protocol assignments, the former 6to4 relays, benchmarks, future use with the broadcast address.
  ["reserved", ["0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"]]
]

/** Of IPv6 only global unicast (2000::/3) is public at all; these are named, or are exceptions inside it. */
const ranges6: Ranges = [
  ["metadata", ["fd00:ec2::254/128", "fd20:ce::254/128"]],
  ["loopback", ["::1/128"]],
  ["private", ["fc00::/7"]],
  // With the deprecated site-local ones.
  ["link-local", ["fe80::/10", "fec0::/10"]],
  ["multicast", ["ff00::/8"]],
  ["documentation", ["2001:db8::/32", "3fff::/20"]],
  // Local-use NAT64, stateless translation, Teredo: the address behind them is unknown or cannot be a server.
  ["translation", ["64:ff9b:1::/48", "::ffff:0:0:0/96", "2001::/32"]],
  // Protocol assignments: benchmarks, ORCHID and their like.
  ["reserved", ["2001::/23"]]
]

const compile = (ranges: Ranges, family: "ipv4" | "ipv6") =>
  ranges.map(([addressClass, networks]) => {
    const list = new BlockList()
    for (const network of networks) {
      const slash = network.indexOf("/")
      list.addSubnet(network.slice(0, slash), Number(network.slice(slash + 1)), family)
    }
    return [addressClass, list] as const
  })

const lists4 = compile(ranges4, "ipv4")
const lists6 = compile(ranges6, "ipv6")
const globalUnicast = new BlockList()
globalUnicast.addSubnet("2000::", 3, "ipv6")

const address4 = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

const isZero = (groups: ReadonlyArray<number>, from: number, to: number): boolean =>
  groups.slice(from, to).every((group) => group === 0)

/**
 * The IPv4 address that a packet to this IPv6 address ends at: mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) or 6to4
 * (2002::/16).
 */
const embedded4 = (groups: ReadonlyArray<number>): string | undefined => {
  const isMapped = isZero(groups, 0, 5) && groups[5] === 0xffff
  const isNat64 = groups[0] === 0x64 && groups[1] === 0xff9b && isZero(groups, 2, 6)
  if (isMapped || isNat64) return address4(groups[6]!, groups[7]!)
  return groups[0] === 0x2002 ? address4(groups[1]!, groups[2]!) : undefined
}

const classify4 = (address: string): AddressClass | undefined =>
  lists4.find(([, list]) => list.check(address, "ipv4"))?.[0]

/**
 * Why nothing may be delivered to this address, or undefined for a public one. IPv6 forms that carry an IPv4 address
 * are judged by that one. Anything that is not an address, and an address with a zone (`fe80::1%eth0`), is `invalid`.
 */
export const refusedAddressClass = (address: string): AddressClass | undefined => {
  if (isIP(address) === 0 || address.includes("%")) return "invalid"
  if (isIPv4(address)) return classify4(address)
  const embedded = embedded4(NetAddress.ipv6ToSegments(Result.getOrThrow(NetAddress.ipv6FromString(address))))
  if (embedded !== undefined) return classify4(embedded)
  const named = lists6.find(([, list]) => list.check(address, "ipv6"))?.[0]
  return named ?? (globalUnicast.check(address, "ipv6") ? undefined : "reserved")
}

/** Whether an address is one of this machine's loopback, in any form. */
export const isLoopbackAddress = (address: string): boolean => refusedAddressClass(address) === "loopback"

/** An answer of a name server. See {@link makeTargetGuard}. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** All addresses of a name, of both families. Rejects when it has none. See {@link makeTargetGuard}. */
export type Resolve = (host: string) => Promise<ReadonlyArray<ResolvedAddress>>
