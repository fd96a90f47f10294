/** Reads the package's version, which the health record reports as the API's (docs/directory.md, 3.6). */
import { readFileSync } from "node:fs"

// Read rather than imported: the build's root is this folder, and the file lies above it, in the package as in a
// checkout.
const packageJson = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

export const version: string = packageJson.version
