/** Imported before a program (`node --import`), it finds the names of the package, such as `sluice/limits`, in the sources: no build is needed. */
import { registerHooks } from "node:module"
import { entryPoints } from "./entryPoints.ts"

const root = new URL("../../", import.meta.url)
const entries = entryPoints()

registerHooks({
  resolve: (specifier, context, next) => {
    const source = entries.get(specifier)
    return source === undefined ? next(specifier, context) : { url: new URL(source, root).href, shortCircuit: true }
  }
})
