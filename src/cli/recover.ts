/**
 * Implements `sluice recover`, for a partition that refuses to start. Without a flag it only reports; `--accept-loss`
 * gives up frames that the log no longer has, and prints them; `--accept-clock` continues with the present clock. If
 * the platform runs, it asks its own node, or the one that `SLUICE_ADMIN_URL` names, and the partition's owner acts
 * while the partition has stopped. Otherwise no node may run: the data folder's lock, the deployment's and the log's
 * fence ensure that.
 */
import { Console, Data, Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { SqlClient } from "effect/sql"
import { AdminClient } from "../admin/AdminClient.ts"
import { layerPorts, projections } from "../app/engine.ts"
import { layerStores } from "../app/layers.ts"
import type { Config } from "../config/settings.ts"
import { openDataFolder } from "../embedded/dataFolder.ts"
import { startEmbedded } from "../embedded/EmbeddedServers.ts"
import { partitionOf } from "../engine/address.ts"
import { acceptClock, acceptLoss } from "../engine/operator/acceptLoss.ts"
import type { LossReport } from "../engine/operator/Findings.ts"
import type { Recovered } from "../engine/operator/recoverHere.ts"
import { requireOwnLogs } from "../engine/shell/partition/ownLogs.ts"
import { eventsTable } from "../events/table.ts"
import { NatsConnection } from "../nats/connection.ts"
import { hold, type LockHeld } from "../postgres/advisoryLock.ts"
import { placementLock } from "../postgres/PlacementPostgres.ts"
import { emailsTable } from "../send/emails/table.ts"
import { isRunning, withAdmin } from "./admin.ts"
import { engineSettings } from "./engineSettings.ts"
import { configuration, settingFlags } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { explained } from "./output.ts"

// Counts the loss of a recovery in an operator's terms: organizations, emails and minutes. Needs `SqlClient`.

/** PostgreSQL's rows of one organization from the lost time. */
interface Seen {
  readonly organizationId: string
  readonly events: number
  readonly emails: number
  /** When the last of them was, Unix milliseconds. */
  readonly last: number
}

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, one) => total + one, 0)

const many = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`

/** Looks what PostgreSQL has of the time that a partition's decisions are missing of, and says it. */
export const lossSummary = Effect.fnUntraced(function* (
  partition: number,
  partitions: number,
  lost: NonNullable<LossReport["lost"]>
) {
  const sql = yield* SqlClient.SqlClient
  const { sinceMillis, untilMillis } = lost
  const until = untilMillis ?? Number.MAX_SAFE_INTEGER
  const seen = yield* sql<Seen>`
    select organization_id as "organizationId", count(*) filter (where not email)::int4 as events,
      count(*) filter (where email)::int4 as emails, max(at)::float8 as last
    from (
      select organization_id, created_at as at, false as email from ${sql(eventsTable)}
      where created_at > ${sinceMillis} and created_at <= ${until}
      union all
      select organization_id, accepted_at, true from ${sql(emailsTable)}
      where accepted_at > ${sinceMillis} and accepted_at <= ${until}
    ) as found group by organization_id`
  // Other partitions have lost nothing.
  const own = seen.filter(({ organizationId }) => partitionOf(organizationId, partitions) === partition)
  const events = many(sumOf(own.map((one) => one.events)), "event")
  const emails = many(sumOf(own.map((one) => one.emails)), "email")
  const end = untilMillis ?? own.reduce((latest, { last }) => Math.max(latest, last), sinceMillis)
  const minutes = many(Math.ceil((end - sinceMillis) / 60_000), "minute")
  return `Of ${minutes} from ${new Date(sinceMillis).toISOString()} on: PostgreSQL shows ${events} and ${emails} of ${many(own.length, "organization")}, whose states may lack them.`
})

/** A platform serves the partitions of this database, or the nodes of a cluster do. */
export class StillRunning extends Data.TaggedError("StillRunning")<{
  readonly detail: string
  /** Names of nodes; none on one machine. */
  readonly nodes: ReadonlyArray<string>
}> {
  override get message(): string {
    const { detail, nodes } = this
    return nodes.length === 0
      ? `Stop the platform first: ${detail}`
      : `Stop every node first, and start them again when this is done: ${nodes.join(", ")}. Any of them may claim a partition at any moment, so none may run while what belongs to its log is given up. Nothing was changed. Or send the command to one of them, with its data folder or SLUICE_ADMIN_URL: the partition's owner does it then while they run`
  }
}

