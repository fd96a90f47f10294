/**
 * The program as one bundle, which starts in a third of the time that its modules take: where it is, whether it fits the
 * sources, and how it is made. `npm ci` makes it (`prepare`), `bin/sluice.js` makes it again when a source has changed,
 * and the package contains one (`prepack`).
 *
 *     node bin/program.js                      the bundle of this checkout, unless it is there
 *     node bin/program.js dist/main.js FOLDER  a bundle of compiled sources, for the package
 *
 * Plain JavaScript that old versions of Node read too: the launcher imports it before it knows which Node it is.
 */
// @ts-check
import { execFileSync } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { argv } from "node:process"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const cache = join(root, "node_modules/.cache/sluice")

/** The file of a bundle that Node starts. */
export const startFile = "start.mjs"

/** The text of `sluice --help` beside it: to say it, the program would load every command. */
export const helpFile = "help.txt"

/** Builds of earlier sources that stay: a platform that still runs one loads parts of it when they are needed. */
const keptBuilds = 4

/** What a bundle is made of besides `src`. */
const otherSources = ["package-lock.json", "bin/program.js"]

/** Entries of a bundle, by the module of `src` that each is. `start.mjs` loads the first. */
const entries = { main: "main", commands: "cli/runCommand", ingestionWorker: "directory/ingestionWorker" }

/** A module that says where the thread of an ingestion is; a bundle has that thread as an entry of its own. */
const workerPlace = "directory/workerModule"

/**
 * Tells sources apart by name, size and time of change: reading all of them would take longer than the start.
 *
 * @returns {string}
 */
