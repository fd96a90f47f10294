/**
 * Whose the embedded PostgreSQL's files and process are: another program of the account nobody reaches neither, in a new
 * cluster or one that an earlier version made for nobody; and a user id without a name starts too.
 */
import { execFile } from "node:child_process"
import { chmod, chown, lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { handOver } from "../../src/embedded/postgresUser.ts"
import { needing } from "../support/needs.ts"
import { folderOf, ordinaryUser, processesIn, query, startPlatform, temporaryFolder } from "./support.ts"

const nobody = { uid: 65_534, gid: 65_534 }

/** Runs a shell command as another program of nobody would; what it says of its failure, or its output. */
const asNobody = (command: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve) =>
        execFile("/bin/sh", ["-c", command], { cwd: "/", ...nobody }, (error, stdout, stderr) =>
          resolve(error === null ? `done: ${stdout}` : stderr)
        )
      )
  )

const cluster = (path: string) => join(path, "postgres", "cluster")

/** Every owner in the cluster. */
const ownersOf = (path: string) =>
  Effect.promise(async () => {
    const names = await readdir(cluster(path), { recursive: true })
    const all = await Promise.all(
      [".", ...names].map(async (name) => (await lstat(join(cluster(path), name)).catch(() => undefined))?.uid)
    )
    return [...new Set(all.filter((uid) => uid !== undefined))]
  })

const serverOf = (path: string) =>
  Effect.map(processesIn(cluster(path)), (found) => found.find(({ command }) => command.includes("-p"))!.pid)

/** What another program of nobody would try: to let everybody in as superuser. */
const expectOutOfReach = Effect.fnUntraced(function* (path: string) {
  const pid = yield* serverOf(path)
  for (const file of [`/proc/${pid}/cwd/pg_hba.conf`, join(cluster(path), "pg_hba.conf")]) {
    const before = yield* Effect.promise(() => readFile(join(cluster(path), "pg_hba.conf"), "utf8"))
    expect(yield* asNobody(`cat ${file}`)).toMatch(/Permission denied/)
    expect(yield* asNobody(`echo 'host all all 127.0.0.1/32 trust' >> ${file}`)).toMatch(/Permission denied/)
    expect(yield* Effect.promise(() => readFile(join(cluster(path), "pg_hba.conf"), "utf8"))).toBe(before)
  }
  expect(yield* asNobody(`kill -HUP ${pid}`)).toMatch(/not permitted/i)
})

// Who is not root has one user id, and nothing to divide.
describe("of root", needing("root"), () => {
  it.live("another program of nobody reaches neither the files nor the process, at every start of the folder", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder(), "data")
      const seen: Array<number> = []
      for (const expected of [0, 1]) {
        const platform = yield* startPlatform({ path, postgres: true })
        const { postgresUrl } = yield* platform.until("Ready")
        yield* query(postgresUrl!, "create table if not exists starts (at timestamptz default now())")
        expect(yield* query(postgresUrl!, "select count(*)::int from starts")).toEqual([expected])
        yield* query(postgresUrl!, "insert into starts default values")
        yield* expectOutOfReach(path)
        seen.push(...(yield* ownersOf(path)))
        yield* platform.stop
      }
      expect(new Set(seen).size).toBe(1)
      expect([0, nobody.uid]).not.toContain(seen[0])
    })
  )

  it.live("a cluster of an earlier version, which belongs to nobody, is taken from it with its data", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder(), "data")
      const first = yield* startPlatform({ path, postgres: true })
      yield* query((yield* first.until("Ready")).postgresUrl!, "create table kept as select 42 as answer")
      yield* first.stop
      yield* Effect.promise(async () => {
        for (const name of [".", ...(await readdir(cluster(path), { recursive: true }))]) {
          await chown(join(cluster(path), name), nobody.uid, nobody.gid)
        }
      })
      const second = yield* startPlatform({ path, postgres: true })
      const { postgresUrl } = yield* second.until("Ready")
      expect(yield* query(postgresUrl!, "select answer from kept")).toEqual([42])
      yield* expectOutOfReach(path)
      const owners = yield* ownersOf(path)
      expect(owners).toHaveLength(1)
      expect([0, nobody.uid]).not.toContain(owners[0])
    })
  )

  it.live("a link that an enemy left in such a cluster is refused, and what it points to stays whose it was", () =>
    Effect.gen(function* () {
      const place = yield* temporaryFolder()
      const [old, target] = [join(place, "cluster"), join(place, "target")]
      yield* Effect.promise(async () => {
        await mkdir(join(old, "base"), { recursive: true })
        await writeFile(target, "root's")
        await chown(old, nobody.uid, nobody.gid)
        await chown(join(old, "base"), nobody.uid, nobody.gid)
        await chmod(place, 0o755)
      })
      expect(yield* asNobody(`ln -s ${target} ${join(old, "base", "1")}`)).toBe("done: ")
      const refused = yield* Effect.flip(Effect.tryPromise(() => handOver(old, { uid: 62_000, gid: 62_000 })))
      expect(String(refused.cause)).toMatch(/base\/1 is no file of a database cluster/)
      expect((yield* Effect.promise(() => lstat(target))).uid).toBe(0)
      // Not finished, so it is begun again at the next start.
      expect((yield* Effect.promise(() => lstat(old))).uid).toBe(0)
    })
  )

  it.live("a user id without a name, as containers are given, starts both servers", () =>
    Effect.gen(function* () {
      const { root } = yield* ordinaryUser
      const nameless = { uid: 54_321, gid: 54_321 }
      const path = join(yield* folderOf(nameless), "data")
      const platform = yield* startPlatform(
        { path, postgres: true, nats: true },
        { ...nameless, ...(root === undefined ? {} : { root }) }
      )
      const { postgresUrl } = yield* platform.until("Ready")
      expect(yield* query(postgresUrl!, "select 1")).toEqual([1])
      expect(yield* ownersOf(path)).toEqual([nameless.uid])
      yield* platform.stop
    })
  )
})
