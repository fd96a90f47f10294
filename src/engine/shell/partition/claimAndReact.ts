/**
 * The claim at the start of a life (docs/architecture.md, rule 4), also into a full log, in which room is made first.
 * Making room does not need the ownership that the claim gives. The checkpoint is one of stored frames, a reactor moves
 * its cursor by compare-and-set, and the purge takes only what checkpoints and all cursors cover, so an owner that was
 * replaced meanwhile does no harm with it.
 */
import { Effect } from "effect"
import { sendMessages } from "../outbox/sendMessages.ts"
import { ownsNow } from "../ownsNow.ts"
import { react } from "../reactors/react.ts"
import { checkpoint } from "../stores/writeCheckpoints.ts"
import type { Partition } from "./Partition.ts"
import { claim } from "./recover.ts"
import type { LifeEnd } from "./serve.ts"

/** The pause between claims into a full log. */
const fullLogPauseMillis = 1_000

/** Lets the reactors and the outbox follow the log, until the life ends. */
const startReactors = (partition: Partition) =>
  Effect.andThen(
    Effect.forEach(partition.context.reactors, (reactor) => Effect.forkScoped(react(partition, reactor)), {
      discard: true
    }),
    Effect.forkScoped(sendMessages(partition))
  )

/**
 * Claims a recovered partition and starts its reactors; while the log is full, reactors and checkpoints make room first. Answers why the life
 * ends, if it does.
 */
export const claimAndReact = Effect.fnUntraced(function* (partition: Partition) {
  if (yield* claim(partition)) {
    yield* startReactors(partition)
    return undefined
  }
  const reason = "its log is full; it serves when reactors and checkpoints have made room, or when max_bytes is raised"
  partition.setStatus({ _tag: "Starting", reason })
  // Otherwise the callers of this life would wait for as long as the log is full.
  partition.core.intake.failWaiting(partition.notServing())
  yield* Effect.logWarning(`partition ${partition.id} does not serve: ${reason}`)
  yield* startReactors(partition)
  for (let attempt = 0; !partition.isClosing; attempt++) {
    // When two checkpoints and the cursors free too little, one checkpoint must be enough.
    yield* checkpoint(partition, attempt > 0)
    if (partition.restartWanted !== undefined) {
      return { _tag: "Restart", reason: partition.restartWanted } as LifeEnd
    }
    if (yield* claim(partition)) return undefined
    yield* partition.pause(fullLogPauseMillis)
    if ((yield* ownsNow(partition)) !== true) return { _tag: "Restart", reason } as LifeEnd
  }
  return { _tag: "Closed" } as LifeEnd
})
