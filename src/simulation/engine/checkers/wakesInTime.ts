/**
 * Checks wakes (docs/architecture.md, "Wakes"): none before its time, none lost, and no actor is woken without end. A
 * time named by `wakeAgain` holds while its actor's state stays, also after the actor has left memory.
 */
import { Context } from "effect"
import type { ActorAddress } from "../../../engine/address.ts"
import { brakeHoldMillis, maximumWakes, wakesWindowMillis } from "../../../engine/limits.ts"
import type { Checker } from "../Checker.ts"
import type { Woken } from "../Decisions.ts"
import type { SimulatedEngine } from "../SimulatedEngine.ts"
import type { Simulation } from "../Simulation.ts"
import { jsonOf, nameOf } from "../Truth.ts"

/** How late a wake may be at the end: an owner looks and loads, and the brake may hold. */
const slackMillis = 2_000 + brakeHoldMillis

/** Two windows may follow each other; more wakes than they admit take a hold between them. */
const watchedWakes = 2 * maximumWakes

/** Branches of appends after which a drain's wakes count. */
const storedBranches = ["acked", "acked-after-resend", "read-back"]

/** The last wake of an actor in one life. */
interface LastWake {
  readonly json: string
  /** How often the actor's state had changed by then; it may come back to what it was. */
  readonly changes: number
  readonly now: number
  /** How many drains were void by then, see `voidDrains`. */
  readonly voids: number
  readonly againAt: number | undefined
}

/**
 * How many drains may have been void, so that their wakes come again: frames that were not stored, and rules that
 * broke.
 */
const voidDrains = ({ world }: Simulation): number => {
  let count = 0
  for (const { attributes, hooks, id } of world.metrics.values()) {
    const { branch = "" } = (attributes ?? {}) as { readonly branch?: string }
    const isVoid =
      id === "sluice_poison_total" || (id === "sluice_append_outcomes_total" && !storedBranches.includes(branch))
    // Both are counters.
    if (isVoid) count += (hooks.get(Context.empty()) as { readonly count: number }).count
  }
  return count
}

export const wakesInTime: Checker = {
  name: "wakes come in time",
  make: (simulation, violate) => {
    const lastWakes = new Map<string, LastWake>()
    /** The latest wakes of each actor in memory. */
    const times = new WeakMap<object, Array<{ readonly now: number; readonly at: number }>>()

    const lifeOf = (engine: SimulatedEngine, address: ActorAddress): string => {
      const partition = engine.partition(simulation.partitionOf(address.organization))
      return `${engine.name}/${partition?.core.head.epoch}/${nameOf(address)}`
    }
    const checkPace = (woken: Woken, engine: SimulatedEngine) => {
      const partition = engine.partition(simulation.partitionOf(woken.organization))!
      const index = partition.context.registry.actorIndex(woken.kind)
      const token = partition.core.probe.actor(woken.organization, index, woken.key)?.token
      if (token === undefined) return
      const list = times.get(token) ?? []
      times.set(token, list)
      list.push({ now: woken.now, at: simulation.world.now })
      const before = list.length > watchedWakes ? list.shift()! : undefined
      if (before === undefined) return
      const span = Math.max(woken.now - before.now, simulation.world.now - before.at)
      if (span < wakesWindowMillis)
        violate(`${engine.name} has woken ${nameOf(woken)} ${watchedWakes + 1} times in ${Math.round(span)} ms`)
    }
    return {
      woken: (woken, engine) => {
        const { againAt, now, wakeAt = Number.POSITIVE_INFINITY } = woken
        const name = lifeOf(engine, woken)
        if (now < wakeAt) violate(`${engine.name} has woken ${nameOf(woken)} ${wakeAt - now} ms before its time`)
        const { actor, moments } = simulation.truth.history(woken)
        const json = jsonOf(actor, woken.state)
        const last = lastWakes.get(name)
        lastWakes.set(name, {
          json,
          changes: moments.length,
          now,
          voids: againAt === undefined ? 0 : voidDrains(simulation),
          againAt
        })
        if (againAt !== undefined) simulation.marks.reach("wake, again")
        checkPace(woken, engine)
        if (last?.againAt === undefined || now >= last.againAt) return
        if (last.json !== json || last.changes !== moments.length) return
        // A drain that is decided again wakes once more, at the same time.
        if (last.now !== now && last.voids === voidDrains(simulation))
          violate(
            `${engine.name} has woken ${nameOf(woken)} ${last.againAt - now} ms before it asked to be woken again`
          )
      },
      healed: () => {
        const engine = simulation.newest()
        if (engine === undefined) return
        const latest = engine.process.wallMillis() - slackMillis
        for (const { address, json, wakeAt } of simulation.truth.wanted()) {
          const last = lastWakes.get(lifeOf(engine, address))
          const isWoken = last?.json === json
          const due = isWoken ? last.againAt : wakeAt
          if (due !== undefined && due < latest)
            violate(`${nameOf(address)} was not woken${isWoken ? " again" : ""}, ${latest - due} ms after its time`)
        }
      }
    }
  }
}
