import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { peerProblem, satisfies } from "../../src/common/peers.ts"
import { entryPoints } from "../support/entryPoints.ts"

describe("a version is in a range", () => {
  it.each([
    ["4.1.0", "~4.1.0", true],
    ["4.1.9", "~4.1.0", true],
    ["4.1.1", "~4.1.2", false],
    ["4.2.0", "~4.1.0", false],
    ["3.1.0", "~4.1.0", false],
    ["22.19.0", ">=22.19.0", true],
    ["22.18.9", ">=22.19.0", false],
    ["24.0.0", ">=22.19.0", true],
    ["20.20.2", ">=22.19.0", false],
    ["23.1.0", "23.1.0", true],
    ["23.1.1", "23.1.0", false]
  ])("%s in %s: %s", (version, range, is) => expect(satisfies(version, range)).toBe(is))
})

describe("where the library is loaded", () => {
  const manifest = {
    version: "0.1.0",
    engines: { node: ">=22.19.0" },
    peerDependencies: { effect: "~4.1.0" }
  }
  const problem = (node: string, effect: string | undefined) => peerProblem(manifest, node, () => effect, ["effect"])

  it("nothing is wrong with what package.json asks for, or with what cannot be told", () => {
    expect([problem("24.1.0", "4.1.3"), problem("24.1.0", undefined)]).toEqual([undefined, undefined])
  })

  it("says in a sentence what is wrong and what to do", () => {
    expect(problem("20.20.2", "4.1.0")).toBe("sluice 0.1.0 needs Node 22.19.0 or newer, and this is 20.20.2")
    expect(problem("24.1.0", "4.2.0")).toBe(
      "sluice 0.1.0 needs effect ~4.1.0, and finds 4.2.0: run npm install effect@~4.1.0"
    )
  })
})

describe("an entry point", () => {
  const root = new URL("../../", import.meta.url).pathname

  it.each([...entryPoints()])("%s asks for its peers before anything else of it runs", (_, source) => {
    const [, first] = /^(?:import|export) (?!type )(?:[^"]*? from )?"([^"]+)"/m.exec(
      readFileSync(join(root, source), "utf8")
    )!
    expect(first).toMatch(/\/common\/checked(Node)?Peers\.ts$/)
  })

  it.each([
    ["effect", "4.0.9", "checkedPeers", "effect ~4.1.0, and finds 4.0.9: run npm install effect@~4.1.0"],
    [
      "@effect/platform-node",
      "4.2.0",
      "checkedNodePeers",
      "@effect/platform-node ~4.1.0, and finds 4.2.0: run npm install @effect/platform-node@~4.1.0"
    ]
  ])("says in one sentence, without a stack, that %s is %s", (peer, version, module, sentence) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-peers-"))
    try {
      mkdirSync(join(folder, "src/common"), { recursive: true })
      for (const file of ["package.json", "src/common/peers.ts", `src/common/${module}.ts`])
        cpSync(join(root, file), join(folder, file))
      mkdirSync(join(folder, "node_modules", peer), { recursive: true })
      writeFileSync(join(folder, "node_modules", peer, "package.json"), JSON.stringify({ name: peer, version }))
      const { status, stderr } = spawnSync(process.execPath, [join(folder, `src/common/${module}.ts`)], {
        encoding: "utf8"
      })
      expect(status).toBe(1)
      expect(stderr).toContain(`sluice 0.1.0 needs ${sentence}`)
      expect(stderr).not.toMatch(/^ +at /m)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
