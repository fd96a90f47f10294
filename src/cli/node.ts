/**
 * Adapts `sluice serve` to nodes that share the partitions (docs/cluster.md): another placement under the engine, and a
 * handover before everything else when it stops. It loads the cluster's own code as a module, so one machine does not
 * load it.
 */
import { hostname } from "node:os"
import { Duration, Effect, Option, type Redacted, Schedule, Scope } from "effect"
import { type EngineSettings, layerEngineOn } from "../app/engine.ts"
import { layerDecisions, layerDecisionsOn } from "../app/layers.ts"
import { build } from "../common/version.ts"
import type { Config } from "../config/settings.ts"
import { Health, stopping } from "../platform/Health.ts"
import { HandoffFeed } from "../send/handoff/HandoffFeed.ts"
import { DispatchFeed } from "../webhooks/delivery/DispatchFeed.ts"

export interface NodeStart {
  readonly config: Config
  /** Undefined on one machine. */
  readonly cluster: typeof import("../app/cluster.ts") | undefined
  readonly databaseUrl: Redacted.Redacted<string>
  readonly engine: EngineSettings
}

/** The name that a node has among the others. */
export const nodeName = ({ node }: Config): string => node ?? `${hostname()}-${process.pid}`

/** The engine and what rests on it: of one machine, or of a node of a cluster. */
export const layerOwnDecisions = ({ cluster, config, databaseUrl, engine }: NodeStart) => {
  if (cluster === undefined) return layerDecisions(engine)
  const placement = cluster.layerNode({
    databaseUrl,
    node: { name: nodeName(config), version: build(), role: config.role },
    takesPartitions: config.role !== "api",
    namespace: config.logNamespace
  })
  // The layer also provides the cluster services; callers that need them request them by tag. Hence the cast.
  return layerDecisionsOn(layerEngineOn(engine, placement)) as ReturnType<typeof layerDecisions>
}

/**
 * The first steps of a node of a cluster that stops: it notifies load balancers, mail and webhooks in progress are
 * finished and recorded, then it hands its partitions over and goes on to answer through their new owners.
 */
export const handOver = ({ cluster }: Pick<NodeStart, "cluster">) =>
  Effect.gen(function* () {
    if (cluster === undefined) return
    // It is there in a cluster, although the platform's type does not say so.
    const found = yield* Effect.serviceOption(cluster.Membership)
    if (Option.isNone(found)) return
    const { beforeLeave, leave } = found.value
    const mail = yield* HandoffFeed
    const { listener } = yield* DispatchFeed
    // The next owner of a partition takes from its queues what this node has under way and not recorded.
    yield* beforeLeave(mail.drain)
    yield* beforeLeave(Effect.suspend(() => listener()?.drain ?? Effect.void))
    const health = yield* Health
    yield* Effect.addFinalizer(() =>
      // The check stays until the process ends, so its scope is never closed.
      Effect.andThen(Scope.provide(health.register(stopping), Scope.makeUnsafe()), leave)
    )
  })

/** Never ends, unless a node of a cluster finds formats in force that its program does not know. */
export const untilOutdated = ({ cluster }: Pick<NodeStart, "cluster">) =>
  cluster === undefined
    ? Effect.never
    : Effect.flatMap(Effect.serviceOption(cluster.Membership), (found) =>
        Option.match(found, { onNone: () => Effect.never, onSome: ({ outdated }) => outdated })
      )

/** How often what a start decides is tried again, and the pause between. */
const moveAttempts = 20
const movePauseMillis = 500

/** Tries again what a start decides while partitions go to nodes that start at the same time. */
export const whileMoving = <A, E, R>({ cluster }: Pick<NodeStart, "cluster">, effect: Effect.Effect<A, E, R>) =>
  cluster === undefined
    ? effect
    : Effect.retry(effect, { times: moveAttempts, schedule: Schedule.spaced(Duration.millis(movePauseMillis)) })
