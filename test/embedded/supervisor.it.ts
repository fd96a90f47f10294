import { execFileSync } from "node:child_process"
import { access, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream, SubscriptionRef } from "effect"
import { type ServerCommand, startChild } from "../../src/embedded/childProcess.ts"
import { lookAt } from "../../src/embedded/processes.ts"
import { type ServerPlan, supervise } from "../../src/embedded/supervisor.ts"
import { eventually, temporaryFolder } from "./support.ts"

/** A shell script as a server. */
const script = Effect.fnUntraced(function* (text: string, options: Partial<ServerCommand> = {}) {
  const folder = yield* temporaryFolder()
  return {
    program: "/bin/sh",
    args: ["-c", text],
    folder,
    environment: { PATH: process.env.PATH },
    user: undefined,
    logFile: join(folder, "log"),
    stopSignals: [{ signal: "SIGTERM", waitMillis: 60_000 }],
    ...options
  } satisfies ServerCommand
})

const logOf = (command: ServerCommand) => Effect.promise(() => readFile(command.logFile, "utf8"))

/** A server that says when it is ready by making a file. */
const planOf = (command: ServerCommand, options: Partial<ServerPlan> = {}): ServerPlan => ({
  server: "NATS",
  command,
  prepare: Effect.void,
  ready: () =>
    Effect.tryPromise({
      try: () => access(join(command.folder, "ready")),
      catch: () => ({ reason: "it says nothing", retry: true })
    }),
  explain: (log) => ({ reason: /fault: (.*)/.exec(log)?.[1], portTaken: log.includes("in use") }),
  progress: () => Effect.void,
  ...options
})

it.live("a process writes to its log, has a session of its own and ends with its scope", () =>
  Effect.gen(function* () {
    const command = yield* script("echo out; echo err >&2; exec sleep 1000")
    const scope = yield* Scope.make()
    const child = yield* Scope.provide(startChild(command), scope)
    yield* eventually(logOf(command), (log) => log === "out\nerr\n")
    // A terminal's Ctrl-C reaches every process of the foreground group: the platform alone must be in it.
    const group = execFileSync("ps", ["-o", "pgid=", "-p", `${child.pid}`], { encoding: "utf8" })
    expect(Number(group)).toBe(child.pid)
    yield* Scope.close(scope, Exit.void)
    expect(yield* child.ended).toBe("signal SIGTERM")
    expect(yield* lookAt(child.pid)).toBeUndefined()
  })
)

it.live("a process that ignores polite signals is killed after its time", () =>
  Effect.gen(function* () {
    const command = yield* script("trap '' TERM INT; echo deaf; while :; do sleep 1; done", {
      stopSignals: [
        { signal: "SIGINT", waitMillis: 50 },
        { signal: "SIGTERM", waitMillis: 50 }
      ]
    })
    const scope = yield* Scope.make()
    const child = yield* Scope.provide(startChild(command), scope)
    yield* eventually(logOf(command), (log) => log === "deaf\n")
    yield* Scope.close(scope, Exit.void)
    expect(yield* child.ended).toBe("signal SIGKILL")
  })
)

it.live("a program that cannot be run says why", () =>
  Effect.gen(function* () {
    const missing = yield* script("", { program: "/no/such/program", endWithParent: false })
    expect(yield* Effect.flip(Effect.scoped(startChild(missing)))).toContain("ENOENT")
    // Started through another program that ties it to this process, it is that one's log that tells.
    const tied = { ...missing, endWithParent: true }
    const error = yield* Effect.flip(Effect.scoped(supervise(planOf(tied))))
    expect(error._tag).toBe("ServerStartFailed")
  })
)

it.live("a start that fails tells the server's own reason and leaves nothing", () =>
  Effect.gen(function* () {
    const command = yield* script("echo fault: the moon is full; exit 3")
    const error = yield* Effect.flip(Effect.scoped(supervise(planOf(command))))
    expect(error.message).toBe(`NATS did not start: the moon is full (its log is ${command.logFile}).`)
    const silent = yield* script("exit 3")
    expect((yield* Effect.flip(Effect.scoped(supervise(planOf(silent))))).reason).toBe("it ended with exit code 3")
    const taken = yield* script("echo port in use; exit 1")
    expect((yield* Effect.flip(Effect.scoped(supervise(planOf(taken))))).portTaken).toBe(true)
  })
)

it.live("a fault that waiting cannot mend ends the start at once, and the process with it", () =>
  Effect.gen(function* () {
    const command = yield* script("echo $$; exec sleep 1000")
    const plan = planOf(command, {
      ready: () =>
        Effect.flatMap(logOf(command), (log) => Effect.fail({ reason: "its password is wrong", retry: log === "" }))
    })
    const error = yield* Effect.flip(Effect.scoped(supervise(plan)))
    expect(error.reason).toBe("its password is wrong")
    expect(yield* lookAt(Number(yield* logOf(command)))).toBeUndefined()
  })
)

it.live("a server that ends is started again, also when a start in between fails", () =>
  Effect.gen(function* () {
    // Runs, is killed, fails once to start, runs again.
    const command = yield* script(`
      echo run >> runs
      case $(wc -l < runs) in *2) echo fault: not now; exit 1;; esac
      touch ready; exec sleep 1000`)
    let prepared = 0
    const prepare = Effect.sync(() => void prepared++)
    const { state } = yield* supervise(planOf(command, { prepare }))
    const first = yield* SubscriptionRef.get(state)
    const seen = yield* Effect.forkScoped(
      SubscriptionRef.changes(state).pipe(
        Stream.map((now) => (now._tag === "Restarting" ? now.reason : now._tag)),
        Stream.take(4),
        Stream.runCollect
      ),
      { startImmediately: true }
    )
    if (first._tag !== "Running") throw new Error(first._tag)
    yield* Effect.promise(() => rm(join(command.folder, "ready")))
    process.kill(first.pid, "SIGKILL")
    expect(yield* Fiber.join(seen)).toEqual([
      "Running",
      "it ended unexpectedly with signal SIGKILL",
      "not now",
      "Running"
    ])
    expect(yield* SubscriptionRef.get(state)).toMatchObject({ _tag: "Running", restarts: 2 })
    expect(prepared).toBe(3)
  })
)
