/** Checks that held and running deliveries stay within their bounds, and that none is left at the end. */

import { maximumLimit } from "../../../../src/webhooks/dispatcher/ConcurrencyLimit.ts"
import { maximumHeld } from "../../../../src/webhooks/dispatcher/DispatcherState.ts"
import { maximumOverdue } from "../../../../src/webhooks/dispatcher/DispatchQueue.ts"
import type { Checker } from "../Observer.ts"
import { now } from "../WebhooksSimulation.ts"

export const boundedMemory: Checker = {
  name: "memory is bounded",
  make: (simulation, violate) => {
    const { capacity } = simulation.scenario.topology
    const load = () => {
      const dispatcher = simulation.running?.dispatcher
      return dispatcher === undefined ? undefined : now(dispatcher.load)
    }
    return {
      rested: () => {
        const current = load()
        if (current === undefined) return
        const { held, inFlight } = current
        if (held > maximumHeld) violate(`${held} deliveries are held`)
        // An organization begins none while that many are overdue, and those that have places then may become so too.
        const overdue = simulation.organizations.length * (maximumOverdue(capacity, 0) + capacity)
        if (inFlight.main > capacity || inFlight.slow > capacity || inFlight.overdue > overdue)
          violate(`${JSON.stringify(inFlight)} in flight`)
        for (const [endpointId, open] of simulation.network.open)
          if (open > maximumLimit && simulation.processes === 1) violate(`${open} attempts at ${endpointId} at once`)
      },
      healed: () => {
        const current = load()
        if (current === undefined) return violate("no dispatcher runs")
        const { held, inFlight } = current
        if (held + inFlight.main + inFlight.slow + inFlight.overdue > 0)
          violate(`at rest ${JSON.stringify(current)} is left`)
      }
    }
  }
}
