/**
 * An endpoint with a rate is attempted that often in no second, whatever the attempts are, and as often as the rate allows
 * while deliveries wait for it.
 */
import type { Checker } from "../Observer.ts"
import type { Simulation } from "../WebhooksSimulation.ts"

const secondMillis = 1_000

/** How long attempts of a rate that was changed may still begin: they may be waiting for their secrets. */
const graceMillis = 500

/** What an attempt may wait besides its rate: a scan and a few messages. */
const slackMillis = 1_500

/** How long after a disturbance, or after an endpoint did not answer well, deliveries may be found late: a lease. */
const calmMillis = 15_000

/** The rate of an endpoint as the reactor has it, and how long it has had this one. */
class KnownRate {
  rate: number | null = null
  /** When it was seen first, and where in the log it was decided. */
  since = Number.NEGATIVE_INFINITY
  private decidedIn = -1
  private decided: number | null = null

  decide(rate: number | null, { log, world }: Simulation): void {
    if (rate === this.decided && this.decidedIn >= 0) return
    this.decided = rate
    this.decidedIn = log.length
    this.since = world.now
    this.rate = null
  }

  look({ cursor, world }: Simulation): void {
    // Its fact follows the decision.
    if (this.rate === this.decided || cursor <= this.decidedIn) return
    this.rate = this.decided
    this.since = world.now
  }
}

interface Watched {
  readonly known: KnownRate
  /** When the process that runs has attempted it since the rate is known, virtual milliseconds. */
  attempts: Array<number>
  process: number
  /** Since when it answers well and nothing has disturbed it. */
  wellSince: number | undefined
}

export const ratesKept: Checker = {
  name: "rates are kept",
  make: (simulation, violate) => {
    const endpoints = new Map<string, Watched>()
    const watched = (endpointId: string): Watched => {
      const known = endpoints.get(endpointId)
      if (known !== undefined) return known
      const one = { known: new KnownRate(), attempts: [], process: 0, wellSince: undefined }
      endpoints.set(endpointId, one)
      return one
    }
    const isWell = (endpointId: string): boolean => {
      const endpoint = simulation.endpoints.get(endpointId)
      const mode = simulation.network.modes.get(endpointId) ?? "well"
      return mode === "well" && endpoint?.isActive === true && endpoint.paused === null
    }
    const checkTime = (endpointId: string, deliveryId: string, rate: number, one: Watched, at: number) => {
      const job = simulation.data.jobs.jobs.get(deliveryId)
      const committed = simulation.committedAt.get(deliveryId)
      if (simulation.orderOf(endpointId) !== null) return
      if (job === undefined || committed === undefined || one.wellSince === undefined) return
      if (job.attempts !== 1 || simulation.retried.has(deliveryId)) return
      const calmSince = Math.max(one.wellSince, one.known.since, simulation.disturbedAt) + calmMillis
      if (committed < calmSince) return
      simulation.marks.reach("an endpoint with a rate, in time")
      const attempts = one.attempts.filter((time) => time > committed).length
      const allowed = rate * Math.floor((at - committed - slackMillis) / (secondMillis + 1))
      if (attempts < allowed)
        violate(`${endpointId} was attempted ${attempts} times while ${deliveryId} waited, not ${allowed} times`)
    }
    return {
      decided: (endpointId, { _tag }, _before, after) => {
        const one = watched(endpointId)
        if (after !== undefined) one.known.decide(after.rateLimit, simulation)
        if (_tag !== "RequestTest") one.wellSince = undefined
      },
      rested: () => {
        for (const [endpointId, one] of endpoints) {
          one.known.look(simulation)
          if (!isWell(endpointId)) one.wellSince = undefined
          else one.wellSince ??= simulation.world.now
        }
      },
      sent: ({ at, deliveryId, endpointId }) => {
        const one = watched(endpointId)
        one.known.look(simulation)
        const { rate, since } = one.known
        if (one.process !== simulation.processes || since + graceMillis > at) one.attempts = []
        one.process = simulation.processes
        if (rate === null || since + graceMillis > at) return
        checkTime(endpointId, deliveryId, rate, one, at)
        one.attempts = [...one.attempts.filter((time) => time > at - 2 * calmMillis), at]
        const inSecond = one.attempts.filter((time) => time > at - secondMillis).length
        if (inSecond === rate) simulation.marks.reach("a rate is used up")
        if (inSecond > rate) violate(`${endpointId} is attempted ${inSecond} times in a second, its rate is ${rate}`)
      }
    }
  }
}
