import { Effect, Metric } from "effect"
import type { Engine } from "../../../src/engine/Engine.ts"
import { outboxName } from "../../../src/engine/outbox.ts"
import { Purse } from "../../simulation/bank/transfers.ts"
import { type Deployment, type StartOptions, serving } from "./deployment.ts"

export const purses: StartOptions = { actors: [Purse] }
export const at = (organization: string, key = "a") => ({ organization, key })
export const fund = (amount: number) => ({ _tag: "Fund" as const, name: "f", amount })
export const send = (amount: number, ...to: ReadonlyArray<string>) => ({
  _tag: "Send" as const,
  name: "s",
  amount,
  to: to.map((organization) => ({ organization: organization as "org_1", key: "a" as const }))
})
export const balances = (engine: Engine["Service"], ...organizations: ReadonlyArray<string>) =>
  Effect.forEach(organizations, (organization) => engine.state(Purse, at(organization)))

export const funded = (deployment: Deployment, options: StartOptions = purses) =>
  Effect.tap(serving(deployment, options), ({ engine }) => engine.ask(Purse, at("org_1"), fund(100)))

/** Where the outbox's cursor stands. */
export const cursorOf = ({ cursors }: Deployment, partition = 0): number =>
  cursors.cursors.get(`${partition}/${outboxName}`)?.sequence ?? 0

/** Metrics of the test's own. */
export const measured = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Metric.MetricRegistry, new Map())

export const metricOf = (id: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all
      .filter((metric) => metric.id === id)
      .map(({ attributes, state }) => ({
        attributes,
        value: "count" in state ? state.count : (state as { value: unknown }).value
      }))
  )
