/** Attempts follow the schedule: never before the delay or the wait that was asked for is over, never more than are allowed, never two at once. */

import type { Checker, Sent } from "../Observer.ts"
import { maximumRetryAfterMillis } from "../SimulatedDispatcher.ts"

export const scheduleKept: Checker = {
  name: "the schedule is kept",
  make: (simulation, violate) => {
    const { delaysMillis } = simulation.scenario.topology
    const notBefore = new Map<string, number>()
    const last = new Map<string, Sent>()
    const failures = new Map<string, number>()
    return {
      sent: (sent) => {
        const { deliveryId, wallMillis } = sent
        last.set(deliveryId, sent)
        const early = (notBefore.get(deliveryId) ?? 0) - wallMillis
        if (early > 0) violate(`${deliveryId} is attempted ${early} ms too early`)
        const job = simulation.data.jobs.jobs.get(deliveryId)
        // One of a line is repeated in its turn where an earlier life has begun its attempt.
        if (job !== undefined && job.attempts === 0 && job.line === undefined)
          violate(`${deliveryId} is attempted without being taken`)
      },
      recorded: ({ delivery, made, result }) => {
        const { id } = delivery
        if (made === null) return
        const sent = last.get(id)
        // An attempt that broke before it was sent knows of no wait that an earlier answer asked for.
        const wasSent = sent !== undefined && sent.wallMillis >= made.at
        const isRetry = simulation.data.delivery(id)?.attempts.length !== (failures.get(id) ?? 0) + 1
        const count = (failures.get(id) ?? 0) + 1
        failures.set(id, count)
        if (result._tag !== "Again") return
        if (count > delaysMillis.length) violate(`${id} is to be attempted after ${count} attempts`)
        const delay = delaysMillis[count - 1] ?? 0
        const asked = isRetry || !wasSent ? 0 : Math.min(sent.retryAfterMillis ?? 0, maximumRetryAfterMillis)
        notBefore.set(id, made.at + made.duration + Math.max(delay, asked))
      }
    }
  }
}
