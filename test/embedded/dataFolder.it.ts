import { cp, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Clock, Effect, Option, Redacted } from "effect"
import { findRunning, openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startPlatform, temporaryFolder } from "./support.ts"

const modeOf = (path: string) => Effect.promise(async () => ((await stat(path)).mode & 0o777).toString(8))

const hold = { purpose: "sluice serve" }

const example = {
  version: "1.2.3",
  apiUrl: "http://127.0.0.1:8080",
  adminUrl: "http://127.0.0.1:8081",
  postgresUrl: Redacted.make("postgres://sluice:the-password@127.0.0.1:5432/sluice"),
  natsUrl: Redacted.make("nats://sluice:the-password@127.0.0.1:4222")
}

it.live("is made with everything readable by its owner only", () =>
  Effect.gen(function* () {
    const path = join(yield* temporaryFolder(), "deep", "down")
    const folder = yield* openDataFolder(path)
    yield* folder.hold(hold)
    yield* folder.secret("something")
    yield* folder.publish(example)
    expect(yield* modeOf(path)).toBe("700")
    expect(yield* modeOf(join(path, "secrets"))).toBe("700")
    for (const name of ["folder.json", "holder.json", "run.json", "secrets/something"]) {
      expect(yield* modeOf(join(path, name)), name).toBe("600")
    }
  })
)

it.live("closes a folder that others may look into", () =>
  Effect.gen(function* () {
    const path = join(yield* temporaryFolder(), "open")
    yield* Effect.promise(() => mkdir(path, { mode: 0o755 }))
    yield* openDataFolder(path)
    expect(yield* modeOf(path)).toBe("700")
  })
)

it.live("takes a fresh volume, and leaves a folder alone that is somebody else's", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    yield* Effect.promise(() => mkdir(join(path, "lost+found")))
    yield* openDataFolder(path)

    const home = yield* temporaryFolder()
    yield* Effect.promise(() => writeFile(join(home, "thesis.txt"), "mine"))
    const error = yield* Effect.flip(openDataFolder(home))
    expect(error._tag).toBe("DataFolderUnusable")
    expect(error.message).toBe(
      `The data folder ${home} cannot be used: it is not empty and not a data folder of Sluice.`
    )
    expect(yield* Effect.promise(() => readdir(home))).toEqual(["thesis.txt"])
  })
)

it.live("says what is wrong with a path that can be no folder", () =>
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder(), "file")
    yield* Effect.promise(() => writeFile(file, ""))
    for (const path of [file, join(file, "below")]) {
      const error = yield* Effect.flip(openDataFolder(path))
      expect(error.message).toBe(`The data folder ${path} cannot be used: there is a file in its place.`)
    }
  })
)

it.live("refuses the folder of a newer version and a damaged one, changing nothing", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    yield* openDataFolder(path)
    const file = join(path, "folder.json")
    yield* Effect.promise(() => writeFile(file, `{"format":2,"id":"x"}`))
    const newer = yield* Effect.flip(openDataFolder(path))
    expect(newer._tag).toBe("DataFolderTooNew")
    expect(newer.message).toContain("has format 2; this version knows formats up to 1")
    expect(yield* Effect.promise(() => readFile(file, "utf8"))).toBe(`{"format":2,"id":"x"}`)
    yield* Effect.promise(() => writeFile(file, "{"))
    expect((yield* Effect.flip(openDataFolder(path))).message).toContain("its folder.json is damaged")
  })
)

it.live("gives every server of a folder a mark that a copy does not share and a move does not change", () =>
  Effect.gen(function* () {
    const parent = yield* temporaryFolder()
    const path = join(parent, "one")
    const { token } = yield* openDataFolder(path)
    expect(token).toMatch(/^sluice-[0-9a-f]{16}$/)
    yield* Effect.promise(() => cp(path, join(parent, "copy"), { recursive: true }))
    expect((yield* openDataFolder(join(parent, "copy"))).token).not.toBe(token)
    yield* Effect.promise(() => rename(path, join(parent, "moved")))
    expect((yield* openDataFolder(join(parent, "moved"))).token).toBe(token)
  })
)

