/**
 * Checks the programs of README and docs with versions of TypeScript beside the pinned one: the oldest that the guide
 * names, and the newest of the registry. They see the package's own declarations, as a user's project does.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { blockOf, documents } from "../documents/blocks.ts"
import { programsOf } from "../package/programs.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** Oldest version that docs/getting-started.md names. */
export const oldestTypeScript = /TypeScript (\d+\.\d+) or newer/.exec(read("docs/getting-started.md"))![1]!

/** Installs a version below a folder; the file of its compiler, undefined where the registry cannot be reached. */
export const installTypeScript = (folder: string, version: string): string | undefined => {
  try {
    const args = ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", folder, `typescript@${version}`]
    execFileSync("npm", args, { stdio: "ignore", timeout: 300_000 })
    return join(folder, "node_modules/typescript/bin/tsc")
  } catch {
    return undefined
  }
}

/** A project with all programs of the documents, and the package with its declarations as `sluice`. */
const makeProject = (folder: string): void => {
  const modules = join(folder, "node_modules")
  mkdirSync(join(modules, "sluice"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".") && name !== "sluice") symlinkSync(join(root, "node_modules", name), join(modules, name))
  cpSync(join(root, "package.json"), join(modules, "sluice/package.json"))
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const declarations = ["--emitDeclarationOnly", "--sourceMap", "false", "--outDir", join(modules, "sluice/dist")]
  execFileSync(process.execPath, [tsc, "-p", join(root, "src/tsconfig.build.json"), "--checkers", "1", ...declarations])
  for (const document of documents.filter((one) => !one.startsWith("clients/")))
    for (const [file, text] of programsOf(read(document))) {
      const path = join(folder, document.replaceAll("/", "-").slice(0, -3), file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  cpSync(join(root, "docs/examples"), join(folder, "examples"), { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  // The guide's own configuration.
  const { compilerOptions } = JSON.parse(blockOf("docs/getting-started.md", '{\n  "compilerOptions"').text)
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*/*.ts"] }))
}

/** Checks the programs with each compiler; failures are sentences. */
export const checkWith = (
  compilers: ReadonlyArray<readonly [name: string, tsc: string]>
): { readonly passed: number; readonly failures: ReadonlyArray<string> } => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-typescript-"))
  try {
    makeProject(folder)
    const failures = compilers.flatMap(([name, tsc]) => {
      const { status, stderr, stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" })
      return status === 0 ? [] : [`the documents with ${name}: ${stdout.slice(0, 4_000)}${stderr}`]
    })
    return { passed: compilers.length - failures.length, failures }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
