/**
 * Takes an exclusive lock between processes. The kernel holds it and drops it with the process, however that ends. Node
 * offers no such lock itself, but its SQLite takes one (`fcntl` on Unix, `LockFileEx` on Windows) for an exclusive
 * transaction. Nothing else of SQLite is used, and the file stays empty. Unlike a file that names a pid, the lock
 * leaves nothing stale after a kill, has no race between two judges, and works between containers on one volume, which
 * cannot see each other's pids. If this process opens and closes the file in any other way, the lock is lost. Needs no
 * service.
 */
import { Data, Effect, type Scope } from "effect"

/** Another process, or another scope of this one, holds the lock. */
export class FileHeld extends Data.TaggedError("FileHeld")<{ readonly file: string }> {}

/** The file cannot be locked at all. */
export class FileNotLockable extends Data.TaggedError("FileNotLockable")<{
  readonly file: string
  readonly reason: string
}> {}

/** SQLite's result code for a lock that is taken. */
const sqliteBusy = 5

const loadSqlite = (): typeof import("node:sqlite") | undefined => {
  // Older Node releases warn at the first load that the module may change, which does not concern operators.
  const announce = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule("node:sqlite")
  } finally {
    process.emitWarning = announce
  }
}

const lock = (file: string): Disposable => {
  const sqlite = loadSqlite()
  if (sqlite === undefined)
    throw new FileNotLockable({ file, reason: "this build of Node has no SQLite, which holds the folder's lock" })
  const database = new sqlite.DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is ever written, and a kill would leave a journal file behind.
    database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
  } catch (cause) {
    database.close()
    throw cause
  }
  return { [Symbol.dispose]: () => database.close() }
}

/** Takes the lock until the scope closes; fails immediately if it is taken. */
export const holdFile = (file: string): Effect.Effect<void, FileHeld | FileNotLockable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => lock(file),
      catch: (cause) => {
        if (cause instanceof FileNotLockable) return cause
        if (cause instanceof Error && "errcode" in cause && cause.errcode === sqliteBusy) return new FileHeld({ file })
        const reason = cause instanceof Error ? cause.message : String(cause)
        return new FileNotLockable({ file, reason: `its lock cannot be taken (${reason})` })
      }
    }),
    (held) => Effect.sync(() => held[Symbol.dispose]())
  ).pipe(Effect.asVoid)
