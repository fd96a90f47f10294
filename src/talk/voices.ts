/** Defines the voices of talk (docs/platform.md, 10.3), and the sentence for an unknown voice. Pure. */
import { quote } from "../http/parameters.ts"
import { nearestName } from "../http/unknownNames.ts"

export interface Voice {
  /** The id in a request. */
  readonly id: string
  readonly name: string
  /** A BCP 47 tag; `mul` for a voice that speaks several languages. */
  readonly language: string
  readonly gender: "female" | "male" | null
}

/** Most voices that are named when none is near. */
const namedVoices = 12

/** The id that was most likely meant: one of the same language before one that is spelt alike. */
const nearestVoice = (given: string, ids: ReadonlyArray<string>): string | undefined => {
  const wanted = given.toLowerCase()
  const [language] = wanted.split(/[-_]/)
  return (
    ids.find((id) => id.toLowerCase() === wanted) ??
    ids.find((id) => id.startsWith(`${wanted}-`)) ??
    nearestName(given, ids) ??
    ids.find((id) => id === language || id.startsWith(`${language}-`))
  )
}

/** Says that there is no such voice, and which one was most likely meant. */
export const unknownVoice = (given: string, voices: ReadonlyArray<Voice>): string => {
  const ids = voices.map(({ id }) => id)
  const near = nearestVoice(given, ids)
  const advice =
    near !== undefined
      ? `Did you mean '${near}'?`
      : ids.length <= namedVoices
        ? `Known: ${ids.join(", ")}.`
        : "GET /v1/talk/voices lists them."
  return `Unknown voice ${quote(given)}. ${advice}`
}
