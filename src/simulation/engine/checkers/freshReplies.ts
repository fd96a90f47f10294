/**
 * Checks that nothing is granted after an epoch has ended: a replaced owner answers from memory for at most the
 * freshness of docs/architecture.md, rule 6, and a reply from the state is no older than that.
 */

import type { ActorAddress } from "../../../engine/address.ts"
import { freshnessMillis } from "../../../engine/limits.ts"
import type { Checker } from "../Checker.ts"
import type { SimulatedEngine } from "../SimulatedEngine.ts"
import { maximumStaleMillis } from "../SimulatedJournal.ts"

export const freshReplies: Checker = {
  name: "nothing granted after an epoch",
  make: (simulation, violate) => {
    /** When an epoch was succeeded by a higher one, by partition. */
    const begun: Array<Array<{ readonly epoch: number; readonly at: number }>> = simulation.truth.commits.map(() => [])
    /**
     * How old a reply without facts may be. A deposed leader can make it older, and so does time that none of the
     * process's clocks has shown.
     */
    const boundOf = ({ process }: SimulatedEngine) =>
      freshnessMillis +
      (simulation.faults.happened.has("state: stale") ? maximumStaleMillis : 0) +
      process.hiddenMillis +
      1
    /** A reply may be true of any time since the question. */
    const checkEpoch = (partition: number, epoch: number, what: string, by: SimulatedEngine, since: number) => {
      const next = begun[partition]!.find((begin) => begin.epoch > epoch)
      const age = next === undefined ? 0 : simulation.world.now - next.at
      if (age > boundOf(by) && next!.at < since) {
        violate(`${by.name} ${what} in epoch ${epoch}, ${Math.round(age)} ms after epoch ${next!.epoch} had begun`)
      }
    }
    const checkState = (address: ActorAddress, json: string, since: number, by: SimulatedEngine) => {
      const { moments } = simulation.truth.history(address)
      for (let index = moments.length - 1; index >= 0; index--) {
        if (moments[index]!.json !== json) continue
        const next = moments[index + 1]
        const latest = Math.min(since, simulation.world.now - boundOf(by))
        if (next !== undefined && next.at < latest) {
          violate(
            `${by.name} answered from a state of ${address.kind} ${address.key} of ${address.organization} that was over ${Math.round(simulation.world.now - next.at)} ms ago`
          )
        }
        return
      }
    }
    return {
      committed: ({ at, frame, partition }) => {
        const list = begun[partition]!
        if ((list[list.length - 1]?.epoch ?? 0) < frame.epoch) list.push({ epoch: frame.epoch, at })
      },
      answered: ({ answer, decided, engine, epoch, isReplay, operation, startedAt }) => {
        if (answer === undefined || answer._tag === "Failed" || decided === undefined || isReplay) return
        if (decided.records.length > 0) return
        checkEpoch(
          simulation.partitionOf(operation.organization),
          epoch,
          `answered #${operation.number}`,
          engine,
          startedAt
        )
        checkState(decided, decided.restsOn!, startedAt, engine)
      },
      looked: (look) => {
        checkEpoch(look.partition, look.epoch, "showed a state", look.engine, look.startedAt)
        checkState(look, look.json, look.startedAt, look.engine)
      },
      laneAnswered: ({ engine, epoch, exit, partition }) => {
        if (exit._tag === "Success") checkEpoch(partition, epoch, "answered in a lane", engine, simulation.world.now)
      }
    }
  }
}
