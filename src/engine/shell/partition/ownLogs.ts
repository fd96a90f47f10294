/**
 * Checks that a log belongs to the deployment that opens it (docs/architecture.md, rule 18): two databases on one
 * server and namespace must never write into each other's logs. A log without an id is from before there were ids; it
 * is adopted once, by the deployment that can show that it knows it.
 */
import { Effect } from "effect"
import { EngineRefused } from "../../errors.ts"
import { Checkpoints, type Deployment } from "../../ports/Checkpoints.ts"
import { Cursors } from "../../ports/Cursors.ts"
import {
  Journal,
  JournalRefused,
  type JournalUnavailable,
  type Log,
  type LogFound,
  type LogState
} from "../../ports/Journal.ts"
import { hashAt, type Witness } from "../witnesses.ts"

interface Stores {
  readonly journal: Journal["Service"]
  readonly checkpoints: Checkpoints["Service"]
  readonly cursors: Cursors["Service"]
}

const advice =
  "Nothing was written to it. Either this is the wrong database, or two deployments share the server's streams: give this one a namespace of its own (SLUICE_LOG_NAMESPACE; `namespace` of `sluice/durable`)"

/**
 * A sentence for the operator about a log of another deployment; undefined for a log that is ours or without an owner.
 */
export const foreignLog = (
  log: Pick<LogFound, "partition" | "home" | "deployment">,
  { home, id }: Deployment
): string | undefined =>
  log.deployment === undefined || log.deployment === id
    ? undefined
    : `partition ${log.partition}: ${log.home} belongs to the deployment ${log.deployment}, and ${home} is of the deployment ${id}. ${advice}`

/** A sentence for the operator about a log without an id that this deployment has not seen. */
export const unknownLog = (log: Pick<LogFound, "partition" | "home">, { home }: Deployment): string =>
  `partition ${log.partition}: ${log.home} holds frames that ${home} knows nothing of: no checkpoint and no cursor in it fits one of them. ${advice}. A database that has lost everything takes its log over with \`sluice recover --partition ${log.partition} --accept-loss\``

/**
 * A sentence for the operator about a place that has none of the logs that a database knows. It must not suggest giving
 * them up.
 */
const noLogs = ({ home }: Deployment, seen: number, partitions: number): string =>
  `this NATS has none of this deployment's logs, and ${home} has seen frames of ${seen} of its ${partitions} partitions. Nothing was made there, and nothing is lost as long as nothing is given up. Most likely its address or the namespace is another one than before (NATS_URL, SLUICE_LOG_NAMESPACE; \`natsUrl\` and \`namespace\` of \`sluice/durable\`): set it as it was. If both are right, the server's storage is not there, such as a volume that is not mounted: bring it back`

/**
 * A sentence about a place that has none of the logs whose frames the stores have seen: a wrong address looks like a
 * loss of everything. Undefined if one log has a frame, if none was ever seen, and if it is not known now.
 */
export const logsElsewhere = Effect.fnUntraced(function* (
  stores: Pick<Stores, "checkpoints" | "cursors">,
  logs: ReadonlyArray<LogFound>,
  deployment: Deployment,
  partitions: number
): Effect.fn.Return<string | undefined> {
  if (logs.some(({ lastSequence }) => lastSequence > 0)) return undefined
  let seen = 0
  for (let partition = 0; partition < partitions; partition++) {
    const found = yield* Effect.option(Effect.all([stores.checkpoints.list(partition), stores.cursors.list(partition)]))
    if (found._tag === "None") return undefined
    if (found.value.flat().some(({ sequence }) => sequence > 0)) seen++
  }
  return seen === 0 ? undefined : noLogs(deployment, seen, partitions)
})

/**
 * Refuses a NATS that has none of the deployment's logs, before anything is created there. A new deployment, and stores
 * that do not answer, may pass.
 */
export const requireOwnLogs = (partitions: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const checkpoints = yield* Checkpoints
    const cursors = yield* Cursors
    const deployment = yield* Effect.orElseSucceed(checkpoints.deployment, () => undefined)
    if (deployment === undefined) return
    const logs = yield* Effect.option(journal.survey(partitions))
    if (logs._tag === "None") return
    const elsewhere = yield* logsElsewhere({ checkpoints, cursors }, logs.value, deployment, partitions)
    if (elsewhere === undefined) return
    // Another node of a first start may have begun the logs after the look at them and before the one at the stores. A
    // frame is there before its cursor, so a second look shows it.
    const again = yield* Effect.option(journal.survey(partitions))
    if (again._tag === "None" || again.value.some(({ lastSequence }) => lastSequence > 0)) return
    return yield* new EngineRefused({ message: elsewhere })
  })

/**
 * Whether a log without an id may be adopted: it is empty, or a witness of the deployment has seen one of its frames.
 */
export const mayAdopt = Effect.fnUntraced(function* (
  log: Log,
  state: LogState,
  witnesses: ReadonlyArray<Witness>
): Effect.fn.Return<boolean, JournalUnavailable> {
  if (state.lastSequence === 0) return true
  for (const { hash, sequence } of witnesses) {
    if (sequence > 0 && sequence <= state.lastSequence && (yield* hashAt(log, state, sequence)) === hash) return true
  }
  return false
})

/**
 * Refuses to start, before anything is placed or written, when a log belongs to another deployment or cannot be stored.
 * Each partition checks again when it opens its log, so a log that cannot be checked now is no reason to refuse.
 */
export const checkLogs = Effect.fnUntraced(function* (
  stores: Stores,
  deployment: Deployment,
  partitions: number
): Effect.fn.Return<void, JournalRefused> {
  const logs = yield* Effect.catchTag(stores.journal.survey(partitions), "JournalUnavailable", ({ message }) =>
    Effect.as(Effect.logWarning(`the logs cannot be looked at yet: ${message}`), [] as ReadonlyArray<LogFound>)
  )
  for (const log of logs) {
    const foreign = foreignLog(log, deployment)
    if (foreign !== undefined) return yield* new JournalRefused({ message: foreign })
    if (log.deployment !== undefined || log.lastSequence === 0) continue
    const { partition } = log
    const seen = yield* Effect.option(Effect.all([stores.checkpoints.list(partition), stores.cursors.list(partition)]))
    if (seen._tag === "Some" && seen.value.every((witnesses) => witnesses.length === 0))
      return yield* new JournalRefused({ message: unknownLog(log, deployment) })
  }
})
