/**
 * Implements `sluice cluster status | drain | replicate`: the nodes of a deployment and their partitions
 * (docs/cluster.md).
 */
import { Console, Data, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import type { ShownCluster } from "../admin/ClusterView.ts"
import { connectNats } from "../nats/connection.ts"
import { clusterReplicas, raiseReplicas } from "../nats/replicas.ts"
import { withAdmin } from "./admin.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { explained, printJson, printTable } from "./output.ts"

const common = { json, dataDir: settingFlags.dataDir }

const shown = (value: number | null): string => (value === null ? "-" : String(value))

/** Which formats are in force, and whom a higher level waits for. */
const levelSentence = ({ level, nodes }: ShownCluster): string => {
  const newest = Math.max(level, ...nodes.map((node) => node.level))
  const behind = nodes.filter((node) => node.level < newest).map(({ name }) => name)
  const waits = behind.length === 0 ? "" : `; level ${newest} waits for ${behind.join(", ")}`
  return `Formats of level ${level} are in force${waits}.`
}

const status = Command.make("status", common, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const found = yield* client.cluster.show()
      if (flags.json) return yield* printJson(found)
      yield* printTable(
        ["NODE", "VERSION", "KNOWS LEVEL", "ROLE", "SEEN", "PARTITIONS"],
        found.nodes.map((node) => [
          node.name,
          node.version,
          `${node.level}`,
          node.isDraining ? `${node.role}, draining` : node.role,
          `${(node.silentMillis / 1000).toFixed(1)} s ago`,
          node.partitions.length === 0 ? "-" : node.partitions.join(" ")
        ]),
        "There is no node."
      )
      yield* Console.log("")
      yield* printTable(
        ["PARTITION", "NODE", "STATUS", "EPOCH", "FRAME", "LAG"],
        found.partitions.map((one) => [
          `${one.partition}`,
          one.node ?? "-",
          one.status,
          shown(one.epoch),
          shown(one.sequence),
          shown(one.lag)
        ]),
        "There is no partition."
      )
      yield* Console.log(`\n${levelSentence(found)}`)
    })
  )
).pipe(Command.withDescription("Nodes, versions, partitions, epochs and lag"))

const drain = Command.make(
  "drain",
  { name: Argument.String("node").pipe(Argument.withDescription("Its name, as status shows it")), ...common },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const done = yield* client.cluster.drain({ params: { name: flags.name } })
        if (flags.json) return yield* printJson(done)
        yield* Console.log(`${done.name} hands its partitions over, and takes none until it is started again.`)
      })
    )
).pipe(Command.withDescription("Have a node hand its partitions over, before its machine is worked on"))

/** The command names no NATS servers. */
export class NoServersNamed extends Data.TaggedError("NoServersNamed") {
  override get message(): string {
    return "The streams are raised at the NATS servers: name them with NATS_URL, and the deployment's SLUICE_PARTITIONS and SLUICE_LOG_NAMESPACE"
  }
}

const replicate = Command.make("replicate", { ...settingFlags, json }, ({ json, ...flags }) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(
      Effect.scoped(
        Effect.gen(function* () {
          const { logNamespace: namespace, logReplicas, natsUrl, partitions } = config
          if (natsUrl === undefined) return yield* new NoServersNamed()
          const { client } = yield* connectNats(natsOptions(config, natsUrl))
          const replicas = Number(logReplicas ?? clusterReplicas)
          const raised = yield* raiseReplicas(client, { namespace, partitions, replicas })
          if (json) return yield* printJson(raised)
          yield* printTable(
            ["STREAM", "COPIES BEFORE", "NOW"],
            raised.map(({ from, isComplete, stream, to }) => [
              stream,
              `${from}`,
              isComplete ? `${to}` : `${to}, still being copied`
            ]),
            `Every stream has ${replicas} complete copies or more already.`
          )
        })
      )
    )
  )
).pipe(Command.withDescription("Give streams that were made for one NATS server a copy on each of three"))

export const cluster = Command.make("cluster").pipe(
  Command.withDescription("The nodes of a deployment of several machines"),
  Command.withSubcommands([status, drain, replicate])
)
