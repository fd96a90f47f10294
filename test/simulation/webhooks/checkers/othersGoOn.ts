/**
 * An endpoint that answers well and has no rate has its first attempts soon, whatever the others do: neither a dead one nor
 * one that waits for its rate holds it up.
 */
import { deliveryIdOf, jobLanes } from "../../../../src/webhooks/delivery/model.ts"
import type { DeliveryOrigin } from "../../../../src/webhooks/endpoint/model.ts"
import type { Checker } from "../Observer.ts"

/**
 * The longest time between the frame, or the reactor's commit, and the request. It covers a scan and a few messages; behind a hanging
 * endpoint it would be seconds.
 */
const boundMillis = 1_200

/** First attempts, and tests, which somebody waits for. */
const isFirst = ({ lane, origin }: { readonly lane: number; readonly origin: DeliveryOrigin }) =>
  lane === jobLanes.first || (lane === jobLanes.asked && origin === "test")

/** How long after a crash, an outage or a wrong clock its leftovers may take to be found: a lease. */
const calmMillis = 15_000

export const othersGoOn: Checker = {
  name: "others go on",
  make: (simulation, violate) => {
    const seen = new Set<string>()
    const matchedAt = new Map<string, number>()
    /** Since when an endpoint has always answered well. */
    const wellSince = new Map<string, number>()
    return {
      rested: () => {
        for (const id of simulation.everyEndpoint) {
          const endpoint = simulation.endpoints.get(id)
          const mode = simulation.network.modes.get(id) ?? "well"
          const isWell =
            mode === "well" &&
            endpoint?.isActive === true &&
            endpoint.paused === null &&
            endpoint.rateLimit === null &&
            endpoint.consecutiveFailures === 0
          if (!isWell) wellSince.delete(id)
          else if (!wellSince.has(id)) wellSince.set(id, simulation.world.now)
        }
      },
      decided: (endpointId, { _tag }) => {
        if (_tag !== "RequestTest") wellSince.delete(endpointId)
      },
      matched: (endpointId, _endpoint, { eventId }) => {
        matchedAt.set(deliveryIdOf(eventId, endpointId), simulation.world.now)
      },
      sent: ({ at, deliveryId, endpointId }) => {
        if (seen.has(deliveryId)) return
        seen.add(deliveryId)
        const job = simulation.data.jobs.jobs.get(deliveryId)
        const well = wellSince.get(endpointId)
        // One of a line waits for those before it.
        if (simulation.orderOf(endpointId) !== null) return
        if (well === undefined || at - simulation.disturbedAt < calmMillis) return
        if (job !== undefined && !isFirst(job)) return
        // One that comes from its frame has no job yet.
        const since = (job === undefined ? matchedAt : simulation.committedAt).get(deliveryId)
        if (since === undefined || since < Math.max(well + 5_000, simulation.disturbedAt + calmMillis)) return
        if (
          simulation.network.requests.some(
            (sent) =>
              sent.endpointId === endpointId && at - sent.at < 5_000 && sent.status !== 200 && sent.status !== undefined
          )
        )
          return
        if (simulation.everyEndpoint.some((id) => simulation.endpoints.get(id)?.rateLimit))
          simulation.marks.reach("a well endpoint beside one with a rate")
        simulation.marks.reach(`a well endpoint among others${job?.lane === jobLanes.asked ? ", tested" : ""}`)
        if (at - since > boundMillis)
          violate(`${endpointId} answers well and waited ${(at - since).toFixed(0)} ms for ${deliveryId}`)
      }
    }
  }
}
