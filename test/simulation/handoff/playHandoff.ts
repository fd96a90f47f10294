/** Plays a scenario: its steps one after the other, then a world in which nothing goes wrong any more, where every mail must come to its end. */
import type { Marks } from "../../../src/simulation/engine/Marks.ts"
import { telling } from "../../../src/simulation/engine/scenarioText.ts"
import { RunawaySimulation } from "../../../src/simulation/kernel/World.ts"
import { type Scenario, type Step, toJson } from "./HandoffScenario.ts"
import { HandoffSimulation, type Violation } from "./HandoffSimulation.ts"

export interface PlayOptions {
  /** Whether a readable trace is kept; costs time. */
  readonly isTraced?: boolean
}

export interface Outcome {
  /** The first finding. */
  readonly violation: Violation | undefined
  readonly marks: Marks
  readonly trace: ReadonlyArray<string>
}

/** Rounds of a healed world at most; each goes on to the next retry. */
const healingRounds = 60

const doStep = (simulation: HandoffSimulation, step: Step): void => {
  const { accounts, organizations } = simulation
  simulation.trace(() => JSON.stringify(step))
  const now = simulation.wallMillis
  switch (step._tag) {
    case "Accept": {
      const organization = organizations[step.organization]!
      // As an account that is paused refuses requests.
      if (accounts.account(organization).trust.stage === "sending_paused") return
      for (let count = 0; count < step.emails; count++) accounts.accept(organization, now)
      break
    }
    case "Cancel": {
      const email = accounts.emails[step.nth % Math.max(1, accounts.emails.length)]
      if (email === undefined || !accounts.cancel(email.organization, email.id, now)) return
      simulation.marks.reach("cancelled")
      simulation.checker.cancel(email.id)
      break
    }
    case "Pause":
      accounts.pause(organizations[step.organization]!, now)
      break
    case "Lift":
      accounts.ask(organizations[step.organization]!, { _tag: "Lift" }, now)
      break
    case "Relay":
      simulation.relay = step.mode
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
    case "NewLife":
      simulation.newLife()
      return
    case "Outage":
      simulation.outage(step.millis)
      return
  }
  simulation.decided()
}

/** Lets time pass until every mail has come to its end; in the waits of retries nothing else happens, so they are jumped over. */
const heal = (simulation: HandoffSimulation): void => {
  simulation.trace(() => "healed")
  simulation.heal()
  const { accounts, queue, world } = simulation
  const isIdle = () => queue.jobs.size === 0 && simulation.cursor === accounts.log.length
  for (let round = 0; round < healingRounds && simulation.violations.length === 0; round++) {
    for (const organization of simulation.organizations)
      if (accounts.account(organization).trust.stage === "sending_paused")
        accounts.ask(organization, { _tag: "Lift" }, simulation.wallMillis)
    simulation.decided()
    world.advance(3_000)
    if (isIdle()) break
    const next = Math.min(...[...queue.jobs.values()].map(({ dueAt }) => dueAt))
    if (Number.isFinite(next) && next > simulation.wallMillis + 3_000) world.leapt += next - simulation.wallMillis
  }
  if (simulation.violations.length === 0) simulation.checker.healed()
}

export const play = (scenario: Scenario, { isTraced = false }: PlayOptions = {}): Outcome => {
  const simulation = new HandoffSimulation(scenario, isTraced)
  try {
    simulation.start()
    simulation.world.advance(100)
    for (const step of scenario.steps) {
      doStep(simulation, step)
      simulation.world.advance(1)
      if (simulation.violations.length > 0) break
    }
    if (simulation.violations.length === 0) heal(simulation)
  } catch (error) {
    if (!(error instanceof RunawaySimulation)) throw error
    simulation.violate("it comes to rest", error.message)
  } finally {
    simulation.close()
  }
  return { violation: simulation.violations[0], marks: simulation.marks, trace: simulation.lines }
}

export const { describe, shrink } = telling<Scenario, PlayOptions>(play, toJson)
