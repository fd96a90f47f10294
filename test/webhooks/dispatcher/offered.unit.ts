/**
 * The dispatcher and deliveries of acknowledged frames: it begins those it has room for, keeps others waiting,
 * leaves what it must not begin to the queue, and ends each exactly once.
 */
import { describe, expect, it } from "@effect/vitest"
import { type Clock, Effect } from "effect"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryOutcome, TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import { maximumLimit, windowOf } from "../../../src/webhooks/dispatcher/ConcurrencyLimit.ts"
import { type DeliverySlot, DispatcherState, maximumHeld } from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import { defaultSettings } from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import type { Endpoint, FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"
import { endpoint } from "./dispatcherSupport.ts"

/** A task as the register keeps it, to look at. */
class Task {
  status: "waiting" | "running" | "left" | "ended" = "waiting"
  outcome: DeliveryOutcome["result"] | undefined
  isQueued = false
  isAbandoned = false
  isBeingWritten = false

  run(): boolean {
    if (this.status !== "waiting") return false
    this.status = "running"
    return true
  }

  leave(): void {
    if (this.status === "waiting") this.status = "left"
  }

  end({ result }: DeliveryOutcome): boolean {
    if (this.isQueued || this.status !== "running") return false
    this.status = "ended"
    this.outcome = result
    return true
  }
}

type Offered = Omit<TakenDelivery, "task"> & { readonly task: Task }

let numbers = 0
const offered = (endpointId: string, more: Partial<Offered> = {}): Offered => ({
  id: `dlv_${++numbers}`,
  partition: 0,
  organizationId: "org_1",
  endpointId,
  lane: jobLanes.first,
  attempt: 1,
  leasedUntil: Number.POSITIVE_INFINITY,
  origin: "event",
  eventId: "evt_1",
  eventCreatedAt: 0,
  body: "{}",
  task: new Task(),
  ...more
})

const state = (endpointId: string, of: Endpoint | null, sequence = 1): FoldedEndpoint => ({
  endpointId,
  organizationId: "org_1",
  partition: 0,
  sequence,
  endpoint: of
})
const paused: Endpoint = { ...endpoint, paused: { reason: "gone", at: 1 } }

const make = (capacity = defaultSettings.capacity) => {
  const clock = { currentTimeMillisUnsafe: () => 1_000 } as Clock.Clock
  const dispatching = new DispatcherState({ ...defaultSettings, capacity }, clock)
  const begun: Array<DeliverySlot> = []
  dispatching.begin = (slot) => void begun.push(slot)
  const offer = (deliveries: ReadonlyArray<TakenDelivery>) => {
    dispatching.offer(deliveries)
    Effect.runSync(dispatching.beginOffered)
  }
  dispatching.followed([state("a", endpoint)])
  return { dispatching, begun, offer }
}

/** What an endpoint holds of a burst: those in flight, and as many as wait in its window. */
const heldOf = (dispatching: DispatcherState): number => {
  const { pace } = dispatching.workers.get("a")!
  return pace.limit + windowOf(pace)
}

const statusOf = (deliveries: ReadonlyArray<{ readonly task: Task }>) => deliveries.map(({ task }) => task.status)
const many = (count: number) => Array.from({ length: count }, () => offered("a"))

describe("[platform 7.4] deliveries of acknowledged frames", () => {
  it("begin immediately within the endpoint's pace, in the order of the log", () => {
    const { begun, dispatching, offer } = make()
    const deliveries = many(6)
    offer(deliveries)
    expect(begun.map(({ item }) => item.id)).toEqual(deliveries.slice(0, 4).map(({ id }) => id))
    expect([dispatching.held.size, ...new Set(statusOf(deliveries))]).toEqual([6, "running"])
  })

  it("given more than its window, then the others wait in memory and follow as room comes", () => {
    const { begun, dispatching, offer } = make()
    const window = heldOf(dispatching)
    const deliveries = many(window + 50)
    offer(deliveries)
    expect(statusOf(deliveries).filter((status) => status === "waiting")).toHaveLength(50)
    // One is over, so the next one may begin, and one that waits has its room.
    dispatching.queue.end(begun[0]!, { end: "succeeded", durationMillis: 5 })
    dispatching.pump()
    expect(statusOf(deliveries).filter((status) => status === "waiting").length).toBeLessThan(50)
  })

  it("given older deliveries in the store, then they are left to the queue behind those", () => {
    const { begun, dispatching, offer } = make()
    dispatching.wake(0, "a", [jobLanes.first])
    const deliveries = many(3)
    offer(deliveries)
    expect([statusOf(deliveries), begun]).toEqual([["left", "left", "left"], []])
  })

  it("given an attempt of an earlier life that still runs, then its delivery is left to the queue", () => {
    const { begun, offer } = make()
    const [first] = many(1)
    offer([first!])
    const again = offered("a", { id: first!.id })
    offer([again])
    expect([again.task.status, begun.length]).toEqual(["left", 1])
  })

  it("given a pause, then what has not begun is left or given back, and what is in flight goes on", () => {
    const { begun, dispatching, offer } = make()
    const window = heldOf(dispatching)
    const deliveries = many(window + 2)
    offer(deliveries)
    const flying = new Set(begun.map(({ item }) => item.id))
    dispatching.followed([state("a", paused, 2)])
    for (const { id, task } of deliveries.slice(0, window))
      expect([task.status, task.outcome?._tag]).toEqual(flying.has(id) ? ["running", undefined] : ["ended", "Returned"])
    expect(statusOf(deliveries.slice(window))).toEqual(["left", "left"])
    offer([deliveries[0]!])
    expect(begun).toHaveLength(flying.size)
  })

  it("given a deletion, then what has not begun ends as cancelled", () => {
    const { begun, dispatching, offer } = make()
    const deliveries = many(6)
    offer(deliveries)
    dispatching.followed([state("a", null, 2)])
    const waiting = deliveries.slice(begun.length)
    expect(waiting.map(({ task }) => task.outcome)).toEqual(
      waiting.map(() => ({ _tag: "Settled", status: "cancelled" }))
    )
    expect(dispatching.held.size).toBe(begun.length)
  })

  it("given an outcome before its record, then it stays in memory and its room is free", () => {
    const { dispatching, offer } = make()
    const [delivery] = many(1)
    offer([delivery!])
    const outcome = { delivery: delivery!, made: null, result: { _tag: "Settled", status: "succeeded" } } as const
    expect(dispatching.ended(delivery!, outcome)).toBe(true)
    expect([dispatching.held.size, delivery!.task.outcome]).toEqual([0, outcome.result])
    // The second time, and once the store has its job, the store is told.
    expect(dispatching.ended(delivery!, outcome)).toBe(false)
    const [later] = many(1)
    offer([later!])
    later!.task.isQueued = true
    expect([dispatching.ended(later!, outcome), dispatching.held.size]).toEqual([false, 1])
  })

  it("given a shutdown, then what was offered is left, and nothing more is taken", () => {
    const { dispatching, offer } = make()
    const window = heldOf(dispatching)
    const deliveries = many(window + 2)
    offer(deliveries)
    dispatching.beginDrain()
    expect(statusOf(deliveries.slice(window))).toEqual(["left", "left"])
    const [late] = many(1)
    offer([late!])
    expect(late!.task.status).toBe("left")
  })

  it("given one organization with an endpoint at full pace, then it holds half of the memory at most", () => {
    const { dispatching, offer } = make({ main: 8, slow: 8 })
    dispatching.workers.get("a")!.pace = { limit: maximumLimit, track: "main", leastMillis: 1 }
    offer(many(maximumHeld))
    expect(dispatching.held.size).toBe(maximumHeld / 2)
  })
})
