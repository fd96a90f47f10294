/**
 * Runs programs of the documents on the oldest Node that they promise (`engines` of package.json): the package of that
 * Node is installed for the run. Those in docs/quickstart.md run on it too.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { alone, programsOf } from "../package/programs.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string }
}

/** Version of the oldest Node. */
export const oldestVersion = engines.node.replace(">=", "")

/** Installs it below a folder; the path of its program, undefined where the registry or the platform has none. */
export const installOldestNode = (folder: string): string | undefined => {
  const name = `node-linux-${process.arch}`
  try {
    const args = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", folder, `${name}@${oldestVersion}`]
    execFileSync("npm", args, { stdio: "ignore", timeout: 300_000 })
    const program = join(folder, "node_modules", name, "bin/node")
    const printed = execFileSync(program, ["--version"], { encoding: "utf8" }).trim()
    return printed === `v${oldestVersion}` ? program : undefined
  } catch {
    return undefined
  }
}

const documentOf = (folder: string): string => (folder === "README" ? "README.md" : `docs/${folder}.md`)

/** Runs every program that needs no server; failures are sentences, none where all is well. */
export const runOnOldest = (program: string): { readonly passed: number; readonly failures: ReadonlyArray<string> } => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-oldest-"))
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  const failures: Array<string> = []
  let passed = 0
  try {
    const documents = new Set(Object.keys(alone).map(dirname))
    for (const document of documents) {
      mkdirSync(join(folder, document))
      if (document === "examples") continue
      for (const [file, text] of programsOf(readFileSync(join(root, documentOf(document)), "utf8")))
        writeFileSync(join(folder, document, file), text)
    }
    for (const [file, expected] of Object.entries(alone)) {
      if (file.startsWith("examples/")) copyFileSync(join(root, "docs", file), join(folder, file))
      const asPackage = join(root, "test/support/asPackage.ts")
      const { status, stderr, stdout } = spawnSync(program, ["--import", asPackage, join(folder, file)], {
        cwd: root,
        encoding: "utf8",
        timeout: 120_000
      })
      const printed = stdout.trim()
      const isRight = typeof expected === "string" ? printed.endsWith(expected) : expected.test(printed)
      if (status === 0 && isRight) passed++
      else failures.push(`${file} on Node ${oldestVersion}: ${status} ${printed}\n${stderr}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { passed, failures }
}
