/** Bundles of the program as earlier versions had it; the one of these sources is made by bin/program.js. */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle, type Replacement, startFile } from "../../bin/program.js"

export type { Replacement }

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
/** As deep as the folder of the usual bundle. */
const cache = fileURLToPath(new URL("../../node_modules/.cache/sluice-older/", import.meta.url))

export interface Program {
  /** The file to start with Node. */
  readonly path: string
  readonly remove: () => Promise<void>
}

/** Bundles the sources with other texts in them, as an earlier build had them. Fails where one of them is not there. */
export const bundleProgram = async (replacements: ReadonlyArray<Replacement>): Promise<Program> => {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, "program-"))
  await bundle({ main, folder, replacements })
  return { path: join(folder, startFile), remove: () => rm(folder, { recursive: true, force: true }) }
}
