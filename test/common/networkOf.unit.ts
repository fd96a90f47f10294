/** Addresses that a rate counts together (docs/platform.md, 6.11). */
import { describe, expect, it } from "@effect/vitest"
import { networkOf } from "../../src/common/networkOf.ts"

describe("the network of an address", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::9", "2001:db8:1:3::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["", "unknown"]
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
