/** Processes that are killed (-9) while they accept mail and hand it over (docs/handoff.md, 2): what was accepted goes, whatever they were at. */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { until } from "../../webhooks/until.ts"
import { type ChildSettings, type FromChild, settingsVariable, type ToChild } from "./handoffChild.ts"
import { deploy } from "./handoffSupport.ts"

const kills = 4
const emailsPerLife = 100
const emailsAtOnce = 5

/** The next message of a process; fails when it ends without one. */
const nextOf = (child: ChildProcess): Promise<FromChild> =>
  new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the process has ended"))
    child.once("exit", ended)
    child.once("message", (message: FromChild) => {
      child.off("exit", ended)
      resolve(message)
    })
  })

const asked = (child: ChildProcess, message: ToChild): Promise<FromChild> => {
  const next = nextOf(child)
  child.send(message)
  return next
}

const start = async (settings: ChildSettings): Promise<ChildProcess> => {
  const child = fork(new URL("handoffChild.ts", import.meta.url), {
    env: { PATH: process.env.PATH, [settingsVariable]: JSON.stringify(settings) },
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  await nextOf(child)
  return child
}

const killed = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.once("exit", () => resolve())
    child.kill("SIGKILL")
  })

it.live("mail that was accepted is handed over, whenever the process is killed", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const deployment = yield* deploy
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "sluice-handoff-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const settings: ChildSettings = {
        databaseUrl: Redacted.value(deployment.databaseUrl),
        natsUrl: Redacted.value(deployment.natsUrl),
        namespace: deployment.namespace,
        file: join(folder, "handed")
      }
      let child: ChildProcess | undefined
      yield* Effect.addFinalizer(() => Effect.promise(async () => child?.kill("SIGKILL")))
      const accepted: Array<string> = []
      for (let life = 0; life < kills; life++) {
        const running = yield* Effect.promise(() => start(settings))
        child = running
        yield* Effect.promise(async () => {
          while (accepted.length < (life + 1) * emailsPerLife) {
            const answer = await asked(running, { _tag: "Send", count: emailsAtOnce })
            if (answer._tag === "Sent") accepted.push(...answer.ids)
          }
          await killed(running)
        })
      }
      const last = yield* Effect.promise(() => start(settings))
      child = last
      yield* until(
        Effect.promise(async () => {
          const answer = await asked(last, { _tag: "States", ids: accepted })
          return answer._tag === "States" && answer.states.every((state) => state === "sent")
        })
      )
      const handed = new Map<string, number>()
      for (const id of readFileSync(settings.file, "utf8").trim().split("\n")) handed.set(id, (handed.get(id) ?? 0) + 1)
      for (const id of accepted) {
        const times = handed.get(id) ?? 0
        assert.isAtLeast(times, 1, id)
        // Only what was in flight at a kill may go again.
        assert.isAtMost(times, 1 + kills, id)
      }
      const again = [...handed.values()].filter((times) => times > 1).length
      assert.isAtMost(again, kills * 50)
    })
  )
)
