/**
 * Decides what a backup copies, whether its two halves fit, what stays of earlier ones, and in which order tables are
 * filled. Pure.
 */
import { streamNameOf } from "../../nats/logStream.ts"
import type { BackupSegment, BackupStream, BackupWitness, Manifest } from "./backupManifest.ts"

/** A stream as the server shows it. */
export interface StreamFound {
  readonly created: string
  readonly messages: number
  /** The sequence of the oldest message, and of the newest one that there ever was. */
  readonly first: number
  readonly last: number
}

/** The part of a stream that is here already, and the sequence from which on it has to be copied. */
export interface CopyPlan {
  readonly kept: ReadonlyArray<BackupSegment>
  readonly from: number
  readonly isWhole: boolean
}

/**
 * Plans the copy of a stream after an earlier one. Segments are used again if the stream is still the same one and
 * nothing lies between their end and its beginning; those that are older than everything that is needed go. A stream
 * from which single messages were removed is copied whole: a segment would bring them back.
 */
export const planCopy = (
  found: StreamFound,
  earlier: BackupStream | undefined,
  neededFrom: number | undefined
): CopyPlan => {
  const { created, first, last, messages } = found
  const isWhole = messages === 0 || messages === last - first + 1
  const begins = messages === 0 ? last + 1 : first
  const fits =
    earlier !== undefined &&
    earlier.created === created &&
    earlier.isWhole &&
    isWhole &&
    earlier.last <= last &&
    earlier.last + 1 >= begins
  if (!fits) return { kept: [], from: begins, isWhole }
  const oldest = Math.min(begins, neededFrom ?? begins)
  return { kept: earlier.segments.filter((segment) => segment.last >= oldest), from: earlier.last + 1, isWhole }
}

/**
 * Follows the sequences of a copy, and answers the first one that is missing. The server passes over messages that are
 * removed while it is read. At the beginning that is no harm, unless segments from before are kept; later it would be a
 * hole. A stream that had holes before may have more.
 */
export const followCopy = ({ from, isWhole, kept }: CopyPlan): ((sequence: number) => number | undefined) => {
  let expected = kept.length > 0 ? from : undefined
  return (sequence) => {
    const missing = isWhole && expected !== undefined && sequence !== expected ? expected : undefined
    expected = sequence + 1
    return missing
  }
}

/** The first sequence of a partition's log that the database beside it still needs; undefined if it needs none. */
export const neededFrom = (witnesses: ReadonlyArray<BackupWitness>): number | undefined => {
  const needed = witnesses.filter(({ needsTail }) => needsTail).map(({ sequence }) => sequence + 1)
  return needed.length === 0 ? undefined : Math.min(...needed)
}

/** The part of a log that is there: both sequences are 0 for an empty one. */
export interface LogReach {
  readonly first: number
  readonly last: number
}

/**
 * Compares a partition's log with what the database beside it has seen, as a start does
 * (`engine/shell/witnesses.ts`): a sentence for each difference.
 */
export const lacksOf = (
  partition: number,
  witnesses: ReadonlyArray<BackupWitness>,
  log: LogReach | undefined
): ReadonlyArray<string> => {
  const seen = Math.max(0, ...witnesses.map(({ sequence }) => sequence))
  if (log === undefined)
    return seen === 0
      ? []
      : [`partition ${partition}: its log is missing, and the database has seen frames 1 to ${seen}`]
  const { first, last } = log
  const lacks: Array<string> = []
  const ahead = witnesses.filter(({ sequence }) => sequence === seen && sequence > last)[0]
  if (ahead !== undefined)
    lacks.push(
      `partition ${partition}: ${ahead.who} has seen frame ${seen}, and the log ends at ${last}: frames ${last + 1} to ${seen} are missing`
    )
  const from = neededFrom(witnesses) ?? 1
  if (from < first && first > 1) {
    const behind = witnesses.find(({ needsTail, sequence }) => needsTail && sequence + 1 === from)
    lacks.push(
      `partition ${partition}: ${behind === undefined ? "the database knows no checkpoint" : `${behind.who} stands at frame ${behind.sequence}`}, and the log begins at ${first}: frames ${from} to ${first - 1} are missing`
    )
  }
  return lacks
}

/** The same for all partitions of a backup. */
export const pairLacks = ({
  namespace,
  partitions,
  streams,
  witnesses
}: Pick<Manifest, "namespace" | "partitions" | "streams" | "witnesses">): ReadonlyArray<string> =>
  Array.from({ length: partitions }, (_, partition) => {
    const name = streamNameOf(partition, namespace ?? undefined)
    const own = witnesses.filter((one) => one.partition === partition)
    return lacksOf(
      partition,
      own,
      streams.find((stream) => stream.name === name)
    )
  }).flat()

/** The files that a backup needs. */
export const filesOf = ({ streams, tables }: Pick<Manifest, "streams" | "tables">): ReadonlyArray<string> => [
  ...tables.map(({ file }) => file),
  ...streams.flatMap(({ segments }) => segments.map(({ file }) => file))
]

/** A complete backup and its files. */
export interface KeptBackup {
  /** Sorts by time. */
  readonly id: string
  readonly files: ReadonlyArray<string>
}

/** The backups that go when so many are kept, and the files that those that stay need. */
export const retired = (
  backups: ReadonlyArray<KeptBackup>,
  keep: number
): { readonly ids: ReadonlyArray<string>; readonly needed: ReadonlySet<string> } => {
  const newestFirst = backups.toSorted((left, right) => (left.id < right.id ? 1 : -1))
  const count = Math.max(1, keep)
  return {
    ids: newestFirst.slice(count).map(({ id }) => id),
    needed: new Set(newestFirst.slice(0, count).flatMap(({ files }) => files))
  }
}

/**
 * Orders tables so that each comes after those that it refers to. Tables that refer to each other in a circle come last.
 */
export const filledInOrder = (
  tables: ReadonlyArray<string>,
  references: ReadonlyArray<readonly [from: string, to: string]>
): ReadonlyArray<string> => {
  const ordered: Array<string> = []
  let left = tables
  while (left.length > 0) {
    const open = new Set(left)
    const ready = left.filter(
      (table) => !references.some(([from, to]) => from === table && to !== table && open.has(to))
    )
    if (ready.length === 0) return [...ordered, ...left]
    ordered.push(...ready)
    left = left.filter((table) => !ready.includes(table))
  }
  return ordered
}
