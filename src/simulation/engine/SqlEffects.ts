/**
 * Simulates the SQL reactor and the work queue that it fills: they count per record the effects of transactions, so
 * that a checker can verify them. The queue's worker makes its effects outside any transaction and may die after one.
 */
import { Effect } from "effect"
import { ReactorTransaction } from "../../engine/ports/Cursors.ts"
import { adaptive, immediate, type Pace, type Reactor } from "../../engine/Reactor.ts"
import type { LogRecord } from "../../engine/records.ts"
import type { SimulatedEngine } from "./SimulatedEngine.ts"
import type { Simulation } from "./Simulation.ts"

export const booksName = "books"

/** The content of the simulated database besides the engine's own tables. See {@link engineCheckers}. */
export interface BooksStore {
  /** How often a committed transaction processed each record, by place `<partition>/<sequence>/<index>`. */
  readonly entries: Map<string, number>
  /** Work to be done outside. */
  readonly jobs: Array<{ readonly place: string; isDone: boolean }>
  /** How often the outside effect of each place was made. */
  readonly deeds: Map<string, number>
}

export const makeBooksStore = (): BooksStore => ({ entries: new Map(), jobs: [], deeds: new Map() })

export const placeOfRecord = (record: LogRecord): string => `${record.partition}/${record.sequence}/${record.index}`

/** The paces of scenarios: as usual, one that waits after every transaction, and none. */
const paces: ReadonlyArray<Pace> = [adaptive, { share: 0.05, burstMillis: 0, maximumWaitMillis: 200 }, immediate]

export const makeBooks = (simulation: Simulation, _engine: SimulatedEngine): Reactor<never> => ({
  name: booksName,
  pace: paces[simulation.scenario.seed % paces.length]!,
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
          simulation.worker.wake()
          simulation.effected(record)
        })
      }
    })
})

/** How long a piece of outside work takes, milliseconds. */
const workMillis = 2

/**
 * The worker of the queue; one for the whole deployment, it lives as long as the simulation. See
 * {@link engineCheckers}.
 */
export class JobWorker {
  private readonly simulation: Simulation
  private from = 0
  private isBusy = false

  constructor(simulation: Simulation) {
    this.simulation = simulation
  }

  /** Whether all work is done. */
  get isThrough(): boolean {
    return this.from >= this.simulation.books.jobs.length
  }

  /** Notifies the worker of work. */
  wake(): void {
    if (this.isBusy) return
    this.isBusy = true
    this.simulation.world.after(workMillis, undefined, () => this.work())
  }

  private work(): void {
    const { books, faults } = this.simulation
    this.isBusy = false
    const job = books.jobs[this.from]
    if (job === undefined) return
    books.deeds.set(job.place, (books.deeds.get(job.place) ?? 0) + 1)
    // A worker that is killed after the effect does not note it.
    if (faults.take("work") === undefined) {
      job.isDone = true
      this.from++
    }
    this.wake()
  }
}
