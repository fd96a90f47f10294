/** `node --import …/register.ts`: makes the replacement of this process's variant in the modules that Node loads. */
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { replacementOfEnvironment } from "./variant.ts"

const replacement = replacementOfEnvironment()

if (replacement !== undefined)
  registerHooks({
    load: (url, context, next) => {
      const source = url.startsWith("file:") ? replacement(fileURLToPath(url)) : undefined
      const loaded = next(url, context)
      // Node strips the types of what comes out of this.
      return source === undefined ? loaded : { ...loaded, source }
    }
  })
