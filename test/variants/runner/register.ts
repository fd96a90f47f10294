/** `node --import …/register.ts`: makes this process's change in the modules that Node loads. */
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { sourceOf } from "./change.ts"

const changed = sourceOf()

registerHooks({
  load: (url, context, next) => {
    const source = url.startsWith("file:") ? changed(fileURLToPath(url)) : undefined
    const loaded = next(url, context)
    // Node strips the types of what comes out of this.
    return source === undefined ? loaded : { ...loaded, source }
  }
})
