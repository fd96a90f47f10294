/**
 * Events through a tumbling window, one by one or a hundred together, and beside it a loop that sums the same events in a map: events per second
 * of the process's CPU. A process measures one of them.
 */
import { Effect, Result, Schema } from "effect"
import * as Windows from "../../../src/windows/index.ts"
import { serveWorkload } from "./workload.ts"

export interface WindowLoad {
  readonly through: "add" | "addAll" | "map"
  readonly seconds: number
}

const batch = 100
const sizeMillis = 60_000
const start = Date.UTC(2026, 0, 1)

/** The event of a place in the stream: 20 a second, each up to two seconds out of order. */
const eventAt = (index: number) => ({ at: start + index * 50 - ((index * 7_919) % 2_000), event: index % 100 })

const perMinute = Windows.tumbling({
  sizeMillis,
  outOfOrderMillis: 2_000,
  aggregate: Schema.Int,
  initial: 0,
  add: (sum, more: number) => sum + more
})

/** Takes the next batch of events, and answers the sum of what has been closed, or summed, by then. */
const takers: Readonly<Record<WindowLoad["through"], () => (from: number) => number>> = {
  add: () => {
    let state = perMinute.initial
    let sum = 0
    return (from) => {
      for (let index = from; index < from + batch; index++) {
        const event = eventAt(index)
        const { closed, late, state: after } = Result.getOrThrow(perMinute.add(state, event, event.at))
        if (late.length > 0) throw new Error("an event was late")
        for (const window of closed) sum += window.aggregate
        state = after
      }
      return state.open.reduce((all, { aggregate }) => all + aggregate, sum)
    }
  },
  addAll: () => {
    let state = perMinute.initial
    let sum = 0
    return (from) => {
      const events = Array.from({ length: batch }, (_, index) => eventAt(from + index))
      const added = Result.getOrThrow(perMinute.addAll(state, events, events[batch - 1]!.at))
      if (added.late.length > 0) throw new Error("an event was late")
      for (const window of added.closed) sum += window.aggregate
      state = added.state
      return state.open.reduce((all, { aggregate }) => all + aggregate, sum)
    }
  },
  map: () => {
    const sums = new Map<number, number>()
    let sum = 0
    return (from) => {
      for (let index = from; index < from + batch; index++) {
        const { at, event } = eventAt(index)
        const window = Math.floor(at / sizeMillis)
        sums.set(window, (sums.get(window) ?? 0) + event)
        sum += event
      }
      // As many as are open in the windows.
      if (sums.size > 4) sums.delete(sums.keys().next().value!)
      return sum
    }
  }
}

/** Events per second of CPU, after a warm-up of a fifth of the time. */
const measured = (through: WindowLoad["through"], seconds: number): number => {
  const take = takers[through]()
  let index = 0
  let expected = 0
  const repeat = (micros: number): number => {
    const before = process.cpuUsage()
    const from = index
    for (;;) {
      for (let round = 0; round < 100; round++) {
        // Each batch has every event once.
        expected += (batch * (batch - 1)) / 2
        if (take(index) !== expected) throw new Error("an event is in no window")
        index += batch
      }
      const { system, user } = process.cpuUsage(before)
      if (system + user >= micros) return ((index - from) / (system + user)) * 1e6
    }
  }
  repeat(seconds * 0.2e6)
  return repeat(seconds * 1e6)
}

serveWorkload(({ seconds, through }: WindowLoad) =>
  Effect.succeed({ measure: async () => ({ perSecond: measured(through, seconds) }) })
)
