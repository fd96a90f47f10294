/**
 * Whether a log belongs to the deployment that opens it (docs/architecture.md, rule 18): two databases on one server
 * and namespace must never write into each other's logs. A log without an id is from before there were ids; it is
 * adopted once, by the deployment that can show that it knows it.
 */
import { Effect } from "effect"
import type { Checkpoints, Deployment } from "../Checkpoints.ts"
import type { Cursors } from "../Cursors.ts"
import {
  type Journal,
  JournalRefused,
  type JournalUnavailable,
  type Log,
  type LogFound,
  type LogState
} from "../Journal.ts"
import { hashAt, type Witness } from "./witnesses.ts"

const advice =
  "Nothing was written to it. Either this is the wrong database, or two deployments share the server's streams: give this one a namespace of its own (SLUICE_LOG_NAMESPACE; `namespace` of `sluice/durable`)"

/** A sentence for the operator about a log of another deployment; undefined for a log that is ours or nobody's. */
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

/** Whether a log that carries no id may be adopted: it is empty, or somebody of the deployment has seen one of its frames. */
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
 * Refuses to start, before anything is placed or written, when a log belongs to another deployment or cannot be kept.
 * Each partition checks again when it opens its log, so a log that cannot be checked now is no reason to refuse.
 */
export const checkLogs = Effect.fnUntraced(function* (
  stores: {
    readonly journal: Journal["Service"]
    readonly checkpoints: Checkpoints["Service"]
    readonly cursors: Cursors["Service"]
  },
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
