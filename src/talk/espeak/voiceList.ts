/** Reads the list of voices that `espeak-ng --voices` prints, and prepares texts for it. Pure. */
import type { Voice } from "../voices.ts"

/** A voice with the file by which the program finds it; some languages in the list are no names that it takes. */
export interface EspeakVoice extends Voice {
  readonly file: string
}

/** A line: priority, language, age and gender, name, file. */
const line = /^\s*\d+\s+(\S+)\s+\S+\/(\S)\s+(\S+)\s+(\S+)/

const genders: Readonly<Record<string, Voice["gender"]>> = { M: "male", F: "female" }

/**
 * The voices of a list, in its order. Their ids are their languages; a second voice of a language has its file's name.
 */
export const readListing = (listing: string): ReadonlyArray<EspeakVoice> => {
  const voices = new Map<string, EspeakVoice>()
  for (const text of listing.split("\n")) {
    const match = line.exec(text)
    if (match === null) continue
    const [language, gender, name, file] = match.slice(1) as [string, string, string, string]
    const byLanguage = language.toLowerCase()
    const id = voices.has(byLanguage) ? file.slice(file.lastIndexOf("/") + 1).toLowerCase() : byLanguage
    const shown = name.replaceAll("_", " ").trim()
    voices.set(id, { id, name: shown, language, gender: genders[gender] ?? null, file })
  }
  return [...voices.values()]
}

/** Words a minute at the speed 1, the program's own default, and the fewest that it speaks. */
const wordsPerMinute = 175
const fewestWordsPerMinute = 80

/** The words a minute of a speed. */
export const wordsPerMinuteOf = (speed: number): number =>
  Math.max(fewestWordsPerMinute, Math.round(wordsPerMinute * speed))

/**
 * The text as the program reads it out. Control characters would end the text or be commands that change the voice, and
 * `[[` would begin phonemes.
 */
export const readable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
  text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, " ").replaceAll(/\[(?=\[)/g, "[ ")
