import { spawn } from "node:child_process"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { isAlive, listWithPs, lookAt, processesNaming, signal, workingFolder } from "../../src/embedded/processes.ts"
import { eventually } from "./support.ts"

/** A process that waits, with arguments that are not easy to read back. */
const waiting = Effect.acquireRelease(
  Effect.sync(() =>
    spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)", "two words", "", "last"], { cwd: "/" })
  ),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
)

it.live("tells a process by number, start and command line", () =>
  Effect.gen(function* () {
    const child = yield* waiting
    const info = (yield* eventually(lookAt(child.pid!), (found) => found?.command.length === 6))!
    expect(info.pid).toBe(child.pid)
    expect(info.command.slice(1)).toEqual(["-e", "setInterval(() => {}, 1e6)", "two words", "", "last"])
    expect(yield* isAlive(info)).toBe(true)
    expect(yield* isAlive({ ...info, startedAt: "0:0" })).toBe(false)
    expect(Math.abs(info.startedAtSeconds! - Date.now() / 1000)).toBeLessThan(60)
    expect(yield* workingFolder(child.pid!)).toBe("/")
    expect((yield* processesNaming("")).map(({ pid }) => pid)).toContain(child.pid)
  })
)

it.live("never signals another process than the one that was meant", () =>
  Effect.gen(function* () {
    const child = yield* waiting
    const info = (yield* lookAt(child.pid!))!
    expect(yield* signal({ pid: info.pid, startedAt: "0:0" }, "SIGKILL")).toBe(false)
    expect(yield* isAlive(info)).toBe(true)
    expect(yield* signal(info, "SIGKILL")).toBe(true)
    yield* eventually(isAlive(info), (alive) => !alive)
    expect(yield* signal(info, "SIGKILL")).toBe(false)
  })
)

it.live("does not count a process that has ended and was not asked for yet", () =>
  Effect.gen(function* () {
    // The shell replaces itself by a program that never asks for its child's end.
    const parent = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep 1000"])),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const pid = yield* Effect.callback<number>((resume) => {
      parent.stdout.once("data", (data: Buffer) => resume(Effect.succeed(Number(data.toString()))))
    })
    yield* eventually(lookAt(pid), (info) => info === undefined)
    expect((yield* processesNaming("")).map((info) => info.pid)).not.toContain(pid)
    expect((yield* Effect.promise(() => listWithPs(pid))).map((info) => info.pid)).toEqual([])
  })
)

it.live("sees the same through ps, for systems without /proc", () =>
  Effect.gen(function* () {
    const child = yield* waiting
    const info = (yield* eventually(lookAt(child.pid!), (found) => found?.command.length === 6))!
    const [shown] = yield* Effect.promise(() => listWithPs(child.pid))
    expect(shown?.pid).toBe(child.pid)
    expect(shown?.command[0]?.trim()).toBe(info.command.join(" ").trim())
    expect(Math.abs(shown!.startedAtSeconds! - info.startedAtSeconds!)).toBeLessThan(60 * 60 * 24)
    const all = yield* Effect.promise(() => listWithPs())
    expect(all.map(({ pid }) => pid)).toContain(process.pid)
  })
)
