/** Specifies the lines of an endpoint: given what is known, when something happens, then this may go. */
import { describe, expect, it } from "vitest"
import type { TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import { EndpointLines, maximumLines } from "../../../src/webhooks/dispatcher/EndpointLines.ts"

const delivery = (id: string, line = "a", frame?: number): TakenDelivery => ({
  id,
  partition: 0,
  organizationId: "org_1",
  endpointId: "we_1",
  lane: 3,
  attempt: 1,
  leasedUntil: 1_000,
  origin: "event",
  eventId: `evt_${id}`,
  eventCreatedAt: 0,
  body: "{}",
  line,
  frame
})

const none = { isHeld: () => false, isWhole: true, now: 0 }

/** Lines of which the store is known to hold nothing. */
const known = (): EndpointLines => {
  const lines = new EndpointLines({ count: 0 })
  lines.walked(lines.beginWalk(0), [], none)
  return lines
}

describe("lines of an endpoint", () => {
  it("given a store that nobody has looked through, an offered delivery is left to it", () => {
    const lines = new EndpointLines({ count: 0 })
    expect(lines.offer(delivery("1", "a", 1))).toBe("leave")
    expect(lines.needsWalk).toBe(true)
  })

  it("given deliveries that wait for their turn, one that the reactor has queued must wait in the store with those behind it", () => {
    const lines = known()
    const all = ["1", "2", "3", "4"].map((id) => delivery(id, "a", 1))
    const [first, second, third, fourth] = all as [TakenDelivery, TakenDelivery, TakenDelivery, TakenDelivery]
    for (const one of all) lines.offer(one)
    expect(lines.queued("a", "3")).toEqual({ taken: [], offered: [third, fourth] })
    expect(lines.queued("a", "4")).toEqual({ taken: [], offered: [] })
    expect(lines.over(first)).toEqual({ _tag: "Offered", delivery: second })
    expect(lines.over(second)).toEqual({ _tag: "Stored" })
    expect([...lines.ready]).toEqual(["a"])
  })

  it("given a first delivery that waits for room, its line is taken from the store once the reactor has queued it", () => {
    const lines = known()
    const [first, second] = [delivery("1", "a", 1), delivery("2", "a", 1)]
    expect([lines.offer(first), lines.offer(second)]).toEqual(["go", "behind"])
    expect(lines.queued("a", "1")).toEqual({ taken: [], offered: [second] })
    expect([...lines.ready]).toEqual(["a"])
    expect(lines.take({ ...first, frame: undefined })).toBe(true)
  })

  it("given a walk that finds more than is known of a line, its next one is left to the store", () => {
    const lines = known()
    lines.queued("a", "1")
    // A replay, of which nobody knows the deliveries.
    lines.doubt(1)
    const found = [{ line: "a", headId: "1", dueAt: 0, isAlone: false }]
    lines.walked(lines.beginWalk(1), found, none)
    const first = delivery("1", "a")
    expect(lines.take(first)).toBe(true)
    lines.over(first)
    expect(lines.offer(delivery("3", "a", 2))).toBe("leave")
    // Once a walk finds nothing of the line any more, the next one goes.
    lines.walked(lines.beginWalk(2), [], none)
    expect(lines.offer(delivery("4", "a", 3))).toBe("go")
  })

  it("given others of a line in the store, one that the reactor queues may be one of them and holds nothing back", () => {
    const lines = known()
    lines.doubt(1)
    lines.walked(lines.beginWalk(1), [{ line: "a", headId: "1", dueAt: 0, isAlone: false }], none)
    expect(lines.take(delivery("1", "a"))).toBe(true)
    expect(lines.beginsTooSoon("a", "2")).toBeUndefined()
  })

  it("given an empty store, the first of each line goes and the others wait for it, in order", () => {
    const lines = known()
    const [first, second, third] = ["1", "2", "3"].map((id) => delivery(id, "a", 1)) as [
      TakenDelivery,
      TakenDelivery,
      TakenDelivery
    ]
    expect([first, second, third].map((one) => lines.offer(one))).toEqual(["go", "behind", "behind"])
    expect(lines.offer(delivery("4", "b", 1))).toBe("go")
    expect(lines.over(first)).toEqual({ _tag: "Offered", delivery: second })
    expect(lines.over(second)).toEqual({ _tag: "Offered", delivery: third })
    expect(lines.over(third)).toEqual({ _tag: "None" })
    expect(lines.offer(delivery("5", "a", 2))).toBe("go")
  })

  it("given one that must be attempted again, those behind it wait in the store until it is over", () => {
    const lines = known()
    const [first, second] = [delivery("1", "a", 1), delivery("2", "a", 1)]
    lines.offer(first)
    lines.offer(second)
    expect(lines.block(first, 50)).toEqual({ taken: [], offered: [second] })
    expect(lines.offer(delivery("3", "a", 2))).toBe("leave")
    expect(lines.offer(delivery("4", "b", 2))).toBe("go")
    expect([...lines.ready]).toEqual([])
    expect(lines.due(49)).toBe(50)
    lines.due(50)
    expect([...lines.ready]).toEqual(["a"])
    for (const id of ["1", "2", "3"]) {
      const taken = delivery(id)
      expect(lines.take(taken)).toBe(true)
      const next = lines.over(taken)
      expect(next._tag).toBe(id === "3" ? "None" : "Stored")
    }
    expect(lines.offer(delivery("5", "a", 3))).toBe("go")
  })

  it("given a run of the store, what is behind a returned one goes back too", () => {
    const lines = known()
    const run = ["1", "2", "3"].map((id) => delivery(id))
    lines.claim("a")
    expect(run.map((one) => lines.take(one))).toEqual([true, false, false])
    lines.taken("a", 3, 16)
    expect(lines.block(run[0]!)).toEqual({ taken: [run[1], run[2]], offered: [] })
    expect(lines.offer(delivery("4", "a", 9))).toBe("leave")
  })

  it("given a walk, a line without deliveries there is free, unless something came since or is not recorded", () => {
    const lines = known()
    lines.storeId("a", "1", 4)
    lines.walked(lines.beginWalk(3), [], none)
    expect(lines.offer(delivery("2", "a", 5))).toBe("leave")
    const walk = lines.beginWalk(5)
    lines.storeId("b", "3", 0)
    lines.walked(walk, [], none)
    expect(lines.offer(delivery("4", "a", 6))).toBe("go")
    expect(lines.offer(delivery("5", "b", 6))).toBe("leave")
  })

  it("given a replay of a frame, everything waits until a walk behind that frame is whole", () => {
    const lines = known()
    lines.doubt(7)
    lines.walked(lines.beginWalk(6), [], none)
    expect(lines.offer(delivery("1", "a", 8))).toBe("leave")
    lines.walked(lines.beginWalk(7), [], { ...none, isWhole: false })
    expect(lines.offer(delivery("2", "b", 8))).toBe("leave")
    lines.walked(lines.beginWalk(8), [{ line: "a", headId: "r", dueAt: 0, isAlone: true }], none)
    expect(lines.offer(delivery("3", "a", 9))).toBe("leave")
    expect(lines.offer(delivery("4", "c", 9))).toBe("go")
  })

  it("given more lines than are kept, further ones go by way of the store, one of each", () => {
    const inUse = { count: 0 }
    const lines = new EndpointLines(inUse)
    lines.walked(lines.beginWalk(0), [], none)
    for (let number = 0; number < maximumLines; number++) lines.offer(delivery(`${number}`, `${number}`, 1))
    expect(inUse.count).toBe(maximumLines)
    expect(lines.offer(delivery("x", "x", 1))).toBe("leave")
    expect(lines.claim("x")).toBe(1)
    lines.clear()
    expect(inUse.count).toBe(0)
  })
})
