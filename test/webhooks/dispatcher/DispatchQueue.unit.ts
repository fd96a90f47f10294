/** Who is next: per endpoint by a rule, over endpoints in turn, each track within its capacity; against a naive model. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import {
  allLanes,
  DispatchQueue,
  EndpointQueue,
  nextLane,
  type Permission,
  type Slot
} from "../../../src/webhooks/dispatcher/DispatchQueue.ts"
import { maximumLimit, slowAfterMillis } from "../../../src/webhooks/dispatcher/pace.ts"

interface Item {
  readonly endpoint: string
  readonly lane: number
  readonly number: number
}

const { asked, first, retry } = jobLanes

const queueOf = (capacity: { readonly main: number; readonly slow: number }) => {
  const queue = new DispatchQueue<Item>(capacity)
  const endpoints = new Map<string, EndpointQueue<Item>>()
  let number = 0
  const endpoint = (name: string): EndpointQueue<Item> => {
    const known = endpoints.get(name) ?? new EndpointQueue<Item>(name)
    endpoints.set(name, known)
    return known
  }
  return {
    queue,
    endpoints,
    endpoint,
    add: (name: string, count = 1, lane: number = first) => {
      for (let added = 0; added < count; added++)
        queue.add(endpoint(name), lane, { endpoint: name, lane, number: number++ })
    },
    permit: (name: string, permission: Permission = "all") => queue.permit(endpoint(name), permission),
    /** Begins whatever may begin. */
    begin: () => {
      const begun: Array<Slot<Item>> = []
      for (let slot = queue.next(); slot !== undefined; slot = queue.next()) begun.push(slot)
      return begun
    }
  }
}

const succeeded = { end: "succeeded", durationMillis: 5 } as const
const unanswered = { end: "unanswered", durationMillis: 15_000 } as const

describe("the lane that is next at an endpoint", () => {
  const state = (more: Partial<Parameters<typeof nextLane>[0]>) => ({
    limit: 4,
    permission: "all" as Permission,
    waiting: [1, 1, 1],
    inFlight: [0, 0, 0],
    servedAt: [0, 0, 0],
    ...more
  })

  it("given retries in flight, then a first attempt; given first attempts in flight, then a retry", () => {
    expect(nextLane(state({ waiting: [5, 5, 0], inFlight: [0, 1, 0] }))).toBe(first)
    expect(nextLane(state({ waiting: [5, 5, 0], inFlight: [1, 0, 0] }))).toBe(retry)
  })

  it("given one at a time, then the lanes in turn", () => {
    expect(nextLane(state({ limit: 1, waiting: [5, 5, 0], servedAt: [7, 3, 0] }))).toBe(retry)
    expect(nextLane(state({ limit: 1, waiting: [5, 5, 0], servedAt: [7, 8, 0] }))).toBe(first)
  })

  it("given retries alone, then they have half of what is allowed", () => {
    expect(nextLane(state({ limit: 8, waiting: [0, 9, 0], inFlight: [0, 3, 0] }))).toBe(retry)
    expect(nextLane(state({ limit: 8, waiting: [0, 9, 0], inFlight: [0, 4, 0] }))).toBeUndefined()
    expect(nextLane(state({ limit: 1, waiting: [0, 9, 0], inFlight: [0, 0, 0] }))).toBe(retry)
  })

  it("given a Paused endpoint, then only what was asked for; given a Disabled one, nothing", () => {
    expect(nextLane(state({ permission: "asked" }))).toBe(asked)
    expect(nextLane(state({ permission: "asked", waiting: [5, 5, 0] }))).toBeUndefined()
    expect(nextLane(state({ permission: "none" }))).toBeUndefined()
  })
})

