import { Result } from "effect"
import type { DirectoryIndex } from "./DirectoryIndex.ts"
import {
  type AreaCodeQuery,
  areaCodeByNpa,
  type CarrierQuery,
  carrierByOcn,
  listCarriers,
  type NotFound
} from "./rules.ts"

/**
 * The answers of `rules.ts` as the text of their JSON, kept while they are asked for often. The store belongs to one
 * index and goes with it, so an answer never outlives the records it came from. Needs no service.
 */
export interface EncodedAnswers {
  /** JSON of a `CarrierPage`. */
  readonly carriers: (query?: CarrierQuery) => string
  /** JSON of a `CarrierDetail`. */
  readonly carrier: (ocn: string) => Result.Result<string, NotFound>
  /** JSON of an `AreaCode`. */
  readonly areaCode: (npa: string, query?: AreaCodeQuery) => Result.Result<string, NotFound>
  /** Memory now held, in bytes. */
  readonly heldBytes: () => number
}

/** Most memory that kept answers may take: room for the first page of every area code and every carrier. */
export const encodedAnswersMaxBytes = 4 * 1024 * 1024

/** What an answer costs beside its text: key and table entry. */
const answerOverheadBytes = 256

/** Longest key kept. Filters of a carrier list are text from outside; a longer one is answered, but not kept. */
const keyMaxLength = 64

/** V8 keeps a text in one byte a character while all of them are Latin-1. */
const costOf = (text: string): number =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of one byte
  text.length * (/^[\u0000-\u00ff]*$/.test(text) ? 1 : 2) + answerOverheadBytes

/** @param maxBytes bound of the memory held, by default `encodedAnswersMaxBytes` */
export const make = (index: DirectoryIndex, maxBytes: number = encodedAnswersMaxBytes): EncodedAnswers => {
  // Two halves: what is asked for again moves from the old to the young one, what is not goes with the old one. A
  // reader pays one look-up, and a crawl over everything cannot drive out what others ask for meanwhile.
  let young = new Map<string, string>()
  let old = new Map<string, string>()
  let youngBytes = 0
  let oldBytes = 0

  const keep = (key: string, text: string) => {
    const cost = costOf(text)
    if (key.length > keyMaxLength || cost > maxBytes / 2) return
    if (youngBytes + cost > maxBytes / 2) {
      old = young
      oldBytes = youngBytes
      young = new Map()
      youngBytes = 0
    }
    young.set(key, text)
    youngBytes += cost
  }

  const find = (key: string): string | undefined => {
    const found = young.get(key)
    if (found !== undefined) return found
    const aged = old.get(key)
    if (aged === undefined) return undefined
    old.delete(key)
    oldBytes -= costOf(aged)
    keep(key, aged)
    return aged
  }

  const answer = <A>(key: string, result: Result.Result<A, NotFound>): Result.Result<string, NotFound> => {
    if (Result.isFailure(result)) return Result.fail(result.failure)
    const text = JSON.stringify(result.success)
    keep(key, text)
    return Result.succeed(text)
  }

  return {
    carriers: (query = {}) => {
      const key = JSON.stringify([query.country, query.state, query.type, query.limit, query.offset])
      const found = find(key)
      if (found !== undefined) return found
      const text = JSON.stringify(listCarriers(index, query))
      keep(key, text)
      return text
    },
    carrier: (ocn) => {
      const key = `carrier ${ocn}`
      const found = find(key)
      return found === undefined ? answer(key, carrierByOcn(index, ocn)) : Result.succeed(found)
    },
    areaCode: (npa, query = {}) => {
      // Only numbers that exist are kept, and they are digits: no text from outside can look like another key.
      const key = `npa ${npa} ${query.nxx} ${query.limit} ${query.offset}`
      const found = find(key)
      return found === undefined ? answer(key, areaCodeByNpa(index, npa, query)) : Result.succeed(found)
    },
    heldBytes: () => youngBytes + oldBytes
  }
}
