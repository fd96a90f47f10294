/** Waits until the reactors of a partition have processed everything that is stored now (docs/architecture.md, rule 11). */
import { Effect } from "effect"
import type { Partition } from "../partition/Partition.ts"

/** Ends the waits of the reactors' pace meanwhile. A parked record counts as processed, and a closing partition as done. */
export const awaitReactors = (partition: Partition): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { sequence } = partition.core.head
    const names = partition.context.reactors.map(({ name }) => name)
    const isDone = () =>
      partition.isClosing ||
      (partition.sentBack.size === 0 && names.every((name) => partition.feed.readBy(name) >= sequence))
    return Effect.callback<void>((resume) => {
      if (isDone()) return resume(Effect.void)
      const calm = partition.hurry()
      const stop = partition.onReaction(() => {
        if (!isDone()) return
        end()
        resume(Effect.void)
      })
      const end = () => {
        stop()
        calm()
      }
      return Effect.sync(end)
    })
  })
