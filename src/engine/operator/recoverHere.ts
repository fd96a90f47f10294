/**
 * Recovers a partition in the process that has it (`recover.ts` does it while no process runs). Parts of its log are
 * given up between two lives, while the partition has stopped and its process keeps its place, so that no other process
 * claims it meanwhile.
 */
import { Effect } from "effect"
import { describe } from "../describe.ts"
import { EngineRefused } from "../errors.ts"
import { Checkpoints } from "../ports/Checkpoints.ts"
import { Cursors } from "../ports/Cursors.ts"
import { Journal } from "../ports/Journal.ts"
import { ownsNow } from "../shell/ownsNow.ts"
import { logsElsewhere } from "../shell/partition/ownLogs.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { acceptClock, acceptLoss } from "./acceptLoss.ts"

/** The losses that an operator allows. See {@link Engine.Operator.recoverPartition}. */
export interface RecoverAsked {
  readonly acceptLoss: boolean
  readonly acceptClock: boolean
}

/** The findings, and the repairs that were done. See {@link Engine.Operator.recoverPartition}. */
export interface Recovered {
  readonly partition: number
  /** Nothing was to be given up. */
  readonly fits: boolean
  /** Something could be given up, but was not. */
  readonly changeable: boolean
  /** Sentences for the operator. */
  readonly lines: ReadonlyArray<string>
}

const date = (millis: number): string => new Date(millis).toISOString()

const notNow = (message: string) => new EngineRefused({ message })

/** Reports why a partition does not serve, and resumes it if that is allowed. */
export const recoverHere = Effect.fnUntraced(function* (
  partition: Partition,
  asked: RecoverAsked
): Effect.fn.Return<Recovered, EngineRefused> {
  const { id } = partition
  const { checkpoints, cursors, journal, reactors } = partition.context
  const provided = <A, E>(
    effect: Effect.Effect<A, E, Journal | Checkpoints | Cursors>
  ): Effect.Effect<A, EngineRefused> =>
    effect.pipe(
      Effect.provideService(Journal, journal),
      Effect.provideService(Checkpoints, checkpoints),
      Effect.provideService(Cursors, cursors),
      Effect.mapError((error) => notNow(describe(error)))
    )
  const { status } = partition
  if (status._tag === "Serving") return { partition: id, fits: true, changeable: false, lines: [] }
  if (status._tag !== "Stopped" && status._tag !== "ClockBehind")
    return yield* notNow(
      `partition ${id} does not serve, and is not stopped: ${"reason" in status ? status.reason : status._tag}`
    )
  if ((yield* ownsNow(partition)) !== true)
    return yield* notNow(`whether partition ${id} is this node's cannot be said now; try again`)
  const lines: Array<string> = [...("reason" in status ? [status.reason] : [])]
  if (status._tag === "ClockBehind") {
    if (!asked.acceptClock) return { partition: id, fits: true, changeable: false, lines }
    const { accepted, lastFrame } = yield* partition.mend(provided(acceptClock(id)))
    lines.push(`The clock is accepted: the last frame is of ${date(lastFrame)}, it is now ${date(accepted)}.`)
    return { partition: id, fits: true, changeable: false, lines }
  }
  // If NATS has none of the logs, this may be the wrong server.
  const { config, deployment } = partition.context
  const logs = yield* Effect.mapError(journal.survey(config.partitions), ({ message }) => notNow(message))
  const elsewhere = yield* logsElsewhere(partition.context, logs, deployment, config.partitions)
  if (elsewhere !== undefined) return yield* notNow(elsewhere)
  const names = reactors.map(({ name }) => name)
  const loss = acceptLoss(id, { dryRun: !asked.acceptLoss, reactors: names })
  // A partition that was stopped for another reason begins a new life behind it too.
  const report = yield* asked.acceptLoss ? partition.mend(provided(loss)) : provided(loss)
  return {
    partition: id,
    fits: report.fits,
    changeable: !report.fits && !asked.acceptLoss,
    lines: [...lines, ...report.lines]
  }
})
