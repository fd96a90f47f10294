/** The next attempt: per endpoint by a rule, over organizations and their endpoints in turn, within everybody's share; against a naive model. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { roomOf } from "../../../src/common/Shares.ts"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import { maximumLimit, slowAfterMillis, type Track } from "../../../src/webhooks/dispatcher/ConcurrencyLimit.ts"
import {
  allLanes,
  DispatchQueue,
  EndpointQueue,
  maximumOverdue,
  nextLane,
  type Permission,
  type Slot
} from "../../../src/webhooks/dispatcher/DispatchQueue.ts"

interface Item {
  readonly endpoint: string
  readonly lane: number
  readonly number: number
}

const { asked, first, retry } = jobLanes

const queueOf = (capacity: { readonly main: number; readonly slow: number }, steadyMillis = () => 0) => {
  const queue = new DispatchQueue<Item>(capacity, steadyMillis)
  const endpoints = new Map<string, EndpointQueue<Item>>()
  let number = 0
  /** An endpoint; `x/a` is of the organization x, `a` of one of its own. */
  const endpoint = (name: string): EndpointQueue<Item> => {
    const known = endpoints.get(name) ?? new EndpointQueue<Item>(name)
    known.organizationId = name.split("/")[0]!
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
    waiting: [1, 1, 1, 0],
    inFlight: [0, 0, 0, 0],
    servedAt: [0, 0, 0, 0],
    ...more
  })

  it("given retries in flight, then a first attempt; given first attempts in flight, then a retry", () => {
    expect(nextLane(state({ waiting: [5, 5, 0, 0], inFlight: [0, 1, 0, 0] }))).toBe(first)
    expect(nextLane(state({ waiting: [5, 5, 0, 0], inFlight: [1, 0, 0, 0] }))).toBe(retry)
  })

  it("given one at a time, then the lanes in turn", () => {
    expect(nextLane(state({ limit: 1, waiting: [5, 5, 0, 0], servedAt: [7, 3, 0, 0] }))).toBe(retry)
    expect(nextLane(state({ limit: 1, waiting: [5, 5, 0, 0], servedAt: [7, 8, 0, 0] }))).toBe(first)
  })

  it("given retries alone, then they have half of what is allowed", () => {
    expect(nextLane(state({ limit: 8, waiting: [0, 9, 0, 0], inFlight: [0, 3, 0, 0] }))).toBe(retry)
    expect(nextLane(state({ limit: 8, waiting: [0, 9, 0, 0], inFlight: [0, 4, 0, 0] }))).toBeUndefined()
    expect(nextLane(state({ limit: 1, waiting: [0, 9, 0, 0], inFlight: [0, 0, 0, 0] }))).toBe(retry)
  })

  it("given a Paused endpoint, then only what was asked for; given a Disabled one, nothing", () => {
    expect(nextLane(state({ permission: "asked" }))).toBe(asked)
    expect(nextLane(state({ permission: "asked", waiting: [5, 5, 0, 0] }))).toBeUndefined()
    expect(nextLane(state({ permission: "none" }))).toBeUndefined()
  })
})

