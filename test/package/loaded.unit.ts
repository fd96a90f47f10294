/** The modules that an entry point loads: windows and patterns load no engine, and no entry point for rules loads a server's client. */
import { execFileSync } from "node:child_process"
import { describe, expect, it } from "@effect/vitest"

const source = new URL("../../src/", import.meta.url)

const program = `
import { registerHooks } from "node:module"
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
await import(process.argv[1])
console.log(JSON.stringify(loaded))`

/** Our files that are loaded with an entry point, and the packages. */
const loadedBy = (entry: string): { readonly own: ReadonlyArray<string>; readonly packages: ReadonlySet<string> } => {
  const printed = execFileSync(
    process.execPath,
    ["--input-type=module", "-e", program, new URL(entry, source).pathname],
    { encoding: "utf8" }
  )
  const urls = JSON.parse(printed) as ReadonlyArray<string>
  const own = urls.filter((url) => url.startsWith(source.href)).map((url) => url.slice(source.href.length))
  const packages = urls.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  return { own, packages: new Set(packages) }
}

describe("an entry point", () => {
  it.each([
    "limits/index.ts",
    "webhooks/index.ts",
    "windows/index.ts"
  ])("%s loads no engine, and no package but effect", (entry) => {
    const { own, packages } = loadedBy(entry)
    expect(own).toContain(entry)
    expect(own.filter((file) => /^engine\/(core|shell|memory|operator)\//.test(file))).toEqual([])
    expect([...packages]).toEqual(["effect"])
  })

  it("index.ts loads the engine, and no package but effect", () => {
    const { own, packages } = loadedBy("index.ts")
    expect(own).toContain("engine/core/PartitionCore.ts")
    expect([...packages]).toEqual(["effect"])
  })
})
