/**
 * Makes the reactor of a worker, which puts the jobs of its records into the store in the transaction that moves its
 * cursor (docs/workers.md): so one job exists for each record. Needs no service.
 */
import { Effect } from "effect"
import { CursorsUnavailable } from "../ports/Cursors.ts"
import type { NewWorkerJob, WorkerJobs } from "../ports/WorkerJobs.ts"
import { onCommit, type Reactor } from "../Reactor.ts"
import type { LogRecord } from "../records.ts"
import { maximumJobLength, type StoredJob, type Worker } from "./workerTypes.ts"

/** The reactor's name, under which records are parked on which `toJob` throws. Stored: never rename it. */
export const reactorNameOf = (worker: string): string => `sluice.worker.${worker}`

/** The place of the record that a job's id names; undefined if somebody else has made the id. */
export const placeOfJob = (
  id: string
): { readonly partition: number; readonly sequence: number; readonly index: number } | undefined => {
  const [partition, sequence, index] = id.split(".").slice(1, 4).map(Number)
  if (partition === undefined || sequence === undefined || index === undefined) return undefined
  return Number.isNaN(partition + sequence + index) ? undefined : { partition, sequence, index }
}

/** The job of a record; undefined if it causes none. Throws if `toJob` does. */
export const newJobOf = (worker: Worker<unknown>, record: LogRecord): NewWorkerJob | undefined => {
  const job = worker.jobOf(record)
  if (job === undefined) return undefined
  const { index, now, organization, partition, sequence } = record
  const stored: StoredJob = { at: now, job, round: 0 }
  const payload = JSON.stringify(stored)
  if (payload.length > maximumJobLength)
    throw new RangeError(`a job of ${payload.length} characters is larger than ${maximumJobLength}`)
  // The time tells apart two records of one place, should a log have lost frames.
  const id = `${worker.name}.${partition}.${sequence}.${index}.${now}`
  return { id, partition, organization, sequence, index, dueAt: now, payload }
}

/** `added` is called after each commit that has put jobs in. */
export const jobsReactor = (
  worker: Worker<unknown>,
  jobs: WorkerJobs["Service"],
  added: () => void
): Reactor<never> => ({
  name: reactorNameOf(worker.name),
  wants: worker.wants,
  handle: (records) =>
    Effect.gen(function* () {
      const made = yield* Effect.try({
        try: () => records.flatMap((record) => newJobOf(worker, record) ?? []),
        catch: (cause) => cause
      })
      if (made.length === 0) return
      // A store without room is no fault of a record either.
      yield* Effect.mapError(
        jobs.put(worker.name, made),
        ({ cause, message }) => new CursorsUnavailable({ message, cause })
      )
      yield* onCommit(added)
    })
})
