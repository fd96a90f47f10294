/**
 * Nothing is sent to a deleted, disabled or paused endpoint, except attempts in flight, and tests and manual retries to
 * a paused one.
 */
import { jobLanes } from "../../../webhooks/delivery/model.ts"
import { statusOf } from "../../../webhooks/endpoint/model.ts"
import type { Checker } from "../Observer.ts"

/** An attempt that has begun may be waiting for its secret, and an answer of the actor may be on its way. */
const graceMillis = 500

export const silenceKept: Checker = {
  name: "silence is kept",
  make: (simulation, violate) => ({
    sent: ({ at, deliveryId, endpointId }) => {
      const row = simulation.data.endpoints.get(endpointId)
      const live = simulation.endpoints.get(endpointId)
      const status = row?.endpoint ? statusOf(row.endpoint) : "deleted"
      const liveStatus = live === undefined ? "deleted" : statusOf(live)
      // The dispatcher cannot know what the reactor has not told yet.
      if (status === "active" || liveStatus === "active") return
      if (status === "paused" && simulation.data.jobs.jobs.get(deliveryId)?.lane === jobLanes.asked) return
      const since = at - (simulation.foldedAt.get(endpointId) ?? 0)
      if (since > graceMillis)
        violate(`${endpointId} has been ${status} for ${since.toFixed(0)} ms and was sent ${deliveryId}`)
    }
  })
}
