/** The contract of `Journal`, for every implementation. */
import { layer } from "@effect/vitest"
import type { Layer } from "effect"
import { patienceMillis } from "../../support/patience.ts"
import { appends } from "./journalAppends.ts"
import type { JournalHarness } from "./journalHarness.ts"
import { opening } from "./journalOpening.ts"
import { purges } from "./journalPurges.ts"
import { reads } from "./journalReads.ts"

export const journalContract = <E>(name: string, harness: Layer.Layer<JournalHarness, E>): void => {
  layer(harness, { excludeTestServices: true, timeout: patienceMillis })(`Journal: ${name}`, (it) => {
    opening(it)
    appends(it)
    reads(it)
    purges(it)
  })
}