const sourceDigest = () => {
  const hash = createHash("sha256")
  /** @param {string} file */
  const add = (file) => {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file}\n${size}\n${mtimeMs}\n`)
  }
  /** @param {string} folder */
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (path !== "src/console" && entry.name !== "data") walk(path)
      } else if (entry.name.endsWith(".ts")) add(path)
    }
  }
  walk("src")
  for (const file of otherSources) add(file)
  return hash.digest("base64url").slice(0, 16)
}

/**
 * The bundle that fits the sources of this checkout, undefined where it has to be made.
 *
 * @returns {string | undefined} The path of its `start.mjs`.
 */
export const builtProgram = () => {
  const start = join(cache, sourceDigest(), startFile)
  return existsSync(start) ? start : undefined
}

/** @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Replacement Another text in the place of one that a file holds exactly once. `file` is its path from the repository. */

/**
 * @param {string} name
 * @param {(code: string, id: string) => string | null} transform
 */
const plugin = (name, transform) => ({ name, transform })

/**
 * Each module keeps the address of its source, relative to the bundle, and only the entry is the program that was started.
 *
 * @param {string} main
 * @param {string} folder
 */
const places = (main, folder) =>
  plugin("places", (code, id) => {
    // What the bundler adds itself has no source.
    if (id.startsWith("\0") || !code.includes("import.meta")) return null
    const path = relative(folder, id).split(sep).join("/")
    return code
      .replaceAll("import.meta.main", `${id === main}`)
      .replaceAll("import.meta.url", `new URL(${JSON.stringify(path)}, import.meta.url).href`)
  })

/** @param {string} source */
const thread = (source) =>
  plugin("thread", (_code, id) =>
    id.startsWith(join(source, workerPlace))
      ? 'export const workerModule = new URL("./ingestionWorker.mjs", import.meta.url)'
      : null
  )

/**
 * @param {ReadonlyArray<Replacement>} replacements Fails where one of them is not there.
 */
const replaced = (replacements) => {
  const left = new Set(replacements)
  return {
    ...plugin("replaced", (code, id) => {
      const own = replacements.filter(({ file }) => id === join(root, file))
      for (const replacement of own) {
        const { file, from } = replacement
        if (code.split(from).length !== 2) throw new Error(`${file} does not hold this once: ${from}`)
        left.delete(replacement)
      }
      return own.length === 0 ? null : own.reduce((text, { from, to }) => text.replace(from, () => to), code)
    }),
    /** @param {Error | undefined} error */
    buildEnd: (error) => {
      const [missing] = left
      if (error === undefined && missing !== undefined) throw new Error(`${missing.file} is not part of the program`)
    }
  }
}

/**
 * The licences of what a bundle holds of others.
 *
 * @param {ReadonlyArray<string>} modules
 */
const licencesOf = (modules) => {
  const packages = new Set(
    modules.flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? [])
  )
  return [...packages]
    .sort()
    .map((folder) => {
      const name = folder.split(/node_modules[\\/]/).at(-1)
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
      const text = file === undefined ? undefined : readFileSync(join(folder, file), "utf8")
      return `${name}\n\n${text ?? JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).license}`
    })
    .join("\n\n----\n\n")
}

/**
 * Loads the program on the modules that Node has compiled before. They are kept beside it, where only its owner writes; where
 * that is not allowed they are compiled at each start.
 */
const startText = `import * as module from "node:module"
import { fileURLToPath } from "node:url"
const kind = process.argv[2] === "serve" ? "serve" : "commands"
module.enableCompileCache?.(fileURLToPath(new URL("compiled/" + kind, import.meta.url)))
await import("./main.mjs")
`

/**
 * Bundles a program into a folder. Fails where rolldown is not installed, or a source does not compile.
 *
 * @param {{ readonly main: string, readonly folder: string, readonly replacements?: ReadonlyArray<Replacement> }} options
 */
export const bundle = async ({ folder, main, replacements = [] }) => {
  const { rolldown } = await import("rolldown")
  const source = dirname(main)
  const suffix = main.slice(main.lastIndexOf("."))
  const bundled = await rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(source, `${path}${suffix}`)])),
    platform: "node",
    plugins: [replaced(replacements), places(main, folder), thread(source)]
  })
  // Names that say what they are: of a `.js` without a package Node compiles each twice at every start to find out.
  const { output } = await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
    // Half of the text of what is bundled; Node would read it at every start.
    comments: false
  })
  await bundled.close()
  writeFileSync(
    join(folder, "licences.txt"),
    licencesOf(output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : [])))
  )
  writeFileSync(join(folder, startFile), startText)
}

/**
 * Writes the text of `--help` beside a bundle that is in its place: what Node compiles meanwhile is kept by its path.
 *
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} [environment]
 */
const writeHelp = (folder, environment = {}) => {
  const env = { ...process.env, ...environment }
  writeFileSync(join(folder, helpFile), execFileSync(process.execPath, [join(folder, startFile), "--help"], { env }))
}

/** @param {string} wanted */
const removeOldBuilds = (wanted) => {
  const builds = readdirSync(cache, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== wanted)
    .map(({ name }) => ({ path: join(cache, name), time: statSync(join(cache, name)).mtimeMs }))
    .sort((one, other) => other.time - one.time)
  for (const { path } of builds.slice(keptBuilds)) rmSync(path, { recursive: true, force: true })
}

/**
 * The bundle of this checkout, made where there is none that fits. Processes that make it at the same time do not disturb each other.
 *
 * @returns {Promise<string>} The path of its `start.mjs`.
 */
export const ensureProgram = async () => {
  const built = builtProgram()
  if (built !== undefined) return built
  const digest = sourceDigest()
  // Others who use this checkout may read it, so the folder is no temporary one of Node's.
  const unfinished = join(cache, `unfinished-${randomUUID()}`)
  mkdirSync(unfinished, { recursive: true })
  const folder = join(cache, digest)
  try {
    // As deep as the folder that it becomes, so that addresses relative to it stay right.
    await bundle({ main: join(root, "src/main.ts"), folder: unfinished })
    if (!existsSync(folder)) {
      renameSync(unfinished, folder)
      writeHelp(folder)
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  removeOldBuilds(digest)
  return join(folder, startFile)
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  const [main, folder] = argv.slice(2).map((path) => join(process.cwd(), path))
  if (main === undefined || folder === undefined) await ensureProgram()
  else {
    await bundle({ main, folder })
    // In the package another Node may run.
    writeHelp(folder, { NODE_DISABLE_COMPILE_CACHE: "1" })
  }
}
