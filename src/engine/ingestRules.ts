/**
 * Defines an ingest: a stream of the program's own whose messages become commands (docs/streams.md). Says which
 * partition a message is for. Pure.
 */
import type { AnyActor } from "./Actor.ts"
import { isSubjectToken, partitionOf } from "./address.ts"
import { describe } from "./describe.ts"
import { maximumIngests } from "./limits.ts"
import type { StreamMessage } from "./ports/ProgramStreams.ts"

/** The command that a message means. Made by `Ingest.command`. See {@link Ingest.jetStream}. */
export interface IngestCommand {
  readonly actor: AnyActor
  readonly key: string
  readonly command: unknown
}

/**
 * Where a new ingest begins: with the oldest message, behind the newest, with the message of a sequence, or with the
 * first one stored at a time (milliseconds since the Unix epoch) or later. See {@link Ingest.jetStream}.
 */
export type IngestStart = "beginning" | "new" | { readonly sequence: number } | { readonly timeMillis: number }

/**
 * The subjects that a partition reads, if the stream stores the messages of each partition under its own. See
 * {@link Ingest.jetStream}.
 */
export type SubjectsOfPartition = (partition: number, partitions: number) => string | ReadonlyArray<string>

/** The definition of an ingest. See {@link Ingest.jetStream}. */
export interface IngestOptions {
  /**
   * Unique in the engine, stored with its places: 1 to 32 small letters, digits, `_` and `-`, beginning with a letter. A
   * new name is a new ingest, which begins at `from`.
   */
  readonly name: string
  /** The JetStream stream, which the program has made. The engine never changes it. */
  readonly stream: string
  /**
   * Subjects to read, with wildcards, which must not overlap; by default all. Every partition reads all of them and
   * leaves what belongs to others. A function names the subjects of each partition, which then reads those alone.
   */
  readonly subject?: string | ReadonlyArray<string> | SubjectsOfPartition
  /** The organization that the message is for; undefined if for none, which skips it. Pure. */
  readonly organization: (message: StreamMessage) => string | undefined
  /** The command that the message means; undefined if none, which skips it. Pure. */
  readonly toCommand: (message: StreamMessage) => IngestCommand | undefined
  /** Where it begins the first time; "beginning" by default. Later starts continue from the log. */
  readonly from?: IngestStart
}

/** A stream that an engine follows. Made by `Ingest.jetStream`. See {@link Ingest.jetStream}. */
export interface Ingest extends IngestOptions {
  readonly from: IngestStart
}

/** The place of an ingest's parked messages: operators use it instead of a reactor's name. */
export const parkedNameOf = (ingest: string): string => `sluice.ingest.${ingest}`

/** The organization under which a partition parks messages that name none: one of its own, for operators to find. */
export const unplacedIn = (partition: number, partitions: number): string => {
  for (let number = 0; ; number++) {
    const name = number === 0 ? "-" : `-${number}`
    if (partitionOf(name, partitions) === partition) return name
  }
}

const namePattern = /^[a-z][a-z0-9_-]{0,31}$/

/** The last time that a `Date` has, Unix milliseconds. */
const lastTimeMillis = 8_640_000_000_000_000

const isStart = (from: IngestStart): boolean => {
  if (typeof from === "string") return from === "beginning" || from === "new"
  const at = "sequence" in from ? from.sequence : from.timeMillis
  return Number.isSafeInteger(at) && ("sequence" in from ? at >= 1 : at >= 0 && at <= lastTimeMillis)
}

/** Why an ingest cannot begin there; undefined if it can. */
export const startProblem = (from: IngestStart): string | undefined =>
  isStart(from) ? undefined : `from must be "beginning", "new", a sequence from 1 or a time from 0`

/** Why an engine cannot have these ingests; undefined if it can. */
export const ingestsProblem = (ingests: ReadonlyArray<Ingest>): string | undefined => {
  if (ingests.length > maximumIngests) return `${ingests.length} ingests are more than ${maximumIngests}`
  const names = new Set<string>()
  for (const { from, name, stream } of ingests) {
    if (!namePattern.test(name))
      return `the name of an ingest must be 1 to 32 small letters, digits, _ and -, beginning with a letter, not "${name}"`
    if (names.has(name)) return `two ingests are named ${name}`
    names.add(name)
    if (!/^[!-)+-\-0-9:-=?-[\]-~]{1,255}$/.test(stream)) return `ingest ${name}: "${stream}" cannot name a stream`
    const problem = startProblem(from)
    if (problem !== undefined) return `ingest ${name}: ${problem}`
  }
  return undefined
}

/** The subjects that a partition reads; none for all. */
export const subjectsOf = ({ subject }: Ingest, partition: number, partitions: number): ReadonlyArray<string> => {
  const named = typeof subject === "function" ? subject(partition, partitions) : subject
  return named === undefined ? [] : typeof named === "string" ? [named] : named
}

/** For whom a message is, as one partition sees it. */
export type Addressee =
  | { readonly _tag: "Ours"; readonly organization: string }
  /** Another partition's, or nobody's. */
  | { readonly _tag: "Others" }
  /** It names no organization, and this partition parks it. */
  | { readonly _tag: "Unplaced"; readonly organization: string; readonly error: string }
  /** It belongs to another partition, which does not read it. */
  | { readonly _tag: "Misplaced"; readonly message: string }

const others: Addressee = { _tag: "Others" }

/** Says for whom a message is. Exactly one partition of those that read it has it as `Ours` or `Unplaced`. */
export const addresseeOf = (
  ingest: Ingest,
  message: StreamMessage,
  partition: number,
  partitions: number
): Addressee => {
  const isAlone = typeof ingest.subject === "function"
  let organization: unknown
  let error: string | undefined
  try {
    organization = ingest.organization(message)
  } catch (cause) {
    error = describe(cause)
  }
  if (error === undefined && organization === undefined) return others
  if (error === undefined && (typeof organization !== "string" || !isSubjectToken(organization)))
    error = `"${String(organization).slice(0, 64)}" cannot name an organization`
  if (error !== undefined) {
    // Of those that read it, one partition parks it.
    const isParkedHere = isAlone || message.sequence % partitions === partition
    return isParkedHere ? { _tag: "Unplaced", organization: unplacedIn(partition, partitions), error } : others
  }
  // It was checked above.
  const name = organization as string
  const own = partitionOf(name, partitions)
  if (own === partition) return { _tag: "Ours", organization: name }
  if (!isAlone) return others
  return {
    _tag: "Misplaced",
    message: `message ${message.sequence} is among the subjects of partition ${partition}, and its organization ${name} belongs to partition ${own} of ${partitions}: the stream's own transform must compute the partition of the organization, for as many partitions`
  }
}
