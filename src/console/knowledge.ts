/** Chooses the console's words for a state: it says that all is well only if it knows so. Pure. */

/** A part of what is asked, as far as it is there. One that nobody may ask for is neither loading nor in error. */
export interface Source {
  readonly data: unknown
  readonly error: unknown
  readonly isLoading: boolean
}

/**
 * `alarms`: something needs somebody. `unknown`: at least one answer failed, or is older than the failure, or the
 * platform says that it is not ready. `loading`: not all answers are there yet. `well`: every answer is there, and none
 * needs anybody.
 */
export type Knowledge = "alarms" | "unknown" | "loading" | "well"

/** The knowledge of these sources. `isReady` is the platform's word; undefined before it has said one. */
export const knowledgeOf = (
  sources: ReadonlyArray<Source>,
  isReady: boolean | undefined,
  alarms: number
): Knowledge => {
  if (alarms > 0) return "alarms"
  if (isReady === false || sources.some(({ error }) => error !== undefined)) return "unknown"
  return isReady === undefined || sources.some(({ data, isLoading }) => isLoading && data === undefined)
    ? "loading"
    : "well"
}
