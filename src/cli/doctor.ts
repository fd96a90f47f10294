/**
 * Implements `sluice doctor`: tries the configured servers and this machine before a start, and says what a start would
 * refuse or an operator would regret (docs/operating.md, "Before a start"). It starts and changes nothing.
 */
import { Console, Data, Effect } from "effect"
import { Command } from "effect/cli"
import { migrations } from "../app/migrations.ts"
import { type Config, connectionsPerWorker } from "../config/settings.ts"
import { clusterReplicas } from "../nats/replicas.ts"
import { type CheckResult, ok } from "./doctor/CheckResult.ts"
import { examineDatabase } from "./doctor/databaseChecks.ts"
import { machineChecks } from "./doctor/machineChecks.ts"
import { mailChecks } from "./doctor/mailChecks.ts"
import { examineNats } from "./doctor/natsChecks.ts"
import { engineSettings } from "./engineSettings.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { natsOptions } from "./natsOptions.ts"
import { explained, printJson, printTable } from "./output.ts"

/** A check has failed; the table has said which. */
export class NotReady extends Data.TaggedError("NotReady")<{ readonly failures: number }> {
  override get message(): string {
    return this.failures === 1 ? "One check failed" : `${this.failures} checks failed`
  }
}

const embedded = (server: string): Effect.Effect<ReadonlyArray<CheckResult>> =>
  Effect.succeed([ok(server, "embedded: a start brings its own")])

/** All findings, in the order in which a start would meet them. */
const examine = Effect.fnUntraced(function* (config: Config) {
  const isCluster = config.placement === "cluster"
  const database =
    config.databaseUrl === undefined
      ? embedded("PostgreSQL")
      : examineDatabase(config.databaseUrl, {
          connections: (config.databasePool + connectionsPerWorker) * config.workers,
          migrations: migrations.map(({ number }) => number),
          isCluster
        })
  const { maximumLogBytes, namespace, partitions, replicas } = engineSettings(config, isCluster ? clusterReplicas : 1)
  const nats =
    config.natsUrl === undefined
      ? embedded("NATS")
      : examineNats(
          natsOptions(config, config.natsUrl),
          { weakSync: config.natsWeakSync, partitions },
          { maximumBytes: maximumLogBytes, namespace, replicas }
        )
  const parts = yield* Effect.all([machineChecks(config), database, nats, mailChecks(config)], {
    concurrency: "unbounded"
  })
  return parts.flat()
})

/** How many checks, and how many of them are not in order. */
const sentence = (findings: ReadonlyArray<CheckResult>): string => {
  const count = (result: CheckResult["result"]) => findings.filter((one) => one.result === result).length
  const [failures, warnings] = [count("failed"), count("warning")]
  const parts = [
    ...(failures === 0 ? [] : [`${failures} failed`]),
    ...(warnings === 0 ? [] : [warnings === 1 ? "one warning" : `${warnings} warnings`])
  ]
  return `${findings.length} checks, ${parts.length === 0 ? "all in order" : parts.join(", ")}.`
}

export const doctor = Command.make("doctor", { ...settingFlags, json }, ({ json, ...flags }) =>
  Effect.flatMap(configuration(flags), (config) =>
    explained(
      Effect.gen(function* () {
        const findings = yield* examine(config)
        if (json) yield* printJson(findings)
        else {
          yield* printTable(
            ["CHECK", "RESULT", "FINDING"],
            findings.map(({ check, detail, result }) => [check, result, detail]),
            ""
          )
          yield* Console.log(`\n${sentence(findings)}`)
        }
        const failures = findings.filter(({ result }) => result === "failed").length
        if (failures > 0) return yield* new NotReady({ failures })
      })
    )
  )
).pipe(Command.withDescription("Try the configured servers and this machine before a start"))
