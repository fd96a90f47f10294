/**
 * `sluice recover`: what an operator does when a partition refuses to start. Without a flag it only says what it finds;
 * `--accept-loss` gives up what the log no longer holds, and prints it; `--accept-clock` goes on with the clock as it
 * is. The platform must not be running; the data folder's lock and the log's fence ensure that.
 */
import { Console, Data, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { layerPorts, projections } from "../app/engine.ts"
import { layerStores } from "../app/layers.ts"
import type { Config } from "../config/settings.ts"
import { openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { acceptClock, acceptLoss } from "../engine/operator/recover.ts"
import { NatsConnection } from "../nats/connection.ts"
import { hold, lockKey } from "../postgres/advisoryLock.ts"
import { placementLock } from "../postgres/PlacementPostgres.ts"
import { engineSettings } from "./admin.ts"
import { configuration, settingFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** A platform serves the partitions of this database. */
export class StillRunning extends Data.TaggedError("StillRunning")<{ readonly detail: string }> {
  override get message(): string {
    return `Stop the platform first: ${this.detail}`
  }
}

/** The deployment has no such partition. */
export class UnknownPartition extends Data.TaggedError("UnknownPartition")<{
  readonly partition: number
  readonly partitions: number
}> {
  override get message(): string {
    const { partition, partitions } = this
    return `There is no partition ${partition}: this deployment is configured with ${partitions}, numbered from 0 to ${partitions - 1}.`
  }
}

export const recover = Command.make(
  "recover",
  {
    ...settingFlags,
    partition: Flag.Int("partition").pipe(
      Flag.withDescription("Only this partition; default: all of them"),
      Flag.optional
    ),
    acceptLoss: Flag.Boolean("accept-loss").pipe(
      Flag.withDescription("Give up what the log no longer holds, and print what goes"),
      Flag.withDefault(false)
    ),
    acceptClock: Flag.Boolean("accept-clock").pipe(
      Flag.withDescription("Go on with the clock as it is, although the log's last frame is from the future"),
      Flag.withDefault(false)
    )
  },
  (flags) =>
    Effect.flatMap(configuration(flags), (config) =>
      explained(Effect.scoped(recoverWith(config, flags)), config.dataDir)
    )
).pipe(Command.withDescription("Say why a partition refuses to start, and let it go on"))

interface Flags {
  readonly partition: Option.Option<number>
  readonly acceptLoss: boolean
  readonly acceptClock: boolean
}

const recoverWith = Effect.fnUntraced(function* (config: Config, flags: Flags) {
  const { partitions } = config
  const partition = Option.getOrElse(flags.partition, () => 0)
  if (partition < 0 || partition >= partitions) return yield* new UnknownPartition({ partition, partitions })
  const folder = yield* openDataFolder(config.dataDir)
  yield* folder.hold({ purpose: "sluice recover" })
  const embedded = yield* startEmbedded(folder, {
    postgres: config.databaseUrl === undefined ? { bin: config.postgresBin } : undefined,
    nats: config.natsUrl === undefined ? { program: config.natsServer } : undefined,
    progress: (line) => Console.error(`  ${line}`)
  })
  const databaseUrl = config.databaseUrl ?? embedded.postgresUrl!
  const natsUrl = config.natsUrl ?? embedded.natsUrl!
  const ports = layerPorts(engineSettings(config)).pipe(
    Layer.provideMerge(NatsConnection.layer({ url: natsUrl, weakSync: config.natsWeakSync })),
    Layer.provideMerge(layerStores({ databaseUrl, maxConnections: config.databasePool }))
  )
  yield* work(config.partitions, flags).pipe(Effect.provide(ports))
})

const work = Effect.fnUntraced(function* (partitions: number, flags: Flags) {
  yield* hold(lockKey(placementLock)).pipe(
    Effect.catchTag("LockHeld", (held) => Effect.fail(new StillRunning({ detail: held.message })))
  )
  const wanted = Option.match(flags.partition, {
    onNone: () => Array.from({ length: partitions }, (_, partition) => partition),
    onSome: (partition) => [partition]
  })
  const fitting: Array<number> = []
  let changeable = false
  for (const partition of wanted) {
    const report = yield* acceptLoss(partition, { dryRun: !flags.acceptLoss, reactors: [projections.name] })
    if (report.fits) fitting.push(partition)
    else {
      yield* Console.log(`Partition ${partition}: ${report.lines.join("\n  ")}`)
      changeable ||= !flags.acceptLoss
    }
    if (flags.acceptClock) {
      const { lastFrame, accepted } = yield* acceptClock(partition)
      yield* Console.log(
        `Partition ${partition}: the clock is accepted: the last frame is of ${new Date(lastFrame).toISOString()}, it is now ${new Date(accepted).toISOString()}.`
      )
    }
  }
  // One line for all of them.
  const all = `${fitting.length === 1 ? "Partition" : "Partitions"} ${fitting.join(", ")}`
  if (fitting.length > 0) yield* Console.log(`${all}: everything fits the log; nothing is to be given up.`)
  if (changeable) yield* Console.log("Nothing was changed; --accept-loss does it.")
})
