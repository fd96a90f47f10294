/** The dispatcher's memory: what is held, what goes back, who wants more, all without a store; time is the test's. */
import { describe, expect, it } from "@effect/vitest"
import type { Clock } from "effect"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import {
  firstPace,
  maximumLimit,
  slowAfterMillis,
  windowOf
} from "../../../src/webhooks/dispatcher/ConcurrencyLimit.ts"
import {
  type DeliverySlot,
  DispatcherState,
  maximumHeld,
  maximumHeldCharacters
} from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import { defaultSettings } from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import type { Endpoint, FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"

const active: Endpoint = {
  url: "https://example.com/",
  enabledEvents: ["*"],
  description: null,
  livemode: true,
  isActive: true,
  headers: null,
  rateLimit: null,
  paused: null,
  consecutiveFailures: 0,
  failedDeliveries: [],
  secretId: "secret",
  previousSecret: null,
  createdAt: 0
}
const paused: Endpoint = { ...active, paused: { reason: "gone", at: 1 } }

const dispatchingOf = (capacity = defaultSettings.capacity) => {
  let now = 1_000
  const clock = { currentTimeMillisUnsafe: () => now } as Clock.Clock
  const dispatching = new DispatcherState({ ...defaultSettings, capacity }, clock)
  const begun: Array<DeliverySlot> = []
  dispatching.begin = (slot) => void begun.push(slot)
  return {
    dispatching,
    begun,
    pass: (millis: number) => {
      now += millis
    }
  }
}

let numbers = 0
const delivery = (endpointId: string, more: Partial<TakenDelivery> = {}): TakenDelivery => ({
  id: `dlv_${++numbers}`,
  partition: 0,
  organizationId: "org_1",
  endpointId,
  lane: jobLanes.first,
  attempt: 1,
  leasedUntil: 10_000,
  origin: "event",
  eventId: "evt_1",
  eventCreatedAt: 0,
  body: "{}",
  ...more
})

const state = (endpointId: string, endpoint: Endpoint | null, sequence = 1): FoldedEndpoint => ({
  endpointId,
  organizationId: "org_1",
  partition: 0,
  sequence,
  endpoint
})

const committed = (
  dispatching: DispatcherState,
  endpoints: ReadonlyArray<FoldedEndpoint>,
  taken: ReadonlyArray<TakenDelivery> = [],
  queued: ReadonlyArray<string> = []
) => {
  dispatching.committed({
    taken,
    endpoints,
    queued: new Map(queued.map((endpointId) => [endpointId, { partition: 0 }]))
  })
  // The fiber that the commit wakes, after the turn.
  dispatching.pump()
}

describe("the dispatcher's memory", () => {
  it("given deliveries handed over with their endpoint, then attempts begin at once, within its pace", () => {
    const { begun, dispatching } = dispatchingOf()
    committed(
      dispatching,
      [state("a", active)],
      [1, 2, 3, 4, 5, 6].map(() => delivery("a"))
    )
    expect(begun).toHaveLength(4)
    expect(dispatching.held.size).toBe(6)
  })

  it("given a commit and a later frame of the same turn that silences its endpoint, then no attempt begins", () => {
    for (const later of [null, paused]) {
      const { begun, dispatching } = dispatchingOf()
      dispatching.committed({ endpoints: [state("a", active)], taken: [delivery("a")], queued: new Map() })
      dispatching.followed([state("a", later, 2)])
      dispatching.pump()
      expect(begun).toEqual([])
    }
  })

  it("given a deleted endpoint, then a row of before brings it back in no way", () => {
    const { begun, dispatching } = dispatchingOf()
    committed(dispatching, [state("a", active, 4)])
    dispatching.followed([state("a", null, 4)])
    committed(dispatching, [state("a", active, 4)], [delivery("a")])
    expect(begun).toEqual([])
    expect(dispatching.returned).toHaveLength(1)
  })

  it("given deliveries of an endpoint that is not known yet, then they wait until it is", () => {
    const { begun, dispatching } = dispatchingOf()
    dispatching.hold(delivery("a"))
    dispatching.pump()
    expect(begun).toEqual([])
    expect([...dispatching.wanting].map(({ endpointId }) => endpointId)).toEqual(["a"])
    dispatching.apply(state("a", active))
    dispatching.pump()
    expect(begun).toHaveLength(1)
  })

  it("given a pause, then what waits goes back but for what was asked for, and an older state changes nothing", () => {
    const { begun, dispatching } = dispatchingOf({ main: 2, slow: 1 })
    const waiting = [delivery("a"), delivery("a", { lane: jobLanes.retry }), delivery("a", { lane: jobLanes.asked })]
    committed(dispatching, [state("a", active, 5)], [delivery("a"), ...waiting])
    committed(dispatching, [state("a", paused, 7)])
    expect(dispatching.returned).toEqual(waiting.slice(0, 2))
    dispatching.apply(state("a", active, 6))
    dispatching.queue.end(begun[0]!, { end: "succeeded", durationMillis: 1 })
    dispatching.pump()
    expect(begun.map(({ item }) => item)).toEqual([begun[0]!.item, waiting[2]])
    dispatching.hold(delivery("a"))
    expect(dispatching.returned).toHaveLength(3)
  })

  it("given an actor's answer, then it counts until the log has come further", () => {
    const { dispatching } = dispatchingOf()
    committed(dispatching, [state("a", active, 5)], [delivery("a")])
    const worker = dispatching.workers.get("a")!
    dispatching.foresee(worker, paused, dispatching.asking(worker))
    expect(worker.permission).toBe("asked")
    dispatching.apply(state("a", active, 5))
    expect(worker.permission).toBe("asked")
    dispatching.apply(state("a", active, 6))
    expect(worker.permission).toBe("all")
    dispatching.apply(state("a", paused, 6))
    expect(worker.permission).toBe("asked")
  })

  it("given an actor's answer that comes behind a newer state of the log, or behind a later answer, then it changes nothing", () => {
    const { dispatching } = dispatchingOf()
    committed(dispatching, [state("a", active, 5)], [delivery("a")])
    const worker = dispatching.workers.get("a")!
    const early = dispatching.asking(worker)
    const late = dispatching.asking(worker)
    dispatching.foresee(worker, paused, late)
    dispatching.foresee(worker, active, early)
    expect(worker.permission).toBe("asked")
    const last = dispatching.asking(worker)
    dispatching.apply(state("a", paused, 8))
    dispatching.foresee(worker, active, last)
    expect(worker.permission).toBe("asked")
  })

  it("given the end of a pause, then every lane of the endpoint is looked for in the store", () => {
    const { dispatching } = dispatchingOf()
    committed(dispatching, [state("a", paused, 1)], [], ["a"])
    const worker = dispatching.workers.get("a")!
    worker.more.fill(false)
    dispatching.wanting.clear()
    committed(dispatching, [state("a", active, 2)])
    expect([...dispatching.wanting]).toEqual([worker])
    expect(worker.more).toEqual([true, true, true, false])
    expect(worker.isWalkWanted).toBe(true)
    expect(worker.wantedIn(jobLanes.retry)).toBeGreaterThan(0)
  })

  it("given a deletion, then what waits is let go and the rest is to be cancelled", () => {
    const { dispatching } = dispatchingOf({ main: 1, slow: 1 })
    committed(dispatching, [state("a", active, 1)], [delivery("a"), delivery("a")])
    committed(dispatching, [state("a", null, 2)])
    expect(dispatching.held.size).toBe(1)
    expect([...dispatching.deleted.keys()]).toEqual(["a"])
    expect(dispatching.returned).toEqual([])
  })

  it("given older deliveries in the store, then new ones are not held before them", () => {
    const { dispatching } = dispatchingOf()
    expect(dispatching.roomOf("a")).toBe(128)
    committed(dispatching, [state("a", active)], [], ["a"])
    expect(dispatching.roomOf("a")).toBe(0)
    dispatching.workers.get("a")!.more.fill(false)
    expect(dispatching.roomOf("a")).toBe(128)
  })

  it("given an endpoint at full pace, then it may hold half of everything, others only their window", () => {
    const { dispatching } = dispatchingOf({ main: 1, slow: 1 })
    committed(dispatching, [state("a", active), state("b", active)])
    for (const endpoint of ["a", "b"]) dispatching.workers.get(endpoint)!.more.fill(false)
    const full = { ...firstPace, limit: maximumLimit }
    const worker = dispatching.workers.get("a")!
    worker.pace = full
    expect([dispatching.roomOf("a"), dispatching.roomOf("b")]).toEqual([maximumHeld / 2, 128])
    const first = delivery("a", { body: "x".repeat(maximumHeldCharacters / 4 + 1) })
    dispatching.hold(first)
    dispatching.pump()
    expect(dispatching.roomOf("a")).toBe(windowOf(full))
    dispatching.release(first)
    for (let count = 0; count < 3_000; count++) dispatching.hold(delivery("a"))
    expect([dispatching.roomOf("a"), dispatching.roomOf("b")]).toEqual([maximumHeld / 2 - 3_000, 128])
    worker.pace = { ...full, track: "slow" }
    expect(dispatching.roomOf("a")).toBe(0)
    worker.pace = full
    for (let count = 0; count < 5_192; count++) dispatching.hold(delivery("a"))
    expect([dispatching.roomOf("a"), dispatching.roomOf("b")]).toEqual([0, 128])
    worker.more[jobLanes.first] = true
    expect(dispatching.roomOf("a")).toBe(0)
  })

  it("given half of what may be held by one organization, then it has no room until half of that is gone, and others have", () => {
    const { dispatching } = dispatchingOf({ main: 1, slow: 1 })
    const quarter = "x".repeat(maximumHeldCharacters / 4)
    const first = delivery("a", { body: quarter })
    committed(dispatching, [state("a", active)], [first])
    expect(dispatching.hasRoomFor("org_1")).toBe(true)
    dispatching.hold(delivery("a", { body: quarter }))
    expect(dispatching.room()).toEqual({ deliveries: maximumHeld - 2, characters: maximumHeldCharacters / 2 })
    expect(dispatching.roomFor("org_1").characters).toBe(0)
    expect(dispatching.hasRoomFor("org_1")).toBe(false)
    expect(dispatching.roomFor("org_2").characters).toBe(maximumHeldCharacters / 4)
    expect(dispatching.hasRoomFor("org_2")).toBe(true)
    dispatching.release(first)
    dispatching.release(first)
    expect(dispatching.room()).toEqual({ deliveries: maximumHeld - 1, characters: (maximumHeldCharacters * 3) / 4 })
    expect(dispatching.hasRoomFor("org_1")).toBe(true)
    dispatching.isDraining = true
    expect([dispatching.room(), dispatching.roomFor("org_2")]).toEqual([
      { deliveries: 0, characters: 0 },
      { deliveries: 0, characters: 0 }
    ])
  })

  it("given an organization with many endpoints, then it holds half of the deliveries at most", () => {
    const { dispatching } = dispatchingOf({ main: 1, slow: 1 })
    while (dispatching.roomFor("org_1").deliveries > 0) dispatching.hold(delivery(`e${dispatching.held.size % 24}`))
    expect(dispatching.held.size).toBe(maximumHeld / 2)
    expect(dispatching.hasRoomFor("org_1")).toBe(false)
    expect(dispatching.roomFor("org_2").deliveries).toBe(maximumHeld / 4)
  })

  it("given a delivery that is taken again while it is held, then it is held once, at its new attempt", () => {
    const { dispatching } = dispatchingOf()
    const held = delivery("a")
    dispatching.hold(held)
    dispatching.hold({ ...held, attempt: 2, leasedUntil: 99_000 })
    expect(dispatching.held.size).toBe(1)
    expect(held).toMatchObject({ attempt: 2, leasedUntil: 99_000 })
  })

  it("given a delivery that was let go and is taken again, then the end of its first attempt does not let the second one go", () => {
    const { dispatching } = dispatchingOf()
    const first = delivery("a")
    dispatching.hold(first)
    dispatching.release(first)
    const second = { ...first, attempt: 2 }
    dispatching.hold(second)
    dispatching.release(first)
    expect(dispatching.held.get(second.id)?.delivery).toBe(second)
    expect(dispatching.room().characters).toBe(maximumHeldCharacters - second.body.length)
  })

  it("given an outcome that was recorded, then nothing is remembered of it", () => {
    const { dispatching } = dispatchingOf()
    const one = delivery("a")
    dispatching.hold(one)
    dispatching.recording.add(one.id)
    dispatching.release(one)
    expect(dispatching.recording.size).toBe(0)
  })

  it("given a partition that is served elsewhere, then what waits goes back and nothing of it begins", () => {
    const { begun, dispatching } = dispatchingOf({ main: 8, slow: 1 })
    committed(dispatching, [state("a", active)], [delivery("a"), delivery("a"), delivery("a")])
    dispatching.dropOthers(new Set([1]))
    expect(dispatching.workers.size).toBe(0)
    expect(dispatching.returned).toHaveLength(1)
    for (const slot of [...begun]) dispatching.queue.end(slot, { end: "succeeded", durationMillis: 1 })
    dispatching.pump()
    expect(begun).toHaveLength(2)
    expect(begun.every(({ queue }) => queue.isDropped)).toBe(true)
  })

  it("given attempts without an answer for long, then their endpoint is slow and others have their places", () => {
    const { begun, dispatching, pass } = dispatchingOf({ main: 8, slow: 4 })
    const hanging = ["a", "c", "d", "e"]
    committed(
      dispatching,
      hanging.map((endpoint) => state(endpoint, active)),
      hanging.map((endpoint) => delivery(endpoint))
    )
    for (const slot of begun) dispatching.flying(slot)
    committed(dispatching, [state("b", active)], [delivery("b")])
    expect(begun).toHaveLength(4)
    pass(slowAfterMillis - 1)
    expect(dispatching.untilOverdue()).toBe(1)
    dispatching.markOverdue()
    expect(begun).toHaveLength(4)
    pass(1)
    dispatching.markOverdue()
    expect(begun.slice(4).map(({ item }) => item.endpointId)).toEqual(["b"])
    expect(dispatching.workers.get("a")!.pace).toMatchObject({ limit: 4, track: "slow" })
    expect(dispatching.untilOverdue()).toBe(slowAfterMillis)
  })

  it("looks at the store again when a retry is due, the earliest first", () => {
    const { dispatching, pass } = dispatchingOf()
    committed(
      dispatching,
      ["a", "b"].map((id) => state(id, active)),
      [],
      ["a", "b"]
    )
    const [a, b] = ["a", "b"].map((id) => dispatching.workers.get(id)!)
    for (const worker of [a!, b!]) worker.more.fill(false)
    dispatching.wanting.clear()
    dispatching.arm(a!, jobLanes.retry, 1_500)
    dispatching.arm(b!, jobLanes.retry, 1_200)
    dispatching.arm(b!, jobLanes.retry, 1_900)
    expect(dispatching.untilTimer()).toBe(200)
    pass(200)
    dispatching.fireTimers()
    expect([...dispatching.wanting]).toEqual([b])
    expect(b!.more[jobLanes.retry]).toBe(true)
    expect(dispatching.untilTimer()).toBe(300)
    pass(300)
    dispatching.fireTimers()
    expect(dispatching.untilTimer()).toBe(Number.POSITIVE_INFINITY)
    expect([...dispatching.wanting]).toEqual([b, a])
  })

  it("keeps no more idle endpoints than its bound, and every busy one", () => {
    const { dispatching } = dispatchingOf()
    committed(dispatching, [state("busy", active)], [delivery("busy")])
    for (let number = 0; number < 6_000; number++) {
      committed(dispatching, [state(`e${number}`, active)])
    }
    dispatching.forgetIdle()
    expect(dispatching.workers.size).toBe(5_000)
    expect(dispatching.workers.has("busy")).toBe(true)
  })

  it("forgets an endpoint whose deliveries are over, and keeps one whose deliveries are still to be cancelled", () => {
    const { dispatching } = dispatchingOf()
    const over = delivery("over")
    committed(dispatching, [state("over", active), state("deleted", active)], [over])
    dispatching.release(over)
    committed(dispatching, [state("more", active)], [], ["more"])
    committed(dispatching, [state("deleted", null, 2)])
    for (let number = 0; number < 6_000; number++) committed(dispatching, [state(`e${number}`, active)])
    dispatching.forgetIdle()
    expect(dispatching.workers.has("over")).toBe(false)
    expect([...dispatching.deleted.keys()]).toEqual(["deleted"])
    expect(dispatching.workers.has("deleted")).toBe(true)
    // What it has in the store is looked for sooner than by the next scan.
    expect(dispatching.workers.has("more")).toBe(true)
  })
})
