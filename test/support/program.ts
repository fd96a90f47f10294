/**
 * The command line as one file: tests start it hundreds of times, and the source alone takes a second to load, a bundle of the same
 * modules a third of that. Made once a run (test/support/servers.ts); what a module finds beside itself it still finds there.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type Plugin, rolldown } from "rolldown"

const root = fileURLToPath(new URL("../../", import.meta.url))
const main = join(root, "src/main.ts")
const cache = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url))

/** Each module keeps the address of its source, and only the entry is the program that was started. */
const places: Plugin = {
  name: "places",
  transform: (code, id) =>
    code.includes("import.meta")
      ? code
          .replaceAll("import.meta.main", `${id === main}`)
          .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
      : null
}

/** Another text in the place of one that a file of the source holds exactly once. `file` is its path from the repository. */
export interface Replacement {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The source with other texts in it, as an earlier build had them. Fails where one of them is not there. */
const replaced = (replacements: ReadonlyArray<Replacement>): Plugin => {
  const left = new Set(replacements)
  return {
    name: "replaced",
    transform: (code, id) => {
      const own = replacements.filter(({ file }) => id === join(root, file))
      for (const replacement of own) {
        const { file, from } = replacement
        if (code.split(from).length !== 2) throw new Error(`${file} does not hold this once: ${from}`)
        left.delete(replacement)
      }
      return own.length === 0 ? null : own.reduce((text, { from, to }) => text.replace(from, () => to), code)
    },
    buildEnd: (error) => {
      const [missing] = left
      if (error === undefined && missing !== undefined) throw new Error(`${missing.file} is not part of the program`)
    }
  }
}

export interface Program {
  /** The file to start with Node. Beside it is `commands.mjs`: what a process needs to run commands within itself (`commandLine.ts`). */
  readonly path: string
  readonly remove: () => Promise<void>
}

/** Bundles the command line as the source is now, or with other texts in it. */
export const bundleProgram = async (replacements: ReadonlyArray<Replacement> = []): Promise<Program> => {
  // A folder of its own, so that runs side by side do not see each other's source.
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, "sluice-program-"))
  const input = { main, commands: join(root, "test/support/commandLine.ts") }
  const bundle = await rolldown({ input, platform: "node", plugins: [replaced(replacements), places] })
  // Their names say what they are; of a `.js` without a package Node compiles each twice at every start to find out.
  await bundle.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs"
  })
  await bundle.close()
  return { path: join(folder, "main.mjs"), remove: () => rm(folder, { recursive: true, force: true }) }
}
