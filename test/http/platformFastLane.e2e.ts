/** The sections of `platform.e2e.ts` where nobody logs or traces requests, so that the fast lane answers what it can. */
import { usePlatform } from "./harness.ts"
import { fastLaneSections } from "./sections/all.ts"

fastLaneSections(usePlatform({ isObserved: false }))
