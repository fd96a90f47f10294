/**
 * Receivers and the network before them. The fault plan or the receiver's mode decides what becomes of each request.
 * Needs no service.
 */
import { Effect } from "effect"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import type { SimulatedProcess } from "../../../src/simulation/kernel/World.ts"
import type { DeliveryAnswer, DeliveryRequest } from "../../../src/webhooks/delivery/ports.ts"
import type { Attempt } from "../../../src/webhooks/delivery/schedule.ts"
import { eventIdHeader } from "../../../src/webhooks/secret/signature.ts"
import type { Sent } from "./Observer.ts"
import type { Mode } from "./WebhooksScenario.ts"
import type { Simulation } from "./WebhooksSimulation.ts"

/** Separates the event from the delivery's id in simulated bodies, so that a request tells which delivery it attempts. */
export const deliveryMark = "#"

export const urlOf = (endpointId: string): string => `https://example.com/${endpointId}`

interface Fate {
  /** Whether the receiver gets the request. */
  readonly isReceived: boolean
  readonly afterMillis: number
  readonly attempt: Attempt
}

const answered = (status: number, afterMillis: number, retryAfter?: string): Fate => ({
  isReceived: true,
  afterMillis,
  attempt: { _tag: "Answered", status, retryAfter }
})

export class Network {
  /** Every request, in order. */
  readonly requests: Array<Sent> = []
  readonly modes = new Map<string, Mode>()
  /** Requests without an answer, by endpoint. */
  readonly open = new Map<string, number>()
  private readonly simulation: Simulation
  private readonly moods: Prng

  constructor(simulation: Simulation) {
    this.simulation = simulation
    this.moods = new Prng(simulation.scenario.seed, "moods")
  }

  heal(): void {
    this.modes.clear()
  }

  /** The sender of a process. */
  send(process: SimulatedProcess, request: DeliveryRequest): Effect.Effect<DeliveryAnswer> {
    return Effect.callback<DeliveryAnswer>((resume) => {
      const simulation = this.simulation
      const endpointId = request.url.slice(request.url.lastIndexOf("/") + 1)
      const fault = simulation.fault("send")
      if (fault === "crash before the request") return simulation.crash("before a request")
      if (fault === "defect") return resume(Effect.die(new Error("a defect of the sender")))
      const fate = this.fateOf(endpointId, fault, request.timeoutMillis)
      const at = request.body.lastIndexOf(deliveryMark)
      const sent: Sent = {
        deliveryId: request.body.slice(at + 1),
        endpointId,
        eventId: request.headers[eventIdHeader]!,
        at: simulation.world.now,
        wallMillis: process.wallMillis(),
        headers: request.headers,
        body: request.body,
        isReceived: false,
        status: undefined,
        retryAfterMillis: 0
      }
      this.requests.push(sent)
      this.open.set(endpointId, (this.open.get(endpointId) ?? 0) + 1)
      simulation.sent(sent)
      sent.isReceived = fate.isReceived
      if (fault === "crash after the request") return simulation.crash("after a request")
      let isOver = false
      const end = () => {
        if (isOver) return
        isOver = true
        this.open.set(endpointId, this.open.get(endpointId)! - 1)
      }
      simulation.world.after(fate.afterMillis, undefined, end)
      const cancel = simulation.world.after(fate.afterMillis, process, () => {
        end()
        const { attempt } = fate
        sent.status = attempt._tag === "Answered" ? attempt.status : 0
        const asked = attempt._tag === "Answered" ? attempt.retryAfter : undefined
        if (asked !== undefined)
          sent.retryAfterMillis = /^\d+$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - process.wallMillis()
        simulation.trace(() => `  ${endpointId} answers ${sent.deliveryId.slice(4, 10)}: ${sent.status} ${asked ?? ""}`)
        const isAnswer = attempt._tag === "Answered"
        resume(Effect.succeed({ attempt, response: isAnswer ? "" : null, error: isAnswer ? null : attempt._tag }))
      })
      return Effect.sync(() => {
        end()
        cancel()
      })
    })
  }

  private fateOf(endpointId: string, fault: string | undefined, timeoutMillis: number): Fate {
    const latency = this.simulation.latency()
    const lost = (isReceived: boolean, afterMillis: number, _tag: "TimedOut" | "NoAnswer"): Fate => ({
      isReceived,
      afterMillis,
      attempt: { _tag }
    })
    const later = new Date(Math.ceil(this.simulation.wallMillis / 1000) * 1000 + 3_000).toUTCString()
    switch (fault ?? this.mood(endpointId)) {
      case "request lost":
        return lost(false, timeoutMillis, "TimedOut")
      case "answer lost":
        return lost(true, latency, "NoAnswer")
      case "timed out":
      case "hanging":
        return lost(true, timeoutMillis, "TimedOut")
      case "slow":
        return answered(200, Math.min(timeoutMillis - 1, 300 + latency * 100))
      case "500":
      case "failing":
        return answered(500, latency)
      case "302":
        return answered(302, latency)
      case "429 with seconds":
      case "limiting":
        return answered(429, latency, "2")
      case "503 with a date":
        return answered(503, latency, later)
      case "410":
      case "gone":
        return answered(410, latency)
      case "refused":
      case "refusing":
        return lost(false, latency, "NoAnswer")
      default:
        return answered(200, latency)
    }
  }

  private mood(endpointId: string): string {
    const mode = this.modes.get(endpointId) ?? "well"
    return mode === "flaky" ? this.moods.pick(["well", "failing", "answer lost"]) : mode
  }
}