describe("the dispatch queue", () => {
  it("given two endpoints of an organization, one with much more, then they take turns", () => {
    const { add, begin, permit } = queueOf({ main: 12, slow: 1 })
    for (const [name, count] of [
      ["x/a", 100],
      ["x/b", 3]
    ] as const) {
      permit(name)
      add(name, count)
    }
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["x/a", "x/b", "x/a", "x/b"])
  })

  it("given an organization with many endpoints, then it has half of the places, and another one begins at once", () => {
    const { add, begin, permit, queue } = queueOf({ main: 16, slow: 1 })
    for (let number = 0; number < 24; number++) {
      permit(`x/${number}`)
      add(`x/${number}`, 10)
    }
    expect(begin()).toHaveLength(8)
    permit("y")
    add("y", 10)
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["y", "y"])
    expect([queue.usedBy("x").main, queue.usedBy("y").main]).toEqual([8, 2])
  })

  it("given an endpoint that holds places for long, then the others of its organization have what becomes free first", () => {
    const { add, begin, permit, queue } = queueOf({ main: 12, slow: 1 })
    permit("x/a")
    add("x/a", 9)
    const [one] = begin()
    for (const name of ["x/b", "x/c", "x/d"]) {
      permit(name)
      add(name)
    }
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["x/b", "x/c", "x/d"])
    permit("x/e")
    add("x/e")
    expect(begin()).toEqual([])
    queue.end(one!, succeeded)
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["x/e"])
  })

  it("given an organization that holds fewer places, then what becomes free is its own first", () => {
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    const fill = (organization: string) => {
      for (let number = 0; number < 6; number++) {
        permit(`${organization}/${number}`)
        add(`${organization}/${number}`, 9)
      }
      return begin()
    }
    const [one] = fill("x")
    expect(fill("y")).toHaveLength(2)
    queue.end(one!, succeeded)
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["y/2"])
  })

  it("given endpoints that do not answer, then they wait for each other in the slow track and nobody for them", () => {
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    for (const name of ["a", "b"]) {
      permit(name)
      add(name, 10)
    }
    for (const slot of begin()) queue.end(slot, unanswered)
    const slow = begin()
    expect(slow.map(({ place }) => place)).toEqual(["slow"])
    permit("c")
    add("c", 9)
    const healthy = begin()
    expect(healthy.map(({ item }) => item.endpoint)).toEqual(["c", "c"])
    queue.end(slow[0]!, unanswered)
    const next = begin()
    expect(next).toHaveLength(1)
    expect(next[0]!.item.endpoint).not.toBe(slow[0]!.item.endpoint)
  })

  it("given attempts without an answer for long, then their places are free, whatever the slow track holds", () => {
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    for (const name of ["x/a", "x/b", "x/c", "x/d"]) {
      permit(name)
      add(name)
    }
    const hung = begin()
    permit("x/e")
    add("x/e", 10)
    expect([hung.length, begin().length]).toEqual([4, 0])
    for (const slot of hung) queue.overdue(slot)
    expect(begin().map(({ item, place }) => [item.endpoint, place])).toEqual([
      ["x/e", "main"],
      ["x/e", "main"]
    ])
    expect(queue.used).toEqual({ main: 2, slow: 0, overdue: 4 })
    for (const slot of hung) queue.end(slot, unanswered)
    expect(queue.used).toEqual({ main: 2, slow: 0, overdue: 0 })
  })

  it("given an organization of which as much hangs as it may, then it waits and the others do not", () => {
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    const hung: Array<Slot<Item>> = []
    for (let number = 0; hung.length < 8; number++) {
      permit(`x/${number}`)
      add(`x/${number}`, 4)
      for (const slot of begin()) {
        queue.overdue(slot)
        hung.push(slot)
      }
    }
    permit("x/more")
    add("x/more")
    permit("y")
    add("y")
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["y"])
    queue.end(hung[0]!, unanswered)
    expect(begin().map(({ item }) => item.endpoint)).toEqual(["x/more"])
  })

  it("given as much in all as may hang, then only organizations wait of which more than a small part does", () => {
    expect([maximumOverdue(256, 0), maximumOverdue(256, 1_023), maximumOverdue(256, 1_024)]).toEqual([256, 256, 16])
    expect([maximumOverdue(8, 31), maximumOverdue(8, 32)]).toEqual([8, 1])
  })

  it("given an endpoint that answers quickly again while it waits in the slow track, then it goes on in the main one", () => {
    const { add, begin, endpoint, permit, queue } = queueOf({ main: 16, slow: 16 })
    permit("x/a")
    add("x/a", 9)
    const [one, two] = begin()
    queue.end(one!, { end: "succeeded", durationMillis: slowAfterMillis + 1 })
    const [slow] = begin()
    expect([slow!.place, endpoint("x/a").pace.track]).toEqual(["slow", "slow"])
    queue.end(two!, succeeded)
    expect(begin()[0]!.place).toBe("main")
  })

  it("given an endpoint that is paused, then what waits can be given back but for what was asked for", () => {
    const { add, begin, endpoint, permit, queue } = queueOf({ main: 8, slow: 1 })
    add("a", 2)
    add("a", 1, retry)
    add("a", 1, asked)
    permit("a", "asked")
    expect(queue.withdraw(endpoint("a")).map(({ lane }) => lane)).toEqual([first, first, retry])
    expect(begin().map(({ lane }) => lane)).toEqual([asked])
    permit("a", "none")
    expect(queue.withdraw(endpoint("a"))).toEqual([])
  })

  const Name = Schema.Literals(["x/a", "x/b", "y/a", "z/a", "z/b"])
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
    "whatever happens: within shares and pace, the organization with the fewest places first, each lane in order, nothing lost or doubled, nothing idle that could be at work",
    [Capacity, Steps],
    ([capacity, steps]) => {
      const { add, endpoints, permit, queue } = queueOf(capacity)
      const flying: Array<Slot<Item>> = []
      const begun: Array<Item> = []
      let added = 0
      const ownOf = (organization: string, at: string) =>
        flying.filter(({ place, queue: { organizationId } }) => place === at && organizationId === organization).length
      const usedOf = (at: string) => flying.filter(({ place }) => place === at).length
      /** Endpoints that may begin an attempt, by the naive reading of the rules. */
      const ready = () =>
        [...endpoints.values()].filter((one) => {
          const { organizationId, pace } = one
          const lane = nextLane({
            limit: pace.limit,
            permission: one.permission,
            waiting: allLanes.map((number) => one.waitingIn(number)),
            inFlight: one.inFlight,
            servedAt: one.servedAt
          })
          const stock = { capacity: capacity[pace.track], used: usedOf(pace.track) }
          const isHeldUp =
            pace.track === "main" &&
            ownOf(organizationId, "overdue") >= maximumOverdue(capacity.main, usedOf("overdue"))
          return lane !== undefined && !isHeldUp && one.total < roomOf(ownOf(organizationId, pace.track), stock)
        })
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
        while (true) {
          const able = ready()
          const slot = queue.next()
          // What may be at work is.
          expect(slot === undefined).toBe(able.length === 0)
          if (slot === undefined) break
          const track: Track = able.some(({ pace }) => pace.track === "main") ? "main" : "slow"
          const others = able.filter(({ pace }) => pace.track === track)
          const { organizationId } = slot.queue
          expect(slot.place).toBe(track)
          expect(ownOf(organizationId, track)).toBe(Math.min(...others.map((one) => ownOf(one.organizationId, track))))
          const siblings = others.filter((one) => one.organizationId === organizationId)
          expect(flying.filter(({ queue: one }) => one === slot.queue)).toHaveLength(
            Math.min(...siblings.map((one) => flying.filter(({ queue: other }) => other === one).length))
          )
          expect(slot.queue.permission).not.toBe("none")
          if (slot.queue.permission === "asked") expect(slot.lane).toBe(asked)
          flying.push(slot)
          begun.push(slot.item)
        }
        for (const place of ["main", "slow", "overdue"] as const) {
          expect(queue.used[place]).toBe(usedOf(place))
          for (const organization of ["x", "y", "z"])
            expect(queue.usedBy(organization)[place]).toBe(ownOf(organization, place))
        }
        for (const track of ["main", "slow"] as const) expect(usedOf(track)).toBeLessThanOrEqual(capacity[track])
        for (const one of endpoints.values()) {
          const own = flying.filter((slot) => slot.queue === one).length
          expect(one.total).toBe(own)
          expect(own).toBeLessThanOrEqual(maximumLimit)
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
    const { add, begin, permit, queue } = queueOf({ main: 8, slow: 1 })
    permit("a")
    add("a", 5)
    const [one] = begin()
    queue.end(one!, succeeded)
    queue.end(one!, undefined)
    expect(queue.used).toEqual({ main: 1, slow: 0, overdue: 0 })
    expect(begin()).toHaveLength(1)
    expect(queue.used).toEqual({ main: 2, slow: 0, overdue: 0 })
  })

  it("is one of the slow ones, where its endpoint has become slow while it waited for its turn", () => {
    const { add, begin, permit, queue } = queueOf({ main: 1, slow: 1 })
    permit("a")
    add("a", 3)
    const [one] = begin()
    queue.end(one!, unanswered)
    const [two] = begin()
    expect(two).toMatchObject({ place: "slow" })
    expect(queue.used).toEqual({ main: 0, slow: 1, overdue: 0 })
  })
})
