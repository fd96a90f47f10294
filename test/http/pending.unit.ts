/** The list of waiting requests against a plain set: whoever joins and leaves, in whatever order, it has the same members. */
import { it } from "@effect/vitest"
import { Schema } from "effect"
import { expect } from "vitest"
import { type Link, PendingAnswers } from "../../src/http/fast/PendingAnswers.ts"

class Request implements Link {
  before: Link | undefined
  after: Link | undefined
}

const Step = Schema.Struct({
  request: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  joins: Schema.Boolean
})

it.prop("has the members that a set has", { steps: Schema.Array(Step) }, ({ steps }) => {
  const requests = Array.from({ length: 6 }, () => new Request())
  const list = new PendingAnswers<Request>()
  const model = new Set<Request>()
  for (const { joins, request: at } of steps) {
    const request = requests[at]!
    if (joins && !model.has(request)) {
      list.add(request)
      model.add(request)
    }
    if (!joins) {
      list.delete(request)
      model.delete(request)
    }
    // By identity: two requests look alike.
    expect(list.all().every((one) => model.has(one))).toBe(true)
    expect(new Set(list.all()).size).toBe(model.size)
    expect(list.all()).toHaveLength(model.size)
    for (const one of requests) expect(list.has(one)).toBe(model.has(one))
  }
})

it("keeps its members while each of them leaves as it is told to stop", () => {
  const list = new PendingAnswers<Request>()
  const requests = [new Request(), new Request(), new Request()]
  for (const request of requests) list.add(request)
  const stopped: Array<Request> = []
  for (const request of list.all()) {
    list.delete(request)
    stopped.push(request)
  }
  expect(requests.every((one) => stopped.includes(one))).toBe(true)
  expect(list.all()).toEqual([])
})
