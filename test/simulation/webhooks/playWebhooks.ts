/** Plays a scenario: its steps one after the other, then a world in which nothing goes wrong any more, where everything must come to its end. */
import type { Marks } from "../../../src/simulation/engine/Marks.ts"
import { telling } from "../../../src/simulation/engine/scenarioText.ts"
import { RunawaySimulation } from "../../../src/simulation/kernel/World.ts"
import { webhookCheckers } from "./checkers/index.ts"
import { urlOf } from "./Network.ts"
import { type Scenario, type Step, toJson } from "./WebhooksScenario.ts"
import { Simulation, type SimulationOptions, type Violation } from "./WebhooksSimulation.ts"

export interface PlayOptions extends Partial<SimulationOptions> {}

export interface Outcome {
  /** The first finding. */
  readonly violation: Violation | undefined
  readonly marks: Marks
  readonly trace: ReadonlyArray<string>
  /** The same for the same course of events. */
  readonly fingerprint: string
}

/** How long everything may take to come to its end once nothing goes wrong any more, virtual milliseconds. */
const healingMillis = 120_000

/** How many times as long where endpoints have rates or orders, and what waits may be more than they allow in that time. */
const ratedFactor = 5

const create = (simulation: Simulation, endpointId: string) => {
  const order = simulation.orderOf(endpointId)
  return simulation.ask(endpointId, {
    _tag: "Create",
    url: urlOf(endpointId),
    enabledEvents: endpointId.startsWith("we_1") ? ["telco.*"] : ["*"],
    description: null,
    rateLimit: simulation.rateOf(endpointId),
    ...(order === null ? {} : { ordering: { key: order } }),
    secretId: `wsk_${simulation.uuid()}`,
    targets: "public"
  })
}

const own = (simulation: Simulation, { does, endpoint }: Extract<Step, { readonly _tag: "Owner" }>) => {
  const id = simulation.endpointAt(endpoint)
  switch (does) {
    case "create":
      return simulation.endpoints.get(id) === undefined ? create(simulation, simulation.renew(endpoint)) : undefined
    case "delete":
      return simulation.ask(id, { _tag: "Delete" })
    case "disable":
    case "enable":
      return simulation.ask(id, { _tag: "Update", isActive: does === "enable", targets: "public" })
    case "unpause":
      return simulation.ask(id, { _tag: "Unpause" })
    case "unpause with replay":
      return simulation.ask(id, { _tag: "Unpause", replayId: `rpl_${simulation.uuid()}` })
    case "rotate":
      return simulation.ask(id, { _tag: "RotateSecret", secretId: `wsk_${simulation.uuid()}`, overlapSeconds: 2 })
    case "test":
      return simulation.ask(id, { _tag: "RequestTest" })
  }
}

const doStep = (simulation: Simulation, step: Step): void => {
  simulation.trace(() => JSON.stringify(step))
  switch (step._tag) {
    case "Emit":
      for (let count = 0; count < step.count; count++) simulation.emit(step.type)
      return
    case "Owner":
      own(simulation, step)
      return
    case "Rate":
      simulation.ask(simulation.endpointAt(step.endpoint), { _tag: "Update", rateLimit: step.rate, targets: "public" })
      return
    case "Replay":
      simulation.ask(simulation.endpointAt(step.endpoint), {
        _tag: "RequestReplay",
        replayId: `rpl_${simulation.uuid()}`,
        since: simulation.wallMillis - 20_000,
        until: null,
        types: null
      })
      return
    case "Retry":
      simulation.retry(step.nth)
      return
    case "Behave":
      simulation.network.modes.set(simulation.endpointAt(step.endpoint), step.mode)
      return
    case "Advance":
      simulation.world.advance(step.millis)
      return
    case "Crash":
      simulation.crash("by a step")
      return
    case "Restart":
      simulation.restart()
      return
    case "Outage":
      simulation.startOutage(step.millis)
      return
    case "ClockStops": {
      const process = simulation.running?.process
      if (process === undefined) return
      simulation.marks.reach("clock stopped")
      simulation.disturb()
      process.clockStoppedAt = process.wallMillis()
      simulation.world.after(step.millis, undefined, () => {
        process.clockStoppedAt = undefined
      })
    }
  }
}

const heal = (simulation: Simulation): void => {
  simulation.trace(() => "healed")
  simulation.heal()
  // In steps, because deliveries under way may still pause an endpoint.
  const { orders, rates } = simulation.scenario.topology
  const factor = rates === undefined && orders === undefined ? 1 : ratedFactor
  const end = simulation.world.now + factor * healingMillis
  while (simulation.world.now < end && simulation.violations.length === 0) {
    for (const id of simulation.everyEndpoint) {
      const endpoint = simulation.endpoints.get(id)
      if (endpoint?.isActive === false) simulation.ask(id, { _tag: "Update", isActive: true, targets: "public" })
      if (endpoint !== undefined && endpoint.paused !== null) simulation.ask(id, { _tag: "Unpause" })
    }
    const isIdle = () => simulation.data.jobs.size === 0 && simulation.cursor === simulation.log.length
    simulation.world.advanceUntil(simulation.world.now + 2_000, () => simulation.violations.length > 0)
    if (isIdle()) break
  }
  simulation.world.advance(12_000)
  if (simulation.violations.length === 0) simulation.tell((observer) => observer.healed?.())
}

/** Plays a scenario with the checkers of this product, unless others are given. */
export const play = (scenario: Scenario, options: PlayOptions = {}): Outcome => {
  const simulation = new Simulation(scenario, { checkers: webhookCheckers, ...options })
  try {
    simulation.start()
    for (const id of simulation.everyEndpoint) create(simulation, id)
    simulation.world.advance(500)
    for (const step of scenario.steps) {
      doStep(simulation, step)
      simulation.world.advance(1)
      simulation.tell((observer) => observer.rested?.())
      if (simulation.violations.length > 0) break
    }
    if (simulation.violations.length === 0) heal(simulation)
  } catch (error) {
    if (!(error instanceof RunawaySimulation)) throw error
    simulation.violate("it comes to rest", error.message)
  } finally {
    simulation.close()
  }
  return {
    violation: simulation.violations[0],
    marks: simulation.marks,
    trace: simulation.lines,
    fingerprint: (simulation.fingerprint >>> 0).toString(16)
  }
}

export const { describe, shrink } = telling<Scenario, PlayOptions>(play, toJson)
