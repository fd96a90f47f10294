/**
 * The data folder: everything the platform keeps on this machine, readable by its owner only.
 *
 *     folder.json   format of the layout and the folder's id     secrets/   one file per secret
 *     lock          held by the one process that runs here       logs/      what the servers print
 *     holder.json   who that is, for messages                    postgres/  the cluster
 *     run.json      where the running platform is found          nats/      server.conf and the streams
 *     mailbox/      the mails of the local mailbox
 *
 * Needs no service.
 */
import { createHash, randomBytes } from "node:crypto"
import type { Stats } from "node:fs"
import { chmod, mkdir, readdir, readFile, realpath, rm, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Clock, Effect, Option, Redacted, Schedule, Schema, type Scope } from "effect"
import { DataFolderInUse, DataFolderTooNew, DataFolderUnusable, reasonOf } from "./errors.ts"
import { holdFile } from "./fileLock.ts"
import { isAlive, lookAt } from "./processes.ts"
import { writeOnce, writeWhole } from "./wholeFiles.ts"

/** The layout's version. A later layout either reads this one or refuses it by name. */
export const folderFormat = 1

/** Random bytes of a secret, unless more are asked for: 192 bits, 32 characters of base64url. */
const secretBytes = 24

/** Files that an otherwise empty folder may have, from file systems and version control. */
const harmlessFiles = new Set(["lost+found", ".gitkeep", ".gitignore", ".DS_Store"])

const firstFiles = /^(secrets|logs|folder\.json\.[0-9a-f]{12}\.tmp)$/

const FolderFile = Schema.Struct({ format: Schema.Int, id: Schema.NonEmptyString })

const HolderFile = Schema.Struct({ pid: Schema.Int, purpose: Schema.String })

/** The address of a running platform, written by it for the commands (`run.json`, mode 0600). */
export const RunningPlatform = Schema.Struct({
  pid: Schema.Int,
  /** Identifies the process together with the pid, since a later process may get the same number. */
  processStartedAt: Schema.String,
  /** Unix milliseconds. */
  startedAtMillis: Schema.Int,
  version: Schema.String,
  apiUrl: Schema.String,
  /** Absent where the admin API is off. */
  adminUrl: Schema.optionalKey(Schema.String),
  postgresUrl: Schema.RedactedFromValue(Schema.String),
  natsUrl: Schema.RedactedFromValue(Schema.String)
})
export type RunningPlatform = typeof RunningPlatform.Type

export interface DataFolder {
  /** Absolute, with links resolved. */
  readonly path: string
  /**
   * A text in the command line of each server of this folder, by which a server that outlived its parent is found and
   * not mistaken for another. It is made of the folder's id and its place on the disk, so a copy of the folder has
   * another token.
   */
  readonly token: string
  readonly file: (...segments: ReadonlyArray<string>) => string
  /**
   * A random text of `bytes` in base64url that is made once and kept in `secrets/<name>`, readable by the owner only.
   */
  readonly secret: (name: string, bytes?: number) => Effect.Effect<Redacted.Redacted<string>, DataFolderUnusable>
  /** Tells commands where this platform is, until the scope closes. Only the holder of the lock may call it. */
  readonly publish: (
    run: Omit<RunningPlatform, "pid" | "processStartedAt" | "startedAtMillis">
  ) => Effect.Effect<void, DataFolderUnusable, Scope.Scope>
  /** The platform that runs on this folder now. Leftovers of a killed one do not count. */
  readonly running: Effect.Effect<Option.Option<RunningPlatform>, DataFolderUnusable>
  /**
   * Takes the folder for this process until the scope closes. `purpose` is shown to others, such as
   * `sluice serve`; a command may wait for another to end, `waitMillis` at most (default: not at all).
   *
   * The kernel holds the lock on an open file (see `fileLock.ts`). It ends with its process, however that ends, so
   * there is no stale lock to judge; and of two processes that start at the same moment exactly one gets it.
   */
  readonly hold: (options: {
    readonly purpose: string
    readonly waitMillis?: number
  }) => Effect.Effect<void, DataFolderInUse | DataFolderUnusable, Scope.Scope>
}

const decodeFolder = Schema.decodeUnknownEffect(Schema.fromJsonString(FolderFile))
const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(HolderFile))
const runJson = Schema.fromJsonString(RunningPlatform)

/** A folder's path, and a way to reach its files that says what went wrong with which folder. */
interface Place {
  readonly folder: string
  readonly file: DataFolder["file"]
  readonly attempt: <A>(promise: () => Promise<A>) => Effect.Effect<A, DataFolderUnusable>
}

const attemptIn =
  (folder: string): Place["attempt"] =>
  (promise) =>
    Effect.tryPromise({
      try: promise,
      catch: (cause) => new DataFolderUnusable({ folder, reason: describe(cause) })
    })

