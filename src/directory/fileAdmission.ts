import { Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Removals } from "./difference.ts"
import { type DatasetKind, datasetKinds } from "./model.ts"

/**
 * Decides which intact files are accepted without the operator's consent (docs/directory.md, 6.4): none that is older
 * than the publication in force, and none that removes more than a small share. An operator who wants that says so, and
 * how many. Needs `SqlClient`. See {@link Ingestions}.
 */
export interface Admission {
  /** Accepts a file although a newer publication is in force. */
  readonly allowOlder: boolean
  /** Accepts a file that removes up to this number of records, however large their share. */
  readonly allowRemovals: number
  /** Area codes to remove because the files leave them out. */
  readonly retire: ReadonlyArray<string>
}

export const admitUsual: Admission = { allowOlder: false, allowRemovals: 0, retire: [] }

/**
 * The share of the stored records that a file may remove without the operator's word: of all of them, and within each
 * area code that it holds.
 */
export const removalShareLimit = 0.05

/** Area codes that a refusal names. */
const namedAreaCodes = 3

/** A newer publication than this file is in force. */
export class OlderPublication extends Schema.TaggedError<OlderPublication>()("OlderPublication", {
  source: Schema.String,
  kind: Schema.Literals(datasetKinds),
  publicationDate: Schema.String,
  inForce: Schema.String,
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** The file would remove more than a file usually does. */
export class TooManyRemovals extends Schema.TaggedError<TooManyRemovals>()("TooManyRemovals", {
  source: Schema.String,
  kind: Schema.Literals(datasetKinds),
  removed: Schema.Int,
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** The file names an area code that the operator wants to retire. */
export class StillNamed extends Schema.TaggedError<StillNamed>()("StillNamed", {
  source: Schema.String,
  kind: Schema.Literals(datasetKinds),
  areaCode: Schema.String,
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** The kinds of the given files have no records of an area code that the operator wants to retire. */
export class NothingToRetire extends Schema.TaggedError<NothingToRetire>()("NothingToRetire", {
  source: Schema.String,
  /** One sentence for a person. */
  message: Schema.String
}) {}

/** The file that the rules judge. */
interface Candidate {
  readonly name: string
  readonly kind: DatasetKind
  readonly publicationDate: string | null
}

/** Date of the publication in force: that of the last file of the kind that had one. */
const publicationInForce = Effect.fnUntraced(function* (
  kind: DatasetKind
): Effect.fn.Return<string | null, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly date: string }>`
    select publication_date::text as date from directory_ingestions
    where kind = ${kind} and publication_date is not null order by id desc limit 1`
  return rows[0]?.date ?? null
})

/** Refuses a file because of its age; null when it is taken. A file without a date cannot be judged. */
export const judgeAge = Effect.fnUntraced(function* (
  { kind, name, publicationDate }: Candidate,
  { allowOlder }: Admission
): Effect.fn.Return<OlderPublication | null, SqlError.SqlError, SqlClient.SqlClient> {
  if (publicationDate === null || allowOlder) return null
  const inForce = yield* publicationInForce(kind)
  if (inForce === null || publicationDate >= inForce) return null
  const message = `${name} is refused: it was published on ${publicationDate}, and the ${kind} data in force on ${inForce}; --allow-older takes it all the same`
  return new OlderPublication({ source: name, kind, publicationDate, inForce, message })
})

const percent = (part: number, whole: number): string => `${((part / whole) * 100).toFixed(1)} %`

/** Refuses a file because of what it removes; null when it is taken. */
export const judgeRemovals = (
  { kind, name }: Candidate,
  { areaCodes, removed, stored }: Removals,
  { allowRemovals }: Admission
): TooManyRemovals | null => {
  if (removed <= allowRemovals) return null
  const emptied = areaCodes
    .filter((one) => one.removed > one.stored * removalShareLimit)
    .toSorted((a, b) => b.removed - a.removed)
  if (emptied.length === 0 && removed <= stored * removalShareLimit) return null
  const shown = emptied
    .slice(0, namedAreaCodes)
    .map((one) => `${one.removed} of the ${one.stored} of area code ${one.npa}`)
  const others = emptied.length - shown.length
  const where = shown.length === 0 ? "" : `: ${shown.join(", ")}${others > 0 ? ` and of ${others} more` : ""}`
  const message = `${name} is refused: it would remove ${removed} of the ${stored} stored records (${percent(removed, stored)})${where}; --allow-removals ${removed} takes it all the same`
  return new TooManyRemovals({ source: name, kind, removed, message })
}

/** Refuses to retire an area code that the file names; null when it names none of them. */
export const judgeRetired = (
  { kind, name }: Candidate,
  named: ReadonlyArray<string>,
  { retire }: Admission
): StillNamed | null => {
  const areaCode = retire.find((npa) => named.includes(npa))
  if (areaCode === undefined) return null
  const message = `${name} is refused: it names the area code ${areaCode}, which --retire is to remove`
  return new StillNamed({ source: name, kind, areaCode, message })
}
