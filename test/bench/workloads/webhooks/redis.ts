/** A Redis server of a workload's own, which answers a write when it is on the disk: Debian's `redis-server`, from the path. */
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { freePort } from "../../runner/child.ts"

const program = "redis-server"

/** A sentence where there is none. */
export const redisMissing = async (): Promise<string | undefined> =>
  spawnSync(program, ["--version"]).status === 0
    ? undefined
    : `because ${program} is not on the path (Debian's package ${program} has it)`

const settings = { appendonly: "yes", appendfsync: "always", save: "", "auto-aof-rewrite-percentage": "0" }

/** Starts it on a free port of the loopback address, with a folder inside this one; it ends with the scope. */
export const startRedis = Effect.fnUntraced(function* (dataFolder: string) {
  const folder = join(dataFolder, "redis")
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o700)
  const port = yield* Effect.promise(freePort)
  const args = Object.entries({ ...settings, bind: "127.0.0.1", port: `${port}`, dir: folder, daemonize: "no" })
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        program,
        args.flatMap(([name, value]) => [`--${name}`, value]),
        { stdio: ["ignore", "ignore", "inherit"] }
      )
    ),
    (child) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve()
            child.once("exit", () => resolve())
            child.kill("SIGTERM")
          })
      )
  )
  return { host: "127.0.0.1", port }
})
