/**
 * Verifies a backup by reading all of it: each file against the manifest, rows and messages counted, sequences without
 * gaps, and the log against what the database has seen of it. It needs no server. Problems come as sentences that name
 * the file and the place.
 */
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import type { SecretsKeys } from "../../common/secretsKeys.ts"
import { hashOf } from "../../engine/frame.ts"
import { streamNameOf } from "../../nats/logStream.ts"
import type { BackupSegment, BackupStream, BackupTable, BackupWitness, Manifest } from "./backupManifest.ts"
import { pairLacks } from "./backupRules.ts"
import { countRows } from "./copyTables.ts"
import { recordsOf } from "./messageRecords.ts"
import { digestProblem, FileDamaged, lengthProblem, readSealed } from "./sealedFile.ts"

/** The folder of backups, and the keys that open them. */
export interface BackupPlace {
  readonly folder: string
  readonly keys: Redacted.Redacted<SecretsKeys>
}

/** The result of a verification; without problems the backup can be restored. */
export interface Verification {
  readonly problems: ReadonlyArray<string>
  readonly files: number
  readonly bytes: number
  readonly rows: number
  readonly messages: number
}

const sentenceOf = (file: string, cause: unknown): string =>
  cause instanceof FileDamaged ? cause.message : `${file}: ${cause instanceof Error ? cause.message : String(cause)}`

/** Reads a file whole. Answers its problem; undefined if it has none. */
const readWhole = async (
  { folder, keys }: BackupPlace,
  entry: BackupTable | BackupSegment,
  read: (content: AsyncIterable<Buffer>) => Promise<string | undefined>
): Promise<string | undefined> => {
  const { file } = entry
  const path = join(folder, file)
  try {
    const problem = await read(readSealed(path, file, Redacted.value(keys)))
    // Content that opens and is complete may still be another file than the manifest's.
    return problem ?? (await lengthProblem(path, file, entry.bytes)) ?? (await digestProblem(path, file, entry.sha256))
  } catch (cause) {
    // Only the length says that a file is missing or cut; only the content says where it was changed.
    return (await lengthProblem(path, file, entry.bytes)) ?? sentenceOf(file, cause)
  }
}

const verifyTable = (place: BackupPlace, table: BackupTable) =>
  readWhole(place, table, async (content) => {
    let rows = 0
    for await (const chunk of content) rows += countRows(chunk)
    return rows === table.rows ? undefined : `${table.file}: it has ${rows} rows, and the manifest says ${table.rows}`
  })

/** Follows the sequences of a stream over its segments. */
const followSegments = (stream: BackupStream, witnesses: ReadonlyArray<BackupWitness>) => {
  let next = stream.first
  return (segment: BackupSegment) => async (content: AsyncIterable<Buffer>) => {
    const { file } = segment
    let messages = 0
    let last = segment.first
    for await (const batch of recordsOf(content))
      for (const { data, sequence } of batch) {
        if (messages === 0 && sequence !== segment.first)
          return `${file}: it begins with message ${sequence}, and the manifest says ${segment.first}`
        if (sequence < next || (stream.isWhole && sequence !== next))
          return `${file}: message ${sequence} came where ${next} was expected`
        const witness = witnesses.find((one) => one.sequence === sequence)
        if (witness !== undefined && hashOf(data) !== witness.hash)
          return `${file}: frame ${sequence} is another one than ${witness.who} has seen`
        messages++
        last = sequence
        next = sequence + 1
      }
    if (messages !== segment.messages || last !== segment.last)
      return `${file}: it has ${messages} messages up to ${last}, and the manifest says ${segment.messages} up to ${segment.last}`
    return undefined
  }
}

const verifyStream = async (place: BackupPlace, stream: BackupStream, witnesses: ReadonlyArray<BackupWitness>) => {
  const problems: Array<string> = []
  const follow = followSegments(stream, witnesses)
  for (const segment of stream.segments) {
    const problem = await readWhole(place, segment, follow(segment))
    // Later segments would only be measured against it.
    if (problem !== undefined) return [problem]
  }
  const end = stream.segments.at(-1)?.last ?? stream.first - 1
  if (stream.isWhole && end !== stream.last)
    problems.push(`the stream ${stream.name} ends at ${end}, and stood at ${stream.last}`)
  return problems
}

/** Verifies a backup by its manifest, which is known to be the one that was written. */
export const verifyBackup = (place: BackupPlace, manifest: Manifest): Effect.Effect<Verification> =>
  Effect.promise(async () => {
    const problems: Array<string> = [...pairLacks(manifest)]
    for (const table of manifest.tables) {
      const problem = await verifyTable(place, table)
      if (problem !== undefined) problems.push(problem)
    }
    for (const stream of manifest.streams) {
      const witnesses = manifest.witnesses.filter(
        ({ partition, sequence }) =>
          sequence > 0 && streamNameOf(partition, manifest.namespace ?? undefined) === stream.name
      )
      problems.push(...(await verifyStream(place, stream, witnesses)))
    }
    const segments = manifest.streams.flatMap((stream) => stream.segments)
    const files = [...manifest.tables, ...segments]
    return {
      problems,
      files: files.length,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
      messages: segments.reduce((sum, { messages }) => sum + messages, 0)
    }
  })
