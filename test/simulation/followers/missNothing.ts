/**
 * Checks the promise to followers (docs/architecture.md, "Followers"): every fact once, in the order of the log and as it is stored, except those that a purge
 * has taken and the follower is told of; states that were, none before one that was shown, and in the end the last one; the keys that there are.
 */
import { freshnessMillis } from "../../../src/engine/limits.ts"
import type { Checker } from "../../../src/simulation/engine/Checker.ts"
import type { Follower } from "../../../src/simulation/engine/Follower.ts"
import type { SimulatedEngine } from "../../../src/simulation/engine/SimulatedEngine.ts"
import { maximumStaleMillis } from "../../../src/simulation/engine/SimulatedJournal.ts"
import type { Simulation } from "../../../src/simulation/engine/Simulation.ts"

/** A fact that a follower is to get next. */
interface Next {
  readonly place: string
  readonly sequence: number
  readonly key: string
  readonly version: number
  readonly fact: unknown
}

/** The first fact behind a follower's place that concerns it. */
export const nextOf = ({ truth }: Simulation, follower: Follower): Next | undefined => {
  const { key, kind, organization, position } = follower
  const commits = truth.commits[truth.history({ organization, kind, key: key ?? "" }).partition]!
  for (let at = Math.max(0, position.sequence - 1); at < commits.length; at++) {
    const { frame, sequence } = commits[at]!
    for (const [index, { actor, event, fact, message }] of frame.records.entries()) {
      if (event !== undefined || message !== undefined) continue
      if (actor.kind !== kind || actor.organization !== organization) continue
      if (key !== undefined && actor.key !== key) continue
      if (sequence > position.sequence || index > position.index)
        return { place: `${sequence}/${index}`, sequence, key: actor.key, version: actor.version, fact }
    }
  }
  return undefined
}

/** Whether a follower has got everything that is stored. */
export const isThrough = (simulation: Simulation, follower: Follower, shown: string | undefined): boolean => {
  if (follower.what !== "states") return nextOf(simulation, follower) === undefined
  const { key = "", kind, organization } = follower
  return simulation.truth.history({ organization, kind, key }).moments.at(-1)!.json === shown
}

export const missNothing: Checker = {
  name: "followers miss nothing",
  make: (simulation, violate) => {
    const { truth } = simulation
    /** The stream that a follower was last shown a state in, and which state of the actor's that was. */
    const shownOf = new Map<Follower, { life: number; moment: number; json: string }>()
    const boundOf = ({ process }: SimulatedEngine) =>
      freshnessMillis +
      (simulation.faults.happened.has("state: stale") ? maximumStaleMillis : 0) +
      process.hiddenMillis +
      1
    return {
      given: (follower, { index, key, sequence }, fact) => {
        const next = nextOf(simulation, follower)
        const place = `${sequence}/${index}`
        if (next?.place !== place) {
          const { position } = follower
          const isOld = sequence < position.sequence || (sequence === position.sequence && index <= position.index)
          return violate(
            isOld
              ? `${follower.name} is given ${place} after ${position.sequence}/${position.index}`
              : `${follower.name} is given ${place} where ${next?.place ?? "nothing"} comes next`
          )
        }
        const actor = simulation.workload.actors.find(({ kind }) => kind === follower.kind)!
        const stored = JSON.stringify(actor.encodeFact(actor.decodeFact(next.fact, next.version)))
        if (key !== next.key || fact !== stored)
          violate(`${follower.name} is given ${fact} of ${key} for ${place}, the log has ${stored} of ${next.key}`)
      },
      shown: (follower, json) => {
        const { key = "", kind, life, organization } = follower
        const { moments } = truth.history({ organization, kind, key })
        const last = shownOf.get(follower)
        const from = last?.life === life ? last.moment : 0
        const moment = moments.findIndex((one, at) => at >= from && one.json === json)
        if (moment === -1)
          return violate(
            moments.some((one) => one.json === json)
              ? `${follower.name} is shown ${json}, which was over before what it was shown last, ${last?.json}`
              : `${follower.name} is shown ${json}, which ${kind} ${key} of ${organization} never was`
          )
        shownOf.set(follower, { life, moment, json })
      },
      purgedPast: (follower, { firstSequence, sequence }) => {
        const next = nextOf(simulation, follower)
        if (sequence >= firstSequence || (next !== undefined && next.sequence < sequence))
          violate(`${follower.name} is told that facts from ${sequence} on are gone below ${firstSequence}`)
        const { partition } = truth.history({ organization: follower.organization, kind: follower.kind, key: "" })
        if (simulation.server.of(partition).log.firstSequence < firstSequence)
          violate(`${follower.name} is told that frames below ${firstSequence} are gone, and the log has some of them`)
      },
      listed: ({ engine, keys, kind, organization, startedAt }) => {
        const since = startedAt - boundOf(engine)
        if (keys.some((key, at) => at > 0 && keys[at - 1]! >= key))
          violate(`${engine.name} lists keys of ${kind} out of order or twice: ${keys.join(", ")}`)
        for (const { key, kind: other, moments } of truth.histories(organization)) {
          if (other !== kind) continue
          const first = moments[1]
          if (keys.includes(key) && first === undefined)
            violate(`${engine.name} lists ${kind} ${key} of ${organization}, which has had no fact`)
          if (!keys.includes(key) && first !== undefined && first.at < since)
            violate(`${engine.name} does not list ${kind} ${key} of ${organization}, which has had a fact`)
        }
      },
      healed: () => {
        for (const follower of simulation.followers)
          if (!isThrough(simulation, follower, shownOf.get(follower)?.json))
            violate(
              follower.what === "states"
                ? `${follower.name} is not shown the last state in the end, but ${shownOf.get(follower)?.json ?? "none"}`
                : `${follower.name} has not got ${nextOf(simulation, follower)!.place} in the end, at ${follower.position.sequence}/${follower.position.index}`
            )
      }
    }
  }
}
