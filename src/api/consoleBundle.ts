/**
 * Bundles the scripts and styles of the pages for browsers (docs/platform.md, 12.3): `esbuild` bundles `src/console` into
 * `src/console/assets`, in `npm ci` (`prepare`), at the first request after the sources have changed, and into the
 * package. Needs no service.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

const sourceFolder = fileURLToPath(new URL("../console/", import.meta.url))
const assetsFolder = join(sourceFolder, "assets")
const manifestFile = "manifest.json"

/** The pages with a script of their own, and where each script begins. */
const entries = { console: "main.tsx", mailbox: "mailbox/main.tsx", docs: "docs/main.tsx" } as const

export type PageName = keyof typeof entries

/** The files that a page names; its script loads the others itself. */
export interface PageAssets {
  readonly script: string
  readonly style: string
}

/** A file that browsers may keep for ever: its name changes with what it holds. */
export interface Asset {
  readonly name: string
  readonly text: string
}

/** All that the pages load. */
export interface ConsoleAssets {
  readonly pages: Readonly<Record<PageName, PageAssets>>
  readonly files: ReadonlyArray<Asset>
}

interface Manifest {
  /** Digest of the sources that it was made of. */
  readonly source: string
  readonly pages: ConsoleAssets["pages"]
  readonly files: ReadonlyArray<string>
}

/** The licences of what the script holds of others. */
export const licencesFile = "licences.txt"

/** The third-party code in the script. */
const bundled = ["preact", "@preact/signals", "@preact/signals-core", "uplot"]

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 12)

/** The sources, undefined in the package, which has the bundle alone. */
const sourceDigest = (): string | undefined => {
  if (!existsSync(join(sourceFolder, entries.console))) return undefined
  const files = readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(tsx?|css)$/.test(file) && !file.startsWith("assets"))
    .sort()
  return digest(files.map((file) => `${file}\n${readFileSync(join(sourceFolder, file), "utf8")}`).join("\n"))
}

const read = (): { readonly source: string; readonly assets: ConsoleAssets } | undefined => {
  const at = (name: string) => readFileSync(join(assetsFolder, name), "utf8")
  try {
    const { files, pages, source } = JSON.parse(at(manifestFile)) as Manifest
    // A bundle of an earlier version has fewer pages.
    if (Object.keys(entries).some((name) => pages[name as PageName] === undefined)) return undefined
    return { source, assets: { pages, files: files.map((name) => ({ name, text: at(name) })) } }
  } catch {
    return undefined
  }
}

/** The part of `esbuild` that is used here; it is no dependency of the package. */
interface Esbuild {
  readonly build: (options: object) => Promise<{
    readonly outputFiles: ReadonlyArray<{ readonly path: string; readonly text: string }>
  }>
}

const licencesOf = (require: NodeJS.Require): string =>
  bundled
    .map((name) => {
      const folder = require.resolve.paths(name)?.find((path) => existsSync(join(path, name, "LICENSE")))
      return `${name}\n\n${folder === undefined ? "MIT" : readFileSync(join(folder, name, "LICENSE"), "utf8")}`
    })
    .join("\n\n----\n\n")

/** Bundles the sources. Fails where `esbuild` is not installed. */
const bundle = async (): Promise<ConsoleAssets> => {
  const require = createRequire(import.meta.url)
  const { build } = require("esbuild") as Esbuild
  const { outputFiles } = await build({
    entryPoints: Object.entries(entries).map(([out, file]) => ({ in: join(sourceFolder, file), out })),
    bundle: true,
    minify: true,
    write: false,
    outdir: "out",
    format: "esm",
    splitting: true,
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "silent"
  })
  const files = outputFiles.map(({ path, text }) => ({ name: basename(path), text }))
  const named = (page: string, suffix: string) =>
    files.find(({ name }) => name.startsWith(`${page}-`) && name.endsWith(suffix))?.name ?? ""
  const assetsOf = (page: PageName): PageAssets => ({ script: named(page, ".js"), style: named(page, ".css") })
  return {
    pages: { console: assetsOf("console"), mailbox: assetsOf("mailbox"), docs: assetsOf("docs") },
    files: [...files, { name: licencesFile, text: licencesOf(require) }]
  }
}

/** Keeps a bundle for the next start. Another process may do the same at the same time. */
const keep = (source: string, { files, pages }: ConsoleAssets): void => {
  mkdirSync(assetsFolder, { recursive: true })
  const write = (name: string, text: string) => {
    const temporary = join(assetsFolder, `.${name}.${process.pid}`)
    writeFileSync(temporary, text)
    renameSync(temporary, join(assetsFolder, name))
  }
  for (const { name, text } of files) write(name, text)
  write(manifestFile, JSON.stringify({ source, pages, files: files.map(({ name }) => name) } satisfies Manifest))
  // Bundles of earlier sources are no longer needed.
  const kept = new Set([manifestFile, ...files.map(({ name }) => name)])
  for (const name of readdirSync(assetsFolder)) {
    if (!kept.has(name) && !name.startsWith(".")) rmSync(join(assetsFolder, name), { force: true })
  }
}

/** The assets of these sources, bundled now where that was not done before. Rejects where it cannot be. */
export const consoleAssets = async (): Promise<ConsoleAssets> => {
  const source = sourceDigest()
  const before = read()
  if (before !== undefined && (source === undefined || before.source === source)) return before.assets
  if (source === undefined) throw new Error("The package lacks the console's bundle")
  const made = await bundle()
  try {
    keep(source, made)
  } catch {
    // A folder that cannot be written costs the next start a moment.
  }
  return made
}

if (import.meta.main) {
  for (const { name, text } of (await consoleAssets()).files) console.log(`${name} ${text.length} bytes`)
}
