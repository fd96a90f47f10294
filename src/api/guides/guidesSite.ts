/**
 * Builds the guides' site with VitePress, and says where it is: `dist/guides` in the package, and in a checkout
 * `docs/.vitepress/dist`, which `npm run docs` makes and so does the first request after a document has changed.
 * `npm ci` does not build it: that would take half as long again as the rest, for pages that many never open. Needs no
 * service.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setPriority } from "node:os"
import { dirname, join, resolve } from "node:path"
import { argv } from "node:process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { documentsFolder } from "./guideContents.ts"

/** Whether the package runs, which has no sources of the site. */
const isPackage = !existsSync(join(documentsFolder, ".vitepress/config.ts"))

/** The folder of the built site. */
export const siteFolder = isPackage
  ? fileURLToPath(new URL("../../guides/", import.meta.url))
  : join(documentsFolder, ".vitepress/dist")

/** The digest of the sources that a site was made of. */
const digestFile = "sources.txt"

/** A build that takes longer has failed. */
const buildMillis = 180_000

const programFile = fileURLToPath(import.meta.url)

/** The variables of a build: VitePress and its parts need no secret of the platform. */
const environment = (): NodeJS.ProcessEnv => ({
  NODE_ENV: "production",
  ...Object.fromEntries(
    ["PATH", "HOME", "TMPDIR"].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  )
})

const sourceDigest = (): string => {
  const hash = createHash("sha256").update(readFileSync(fileURLToPath(new URL("guideContents.ts", import.meta.url))))
  const files = readdirSync(documentsFolder, { recursive: true, encoding: "utf8" }).sort()
  for (const file of files) {
    const path = join(documentsFolder, file)
    if (/\.vitepress\/(?:dist|cache|building)/.test(path) || !statSync(path).isFile()) continue
    hash.update(`${file}\n`).update(readFileSync(path))
  }
  return hash.digest("base64url")
}

/** Whether the site is there, and shows the documents as they are now. */
export const isSiteFresh = (): boolean => {
  try {
    return isPackage || readFileSync(join(siteFolder, digestFile), "utf8") === sourceDigest()
  } catch {
    return false
  }
}

/** Builds the site in place of an earlier one. Rejects where VitePress is not installed. */
const build = async (): Promise<void> => {
  const digest = sourceDigest()
  const building = join(documentsFolder, `.vitepress/building-${process.pid}`)
  const require = createRequire(import.meta.url)
  const program = join(dirname(require.resolve("vitepress/package.json")), "bin/vitepress.js")
  try {
    await promisify(execFile)(process.execPath, [program, "build", documentsFolder, "--outDir", building], {
      timeout: buildMillis,
      env: environment()
    })
    writeFileSync(join(building, digestFile), digest)
    rmSync(siteFolder, { recursive: true, force: true })
    renameSync(building, siteFolder)
  } finally {
    rmSync(building, { recursive: true, force: true })
  }
}

/** Builds the site in a process of its own, with a lower priority than the platform's. Rejects where that fails. */
export const buildSite = async (): Promise<void> => {
  const building = promisify(execFile)(process.execPath, [programFile], { timeout: buildMillis, env: environment() })
  try {
    setPriority(building.child.pid!, 10)
  } catch {
    // The build is then as important as the platform.
  }
  await building
}

if (import.meta.main) {
  if (!isSiteFresh()) await build()
  // The package's copy.
  if (argv[2] !== undefined) cpSync(siteFolder, resolve(argv[2]), { recursive: true })
}
