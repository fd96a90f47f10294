import { chmod, cp, mkdir, readdir, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import {
  eventually,
  folderOf,
  installedPostgres,
  isRoot,
  linksOf,
  ordinaryUser,
  packageWithoutLinks,
  processesWith,
  query,
  startPlatform,
  temporaryFolder
} from "./support.ts"

/** A folder that only its owner may enter, such as root's home, with a checkout and a data folder in it. */
const closedHome = Effect.gen(function* () {
  const home = join(yield* temporaryFolder(), "home")
  const packageFolder = join(home, "checkout", "node_modules", "package")
  yield* Effect.promise(async () => {
    await mkdir(home, { mode: 0o700 })
    await cp(installedPostgres, packageFolder, { recursive: true, verbatimSymlinks: true })
  })
  return { home, packageFolder, path: join(home, "checkout", ".sluice") }
})

/** Where programs are copied that root's unprivileged user could not reach. */
const copies = (token: string) =>
  Effect.promise(async () => {
    const places = ["/var/cache", "/var/tmp", tmpdir()]
    const found = await Promise.all(places.map((place) => readdir(place).catch((): ReadonlyArray<string> => [])))
    return found.flat().filter((name) => name.startsWith(token))
  })

const modeOf = (path: string) => Effect.promise(async () => ((await stat(path)).mode & 0o777).toString(8))

it.live("a checkout and a data folder in a home that is closed to others start, and nothing is opened for it", () =>
  Effect.gen(function* () {
    const { home, packageFolder, path } = yield* closedHome
    const folder = yield* openDataFolder(path)
    yield* folder.hold({ purpose: "a test" })
    const options = { postgres: {}, nats: undefined, testing: { postgresPackageFolder: packageFolder } }
    for (const expected of [0, 1]) {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { postgresUrl } = yield* startEmbedded(folder, { ...options, progress: () => Effect.void })
          yield* query(postgresUrl!, "create table if not exists starts (at timestamptz default now())")
          expect(yield* query(postgresUrl!, "select count(*)::int from starts")).toEqual([expected])
          yield* query(postgresUrl!, "insert into starts default values")
          expect(yield* copies(folder.token)).toHaveLength(isRoot ? 1 : 0)
        })
      )
      expect(yield* copies(folder.token)).toEqual([])
    }
    expect(yield* modeOf(home)).toBe("700")
    expect(yield* modeOf(path)).toBe("700")
  })
)

it.live("what a killed platform had copied out of such a home goes with the next one", () =>
  Effect.gen(function* () {
    const { packageFolder, path } = yield* closedHome
    const options = { path, postgres: true, postgresPackageFolder: packageFolder }
    const platform = yield* startPlatform(options)
    yield* platform.until("Ready")
    const { token } = yield* openDataFolder(path)
    yield* platform.kill
    yield* eventually(processesWith(token), (left) => left.length === 0)
    expect(yield* copies(token)).toHaveLength(isRoot ? 1 : 0)
    const next = yield* startPlatform(options)
    const { postgresUrl } = yield* next.until("Ready")
    expect(yield* query(postgresUrl!, "select 1")).toEqual([1])
    yield* next.stop
    expect(yield* copies(token)).toEqual([])
  })
)

it.live("an ordinary user starts both servers as that user", () =>
  Effect.gen(function* () {
    const user = yield* ordinaryUser
    const path = join(yield* folderOf(user), "data")
    const uid = user.uid ?? process.getuid!()
    const platform = yield* startPlatform({ path, postgres: true, nats: true }, user)
    const { postgresUrl } = yield* platform.until("Ready")
    expect(yield* query(postgresUrl!, "select 1")).toEqual([1])
    const token = yield* isRoot ? tokenAsRoot(path) : Effect.map(openDataFolder(path), (folder) => folder.token)
    const servers = yield* processesWith(token)
    expect(servers.length).toBeGreaterThan(2)
    for (const { pid } of servers) {
      expect((yield* Effect.promise(() => stat(`/proc/${pid}`))).uid).toBe(uid)
    }
    yield* platform.stop
    expect(yield* processesWith(token)).toEqual([])
  })
)

/** The folder is another user's here; opening it as root changes nothing but could, so the mark is read from outside. */
const tokenAsRoot = (path: string) =>
  Effect.map(processesWith(dirname(path)), (servers) => {
    const token = /sluice-[0-9a-f]{16}/.exec(servers.flatMap((info) => info.command).join(" "))
    return token![0]
  })

it.live("a package that its user may not complete is copied into the data folder, once", () =>
  Effect.gen(function* () {
    const user = yield* ordinaryUser
    const home = yield* folderOf(user)
    const packageFolder = yield* packageWithoutLinks(yield* openTemporary)
    yield* Effect.promise(() => chmod(join(packageFolder, "native", "lib"), 0o555))
    const options = { path: join(home, "data"), postgres: true, postgresPackageFolder: packageFolder }
    for (const copied of [true, false]) {
      const platform = yield* startPlatform(options, user)
      const { postgresUrl } = yield* platform.until("Ready")
      expect(yield* query(postgresUrl!, "select 1")).toEqual([1])
      yield* platform.stop
      expect(platform.progress().includes("Copying PostgreSQL's programs to where they can run …")).toBe(copied)
    }
    expect(yield* Effect.promise(() => linksOf(packageFolder))).toEqual([])
    yield* Effect.promise(() => chmod(join(packageFolder, "native", "lib"), 0o755))
  })
)

const openTemporary = Effect.tap(temporaryFolder(), (path) => Effect.promise(() => chmod(path, 0o755)))
