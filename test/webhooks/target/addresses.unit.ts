/** Which addresses are public: the registries' ranges at their edges, the forms that carry IPv4, and a naive comparison by number. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { isLoopbackAddress, refusedAddressClass } from "../../../src/webhooks/target/addresses.ts"

const number4 = (address: string): bigint =>
  address.split(".").reduce((sum, part) => sum * 256n + BigInt(Number(part)), 0n)
const text4 = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".")
const groups = (value: bigint): ReadonlyArray<string> =>
  Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16))
const text6 = (value: bigint): string => groups(value).join(":")
/** First and last address of a network whose first address is given as a number. */
const network = (first: bigint, bits: number, length: number) =>
  [first, first + (1n << BigInt(bits - length)) - 1n] as const
const network4 = (text: string) => {
  const [address = "", length] = text.split("/")
  return network(number4(address), 32, Number(length))
}
const network6 = (text: string) => {
  const [address = "", length] = text.split("/")
  const full = address.split(":").map((group) => BigInt(`0x${group || "0"}`))
  return network(
    full.reduce((sum, group) => sum * 65536n + group, 0n) << BigInt(16 * (8 - full.length)),
    128,
    Number(length)
  )
}

/** Everything that the IANA registry of special IPv4 addresses calls not globally reachable, multicast, and Azure's wire server. */
const notPublic4 = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24",
  "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32"
]
  .join(" ")
  .split(" ")
  .map(network4)

/** The same for IPv6, written without `::`; what is not in 2000::/3 is not public anyway. */
const notPublic6 = ["2001:0/23", "2001:db8/32", "3fff:0/20"].map(network6)

const naivePublic4 = (value: bigint): boolean => !notPublic4.some(([first, last]) => first <= value && value <= last)
const naivePublic6 = (value: bigint): boolean => {
  const top = (bits: number) => value >> BigInt(128 - bits)
  if (top(96) === 0xffffn || top(96) === 0x64ff9bn << 64n) return naivePublic4(value & 0xffffffffn)
  if (top(16) === 0x2002n) return naivePublic4((value >> 80n) & 0xffffffffn)
  return top(3) === 1n && !notPublic6.some(([first, last]) => first <= value && value <= last)
}
const isPublic = (address: string): boolean => refusedAddressClass(address) === undefined

describe("IPv4", () => {
  it.each([
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "private"],
    ["169.254.1.1", "link-local"],
    ["169.254.169.254", "metadata"],
    ["168.63.129.16", "metadata"],
    ["100.100.100.200", "metadata"],
    ["192.0.0.192", "metadata"],
    ["224.0.0.1", "multicast"],
    ["255.255.255.255", "reserved"],
    ["0.0.0.0", "reserved"],
    ["203.0.113.7", "documentation"]
  ])("%s is %s", (address, addressClass) => expect(refusedAddressClass(address)).toBe(addressClass))

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "168.63.129.17",
    "172.32.0.0",
    "11.0.0.0",
    "223.255.255.255"
  ])("%s is public", (address) => expect(refusedAddressClass(address)).toBeUndefined())

  it("agrees with the registry at the first and last address of every range and beside them", () => {
    for (const edge of notPublic4.flat()) {
      for (const near of [edge - 1n, edge, edge + 1n]) {
        if (near < 0n || near > 0xffffffffn) continue
        expect(isPublic(text4(near)), text4(near)).toBe(naivePublic4(near))
      }
    }
  })
})