it.live("makes a secret once, also when several ask at once", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const folders = yield* Effect.all(
      Array.from({ length: 8 }, () => openDataFolder(path)),
      { concurrency: 8 }
    )
    expect(new Set(folders.map((folder) => folder.token)).size).toBe(1)
    const secrets = yield* Effect.forEach(folders, (folder) => folder.secret("admin"), { concurrency: 8 })
    const values = new Set(secrets.map((secret) => Redacted.value(secret)))
    expect(values.size).toBe(1)
    expect([...values][0]).toMatch(/^[\w-]{32}$/)
    expect(`${secrets[0]}`).not.toContain([...values][0])
    expect(yield* Effect.promise(() => readdir(join(path, "secrets")))).toEqual(["admin"])
    expect(Redacted.value(yield* folders[0]!.secret("other"))).not.toBe([...values][0])
  })
)

it.live("is held by one at a time, and the other is told by whom", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const folder = yield* openDataFolder(path)
    const again = yield* openDataFolder(path)
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* folder.hold(hold)
        const error = yield* Effect.flip(Effect.scoped(again.hold(hold)))
        expect(error._tag).toBe("DataFolderInUse")
        expect(error.message).toBe(
          `The data folder ${folder.path} is in use by process ${process.pid} (sluice serve). Stop it first, or choose another folder with SLUICE_DATA_DIR.`
        )
      })
    )
    yield* again.hold(hold)
  })
)

it.live("can be waited for", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const platform = yield* startPlatform({ path })
    const { pid } = yield* platform.until("Holding")
    const folder = yield* openDataFolder(path)
    const error = yield* Effect.flip(Effect.scoped(folder.hold({ purpose: "a command", waitMillis: 100 })))
    expect(error).toMatchObject({ _tag: "DataFolderInUse", pid, purpose: "sluice serve" })
    const [waited] = yield* Effect.all(
      [Effect.exit(Effect.scoped(folder.hold({ purpose: "a command", waitMillis: 60_000 }))), platform.stop],
      { concurrency: 2 }
    )
    expect(waited._tag).toBe("Success")
  })
)

it.live("is free at once after its holder was killed", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const platform = yield* startPlatform({ path })
    yield* platform.until("Ready")
    const folder = yield* openDataFolder(path)
    expect(Option.isSome(yield* folder.running)).toBe(true)
    yield* platform.kill
    expect(Option.isNone(yield* folder.running)).toBe(true)
    yield* folder.hold(hold)
    const left = yield* Effect.promise(() => readdir(path))
    expect(left.filter((name) => name.startsWith("lock"))).toEqual(["lock"])
  })
)

it.live("goes to exactly one of several that start at the same moment", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const atMillis = (yield* Clock.currentTimeMillis) + 2_000
    const outcomes = yield* Effect.forEach(
      Array.from({ length: 5 }),
      () =>
        Effect.gen(function* () {
          const platform = yield* startPlatform({ path, atMillis })
          return yield* platform.until("Ready").pipe(
            Effect.as("won"),
            Effect.catchDefect((defect) => Effect.succeed(String(defect)))
          )
        }),
      { concurrency: 5 }
    )
    expect(outcomes.filter((outcome) => outcome === "won")).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome.includes("DataFolderInUse"))).toHaveLength(4)
  })
)

it.live("tells commands where the platform is for as long as it runs", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    expect(Option.isNone(yield* findRunning(path))).toBe(true)
    expect(yield* Effect.promise(() => readdir(path))).toEqual([])
    const folder = yield* openDataFolder(path)
    yield* folder.hold(hold)
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* folder.publish(example)
        const found = Option.getOrThrow(yield* findRunning(path))
        expect(found).toMatchObject({ pid: process.pid, apiUrl: example.apiUrl, adminUrl: example.adminUrl })
        expect(Redacted.value(found.postgresUrl)).toBe(Redacted.value(example.postgresUrl))
        expect(JSON.stringify(found)).not.toContain("the-password")
      })
    )
    expect(Option.isNone(yield* findRunning(path))).toBe(true)
  })
)

it.live("does not take another process with the same number for the platform", () =>
  Effect.gen(function* () {
    const path = yield* temporaryFolder()
    const folder = yield* openDataFolder(path)
    yield* folder.hold(hold)
    yield* folder.publish(example)
    const file = join(path, "run.json")
    const text = yield* Effect.promise(() => readFile(file, "utf8"))
    expect(Option.isSome(yield* folder.running)).toBe(true)
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ ...JSON.parse(text), processStartedAt: "0:1" })))
    expect(Option.isNone(yield* folder.running)).toBe(true)
    yield* Effect.promise(() => writeFile(file, text.slice(0, 40)))
    expect(Option.isNone(yield* folder.running)).toBe(true)
  })
)
