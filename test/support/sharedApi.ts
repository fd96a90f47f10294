/**
 * The public API of a worker in its own process, on PostgreSQL and with the engine's log in memory: built when a test of it first asks, and there until the worker ends.
 * Each test has organizations of its own on it. Tests that set it in another way build their own (`api.ts`).
 */
import { Effect, Scope } from "effect"
import { beforeAll } from "vitest"
import type { VerificationLink } from "../../src/send/senders/addresses/VerificationMail.ts"
import { buildApi } from "./api.ts"
import { type NameServer, startNameServer } from "./nameServer.ts"
import { patienceMillis } from "./patience.ts"

export type SharedApi = Effect.Success<ReturnType<typeof build>>

const build = (scope: Scope.Scope) =>
  Effect.gen(function* () {
    const names: NameServer = yield* Scope.provide(startNameServer, scope)
    /** What was mailed to addresses that are to become senders. */
    const mails: Array<VerificationLink> = []
    const api = yield* buildApi(scope, { nameServers: [names.address], mails })
    return { ...api, names, mails: mails as ReadonlyArray<VerificationLink> }
  })

// Files of a worker may have modules of their own, and share the process.
const worker = globalThis as { sluiceSharedApi?: Promise<SharedApi> }

/** The worker's API, as a file wants it; to be asked for inside tests and hooks only. */
export const useSharedApi = <A>(as: (api: SharedApi) => A): (() => A) => {
  let wanted: A | undefined
  beforeAll(async () => {
    // Its scope ends with the worker, and its database with the run.
    worker.sluiceSharedApi ??= Effect.runPromise(build(Scope.makeUnsafe()))
    wanted = as(await worker.sluiceSharedApi)
  }, patienceMillis)
  return () => wanted!
}