describe("IPv6", () => {
  it.each([
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::", "reserved"],
    ["fe80::1", "link-local"],
    ["fec0::1", "link-local"],
    ["fc00::1", "private"],
    ["fd12:3456::1", "private"],
    ["fd00:ec2::254", "metadata"],
    ["fd20:ce::254", "metadata"],
    ["ff02::1", "multicast"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["100::1", "reserved"],
    ["5f00::1", "reserved"],
    ["2001:2::1", "reserved"],
    ["2001:20::1", "reserved"],
    ["4000::1", "reserved"]
  ])("%s is %s", (address, addressClass) => expect(refusedAddressClass(address)).toBe(addressClass))

  it.each([
    ["mapped", "::ffff:127.0.0.1", "loopback"],
    ["mapped, in groups", "::ffff:7f00:1", "loopback"],
    ["mapped, metadata", "::ffff:a9fe:a9fe", "metadata"],
    ["mapped, written out", "0:0:0:0:0:ffff:0a00:0001", "private"],
    ["NAT64", "64:ff9b::10.0.0.1", "private"],
    ["NAT64, in groups", "64:ff9b::a9fe:a9fe", "metadata"],
    ["NAT64 for local use", "64:ff9b:1::808:808", "translation"],
    ["6to4", "2002:7f00:1::", "loopback"],
    ["6to4, with a host", "2002:c0a8:101:1::2", "private"],
    ["Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "translation"],
    ["stateless translation", "::ffff:0:8.8.8.8", "translation"],
    ["IPv4-compatible", "::8.8.8.8", "reserved"],
    ["IPv4-compatible loopback", "::127.0.0.1", "reserved"]
  ])("%s: %s is %s", (_form, address, addressClass) => expect(refusedAddressClass(address)).toBe(addressClass))

  it.each([
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
    "2001:4860:4860::8888"
  ])("%s is public", (address) => expect(refusedAddressClass(address)).toBeUndefined())

  it("agrees with the registry at the edges of every range", () => {
    const others = "0/128 64:ff9b/96 64:ff9b:1/48 2002/16 2000/3 fc00/7 fe80/10 fec0/10 ff00/8 0:0:0:0:0:ffff:0:0/96"
    for (const edge of [...notPublic6, ...others.split(" ").map(network6)].flat()) {
      for (const near of [edge - 1n, edge, edge + 1n]) {
        if (near < 0n || near >> 128n !== 0n) continue
        expect(isPublic(text6(near)), text6(near)).toBe(naivePublic6(near))
      }
    }
  })
})

describe("what is no address", () => {
  it.each([
    "",
    "localhost",
    "1.2.3",
    "0x7f.0.0.1",
    "01.2.3.4",
    "1.2.3.4.5",
    "[::1]",
    "fe80::1%eth0",
    "::1%1",
    "2606::%x",
    "g::"
  ])("%j is invalid, so nothing is delivered there", (address) => expect(refusedAddressClass(address)).toBe("invalid"))
})

describe("loopback", () => {
  it("is known in every form", () => {
    for (const address of ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
      expect(isLoopbackAddress(address)).toBe(true)
    for (const address of ["128.0.0.1", "::2", "10.0.0.1", "localhost"]) expect(isLoopbackAddress(address)).toBe(false)
  })
})

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
/** Bytes of which many are those that special ranges begin with. */
const Likely = Schema.Union([Byte, Schema.Literals([0, 10, 100, 127, 168, 169, 172, 192, 198, 203, 224, 254, 255])])
const Four = Schema.Tuple([Likely, Likely, Likely, Byte])
const Group = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65535 })),
  Schema.Literals([0, 0, 0, 0x64, 0xff9b, 0xffff, 0x2001, 0x2002, 0x2606, 0xdb8, 0xfe80, 0xfc00])
])
const Eight = Schema.Tuple([Group, Group, Group, Group, Group, Group, Group, Group])
const value = (parts: ReadonlyArray<number>, size: bigint) => parts.reduce((sum, part) => sum * size + BigInt(part), 0n)
const thorough = { arbitrary: { runs: 3_000 } }

describe("every address", () => {
  it.prop(
    "of IPv4 is judged as a comparison of numbers does",
    [Four],
    ([bytes]) => {
      expect(isPublic(bytes.join("."))).toBe(naivePublic4(value(bytes, 256n)))
    },
    thorough
  )

  it.prop(
    "of IPv6 is judged as a comparison of numbers does, in every spelling",
    [Eight],
    ([parts]) => {
      const number = value(parts, 65536n)
      const short = new URL(`http://[${text6(number)}]`).hostname.slice(1, -1)
      const last = text4(number & 0xffffffffn)
      for (const spelling of [
        text6(number),
        short,
        `${groups(number).slice(0, 6).join(":")}:${last}`,
        short.toUpperCase()
      ])
        expect(isPublic(spelling), spelling).toBe(naivePublic6(number))
    },
    thorough
  )

  it.prop(
    "of IPv4 is judged alike where IPv6 carries it, and never public behind Teredo",
    [Four, Eight],
    ([bytes, rest]) => {
      const judged = refusedAddressClass(bytes.join("."))
      const [high, low] = [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]].map((group) => group.toString(16))
      const tail = rest
        .slice(3)
        .map((group) => group.toString(16))
        .join(":")
      for (const form of [`::ffff:${high}:${low}`, `64:ff9b::${high}:${low}`, `2002:${high}:${low}:${tail}`])
        expect(refusedAddressClass(form), form).toBe(judged)
      expect(
        isPublic(
          `2001:0:${rest
            .slice(2)
            .map((group) => group.toString(16))
            .join(":")}`
        )
      ).toBe(false)
    },
    thorough
  )
})
