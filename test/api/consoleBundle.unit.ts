/** The console's bundle (docs/platform.md, 12.3): what it weighs, and that nothing in it is of another program or another host. */
import { gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"
import { type ConsoleAssets, consoleAssets } from "../../src/api/consoleBundle.ts"
import { consolePolicy } from "../../src/api/consolePages.ts"
import { encodingFor } from "../../src/api/encodings.ts"

/** Most bytes of script, compressed. */
const maximumScriptBytes = 60 * 1_024

describe("the console's bundle", () => {
  let assets: ConsoleAssets
  beforeAll(async () => {
    assets = await consoleAssets()
  })
  const scripts = () => assets.files.filter(({ name }) => name.endsWith(".js"))

  /** The scripts that a browser loads in the end: those of the entry, without those that only others need. */
  const loadedWithout = (others: string): ReadonlyArray<string> => {
    const texts = new Map(scripts().map(({ name, text }) => [name, text]))
    const loaded = new Set<string>()
    const load = (name: string): void => {
      const text = texts.get(name)!
      if (loaded.has(name) || text.includes(others)) return
      loaded.add(name)
      for (const [, part] of text.matchAll(/"\.\/([\w-]+\.js)"/g)) load(part!)
    }
    load(assets.script)
    return [...loaded].map((name) => texts.get(name)!)
  }

  it.each([
    ["a member of an organization", "/admin/v1/partitions", "/v1/send/suppressions"],
    ["an operator", "/v1/send/suppressions", "/admin/v1/partitions"]
  ])("[platform 12.3] is at most 60 kB of script for %s, compressed", (_, others, own) => {
    const loaded = loadedWithout(others)
    expect(loaded.filter((text) => text.includes(own))).toHaveLength(1)
    expect(loaded.length).toBeLessThan(scripts().length)
    const bytes = loaded.reduce((sum, text) => sum + gzipSync(text).length, 0)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThanOrEqual(maximumScriptBytes)
  })

  it("holds nothing of the server, and names no other host", () => {
    for (const { name, text } of assets.files) {
      if (name.endsWith(".txt")) continue
      expect(text, name).not.toMatch(/effect\/Schema|node:|HttpApiEndpoint/)
      const hosts = [...text.matchAll(/https?:\/\/([a-z0-9.-]+\.[a-z]{2,})/g)].map(([, host]) => host)
      // A namespace, and addresses in examples to copy.
      expect(
        hosts.filter((host) => host !== "www.w3.org" && host !== "example.com"),
        name
      ).toEqual([])
    }
  })

  it("comes with the licences of what it holds", () => {
    const { text } = assets.files.find(({ name }) => name === "licences.txt")!
    for (const name of ["preact", "@preact/signals", "uplot"]) expect(text).toContain(`${name}\n`)
    expect(text.match(/Permission is hereby granted/g)!.length).toBeGreaterThanOrEqual(3)
  })

  it("lets no script stand in the page, and nothing come from elsewhere", () => {
    expect(consolePolicy).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(consolePolicy).not.toMatch(/https?:|\*|unsafe-eval/)
  })
})

describe("the encoding of a file", () => {
  it.each([
    [undefined, "identity"],
    ["gzip, deflate, br", "br"],
    ["gzip;q=1.0", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.5", "br"],
    ["zstd", "identity"]
  ])("for %s is %s", (given, expected) => {
    expect(encodingFor(given)).toBe(expected)
  })
})
