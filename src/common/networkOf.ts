/** Names the network of an address, by which callers without a key are counted. Pure. */
import { isIPv6 } from "node:net"
import { Result } from "effect"
import { NetAddress } from "effect/net"

/** The segments of an IPv6 address that name the network of one customer: the first 64 bits. */
const networkSegments = 4

/** The network that counts as one caller: an IPv4 address, or the first half of an IPv6 address. */
export const networkOf = (address: string): string => {
  const plain = address.replace(/%.*$/, "")
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)
  if (mapped !== null) return mapped[1]!
  if (!isIPv6(plain)) return plain === "" ? "unknown" : plain
  const segments = NetAddress.ipv6ToSegments(Result.getOrThrow(NetAddress.ipv6FromString(plain)))
  return `${[...segments]
    .slice(0, networkSegments)
    .map((segment) => segment.toString(16))
    .join(":")}::/64`
}
