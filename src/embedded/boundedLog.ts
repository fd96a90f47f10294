/**
 * Bounds a file that a child process writes to, because the child does not: copies the content to `<file>.1` and
 * empties the file. The child has opened it for appending, so it continues at the new end; lines that it writes between
 * the two steps are lost. Needs no service.
 */
import { copyFile, open, stat, truncate } from "node:fs/promises"
import { Effect, Schedule } from "effect"

/** Size at which a log is turned over. With the copy, a server keeps twice that. */
export const logMaxBytes = 4 * 1024 * 1024

const logCheckMillis = 5_000

/** Turns the log over if it is too large. Never fails: a full disk must not stop a server. */
export const boundLog = (file: string, maxBytes = logMaxBytes): Effect.Effect<void> =>
  Effect.flatMap(logSize(file), (size) =>
    size <= maxBytes
      ? Effect.void
      : Effect.promise(async () => {
          // Without room for the copy, emptying the log is still the more important half.
          await copyFile(file, `${file}.1`).catch(() => {})
          await truncate(file, 0).catch(() => {})
        })
  )

/** Bounds the log for as long as it runs. */
export const keepBounded = (file: string): Effect.Effect<void> =>
  boundLog(file).pipe(Effect.repeat(Schedule.spaced(logCheckMillis)), Effect.asVoid)

/** The log's size, to read later what was added since; 0 if there is none. */
export const logSize = (file: string): Effect.Effect<number> =>
  Effect.promise(() =>
    stat(file).then(
      (stats) => stats.size,
      () => 0
    )
  )

/** Most bytes of a log that are read to explain a failure. */
const logExcerptBytes = 64 * 1024

/** The text written since the log had that size; only its end if it is long. */
export const logSince = (file: string, size: number): Effect.Effect<string> =>
  Effect.promise(async () => {
    try {
      const handle = await open(file, "r")
      try {
        const end = (await handle.stat()).size
        const from = Math.max(end < size ? 0 : size, end - logExcerptBytes)
        const buffer = Buffer.alloc(end - from)
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
        return buffer.toString("utf8", 0, bytesRead)
      } finally {
        await handle.close()
      }
    } catch {
      return ""
    }
  })
