/** Specifies when the next delivery of a line begins: once it is known how the one before was recorded. */
import { describe, expect, it } from "vitest"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryTask, TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import { DispatchLines, type LinesHost } from "../../../src/webhooks/dispatcher/DispatchLines.ts"
import { Worker } from "../../../src/webhooks/dispatcher/EndpointWorker.ts"

/** A host whose held deliveries are those that are named; each of them waits for its turn. */
const started = (held: ReadonlyArray<string> = []) => {
  const worker = new Worker(0, "we_1")
  worker.permission = "all"
  const offered: Array<string> = []
  const armed: Array<number> = []
  const returned: Array<string> = []
  const host: LinesHost = {
    now: 0,
    isDraining: false,
    workerOf: () => worker,
    isHeld: (id) => held.includes(id),
    enqueue: () => undefined,
    offer: (_, { id }) => void offered.push(id),
    giveBack: ({ id }) => void returned.push(id),
    withdraw: () => true,
    want: () => undefined,
    arm: (_worker, _lane, at) => void armed.push(at)
  }
  const lines = new DispatchLines(host)
  const endpoint = lines.of("we_1")
  endpoint.walked(endpoint.beginWalk(0), [], { isHeld: () => false, isWhole: true, now: 0 })
  const left: Array<string> = []
  const delivery = (id: string, task: Partial<DeliveryTask> = {}): TakenDelivery => ({
    id,
    partition: 0,
    organizationId: "org_1",
    endpointId: "we_1",
    lane: jobLanes.line,
    attempt: 1,
    leasedUntil: Number.POSITIVE_INFINITY,
    origin: "event",
    eventId: `evt_${id}`,
    eventCreatedAt: 0,
    body: "{}",
    line: "a",
    frame: 1,
    task: {
      run: () => true,
      leave: () => void left.push(id),
      end: () => true,
      isQueued: false,
      isBeingWritten: false,
      isAbandoned: false,
      ...task
    }
  })
  const offer = (...deliveries: ReadonlyArray<TakenDelivery>) => {
    for (const one of deliveries) lines.offer(worker, one, true)
  }
  return { armed, delivery, left, lines, offer, offered, returned, worker }
}

describe("the next delivery of a line", () => {
  it("goes back, whether it is offered or held, if the reactor queues the one before, whose outcome was lost", () => {
    for (const held of [[], ["2"]]) {
      const { delivery, left, lines, offer, returned, worker } = started(held)
      const [first, second, third] = ["1", "2", "3"].map((id) => delivery(id)) as [
        TakenDelivery,
        TakenDelivery,
        TakenDelivery
      ]
      offer(first, second, third)
      lines.release(first, { isOver: true })
      lines.queued(worker, [{ line: "a", id: "1" }])
      if (held.length > 0) {
        expect(returned).toEqual(["2"])
        lines.giveBack(second)
      }
      expect(left).toEqual(held.length > 0 ? ["3"] : ["3", "2"])
      expect([...lines.of("we_1").ready]).toEqual(["a"])
      // One that is known to be in the store comes behind, and changes nothing.
      lines.queued(worker, [{ line: "a", id: "3" }])
      expect(returned).toEqual(held)
    }
  })

  it("begins when the one before is over", () => {
    const { delivery, lines, offer, offered } = started()
    const first = delivery("1")
    offer(first, delivery("2"))
    expect(offered).toEqual(["1"])
    lines.release(first, { isOver: true })
    expect(offered).toEqual(["1", "2"])
  })

  it("waits for the transaction that has written the one before as running", () => {
    const { delivery, lines, offer, offered } = started()
    const task = { isBeingWritten: true }
    const first = delivery("1")
    Object.defineProperty(first.task, "isBeingWritten", { get: () => task.isBeingWritten })
    offer(first, delivery("2"))
    lines.release(first, { isOver: true })
    expect(offered).toEqual(["1"])
    lines.recorded(0, 0)
    expect(offered).toEqual(["1"])
    task.isBeingWritten = false
    lines.recorded(0, 1)
    expect(offered).toEqual(["1", "2"])
  })

  it("is left to the store where the one before must be attempted again", () => {
    const { armed, delivery, left, lines, offer, offered } = started()
    const first = delivery("1")
    offer(first, delivery("2"))
    lines.release(first, { isOver: false, dueAt: 700 })
    expect([offered, left, armed]).toEqual([["1"], ["2"], [700]])
    offer(delivery("3"))
    expect(left).toEqual(["2", "3"])
  })
})
