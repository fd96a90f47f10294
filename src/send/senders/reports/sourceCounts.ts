/** Adds the records of a DMARC report up by source, and keeps few sources apart on each day. Pure. */
import { maximumSources } from "./limits.ts"
import type { DmarcRecord } from "./model.ts"

/** Messages of a source. Each count is part of `messages`. */
export interface SourceCounts {
  readonly messages: number
  /** Of which DMARC passed: the signature or SPF is aligned. */
  readonly passed: number
  readonly dkim: number
  readonly spf: number
  readonly quarantined: number
  readonly rejected: number
}

/** The name of the row that counts what no row of its own does. */
export const otherSources = ""

export const noCounts: SourceCounts = { messages: 0, passed: 0, dkim: 0, spf: 0, quarantined: 0, rejected: 0 }

const countsOf = ({ count, disposition, isDkimAligned, isSpfAligned }: DmarcRecord): SourceCounts => ({
  messages: count,
  passed: isDkimAligned || isSpfAligned ? count : 0,
  dkim: isDkimAligned ? count : 0,
  spf: isSpfAligned ? count : 0,
  quarantined: disposition === "quarantine" ? count : 0,
  rejected: disposition === "reject" ? count : 0
})

export const plus = (a: SourceCounts, b: SourceCounts): SourceCounts => ({
  messages: a.messages + b.messages,
  passed: a.passed + b.passed,
  dkim: a.dkim + b.dkim,
  spf: a.spf + b.spf,
  quarantined: a.quarantined + b.quarantined,
  rejected: a.rejected + b.rejected
})

/** The counts of each source. */
export const countsBySource = (records: ReadonlyArray<DmarcRecord>): ReadonlyMap<string, SourceCounts> => {
  const counts = new Map<string, SourceCounts>()
  for (const record of records) counts.set(record.source, plus(counts.get(record.source) ?? noCounts, countsOf(record)))
  return counts
}

/**
 * The counts to add to a day that has rows of `known` sources. Those of most messages get the rows that are left, and
 * the others are added up. Sorted by source, so that writers of the same rows do not wait for each other in a circle.
 */
export const boundedCounts = (
  counts: ReadonlyMap<string, SourceCounts>,
  known: ReadonlySet<string>
): ReadonlyArray<SourceCounts & { readonly source: string }> => {
  const apart = [...known].filter((source) => source !== otherSources).length
  const fresh = [...counts]
    .filter(([source]) => !known.has(source))
    .sort(([a, one], [b, other]) => other.messages - one.messages || (a < b ? -1 : 1))
  const others = fresh.slice(Math.max(0, maximumSources - apart)).map(([source]) => source)
  const together = new Set(others)
  const rows = new Map<string, SourceCounts>()
  for (const [source, count] of counts) {
    const name = together.has(source) ? otherSources : source
    rows.set(name, plus(rows.get(name) ?? noCounts, count))
  }
  return [...rows].map(([source, count]) => ({ source, ...count })).sort((a, b) => (a.source < b.source ? -1 : 1))
}
