/** The list of parts that docs/release.md has a release come with: every dependency of the package, with its version. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = new URL("../../", import.meta.url).pathname

interface Component {
  readonly name: string
  readonly version: string
}

it("names every dependency of the package but one, with its version", () => {
  const [, command] = /```sh\n(npm sbom .*) > sbom\.json\n```/.exec(
    readFileSync(join(root, "docs/release.md"), "utf8")
  )!
  const [program, ...args] = command!.split(" ")
  const text = execFileSync(program!, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  const { bomFormat, components }: { bomFormat: string; components: ReadonlyArray<Component> } = JSON.parse(text)
  expect(bomFormat).toBe("CycloneDX")
  const found = new Set(components.map(({ name, version }) => `${name} ${version}`))
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const missing = Object.entries<string>(dependencies).filter(([name, version]) => !found.has(`${name} ${version}`))
  // npm leaves out a package whose dependency names it as a peer, as the document says.
  expect(missing).toEqual([["pg", dependencies.pg]])
})
