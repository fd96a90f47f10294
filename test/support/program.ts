/**
 * The command line as one file: tests start it hundreds of times, and the source alone takes a second to load, a bundle of the same
 * modules a third of that. Made once a run (test/support/servers.ts); what a module finds beside itself it still finds there.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type Plugin, rolldown } from "rolldown"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
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

export interface Program {
  /** The file to start with Node. */
  readonly path: string
  readonly remove: () => Promise<void>
}

/** Bundles the command line as the source is now. */
export const bundleProgram = async (): Promise<Program> => {
  // A folder of its own, so that runs side by side do not see each other's source.
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, "sluice-program-"))
  const bundle = await rolldown({ input: main, platform: "node", plugins: [places] })
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" })
  await bundle.close()
  return { path: join(folder, "main.mjs"), remove: () => rm(folder, { recursive: true, force: true }) }
}
