/** The list of parts that docs/release.md has a release come with: every dependency of the package, with version and hash. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = new URL("../../", import.meta.url).pathname

interface Component {
  readonly name: string
  readonly version: string
  readonly hashes?: ReadonlyArray<unknown>
}

it("names every dependency of the package, with its version and its hash", () => {
  const [, command] = /```sh\n(npm sbom .*) > sbom\.json\n```/.exec(
    readFileSync(join(root, "docs/release.md"), "utf8")
  )!
  const [program, ...args] = command!.split(" ")
  const text = execFileSync(program!, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  const { bomFormat, components }: { bomFormat: string; components: ReadonlyArray<Component> } = JSON.parse(text)
  expect(bomFormat).toBe("CycloneDX")
  const found = new Map(components.map((one) => [one.name, one]))
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  for (const [name, version] of Object.entries<string>(dependencies)) {
    expect(found.get(name)?.version, name).toBe(version)
    expect(found.get(name)?.hashes?.length, name).toBeGreaterThan(0)
  }
})
