/**
 * The SQL reactor of a simulation and the work queue that it fills: what its transactions did is kept per record, so that a checker can count
 * it. The queue's worker does its effects outside of any transaction and may die after one.
 */
import { Effect } from "effect"
import { ReactorTransaction } from "../engine/Cursors.ts"
import type { Reactor } from "../engine/Reactor.ts"
import type { LogRecord } from "../engine/records.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"

export const booksName = "books"

/** What the simulated database holds besides the engine's own tables. */
export interface BooksStore {
  /** Records by place, `<partition>/<sequence>/<index>`: how often a committed transaction dealt with it. */
  readonly entries: Map<string, number>
  /** Work to be done outside. */
  readonly jobs: Array<{ readonly place: string; isDone: boolean }>
  /** Outside effects by place: how often they were done. */
  readonly deeds: Map<string, number>
}

export const makeBooksStore = (): BooksStore => ({ entries: new Map(), jobs: [], deeds: new Map() })

export const placeOfRecord = (record: LogRecord): string => `${record.partition}/${record.sequence}/${record.index}`

export const makeBooks = (simulation: Simulation, _engine: SimulatedEngine): Reactor<never> => ({
  name: booksName,
  handle: (records) =>
    Effect.gen(function* () {
      const transaction = yield* ReactorTransaction
      for (const record of records) {
        if (record._tag === "Fact" && simulation.workload.isIndigestible?.(record.fact) === true) {
          return yield* Effect.fail(new Error("this record cannot be processed"))
        }
        transaction.onCommit(() => {
          const place = placeOfRecord(record)
          simulation.books.entries.set(place, (simulation.books.entries.get(place) ?? 0) + 1)
          simulation.books.jobs.push({ place, isDone: false })
          simulation.effected(record)
        })
      }
    })
})

/** How often the worker looks for work. */
const workMillis = 40

/** Starts the worker of the queue; one for the whole deployment, it lives as long as the simulation. */
export const startWorker = (simulation: Simulation): void => {
  const { books, faults, world } = simulation
  let from = 0
  const work = () => {
    while (from < books.jobs.length && books.jobs[from]!.isDone) from++
    const job = books.jobs[from]
    if (job !== undefined) {
      books.deeds.set(job.place, (books.deeds.get(job.place) ?? 0) + 1)
      // killed after the effect, it does not get to note it
      if (faults.take("work") === undefined) job.isDone = true
      if (from + 1 < books.jobs.length) {
        world.after(0.1, undefined, work)
        return
      }
    }
    world.after(workMillis, undefined, work)
  }
  world.after(workMillis, undefined, work)
}
