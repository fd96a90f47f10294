/**
 * The start of an engine on a log of which no checkpoint exists: first that log is written, then each measurement starts an
 * engine on it and asks it for what it should know. No engine is closed in order, as closing takes a checkpoint. The servers
 * are another process's (`serversHost.ts`).
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer, Scope } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { internals } from "../../../src/engine/shell/partition/internals.ts"
import { admit, look, organizationOf, Sender } from "./mail.ts"
import type { Addresses } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface RecoveryLoad {
  readonly task: "fill" | "recover"
  readonly servers: Addresses
  readonly frames: number
  readonly factsPerFrame: number
  /** Organizations that the facts are spread over evenly. */
  readonly organizations: number
}

export interface RecoverySample extends Record<string, number> {
  readonly readySeconds: number
  /** Where the log ends: its frames and the claims of all starts. */
  readonly lastSequence: number
}

/** More than any log here has. */
const never = 2_000_000_000
const config = {
  partitions: 1,
  checkpointFrames: never,
  checkpointBytes: never,
  checkpointActors: never,
  checkpointMillis: never
}

/** An engine that serves, and is never closed. */
const start = (servers: Addresses) =>
  Effect.gen(function* () {
    const engine = Context.get(yield* Layer.build(Durable.layer({ actors: [Sender], config }, servers)), Engine)
    yield* engine.ready
    return engine
  }).pipe(Scope.provide(Scope.makeUnsafe()))

/** Commands that are asked at once become one frame. */
const fill = Effect.fnUntraced(function* (load: RecoveryLoad) {
  const engine = yield* start(load.servers)
  let number = 0
  for (let frame = 0; frame < load.frames; frame++) {
    yield* Effect.forEach(
      Array.from({ length: load.factsPerFrame }, () => number++),
      (mail) => engine.ask(Sender, { organization: organizationOf(mail % load.organizations) }, admit(mail)),
      { concurrency: "unbounded", discard: true }
    )
  }
})

const recover = Effect.fnUntraced(function* (load: RecoveryLoad) {
  const started = performance.now()
  const engine = yield* start(load.servers)
  const readySeconds = (performance.now() - started) / 1000
  const expected = (load.frames * load.factsPerFrame) / load.organizations
  for (let index = 0; index < load.organizations; index++) {
    const mails = yield* engine.ask(Sender, { organization: organizationOf(index) }, look)
    if (mails !== expected) throw new Error(`${organizationOf(index)} has ${mails} mails, not ${expected}`)
  }
  const { lastSequence } = yield* internals(engine).partitions.get(0)!.log!.state
  return { readySeconds, lastSequence } satisfies RecoverySample
})

serveWorkload((load: RecoveryLoad) =>
  load.task === "fill" ? Effect.as(fill(load), {}) : Effect.succeed({ measure: () => Effect.runPromise(recover(load)) })
)
