/**
 * Durable decisions that cross processes, beside those that do not: an engine that owns the partitions and one that owns none, each with a
 * connection of its own to one nats-server. Both are in this process, so that its CPU is that of both sides.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Durable from "../../../src/durable.ts"
import { Engine, layer } from "../../../src/engine/Engine.ts"
import * as CheckpointsMemory from "../../../src/engine/memory/CheckpointsMemory.ts"
import * as CursorsMemory from "../../../src/engine/memory/CursorsMemory.ts"
import * as JournalMemory from "../../../src/engine/memory/JournalMemory.ts"
import { Placement } from "../../../src/engine/ports/Placement.ts"
import { NatsConnection } from "../../../src/nats/connection.ts"
import * as RemoteNats from "../../../src/nats/RemoteNats.ts"
import { type ClosedLoad, closedLoop } from "./closedLoop.ts"
import { admit, organizationOf, Sender } from "./mail.ts"
import { startServers } from "./servers.ts"
import { serveWorkload } from "./workload.ts"

export interface CrossingLoad extends ClosedLoad {
  readonly partitions: number
  /** Asks in this many that go through the engine without partitions. */
  readonly oneInCrosses: number
}

const none = Layer.succeed(Placement, Placement.of({ place: () => Effect.void, owns: () => Effect.succeed(false) }))

serveWorkload((load: CrossingLoad & { readonly dataFolder: string }) =>
  Effect.gen(function* () {
    const servers = yield* startServers(load.dataFolder)
    const remote = () =>
      RemoteNats.layer().pipe(Layer.provide(NatsConnection.layer({ url: Redacted.make(servers.natsUrl) })))
    const options = { actors: [Sender], config: { partitions: load.partitions } }
    const near = Context.get(yield* Layer.build(Durable.layer(options, servers).pipe(Layer.provide(remote()))), Engine)
    const far = Context.get(
      yield* Layer.build(
        layer(options).pipe(
          Layer.provide([JournalMemory.layer, CheckpointsMemory.layer, CursorsMemory.layer, none, remote()])
        )
      ),
      Engine
    )
    yield* near.ready
    let number = 0
    const ask = (caller: number) => {
      const engine = load.oneInCrosses > 0 && ++number % load.oneInCrosses === 0 ? far : near
      return Effect.orDie(engine.ask(Sender, { organization: organizationOf(caller) }, admit(number)))
    }
    return { measure: yield* closedLoop(load, ask) }
  })
)
