/**
 * Runs one server process: with its output in a file, in a session of its own so that Ctrl-C reaches the platform
 * alone, and stopped in steps from the polite signal to SIGKILL. `ChildProcess` of effect/process is not used because
 * it can neither change the user nor write to a file without this process in between. Needs no service.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { access, constants } from "node:fs/promises"
import { Deferred, Effect, type Scope } from "effect"
import { reasonOf } from "./errors.ts"

/** The program to run, and the way to end it. */
export interface ServerCommand {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The user to run as; undefined: the one of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  readonly logFile: string
  /** Signals in order, each with the time to wait before the next one. SIGKILL follows by itself. */
  readonly stopSignals: ReadonlyArray<{ readonly signal: NodeJS.Signals; readonly waitMillis: number }>
  /** Off only in tests of what happens where a child cannot be tied to its parent. */
  readonly endWithParent?: boolean
}

export interface RunningChild {
  readonly pid: number
  /** Completes when the process has ended, and tells how: `exit code 1` or `signal SIGKILL`. */
  readonly ended: Effect.Effect<string>
}

/** How long SIGKILL may take; only the kernel is involved. */
const killWaitMillis = 2_000

/**
 * `setpriv` of util-linux asks the kernel to signal the child when its parent dies. Without it, a child outlives a
 * killed parent until the next start finds it.
 */
const findSetpriv = Effect.promise(async () => {
  if (process.platform !== "linux") return undefined
  for (const program of ["/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv"]) {
    const there = await access(program, constants.X_OK).then(
      () => true,
      () => false
    )
    if (!there) continue
    // BusyBox has a setpriv without this option.
    const able = await new Promise<boolean>((resolve) =>
      execFile(program, ["--pdeathsig", "TERM", "--", program, "--version"], (error) => resolve(error === null))
    )
    if (able) return program
  }
  return undefined
})

let setpriv: Promise<string | undefined> | undefined

const live = new Map<ChildProcess, NodeJS.Signals>()

const track = (child: ChildProcess, stopSignal: NodeJS.Signals): void => {
  // For a process that exits without closing its scopes, on systems that cannot tie a child to its parent.
  if (live.size === 0) process.on("exit", stopAll)
  live.set(child, stopSignal)
}

const untrack = (child: ChildProcess): void => {
  live.delete(child)
  if (live.size === 0) process.off("exit", stopAll)
}

const stopAll = (): void => {
  for (const [child, stopSignal] of live) child.kill(stopSignal)
}

const start = (command: ServerCommand, wrapper: string | undefined, ended: Deferred.Deferred<string>) =>
  Effect.callback<ChildProcess, string>((resume) => {
    const stopSignal = command.stopSignals[0]?.signal ?? "SIGTERM"
    const wrapped =
      wrapper === undefined
        ? [command.program, ...command.args]
        : [wrapper, "--pdeathsig", stopSignal.slice("SIG".length), "--", command.program, ...command.args]
    let log: number
    try {
      log = openSync(command.logFile, "a", 0o600)
    } catch (cause) {
      resume(Effect.fail(reasonOf(cause)))
      return
    }
    try {
      const child = spawn(wrapped[0]!, wrapped.slice(1), {
        cwd: command.folder,
        env: command.environment,
        stdio: ["ignore", log, log],
        detached: true,
        ...command.user
      })
      child.once("spawn", () => {
        track(child, stopSignal)
        resume(Effect.succeed(child))
      })
      child.once("error", (cause) => resume(Effect.fail(reasonOf(cause))))
      child.once("exit", (code, signal) => {
        untrack(child)
        Deferred.doneUnsafe(ended, Effect.succeed(signal === null ? `exit code ${code}` : `signal ${signal}`))
      })
    } catch (cause) {
      resume(Effect.fail(reasonOf(cause)))
    } finally {
      closeSync(log)
    }
  })

const stop = (child: ChildProcess, command: ServerCommand, ended: Deferred.Deferred<string>) =>
  Effect.gen(function* () {
    for (const { signal, waitMillis } of [
      ...command.stopSignals,
      { signal: "SIGKILL" as const, waitMillis: killWaitMillis }
    ]) {
      if (yield* Deferred.isDone(ended)) return
      child.kill(signal)
      yield* Deferred.await(ended).pipe(Effect.timeoutOption(waitMillis))
    }
  })

/** Starts the process; closing the scope stops it and waits for its end. Fails with the system's reason. */
export const startChild = (command: ServerCommand): Effect.Effect<RunningChild, string, Scope.Scope> =>
  Effect.gen(function* () {
    const ended = yield* Deferred.make<string>()
    if (command.endWithParent !== false) setpriv ??= Effect.runPromise(findSetpriv)
    const wrapper = command.endWithParent === false ? undefined : yield* Effect.promise(async () => setpriv)
    const child = yield* Effect.acquireRelease(start(command, wrapper, ended), (child) => stop(child, command, ended))
    return { pid: child.pid!, ended: Deferred.await(ended) }
  })
