/**
 * The servers of a run, its own: a PostgreSQL and a nats-server in a temporary folder, started and kept running as the platform does it.
 * They can be killed, and are started again by their supervisor, and stopped for a while.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted, Stream, SubscriptionRef } from "effect"
import { openDataFolder } from "../../src/embedded/dataFolder.ts"
import { startEmbedded } from "../../src/embedded/EmbeddedServers.ts"
import type { ServerState } from "../../src/embedded/supervisor.ts"
import { whenStopped } from "./workerProcess.ts"

type State = SubscriptionRef.SubscriptionRef<ServerState>

export interface Server {
  /** Kills it (-9) and waits until it runs again. */
  readonly kill: Effect.Effect<void>
  /** Stops it (it keeps its connections and says nothing) for as long as the effect takes. */
  readonly pausedWhile: (effect: Effect.Effect<void>) => Effect.Effect<void>
}

const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "sluice-chaos-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** The state once it runs as another process than `other`. */
const running = (state: State, other?: number) =>
  Effect.map(
    Stream.runHead(
      Stream.filter(
        SubscriptionRef.changes(state),
        (now): now is Extract<ServerState, { readonly _tag: "Running" }> => now._tag === "Running" && now.pid !== other
      )
    ),
    (found) => {
      if (found._tag === "None") throw new Error("the server's supervisor has ended")
      return found.value.pid
    }
  )

/** Sends a signal to a process that may have ended meanwhile. */
const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause
  }
}

const serverOf = (state: State): Server => ({
  kill: Effect.gen(function* () {
    const pid = yield* running(state)
    signal(pid, "SIGKILL")
    yield* running(state, pid)
  }),
  pausedWhile: (effect) =>
    Effect.gen(function* () {
      const pid = yield* running(state)
      yield* Effect.acquireUseRelease(
        Effect.promise(() => {
          signal(pid, "SIGSTOP")
          return whenStopped(pid)
        }),
        () => effect,
        () => Effect.sync(() => signal(pid, "SIGCONT"))
      )
    })
})

/** Starts both; they end with the scope. */
export const startServers = Effect.gen(function* () {
  const folder = yield* openDataFolder(yield* temporaryFolder)
  yield* folder.hold({ purpose: "the chaos test" })
  const servers = yield* startEmbedded(folder, {
    postgres: { bin: process.env.SLUICE_POSTGRES_BIN },
    nats: { program: process.env.SLUICE_NATS_SERVER },
    progress: () => Effect.void
  })
  return {
    databaseUrl: Redacted.value(servers.postgresUrl!),
    natsUrl: Redacted.value(servers.natsUrl!),
    postgres: serverOf(servers.postgres!.state),
    nats: serverOf(servers.nats!.state)
  }
})
