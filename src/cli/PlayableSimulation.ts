/** Describes a simulation that the command line plays: of rules in a file, or of the repository's own programs. */
import type { Marks } from "../simulation/index.ts"

export interface Played {
  readonly played: number
  readonly marks: Marks
  readonly finding: Finding | undefined
}

/** The first scenario that fails, for people. */
export interface Finding {
  readonly seed: number
  /** At once: as it was found, unless it is small already. */
  readonly text: string
  /** Makes it small, which takes seconds. */
  readonly small?: () => string
}

export interface Replayed {
  readonly trace: ReadonlyArray<string>
  readonly finding: string | undefined
}

export interface PlayableSimulation {
  readonly requiredMarks: ReadonlyArray<string>
  /** Plays a number of seeds from the first one on, or fewer when one fails. */
  readonly play: (first: number, seeds: number) => Played
  /** Plays a saved scenario; undefined when the text is none of this kind. */
  readonly replay: (text: string) => Replayed | undefined
}
