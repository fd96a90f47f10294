/** One machine pays nothing for several: what `sluice` loads at its start holds nothing of effect/cluster. */
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"

const root = new URL("../../../", import.meta.url).pathname

/** The files that a file loads at its start, and theirs, with the packages that they load. */
const loadedBy = (first: string) => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    // Imports of types are gone when a program runs.
    for (const [, type, from, bare] of readFileSync(file, "utf8").matchAll(
      /^(?:import|export)\s+(type\s+)?[\w*{}\s,$]+?\s+from\s+"([^"]+)"|^import\s+"([^"]+)"/gm
    )) {
      const path = from ?? bare!
      if (type !== undefined) continue
      if (path.startsWith(".")) visit(join(dirname(file), path))
      else packages.add(path)
    }
  }
  visit(join(root, first))
  return { files: [...files].map((file) => file.slice(root.length)), packages }
}

describe("what one machine loads", () => {
  it("is the platform, without effect/cluster", () => {
    const { files, packages } = loadedBy("src/cli/serve.ts")
    expect(files).toContain("src/engine/Engine.ts")
    expect(packages).toContain("effect")
    expect(packages).not.toContain("effect/cluster")
    expect(files).not.toContain("src/nats/RemoteNats.ts")
  })

  it("is no server where a command asks a running platform", () => {
    const { files } = loadedBy("src/cli/orgs.ts")
    expect(files).toContain("src/admin/AdminClient.ts")
    expect(files).not.toContain("src/app/server.ts")
    expect(files).not.toContain("src/app/layers.ts")
  })

  it("is more where nodes share the partitions", () => {
    expect(loadedBy("src/app/cluster.ts").packages).toContain("effect/cluster")
  })
})
