/**
 * A delivery is attempted again only after its last attempt is recorded, as long as nothing disturbs the process, the
 * store or a clock: what a frame has offered and what the queue hands out are never the same delivery twice.
 */
import type { Checker } from "../Observer.ts"

/** How long after a disturbance its leftovers may be attempted again: a lease. */
const calmMillis = 15_000

export const onceWhenCalm: Checker = {
  name: "once when calm",
  make: (simulation, violate) => {
    const sends = new Map<string, { count: number; readonly firstAt: number }>()
    const recorded = new Map<string, number>()
    const deleted = new Set<string>()
    return {
      decided: (endpointId, { _tag }) => {
        if (_tag === "Delete") deleted.add(endpointId)
      },
      sent: ({ at, deliveryId, endpointId }) => {
        const before = sends.get(deliveryId) ?? { count: 0, firstAt: at }
        const isCalm = before.firstAt - simulation.disturbedAt > calmMillis
        if (isCalm && !deleted.has(endpointId) && before.count > (recorded.get(deliveryId) ?? 0))
          violate(`${deliveryId} is attempted again before its attempt was recorded`)
        sends.set(deliveryId, { ...before, count: before.count + 1 })
      },
      recorded: ({ delivery: { id }, made }) => {
        if (made !== null) recorded.set(id, (recorded.get(id) ?? 0) + 1)
      }
    }
  }
}
