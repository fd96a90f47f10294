/** Timers of later looks at the store, against a naive model: for each lane of an endpoint the times that it was given. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { Worker } from "../../../src/webhooks/dispatcher/EndpointWorker.ts"
import { maximumTimers, StoreTimers } from "../../../src/webhooks/dispatcher/StoreTimers.ts"

const place = { worker: Schema.Literals([0, 1, 2]), lane: Schema.Literals([0, 1]) }
const Time = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const Step = Schema.Union([
  Schema.TaggedStruct("Arm", { ...place, at: Time }),
  Schema.TaggedStruct("Due", { now: Time }),
  Schema.TaggedStruct("Forget", { worker: place.worker })
])

/** The set timers of the model, of which only a lane's earliest is in force. */
interface SetTimer {
  readonly worker: number
  readonly lane: number
  readonly at: number
}

describe("timers of looks at the store", () => {
  it.prop(
    "come in order of their times, and a lane keeps its earliest",
    [Schema.Array(Step).check(Schema.isMaxLength(80))],
    ([steps]) => {
      const timers = new StoreTimers()
      const workers = [0, 1, 2].map((number) => new Worker(0, `we_${number}`))
      let model: ReadonlyArray<SetTimer> = []
      /** A lane's time in force; none once that has come, though later ones that it replaced may be left. */
      const inForce = new Map<string, number>()
      const laneOf = ({ lane, worker }: Pick<SetTimer, "lane" | "worker">) => `${worker} ${lane}`
      for (const step of steps) {
        if (step._tag === "Arm") {
          const { at, lane, worker } = step
          const isEarlier = at < (inForce.get(laneOf(step)) ?? Number.POSITIVE_INFINITY)
          const isNext = isEarlier && model.every((one) => one.at > at)
          if (isEarlier) {
            model = [...model, { worker, lane, at }]
            inForce.set(laneOf(step), at)
          }
          expect(timers.arm(workers[worker]!, lane, at)).toBe(isNext)
        } else if (step._tag === "Forget") {
          timers.forget(workers[step.worker]!)
          model = model.filter(({ worker }) => worker !== step.worker)
          for (const lane of [0, 1]) inForce.delete(laneOf({ worker: step.worker, lane }))
          // The dispatcher forgets the worker too, and makes another one.
          workers[step.worker] = new Worker(0, `we_${step.worker}`)
        } else {
          const due: Array<number> = []
          for (let timer = timers.takeDue(step.now); timer !== undefined; timer = timers.takeDue(step.now))
            due.push(timer.at)
          expect(due).toEqual(
            model
              .map(({ at }) => at)
              .filter((at) => at <= step.now)
              .sort((one, other) => one - other)
          )
          for (const one of model)
            if (one.at <= step.now && inForce.get(laneOf(one)) === one.at) inForce.delete(laneOf(one))
          model = model.filter(({ at }) => at > step.now)
        }
        const times = model.map(({ at }) => at)
        expect(timers.untilNext(0)).toBe(Math.min(Number.POSITIVE_INFINITY, ...times))
      }
    }
  )

  it("has a bound: a time that finds no room is left to the next scan", () => {
    const timers = new StoreTimers()
    for (let at = 0; at < maximumTimers; at++) timers.arm(new Worker(0, `we_${at}`), 0, at)
    const last = new Worker(0, "we_last")
    expect(timers.arm(last, 0, 5)).toBe(false)
    expect(last.armedFor[0]).toBe(Number.POSITIVE_INFINITY)
  })
})
