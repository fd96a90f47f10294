/** Addresses of listeners as programs call them. */
import { describe, expect, it } from "vitest"
import { isEverywhere, reachableUrl } from "../../src/cli/addresses.ts"

describe("the address of a listener", () => {
  it.each([
    ["http://0.0.0.0:8080", "http://127.0.0.1:8080"],
    ["http://[::]:8080", "http://[::1]:8080"],
    ["https://0.0.0.0", "https://127.0.0.1"],
    ["http://127.0.0.1:80", "http://127.0.0.1:80"],
    ["http://10.0.0.0:80", "http://10.0.0.0:80"],
    ["http://[::2]:80", "http://[::2]:80"]
  ])("%s is called %s", (given, called) => {
    expect(reachableUrl(given)).toBe(called)
  })

  it("is everywhere by three names", () => {
    expect(["0.0.0.0", "::", "[::]", "127.0.0.1", "::1", "10.0.0.0", "sluice.example"].map(isEverywhere)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false
    ])
  })
})
