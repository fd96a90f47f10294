/**
 * Every event that an endpoint matched while it was active is delivered at least once, or its delivery ended as the rules say: it failed because
 * every allowed attempt did, or was cancelled because the endpoint was deleted. What it missed while it was not active is not delivered.
 */
import { deliveryIdOf } from "../../../../src/webhooks/delivery/model.ts"
import type { Checker } from "../Observer.ts"

const disturbing: ReadonlySet<string> = new Set(["Crash", "Restart", "Outage", "ClockStops"])

export const atLeastOnce: Checker = {
  name: "at least once",
  make: (simulation, violate) => {
    const expected = new Map<string, { readonly endpointId: string; readonly eventId: string }>()
    const deleted = new Set<string>()
    const bad = new Map<string, number>()
    return {
      matched: (endpointId, endpoint, { eventId, type }) => {
        const isMeant = endpoint.isActive && endpoint.paused === null && type !== "platform.test"
        if (isMeant) expected.set(deliveryIdOf(eventId, endpointId), { endpointId, eventId })
      },
      decided: (endpointId, command) => {
        if (command._tag === "Delete") deleted.add(endpointId)
      },
      recorded: ({ delivery, made }) => {
        if (made !== null && (made.status < 200 || made.status > 299))
          bad.set(delivery.id, (bad.get(delivery.id) ?? 0) + 1)
      },
      healed: () => {
        const { data, network, scenario } = simulation
        // An attempt that could not be recorded within its lease counts although no row shows it.
        const isCalm = scenario.faults.length === 0 && scenario.steps.every(({ _tag }) => !disturbing.has(_tag))
        const received = new Set(
          network.requests.filter((sent) => sent.isReceived && sent.status === 200).map((sent) => sent.deliveryId)
        )
        for (const endpointId of simulation.everyEndpoint)
          for (const { id, status } of data.deliveries(endpointId))
            if (status === "pending") return violate(`the delivery ${id} to ${endpointId} is pending for ever`)
        for (const [id, { endpointId, eventId }] of expected) {
          const status = data.delivery(id)?.status
          if (status === undefined) return violate(`${eventId} has no delivery to ${endpointId}`)
          if (status === "succeeded" && !received.has(id))
            return violate(`${id} succeeded, but ${endpointId} never took it`)
          if (status === "cancelled" && !deleted.has(endpointId))
            return violate(`${id} was cancelled, but ${endpointId} was never deleted`)
          if (status === "expired") return violate(`${id} expired within minutes`)
          if (status === "failed" && (bad.get(id) ?? 0) === 0) return violate(`${id} failed without an attempt`)
          // One that was asked for again has one attempt only.
          if (status === "failed" && isCalm && !simulation.retried.has(id)) {
            const sends = network.requests.filter((sent) => sent.deliveryId === id).length
            if (sends < scenario.topology.delaysMillis.length + 1)
              return violate(`${id} failed after ${sends} attempts`)
          }
        }
      }
    }
  }
}