describe("the dispatch queue", () => {
  it("given two endpoints, one with much more, then they take turns", () => {
    const { add, begin, permit } = queueOf({ main: 6, slow: 1 })
    permit("a")
    permit("b")
    add("a", 100)
    add("b", 3)
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["a", "b", "a", "b", "a", "b"])
  })

  it("given endpoints that do not answer, then they wait for each other in the slow track and nobody for them", () => {
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    for (const name of ["a", "b"]) {
      permit(name)
      add(name, 10)
    }
    for (const slot of begin()) queue.end(slot, unanswered)
    const slow = begin()
    expect(slow.map(({ track }) => track)).toEqual(["slow"])
    permit("c")
    add("c", 9)
    const healthy = begin()
    expect(healthy.map(({ item }) => item.endpoint)).toEqual(["c", "c", "c", "c"])
    queue.end(slow[0]!, unanswered)
    const next = begin()
    expect(next).toHaveLength(1)
    expect(next[0]!.item.endpoint).not.toBe(slow[0]!.item.endpoint)
  })

  it("given attempts without an answer for long, then their places are free for others while the slow track has room", () => {
    const { add, begin, permit, queue } = queueOf({ main: 4, slow: 3 })
    permit("a")
    add("a", 10)
    const hung = begin()
    permit("b")
    add("b", 10)
    expect(begin()).toEqual([])
    for (const slot of hung) queue.overdue(slot)
    expect(queue.used).toEqual({ main: 1, slow: 3 })
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["b", "b", "b"])
    for (const slot of hung) queue.end(slot, unanswered)
    expect(queue.used).toEqual({ main: 3, slow: 0 })
  })

  it("given an endpoint that is paused, then what waits can be given back but for what was asked for", () => {
    const { add, begin, endpoint, permit, queue } = queueOf({ main: 4, slow: 1 })
    add("a", 2)
    add("a", 1, retry)
    add("a", 1, asked)
    permit("a", "asked")
    expect(queue.withdraw(endpoint("a")).map(({ lane }) => lane)).toEqual([first, first, retry])
    expect(begin().map(({ lane }) => lane)).toEqual([asked])
    permit("a", "none")
    expect(queue.withdraw(endpoint("a"))).toEqual([])
  })

  const Name = Schema.Literals(["a", "b", "c", "d"])
  const Step = Schema.Union([
    Schema.TaggedStruct("Add", {
      name: Name,
      lane: Schema.Literals([0, 1, 2]),
      count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))
    }),
    Schema.TaggedStruct("Permit", { name: Name, permission: Schema.Literals(["all", "asked", "none"]) }),
    Schema.TaggedStruct("End", {
      which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 })),
      end: Schema.Literals(["succeeded", "answered", "unanswered"]),
      isSlow: Schema.Boolean
    }),
    Schema.TaggedStruct("Overdue", { which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 })) })
  ])
  const Capacity = Schema.Struct({
    main: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })),
    slow: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))
  })
  const Steps = Schema.Array(Step).check(Schema.isMaxLength(120))

  it.prop(
    "whatever happens: within capacity and pace, each lane in order, nothing lost or doubled, nothing idle that could be at work",
    [Capacity, Steps],
    ([capacity, steps]) => {
      const { add, begin, endpoints, permit, queue } = queueOf(capacity)
      const flying: Array<Slot<Item>> = []
      const begun: Array<Item> = []
      let added = 0
      for (const step of steps) {
        if (step._tag === "Add") {
          add(step.name, step.count, step.lane)
          added += step.count
        } else if (step._tag === "Permit") permit(step.name, step.permission)
        else if (flying.length > 0) {
          const at = step.which % flying.length
          if (step._tag === "Overdue") queue.overdue(flying[at]!)
          else {
            const [slot] = flying.splice(at, 1)
            queue.end(slot!, { end: step.end, durationMillis: step.isSlow ? slowAfterMillis + 1 : 1 })
          }
        }
        for (const slot of begin()) {
          expect(slot.queue.permission).not.toBe("none")
          if (slot.queue.permission === "asked") expect(slot.lane).toBe(asked)
          flying.push(slot)
          begun.push(slot.item)
        }
        for (const track of ["main", "slow"] as const) {
          const used = flying.filter((slot) => slot.track === track).length
          expect(queue.used[track]).toBe(used)
          expect(used).toBeLessThanOrEqual(capacity[track])
        }
        for (const one of endpoints.values()) {
          const own = flying.filter((slot) => slot.queue === one).length
          expect(one.total).toBe(own)
          expect(own).toBeLessThanOrEqual(maximumLimit)
          // what may be at work waits only where its track is full
          const lane = nextLane({
            limit: one.pace.limit,
            permission: one.permission,
            waiting: allLanes.map((number) => one.waitingIn(number)),
            inFlight: one.inFlight,
            servedAt: one.servedAt
          })
          if (lane !== undefined) expect(queue.used[one.pace.track]).toBe(capacity[one.pace.track])
        }
      }
      const waiting = [...endpoints.values()].reduce(
        (sum, one) => sum + allLanes.reduce((count, lane) => count + one.waitingIn(lane), 0),
        0
      )
      expect(begun.length + waiting).toBe(added)
      expect(new Set(begun.map(({ number }) => number)).size).toBe(begun.length)
      for (const name of endpoints.keys())
        for (const lane of allLanes) {
          const numbers = begun
            .filter((item) => item.endpoint === name && item.lane === lane)
            .map(({ number }) => number)
          expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
        }
    }
  )

  it.prop(
    "an endpoint with work waits for no more than one turn of the others",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 12 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))
    ],
    ([count, main]) => {
      const { add, begin, permit, queue } = queueOf({ main, slow: 1 })
      const names = Array.from({ length: count }, (_, index) => `e${index}`)
      for (const [index, name] of names.entries()) {
        permit(name)
        add(name, index === 0 ? 500 : 5)
      }
      const order: Array<string> = []
      let flying = begin()
      while (order.length < count * 4) {
        for (const { item } of flying) order.push(item.endpoint)
        for (const slot of flying) queue.end(slot, succeeded)
        flying = begin()
      }
      for (let at = 0; at + 2 * count <= count * 4; at++)
        expect(new Set(order.slice(at, at + 2 * count)).size).toBe(count)
    }
  )
})

describe("an attempt's place", () => {
  it("is free once, however often its end is told: by its answer and by what broke behind it", () => {
    const { add, begin, permit, queue } = queueOf({ main: 2, slow: 1 })
    permit("a")
    add("a", 5)
    const [one] = begin()
    queue.end(one!, succeeded)
    queue.end(one!, undefined)
    expect(queue.used).toEqual({ main: 1, slow: 0 })
    expect(begin()).toHaveLength(1)
    expect(queue.used).toEqual({ main: 2, slow: 0 })
  })

  it("is one of the slow ones, where its endpoint has become slow while it waited for its turn", () => {
    const { add, begin, permit, queue } = queueOf({ main: 1, slow: 1 })
    permit("a")
    add("a", 3)
    const [one] = begin()
    queue.end(one!, unanswered)
    const [two] = begin()
    expect(two).toMatchObject({ track: "slow" })
    expect(queue.used).toEqual({ main: 0, slow: 1 })
  })
})
