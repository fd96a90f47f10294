/** The console's bundle (docs/platform.md, 12.3): what it weighs, and that nothing in it is of another program or another host. */
import { gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"
import { type ConsoleAssets, consoleAssets } from "../../src/api/consoleBundle.ts"
import { consolePolicy } from "../../src/api/consolePages.ts"
import { encodingFor } from "../../src/api/encodings.ts"

/** Most bytes of script that the first view loads, compressed, and all views together. */
const maximumScriptBytes = 60 * 1_024
const maximumWholeBytes = 90 * 1_024

describe("the console's bundle", () => {
  let assets: ConsoleAssets
  beforeAll(async () => {
    assets = await consoleAssets()
  })
  const scripts = () => assets.files.filter(({ name }) => name.endsWith(".js"))

  /**
   * The scripts that a browser loads: those of the entry and of the views' list, without those that only others need;
   * `isWhole` for those that a view asks for later too, such as the charts'.
   */
  const loadedWithout = (others: string, isWhole: boolean): ReadonlyArray<string> => {
    const texts = new Map(scripts().map(({ name, text }) => [name, text]))
    const loaded = new Set<string>()
    const load = (name: string): void => {
      const text = texts.get(name)!
      if (loaded.has(name) || text.includes(others)) return
      loaded.add(name)
      const isEntry = name === assets.pages.console.script
      for (const [, later, part] of text.matchAll(/(import\()?"\.\/([\w-]+\.js)"/g))
        if (isWhole || isEntry || later === undefined) load(part!)
    }
    load(assets.pages.console.script)
    return [...loaded].map((name) => texts.get(name)!)
  }

  it.each([
    ["a member of an organization", "/admin/v1/partitions", "/v1/send/suppressions"],
    ["an operator", "/v1/send/suppressions", "/admin/v1/partitions"]
  ])("[platform 12.3] is at most 60 kB of script for the first view of %s, compressed", (_, others, own) => {
    const bytesOf = (loaded: ReadonlyArray<string>) => loaded.reduce((sum, text) => sum + gzipSync(text).length, 0)
    const first = loadedWithout(others, false)
    expect(first.filter((text) => text.includes(own))).toHaveLength(1)
    expect(first.length).toBeLessThan(scripts().length)
    expect(bytesOf(first)).toBeGreaterThan(10_000)
    expect(bytesOf(first)).toBeLessThanOrEqual(maximumScriptBytes)
    expect(bytesOf(loadedWithout(others, true))).toBeLessThanOrEqual(maximumWholeBytes)
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
