/**
 * Consecutive failures and pauses are what a naive model says of the same commands, and the endpoint has heard of every delivery that failed
 * before the store calls it failed.
 */
import type { Endpoint } from "../../../../src/webhooks/endpoint/model.ts"
import type { Checker } from "../Observer.ts"

interface Model {
  failed: Set<string>
  count: number
  isPaused: boolean
}

/** How long until the dispatcher must know of an endpoint's failures. */
const knownMillis = 2_500

/** How long after the record of a success its endpoint must have heard of it. */
const toldMillis = 1_000

export const failuresAgree: Checker = {
  name: "failures and pauses agree",
  make: (simulation, violate) => {
    const models = new Map<string, Model>()
    const told = new Set<string>()
    const sentAt = new Map<string, number>()
    /** When an endpoint's counter last changed, and when the first success was recorded since although it stands above 0. */
    const changedAt = new Map<string, number>()
    const unheardSince = new Map<string, number>()
    /** Where in the log an endpoint last changed. */
    const changedIn = new Map<string, number>()
    const compare = (endpointId: string, model: Model, after: Endpoint | undefined) => {
      if (after === undefined) return
      if (after.consecutiveFailures !== model.count)
        violate(`${endpointId} counts ${after.consecutiveFailures} failures, the model ${model.count}`)
      if ((after.paused !== null) !== model.isPaused)
        violate(`${endpointId} is ${after.paused === null ? "not " : ""}paused, the model says otherwise`)
    }
    return {
      decided: (endpointId, command, before, after) => {
        const fresh: Model = { failed: new Set(), count: 0, isPaused: false }
        const model = before === undefined ? fresh : (models.get(endpointId) ?? fresh)
        models.set(endpointId, model)
        if (command._tag === "RecordFailure") told.add(command.deliveryId)
        changedAt.set(endpointId, simulation.world.now)
        // Its facts follow the decision.
        if (after !== before) changedIn.set(endpointId, simulation.log.length)
        unheardSince.delete(endpointId)
        if (before === undefined) return
        if (command._tag === "RecordSuccess" && model.count > 0) {
          model.count = 0
          model.failed.clear()
        }
        const isCounted = command._tag === "RecordFailure" && command.origin === "event" && !model.isPaused
        if (isCounted && !model.failed.has(command.deliveryId)) {
          model.failed.add(command.deliveryId)
          model.count++
          if (model.count >= 10 || command.status === 410) model.isPaused = true
        }
        if (command._tag === "RecordGone" && command.origin === "event") model.isPaused = true
        if (command._tag === "Unpause" && model.isPaused) {
          model.isPaused = false
          model.count = 0
        }
        compare(endpointId, model, after)
      },
      sent: ({ at, deliveryId }) => {
        sentAt.set(deliveryId, at)
      },
      recorded: ({ delivery, result }) => {
        const { endpointId } = delivery
        if (result._tag === "Settled" && result.status === "succeeded") {
          // A successful test says nothing about events.
          if (simulation.data.delivery(delivery.id)?.origin === "test") return
          const since = Math.max(changedAt.get(endpointId) ?? 0, simulation.disturbedAt) + knownMillis
          const isLate = (sentAt.get(delivery.id) ?? 0) > since
          // Where the log brings earlier states, the dispatcher cannot know of later failures.
          const isFolded = simulation.cursor > (changedIn.get(endpointId) ?? -1)
          if (!isLate || !isFolded || (simulation.endpoints.get(endpointId)?.consecutiveFailures ?? 0) === 0) return
          const { now } = simulation.world
          // A success is told behind its record, and a batch of them is recorded at once.
          const first = unheardSince.get(endpointId) ?? now
          unheardSince.set(endpointId, first)
          if (now - first > toldMillis)
            violate(`${endpointId} takes deliveries for ${now - first} ms and still counts failures`)
        }
        if (result._tag !== "Settled" || result.status !== "failed") return
        const origin = simulation.data.delivery(delivery.id)?.origin
        const isAsked = simulation.retried.has(delivery.id)
        if (origin === "event" && !isAsked && !told.has(delivery.id))
          violate(`${delivery.id} has failed and ${delivery.endpointId} was not told`)
      }
    }
  }
}
