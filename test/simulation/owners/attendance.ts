/** How a node of a simulation attends while nodes are upgraded: the real attendance, over the simulation's roll. */
import { Duration, Effect, Schedule } from "effect"
import { seenLevel } from "../../../src/common/formatLevels.ts"
import * as NodeMembership from "../../../src/engine/NodeMembership.ts"
import type { PlacementUnavailable } from "../../../src/engine/ports/Placement.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"

/** How soon a node whose start has failed is started again. */
const restartMillis = 500

export interface Attending {
  readonly level: () => number
  readonly join: Effect.Effect<void>
  /** Gives signs of life, until others have put formats in force that the node does not know: the process ends then. */
  readonly attend: Effect.Effect<void>
  /** Notes that the node has taken a partition. */
  readonly take: (partition: number, note: () => void) => Effect.Effect<void, unknown>
  readonly leave: Effect.Effect<void>
}

export const attending = (node: SimulatedNode, end: () => void): Effect.Effect<Attending> =>
  Effect.gen(function* () {
    const { marks, roll } = node.simulation
    const seen = seenLevel(node.known, node.name)
    const attendance = yield* NodeMembership.make<PlacementUnavailable>({
      newest: node.known.newest,
      seen,
      join: Effect.flatMap(
        roll.admit(node, () => {}),
        seen.saw
      ),
      beat: roll.statement(node, () => {
        roll.beat(node)
        return { isDraining: false, inForce: roll.inForce }
      }),
      raise: (forgets) =>
        Effect.flatMap(
          roll.statement(node, () => {
            roll.raise(forgets)
            return roll.inForce
          }),
          seen.saw
        ),
      leave: roll.statement(node, () => roll.forget(node)),
      drain: Effect.void
    })
    const ended = (mark: string) => () =>
      Effect.sync(() => {
        marks.reach(mark)
        end()
      })
    return {
      level: seen.level,
      join: attendance.join.pipe(
        Effect.retry({
          while: ({ _tag }) => _tag === "PlacementUnavailable",
          schedule: Schedule.spaced(Duration.millis(restartMillis))
        }),
        Effect.catch(ended("formats, a node was refused"))
      ),
      attend: Effect.raceFirst(
        attendance.attend,
        Effect.catch(attendance.outdated, ended("formats, a node found itself outdated"))
      ),
      take: (partition, note) =>
        roll.admit(node, note).pipe(
          Effect.flatMap(seen.saw),
          Effect.tapErrorTag("FormatsRefused", (refused) => {
            marks.reach("formats, a partition was not taken")
            node.simulation.trace(() => `  ${node.name} does not take partition ${partition}`)
            return attendance.refuse(refused)
          })
        ),
      leave: attendance.leave
    }
  })
