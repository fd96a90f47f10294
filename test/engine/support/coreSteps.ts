/** Steps of a core whose actors are not in memory, for specifications of what comes into it beside its drains. */
import type { Demand } from "../../../src/engine/core/protocol.ts"
import { Counter } from "./actors.ts"
import { type CoreDriver, type CoreDriverOptions, servingCore } from "./core.ts"
import { add } from "./durability.ts"

/** A core that serves, with nothing in memory: `prepare` was asked in a life before, and a checkpoint has it. */
export const cold = (prepare: (core: CoreDriver) => void, options: CoreDriverOptions = {}): CoreDriver => {
  const core = servingCore(options)
  prepare(core)
  core.run()
  core.save()
  core.begin()
  return core
}

export const counters = (...organizations: ReadonlyArray<string>) => {
  return (core: CoreDriver) => {
    for (const organization of organizations) core.ask(Counter, organization, add(1))
  }
}

/** Does what the core wants, but answers no reads. */
export const runUnread = (core: CoreDriver): Demand => {
  for (let steps = 0; steps < 1_000; steps++) {
    const demand = core.next()
    if (demand._tag === "Append") core.stored(demand.frame)
    else if (demand._tag === "Confirm") core.confirm()
    else if (demand._tag !== "Yield") return demand
  }
  throw new Error("the core never comes to rest")
}

/** Lets all reads fail that it wants. Answers how many there were. */
export const failAllReads = (core: CoreDriver): number => {
  let count = 0
  for (let read = core.takeRead(); read !== undefined; read = core.takeRead()) {
    core.failRead(read)
    count++
  }
  return count
}
