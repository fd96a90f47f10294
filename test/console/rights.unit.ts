/** The rights of keys in words, and presets of them (docs/platform.md, 2.5 and 2.10). */
import { describe, expect, it } from "vitest"
import {
  everyScope,
  everyService,
  hasAll,
  isEmpty,
  presetOf,
  presets,
  rightsInWords
} from "../../src/console/rights.ts"
import { scopes, services } from "../../src/platform/model.ts"

describe("the rights of a key", () => {
  it("knows every service and scope of the platform", () => {
    expect(everyService).toEqual(services)
    for (const scope of scopes) {
      const words = rightsInWords({ services: [], scopes: [scope] })
      expect(words.join(), scope).toMatch(/\w/)
    }
    // Those of a wider one need not be chosen one by one.
    const open = (scope: string) =>
      everyScope.some((one) => one === scope || (one === "talk:*" && /^talk:/.test(scope)))
    expect(scopes.filter((scope) => !open(scope))).toEqual(["platform:*"])
  })

  it("names presets, and other rights one by one", () => {
    expect(rightsInWords({ services: ["send"], scopes: [] })).toEqual(["Sending only"])
    expect(rightsInWords({ services: ["send", "telco"], scopes: ["platform:events:read"] })).toEqual([
      "sends email",
      "looks up numbers",
      "reads events"
    ])
    expect(rightsInWords({ services: [], scopes: [] })).toEqual(["nothing"])
  })

  it("has no preset without rights, nor two with the same", () => {
    for (const preset of presets) {
      expect(isEmpty(preset.rights), preset.name).toBe(false)
      expect(presetOf(preset.rights)).toBe(preset)
    }
  })

  it("offers what the reader has, and nothing more", () => {
    const offered = (own: Parameters<typeof hasAll>[0]) =>
      presets.filter(({ rights }) => hasAll(own, rights)).map(({ name }) => name)
    expect(offered({ services: everyService, scopes: ["*"] })).toHaveLength(presets.length)
    expect(offered({ services: ["send"], scopes: [] })).toEqual(["Sending only"])
    expect(offered({ services: everyService, scopes: ["platform:*"] })).toEqual([
      "Sending only",
      "Webhooks only",
      "Read only",
      "Look-ups only"
    ])
  })
})