/** The running process, as its sentence names it. */
const stillRunning = ({ message: detail }: LockHeld) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const nodes = yield* sql<{ readonly name: string }>`
      select name from cluster_nodes where seen_at > now() - make_interval(secs => ${shownSeconds}) order by name`
    return yield* new StillRunning({ detail, nodes: nodes.map(({ name }) => name) })
  })

/** A node that has been silent for so long is not named. */
const shownSeconds = 10

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
    logsAreGone: Flag.Boolean("logs-are-gone").pipe(
      Flag.withDescription("Go on although NATS has none of the logs: its storage is lost, and no address is wrong"),
      Flag.withDefault(false)
    ),
    acceptClock: Flag.Boolean("accept-clock").pipe(
      Flag.withDescription("Go on with the clock as it is, although the log's last frame is from the future"),
      Flag.withDefault(false)
    )
  },
  (flags) =>
    Effect.flatMap(configuration(flags), (config) =>
      Effect.flatMap(isRunning(config), (runs) =>
        runs ? withAdmin(flags, askOwners(flags)) : explained(Effect.scoped(recoverWith(config, flags)), config.dataDir)
      )
    )
).pipe(Command.withDescription("Say why a partition refuses to start, and let it go on"))

interface Flags {
  readonly partition: Option.Option<number>
  readonly acceptLoss: boolean
  readonly acceptClock: boolean
  readonly logsAreGone: boolean
}

/** Has the owners do it. */
const askOwners = Effect.fnUntraced(function* (flags: Flags) {
  const { acceptClock, acceptLoss } = flags
  const client = yield* AdminClient
  const wanted = Option.isSome(flags.partition)
    ? [flags.partition.value]
    : (yield* client.cluster.show()).partitions.map(({ partition }) => partition)
  const told: Told = { fitting: [], changeable: false }
  for (const partition of wanted)
    yield* tell(
      told,
      yield* client.engine.recoverPartition({ params: { partition }, payload: { acceptLoss, acceptClock } })
    )
  yield* conclude(told)
})

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
    Layer.provideMerge(NatsConnection.layer(natsOptions(config, natsUrl))),
    Layer.provideMerge(layerStores({ databaseUrl, maxConnections: config.databasePool }))
  )
  yield* work(config.partitions, flags).pipe(Effect.provide(ports))
})

const work = Effect.fnUntraced(function* (partitions: number, flags: Flags) {
  yield* hold(placementLock).pipe(Effect.catchTag("LockHeld", stillRunning))
  // A wrong address looks like a loss of everything.
  if (!flags.logsAreGone) yield* requireOwnLogs(partitions)
  const wanted = Option.match(flags.partition, {
    onNone: () => Array.from({ length: partitions }, (_, partition) => partition),
    onSome: (partition) => [partition]
  })
  const told: Told = { fitting: [], changeable: false }
  for (const partition of wanted) {
    const report = yield* acceptLoss(partition, { dryRun: !flags.acceptLoss, reactors: [projections.name] })
    const lines = report.fits ? [] : [...report.lines]
    if (report.lost !== undefined && report.lost.sinceMillis > 0)
      lines.push(yield* lossSummary(partition, partitions, report.lost))
    if (flags.acceptClock) {
      const { lastFrame, accepted } = yield* acceptClock(partition)
      lines.push(
        `the clock is accepted: the last frame is of ${new Date(lastFrame).toISOString()}, it is now ${new Date(accepted).toISOString()}.`
      )
    }
    yield* tell(told, { ...report, changeable: !report.fits && !flags.acceptLoss, lines })
  }
  yield* conclude(told)
})

interface Told {
  readonly fitting: Array<number>
  changeable: boolean
}

const tell = (told: Told, { changeable, fits, lines, partition }: Recovered): Effect.Effect<void> => {
  if (fits) told.fitting.push(partition)
  told.changeable ||= changeable
  return lines.length === 0 ? Effect.void : Console.log(`Partition ${partition}: ${lines.join("\n  ")}`)
}

const conclude = Effect.fnUntraced(function* ({ changeable, fitting }: Told) {
  // One line for all of them.
  const all = `${fitting.length === 1 ? "Partition" : "Partitions"} ${fitting.join(", ")}`
  if (fitting.length > 0) yield* Console.log(`${all}: everything fits the log; nothing is to be given up.`)
  if (changeable) yield* Console.log("Nothing was changed; --accept-loss does it.")
})
