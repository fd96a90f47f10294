/**
 * Sends operators' acts on a partition to its owner, in whichever process an operator asks. Requests and answers cross
 * processes as JSON.
 */
import { Effect, Option } from "effect"
import { EngineRefused } from "../errors.ts"
import { actHere, type Done, type OperatorAct } from "../shell/operatorActs.ts"
import type { EngineContext } from "../shell/partition/EngineContext.ts"
import type { Partition } from "../shell/partition/Partition.ts"
import { decodeError, type RemoteAnswer } from "../shell/remote/askRemote.ts"
import { localPartition } from "../shell/remote/deliverMessages.ts"
import { askOwner, type OwnerAnswer } from "../shell/remote/ownerCalls.ts"
import { askHolder } from "../shell/remote/serveOperators.ts"
import { inspectActor, inspectFrame, inspectPartition, lagOf } from "./inspect.ts"
import { type RecoverAsked, recoverHere } from "./recoverHere.ts"

/** The status of a partition in `cluster status`. */
export interface OwnerReport {
  readonly status: string
  readonly epoch: number
  /** The last frame of its log. */
  readonly sequence: number
  /**
   * Frames that the slowest reactor has still to read; undefined if the database does not say. Its stored cursor may be
   * further back.
   */
  readonly lag: number | undefined
  /** Commands that wait, and actors in memory; left out by older versions. */
  readonly waiting?: number
  readonly actors?: number
}

const report = (partition: Partition): Effect.Effect<OwnerReport> =>
  Effect.map(Effect.option(partition.context.cursors.list(partition.id)), (cursors) => {
    const { epoch, sequence } = partition.core.head
    const { actors, commands, stalledCommands } = partition.core.probe.counts
    const stored = new Map(Option.getOrElse(cursors, () => []).map((cursor) => [cursor.reactor, cursor.sequence]))
    const lags = partition.context.reactors.map(({ name }) => lagOf(partition, name, stored.get(name) ?? 0))
    return {
      status: partition.status._tag,
      epoch,
      sequence,
      lag: Option.isNone(cursors) ? undefined : Math.max(0, ...lags),
      waiting: commands + stalledCommands,
      actors
    }
  })

/** The acts that every engine knows. */
export const builtInActs = (): Map<string, OperatorAct> =>
  new Map<string, OperatorAct>([
    ["report", report],
    ["recover", (partition, asked) => recoverHere(partition, asked as RecoverAsked)],
    ["status", ({ status }) => Effect.succeed(status._tag)],
    ["inspect partition", inspectPartition],
    ["inspect frame", (partition, sequence) => inspectFrame(partition, sequence as number)],
    ["inspect actor", (partition, address) => inspectActor(partition, address as Parameters<typeof inspectActor>[1])]
  ])

/** Asks the owner of a partition to carry out an act. */
export const atOwner = Effect.fnUntraced(function* (
  context: EngineContext,
  id: number,
  act: string,
  asked?: unknown
): Effect.fn.Return<unknown, EngineRefused> {
  const refuse = (message: string) => new EngineRefused({ message })
  if (!Number.isInteger(id) || id < 0 || id >= context.config.partitions)
    return yield* refuse(`there is no partition ${id}: they are numbered from 0 to ${context.config.partitions - 1}`)
  const partition = localPartition(context, id)
  const { done, refused } =
    partition === undefined
      ? yield* askOwner(context, id, { act, asked }).pipe(
          Effect.flatMap((said: OwnerAnswer & Done & Pick<RemoteAnswer, "error">) =>
            // An owner between two lives, or with too much to do, refuses an act as it refuses an ask.
            said.error === undefined ? Effect.succeed<Done>(said) : Effect.fail(decodeError(said.error))
          ),
          // It may be in another process that does not serve it.
          Effect.catchTag("PartitionUnavailable", (error) =>
            Effect.flatMap(askHolder(context, id, act, asked), (found) =>
              found === undefined ? Effect.fail(error) : Effect.succeed(found)
            )
          ),
          Effect.mapError(({ message }) => refuse(message))
        )
      : yield* actHere(partition, act, asked)
  if (refused !== undefined) return yield* refuse(refused)
  return done
})