/** Opens the data folder at `path`, making it where it is missing; takes no lock. */
export const openDataFolder = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<DataFolder, DataFolderUnusable | DataFolderTooNew> {
  const wanted = resolve(path)
  const attempt = attemptIn(wanted)
  yield* attempt(() => mkdir(wanted, { recursive: true, mode: 0o700 }))
  const folder = yield* attempt(() => realpath(wanted))
  const file = (...segments: ReadonlyArray<string>) => join(folder, ...segments)
  yield* attempt(() => requireOurs(folder))
  const stats = yield* attempt(() => stat(folder))
  yield* attempt(() => requirePrivate(folder, stats))
  yield* attempt(async () => {
    for (const name of ["secrets", "logs"]) await mkdir(file(name), { recursive: true, mode: 0o700 })
  })

  const made = JSON.stringify({ format: folderFormat, id: randomBytes(16).toString("hex") })
  const folderText = yield* attempt(() => writeOnce(file("folder.json"), `${made}\n`))
  const { format, id } = yield* decodeFolder(folderText).pipe(
    Effect.mapError(() => new DataFolderUnusable({ folder, reason: "its folder.json is damaged" }))
  )
  if (format > folderFormat) return yield* new DataFolderTooNew({ folder, format, supported: folderFormat })
  const token = createHash("sha256").update(`${id}/${stats.dev}/${stats.ino}`).digest("hex").slice(0, 16)

  const place: Place = { folder, file, attempt }
  return {
    path: folder,
    token: `sluice-${token}`,
    file,
    hold: holding(place),
    running: runningIn(place),
    publish: publishing(place),
    secret: (name, bytes = secretBytes) =>
      attempt(() =>
        // Secrets come from the system's own source and never from the Random service, which a seed can replay.
        writeOnce(file("secrets", name), `${randomBytes(bytes).toString("base64url")}\n`)
      ).pipe(Effect.map((text) => Redacted.make(text.trim(), { label: name })))
  }
})

/** The holder of the folder, as far as it has introduced itself. */
const holderOf = ({ file }: Place) =>
  Effect.map(
    Effect.promise(() => readFile(file("holder.json"), "utf8").catch(() => "")),
    decodeHolder
  )

const holding = (place: Place): DataFolder["hold"] =>
  Effect.fnUntraced(function* ({ purpose, waitMillis = 0 }) {
    const { attempt, file, folder } = place
    const deadline = (yield* Clock.currentTimeMillis) + waitMillis
    const take = holdFile(file("lock")).pipe(
      Effect.catchTag("FileHeld", () =>
        Effect.flatMap(holderOf(place), (holder) =>
          Effect.fail(
            new DataFolderInUse({
              folder,
              pid: Option.getOrUndefined(Option.map(holder, (of) => of.pid)),
              purpose: Option.getOrUndefined(Option.map(holder, (of) => of.purpose))
            })
          )
        )
      ),
      Effect.catchTag("FileNotLockable", (error) => new DataFolderUnusable({ folder, reason: error.reason }))
    )
    yield* take.pipe(
      Effect.retry({
        schedule: Schedule.spaced("50 millis"),
        while: (error) =>
          error._tag === "DataFolderInUse"
            ? Effect.map(Clock.currentTimeMillis, (now) => now < deadline)
            : Effect.succeed(false)
      })
    )
    yield* attempt(() => writeWhole(file("holder.json"), `${JSON.stringify({ pid: process.pid, purpose })}\n`))
    // Registered after the lock's release, so it runs before it and never removes a later holder's introduction.
    yield* Effect.addFinalizer(() => Effect.promise(() => rm(file("holder.json"), { force: true })))
  })

const runningIn = ({ attempt, file }: Place): DataFolder["running"] =>
  Effect.gen(function* () {
    const text = yield* attempt(() =>
      readFile(file("run.json"), "utf8").catch((cause) => (codeOf(cause) === "ENOENT" ? "" : Promise.reject(cause)))
    )
    const run = Schema.decodeUnknownOption(runJson)(text)
    if (Option.isNone(run)) return Option.none()
    const alive = yield* isAlive({ pid: run.value.pid, startedAt: run.value.processStartedAt })
    return alive ? run : Option.none()
  })

const publishing = ({ attempt, file }: Place): DataFolder["publish"] =>
  Effect.fnUntraced(function* (run) {
    const self = yield* lookAt(process.pid)
    const startedAtMillis = yield* Clock.currentTimeMillis
    const whole = { ...run, pid: process.pid, processStartedAt: self?.startedAt ?? "", startedAtMillis }
    const text = yield* Schema.encodeEffect(runJson)(whole).pipe(Effect.orDie)
    yield* Effect.acquireRelease(
      attempt(() => writeWhole(file("run.json"), `${text}\n`)),
      () => Effect.promise(() => rm(file("run.json"), { force: true }))
    )
  })

/** The platform that runs on the folder at `path`, which is not made if it is missing. */
export const findRunning = (
  path: string
): Effect.Effect<Option.Option<RunningPlatform>, DataFolderUnusable | DataFolderTooNew> =>
  Effect.promise(() => stat(resolve(path, "folder.json")).catch(() => undefined)).pipe(
    Effect.flatMap((found) =>
      found === undefined
        ? Effect.succeedNone
        : Effect.flatMap(openDataFolder(path), (folder): DataFolder["running"] => folder.running)
    )
  )

/** Checks that the folder is ours, so that a wrong setting does not scatter files over somebody's home folder. */
const requireOurs = async (folder: string): Promise<void> => {
  const names = await readdir(folder)
  // Another process may be making the folder at this moment: `firstFiles` are what it makes before folder.json.
  if (names.includes("folder.json") || names.every((name) => harmlessFiles.has(name) || firstFiles.test(name))) return
  throw new Error("it is not empty and not a data folder of Sluice")
}

const requirePrivate = async (folder: string, stats: Stats): Promise<void> => {
  if ((stats.mode & 0o077) === 0) return
  try {
    await chmod(folder, 0o700)
  } catch (cause) {
    if ((stats.mode & 0o022) !== 0)
      throw new Error("other users may write to it and its mode cannot be changed", { cause })
  }
}

const codeOf = (cause: unknown): unknown => (cause instanceof Error && "code" in cause ? cause.code : undefined)

const describe = (cause: unknown): string => {
  switch (codeOf(cause)) {
    case "EACCES":
    case "EPERM":
      return "this user may not write there (was it made by another user, or by root?)"
    case "ENOTDIR":
    case "EEXIST":
      return "there is a file in its place"
    case "EROFS":
      return "the file system is read-only"
    case "ENOSPC":
      return "the disk is full"
    default:
      return reasonOf(cause)
  }
}
