/**
 * Finds emails by words of their recipients, sender and subject (docs/platform.md, 9.20). The rows of the search hold
 * terms: a field's letter with the beginning of a word. A term narrows the search, and the content decides. Pure.
 */
import { hash } from "node:crypto"
import { type Message, recipientsOf } from "../Message.ts"

/** Lengths of the beginnings that are kept of a word. Of a shorter word the whole is kept. */
const prefixLengths = [3, 5, 8] as const
const shortestPrefix = prefixLengths[0]

/** Terms that are kept of one email: what is beyond them is not found. */
export const maximumTerms = 512

/** Longest text to search for, and most words of it. */
export const maximumSearchLength = 200
const maximumSearchWords = 16

/** The fields that are searched, and the letters of their terms. */
const letters = { recipient: "t", sender: "f", subject: "s", key: "k" } as const
type Field = keyof typeof letters
type TextField = Exclude<Field, "key">

/** A search: what each field has to contain. At least one is given. */
export interface EmailSearch {
  /** Words of an address or a name in `to`, `cc` or `bcc`. */
  readonly recipient?: string | undefined
  /** Words of the sender's address or name. */
  readonly sender?: string | undefined
  readonly subject?: string | undefined
  /** Words of any of the three. */
  readonly anywhere?: string | undefined
  /** The id of the API key that sent it. */
  readonly key?: string | undefined
}

const ascii = /^[\0-\x7f]*$/
const asciiWords = /[a-z0-9]+/g
const anyWords = /[\p{L}\p{N}]+/gu
const marks = /\p{M}+/gu

/** A text as it is compared: in lower case, without accents. */
const folded = (text: string): string =>
  ascii.test(text) ? text.toLowerCase() : text.normalize("NFKD").replaceAll(marks, "").toLowerCase()

/** The words of a folded text: runs of letters and digits. */
const wordsOf = (text: string): ReadonlyArray<string> => text.match(ascii.test(text) ? asciiWords : anyWords) ?? []

/** The term that finds a word: its longest beginning that is kept. */
const termOf = (field: Field, word: string): string =>
  letters[field] +
  (word.length < shortestPrefix
    ? word
    : word.slice(
        0,
        prefixLengths.findLast((one) => one <= word.length)
      ))

const textsOf = (message: Message): Readonly<Record<TextField, ReadonlyArray<string>>> => ({
  recipient: recipientsOf(message),
  sender: [message.from],
  subject: [message.subject]
})

/** The terms of an email, each once, at most {@link maximumTerms}. */
export const termsOf = (message: Message): ReadonlyArray<string> => {
  const terms = new Set<string>()
  if (message.keyId !== undefined) terms.add(letters.key + message.keyId)
  const texts = textsOf(message)
  for (const field of ["subject", "sender", "recipient"] as const) {
    for (const text of texts[field]) {
      for (const word of wordsOf(folded(text))) {
        if (word.length < shortestPrefix) terms.add(letters[field] + word)
        else
          for (const length of prefixLengths)
            if (length <= word.length) terms.add(letters[field] + word.slice(0, length))
        if (terms.size >= maximumTerms) return [...terms].slice(0, maximumTerms)
      }
    }
  }
  return [...terms]
}

const textFields = ["recipient", "sender", "subject"] as const

/**
 * The words that an email has to have for a text. The end of an address may still be typed, so a short word there is
 * left to the comparison with the whole.
 */
const wantedWords = (text: string): ReadonlyArray<string> => {
  const all = wordsOf(text)
  const isTyped = text.includes("@") && all.length > 1 && all.at(-1)!.length < shortestPrefix
  return isTyped ? all.slice(0, -1) : all
}

/** The texts to search for, each with the fields that may have its words. */
const wantedOf = (search: EmailSearch) =>
  ([...textFields, "anywhere"] as const).flatMap((name) => {
    if (search[name] === undefined) return []
    const text = folded(search[name].trim())
    return [{ text, words: wantedWords(text), fields: name === "anywhere" ? textFields : [name] }]
  })

/** Says why nothing can be searched for; undefined where something can. */
export const searchProblem = (text: string): string | undefined => {
  if (text.length > maximumSearchLength) return `Expected at most ${maximumSearchLength} characters`
  const { length } = wordsOf(folded(text))
  if (length === 0) return "Expected at least one letter or digit"
  return length > maximumSearchWords ? `Expected at most ${maximumSearchWords} words` : undefined
}

/** The terms of a search: an email that is found has one of each list. */
export const termsOfSearch = (search: EmailSearch): ReadonlyArray<ReadonlyArray<string>> => [
  ...(search.key === undefined ? [] : [[letters.key + search.key]]),
  ...wantedOf(search).flatMap(({ fields, words }) => words.map((word) => fields.map((field) => termOf(field, word))))
]

/** Whether every email with the terms of a search is found by it. */
export const isDecidedByTerms = (search: EmailSearch): boolean =>
  wantedOf(search).every(
    ({ text, words }) =>
      !text.includes("@") &&
      words.every(({ length }) => length < shortestPrefix || prefixLengths.some((one) => one === length))
  )

/** A word of at least three characters finds longer ones that begin with it; a shorter one finds itself. */
const isFound = (wanted: string, among: ReadonlyArray<string>): boolean =>
  among.some((word) => (wanted.length < shortestPrefix ? word === wanted : word.startsWith(wanted)))

/**
 * Whether an email is one that a search means: its fields have each word, in any order. A text with an `@` is also a
 * part of an address.
 */
export const matches = (message: Message, search: EmailSearch): boolean => {
  if (search.key !== undefined && message.keyId !== search.key) return false
  const texts = textsOf(message)
  return wantedOf(search).every(({ fields, text, words }) => {
    const among = fields.flatMap((field) => texts[field]).map(folded)
    const theirs = among.flatMap(wordsOf)
    const isPart = !text.includes("@") || among.some((one) => one.includes(text))
    return isPart && words.every((word) => isFound(word, theirs))
  })
}

/** Bytes of a term before it is encrypted: one block. */
export const termBytes = 16

/** Terms as blocks. One that does not fit its block is a digest. */
export const blocksOf = (terms: ReadonlyArray<string>): Buffer => {
  const blocks = Buffer.alloc(terms.length * termBytes)
  for (const [index, term] of terms.entries()) {
    const at = index * termBytes
    if (Buffer.byteLength(term) <= termBytes) blocks.write(term, at, "utf8")
    else blocks.set(hash("sha256", term, "buffer").subarray(0, termBytes), at)
  }
  return blocks
}
