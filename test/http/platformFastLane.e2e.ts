/** The same as `platform.e2e.ts` where nobody logs or traces requests, so that the fast lane answers what it can. */
import { usePlatform } from "./harness.ts"
import { allSections } from "./sections/all.ts"

allSections(usePlatform({ isObserved: false }))
