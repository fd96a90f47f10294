import { Result } from "effect"
import { RecentlyUsed } from "../common/RecentlyUsed.ts"
import type { DirectoryIndex } from "./DirectoryIndex.ts"
import {
  type AreaCodeQuery,
  areaCodeByNpa,
  type CarrierQuery,
  carrierByOcn,
  type EntryNotFound,
  listCarriers
} from "./rules.ts"

/**
 * The answers of `rules.ts` as bytes of JSON, cached while they are asked for often. The cache belongs to one index and
 * goes with it, so an answer never outlives its records. Callers must not write to the buffers. Needs no service. See
 * {@link Directory}.
 */
export interface EncodedAnswers {
  /** JSON of a `CarrierPage`. */
  readonly carriers: (query?: CarrierQuery) => Buffer
  /** JSON of a `CarrierDetail`. */
  readonly carrier: (ocn: string) => Result.Result<Buffer, EntryNotFound>
  /** JSON of an `AreaCode`. */
  readonly areaCode: (npa: string, query?: AreaCodeQuery) => Result.Result<Buffer, EntryNotFound>
  /** Memory now held, in bytes. */
  readonly heldBytes: () => number
}

/** Most memory for cached answers. Half of it holds the largest page of 700 area codes, or every carrier. */
export const encodedAnswersMaxBytes = 24 * 1024 * 1024

/** The cost of an answer beside its bytes: the buffer's object and memory block, key and table entry. */
const answerOverheadBytes = 384

/**
 * Longest key in the cache. Filters of a carrier list are text from outside; a longer one is answered but not cached.
 */
const keyMaxLength = 64

/** A buffer with memory of its own: a slice of Node's pool would keep all of the pool alive. */
const bytesOf = (value: unknown): Buffer => {
  const text = JSON.stringify(value)
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** @param maxBytes bound of the memory held, by default `encodedAnswersMaxBytes` */
export const make = (index: DirectoryIndex, maxBytes: number = encodedAnswersMaxBytes): EncodedAnswers => {
  const kept = new RecentlyUsed<Buffer>(maxBytes)

  const encode = (key: string, value: unknown): Buffer => {
    const bytes = bytesOf(value)
    if (key.length <= keyMaxLength) kept.set(key, bytes, bytes.byteLength + answerOverheadBytes)
    return bytes
  }

  return {
    carriers: (query = {}) => {
      const key = JSON.stringify([query.country, query.state, query.type, query.limit, query.offset])
      return kept.get(key) ?? encode(key, listCarriers(index, query))
    },
    carrier: (ocn) => {
      const key = `carrier ${ocn}`
      const found = kept.get(key)
      return found === undefined
        ? Result.map(carrierByOcn(index, ocn), (carrier) => encode(key, carrier))
        : Result.succeed(found)
    },
    areaCode: (npa, query = {}) => {
      // Only codes that exist are cached, and they are digits, so no text from outside can look like another key.
      const whole = `npa ${npa} ${query.nxx} ${query.limit} ${query.offset}`
      const included = query.include === undefined ? whole : `${whole} ${query.include}`
      const key = query.blocks === true ? `${included} blocks` : included
      const found = kept.get(key)
      return found === undefined
        ? Result.map(areaCodeByNpa(index, npa, query), (areaCode) => encode(key, areaCode))
        : Result.succeed(found)
    },
    heldBytes: () => kept.cost
  }
}
