/**
 * Nothing is sent to a deleted, disabled or paused endpoint, except attempts in flight, and tests and manual retries to
 * a paused one.
 */
import { jobLanes } from "../../../../src/webhooks/delivery/model.ts"
import { statusOf } from "../../../../src/webhooks/endpoint/model.ts"
import type { Checker } from "../Observer.ts"

/** An attempt that has begun may be waiting for its secret, and an answer of the actor may be on its way. */
const graceMillis = 500

export const silenceKept: Checker = {
  name: "silence is kept",
  make: (simulation, violate) => {
    /** When an endpoint was silenced last, and whether the dispatcher has that as the answer to a report of its own. */
    const silenced = new Map<string, { readonly at: number; readonly isOwnAnswer: boolean }>()
    const deletedAt = new Map<string, number>()
    return {
      decided: (endpointId, { _tag }, before, after) => {
        if (before !== undefined && after === undefined) deletedAt.set(endpointId, simulation.world.now)
        if (before === undefined || statusOf(before) !== "active") return
        if (after !== undefined && statusOf(after) === "active") return
        silenced.set(endpointId, { at: simulation.world.now, isOwnAnswer: _tag === "RecordFailure" })
      },
      sent: ({ at, deliveryId, endpointId }) => {
        const row = simulation.data.endpoints.get(endpointId)
        const shown = simulation.shownAt.get(endpointId)
        const live = simulation.endpoints.get(endpointId)
        const status = row?.endpoint ? statusOf(row.endpoint) : "deleted"
        const liveStatus = live === undefined ? "deleted" : statusOf(live)
        // A frame has shown its silence, and the log says the same now.
        const isSilent = shown !== undefined && (shown.endpoint === null || statusOf(shown.endpoint) !== "active")
        const job = simulation.data.jobs.jobs.get(deliveryId)
        const isAsked = job?.lane === jobLanes.asked
        if (isSilent && liveStatus !== "active" && !isAsked && at - shown.at > graceMillis)
          violate(`${endpointId} was shown as silent ${(at - shown.at).toFixed(0)} ms ago and was sent ${deliveryId}`)
        // The row may still say that it is disabled.
        if (isAsked && shown?.endpoint && statusOf(shown.endpoint) === "paused") return
        // Otherwise the dispatcher cannot know what the reactor has not told yet.
        if (status === "active" || liveStatus === "active") return
        if (status === "paused" && isAsked) return
        // A retry by hand had begun as the endpoint was deleted, which removed its job.
        if (job === undefined && at - (deletedAt.get(endpointId) ?? Number.NEGATIVE_INFINITY) <= graceMillis) return
        let toldAt = simulation.foldedAt.get(endpointId) ?? 0
        const last = silenced.get(endpointId)
        // The row is of a silence before this one, and an answer may have told that it was over.
        if (last !== undefined && toldAt < last.at) {
          if (!last.isOwnAnswer) return
          toldAt = last.at
        }
        const since = at - toldAt
        if (since > graceMillis)
          violate(`${endpointId} has been ${status} for ${since.toFixed(0)} ms and was sent ${deliveryId}`)
      }
    }
  }
}
