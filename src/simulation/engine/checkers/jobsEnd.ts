/**
 * Checks workers (docs/workers.md, "Promises"): each record with a job is called for under one key, the effect of
 * a job that ended well has happened, its reply is decided, and counts once, and none waits for ever.
 */
import type { WorkerJobOutcome } from "../../../engine/ports/WorkerJobs.ts"
import { reactorNameOf } from "../../../engine/workers/jobsReactor.ts"
import { readStored, type Worker } from "../../../engine/workers/workerTypes.ts"
import type { Checker } from "../Checker.ts"
import type { Decided } from "../Decisions.ts"
import { jobsName, type OutsideCall } from "../OutsideService.ts"
import { wantedRecords } from "../programReactors.ts"
import type { SimulatedEngine } from "../SimulatedEngine.ts"
import type { Simulation } from "../Simulation.ts"
import type { Commit } from "../Truth.ts"

/** How old a record must be so that its job must have ended at the end, milliseconds. */
const settledMillis = 10_000

/** The place that the key of a job names; undefined for another key. */
const placeOfKey = (worker: string, key: string): string | undefined => {
  const [name, partition, sequence, index] = key.split(".")
  return name === worker && index !== undefined ? `${partition}/${sequence}/${index}` : undefined
}

/** Whether a place is before another one of the same log. */
const isBefore = (left: string, right: string): boolean => {
  const [, sequence, index] = left.split("/").map(Number)
  const [, otherSequence, otherIndex] = right.split("/").map(Number)
  return sequence! < otherSequence! || (sequence === otherSequence && index! < otherIndex!)
}

/** The jobs of one worker. */
class JobsOfWorker {
  private readonly simulation: Simulation
  private readonly violate: (message: string) => void
  private readonly worker: Worker<unknown>
  /** The first call for each record, by place. */
  private readonly calls = new Map<string, OutsideCall>()
  /** Places of records whose job has ended. */
  private readonly ended = new Set<string>()
  /** Keys of jobs with a reply, and the decisions upon it. */
  private readonly replied = new Set<string>()
  private readonly decided = new Map<string, Decided>()
  private readonly stored = new Map<string, { readonly sequence: number; readonly now: number }>()

  constructor(simulation: Simulation, worker: Worker<unknown>, violate: (message: string) => void) {
    this.simulation = simulation
    this.worker = worker
    this.violate = violate
  }

  called(call: OutsideCall) {
    const { name } = this.worker
    const place = placeOfKey(name, call.key)
    if (place === undefined) return this.violate(`${name} calls under ${call.key}, which names no record`)
    const first = this.calls.get(place)
    if (first === undefined) {
      this.calls.set(place, call)
      return this.checkOrder(place, call)
    }
    if (first.key !== call.key)
      return this.violate(`${name} calls for record ${place} under ${first.key}, and again under ${call.key}`)
    if (first.job !== call.job)
      this.violate(`${name} calls under ${call.key} with ${first.job}, and again with ${call.job}`)
  }

  /** An ordered worker begins no job while an earlier one of the organization is left. */
  private checkOrder(place: string, { organization }: OutsideCall) {
    if (!this.worker.isOrdered || this.ended.has(place)) return
    for (const [other, call] of this.calls) {
      if (call.organization !== organization || other === place) continue
      if (isBefore(place, other))
        return this.violate(`${this.worker.name} begins record ${other} of ${organization} before record ${place}`)
      if (!this.ended.has(other))
        return this.violate(`${this.worker.name} begins record ${place} of ${organization}, and ${other} has not ended`)
    }
  }

  settled(outcome: WorkerJobOutcome) {
    const { worker } = this
    const simulation = this.simulation
    const { id } = outcome
    if (outcome._tag === "Kept" && readStored(outcome.payload)?.answer?.reply !== undefined) this.replied.add(id)
    if (outcome._tag !== "Done" && outcome._tag !== "Failed") return
    simulation.marks.reach(`worker, ${outcome._tag === "Done" ? "done" : "failed"}: ${worker.name}`)
    this.ended.add(placeOfKey(worker.name, id) ?? id)
    if (outcome._tag === "Failed" && outcome.error.startsWith("its reply failed"))
      return this.violate(`job ${id} cannot end, ${outcome.error}`)
    if (outcome._tag === "Done" && simulation.outside.effectsOf(id) === 0)
      return this.violate(`job ${id} has ended well, and its effect never happened`)
    if (this.replied.has(id) && !this.decided.has(id))
      this.violate(`job ${id} has ended, and its reply was never decided`)
  }

  decide(job: string, decided: Decided): void {
    this.decided.set(job, decided)
  }

  /** A reply counts once within its window. */
  commit(job: string, { frame: { now }, sequence }: Commit) {
    const before = this.stored.get(job)
    if (before !== undefined && now < before.now + (this.worker.reply?.windowMillis ?? 0))
      return this.violate(`the reply of job ${job} is in frame ${before.sequence}, and again in ${sequence}`)
    this.stored.set(job, { sequence, now })
  }

  /** Looks for jobs that wait for ever, and for calls without a reason. */
  healed(engine: SimulatedEngine) {
    const { simulation, worker } = this
    const { name } = worker
    const { cursors, workerJobs } = simulation.stores
    const parked = cursors.parked.find(({ reactor }) => reactor === reactorNameOf(name))
    if (parked !== undefined)
      return this.violate(`${name} has parked record ${parked.sequence}/${parked.index}: ${parked.error}`)
    const open = [...(workerJobs.get(name)?.jobs.values() ?? [])].filter(({ isFailed }) => !isFailed)
    const places = new Set<string>()
    for (const record of wantedRecords(simulation, engine, worker).flat()) {
      const job = worker.jobOf(record)
      if (job === undefined) continue
      const place = `${record.partition}/${record.sequence}/${record.index}`
      places.add(place)
      const call = this.calls.get(place)
      if (call !== undefined && call.job !== JSON.stringify(job))
        return this.violate(`toJob of ${name} gives ${JSON.stringify(job)} for record ${place}, and gave ${call.job}`)
      if (this.ended.has(place)) continue
      const commit = simulation.truth.commits[record.partition]![record.sequence - 1]!
      if (commit.at > simulation.world.now - settledMillis) continue
      const isOpen = open.some(({ id }) => placeOfKey(name, id) === place)
      return this.violate(
        `record ${place} ${isOpen ? `has a job of ${name} that waits` : `never had its job of ${name}`}`
      )
    }
    for (const place of this.calls.keys())
      if (!places.has(place)) return this.violate(`${name} calls for ${place}, which is no record with a job`)
    for (const id of this.replied) {
      const decided = this.decided.get(id)
      if (decided !== undefined && decided.records.length > 0 && !this.stored.has(id))
        return this.violate(`the reply of job ${id} was decided, and nothing of it is stored`)
    }
  }
}

export const jobsEnd: Checker = {
  name: jobsName,
  make: (simulation, violate) => {
    const { workers = [] } = simulation.workload
    if (workers.length === 0) return {}
    const byName = new Map(workers.map(({ worker }) => [worker.name, new JobsOfWorker(simulation, worker, violate)]))
    const ofJob = (job: string) => byName.get(job.split(".")[0]!)
    return {
      called: (call) => byName.get(call.worker.name)?.called(call),
      jobSettled: (worker, outcome) => byName.get(worker)?.settled(outcome),
      decided: (decided) => {
        const job = simulation.jobOf(decided.command)
        if (job !== undefined) ofJob(job)?.decide(job, decided)
      },
      committed: (commit) => {
        for (const { command } of commit.decisions) {
          const job = simulation.jobOf(command)
          if (job !== undefined) ofJob(job)?.commit(job, commit)
        }
      },
      healed: () => {
        const engine = simulation.newest()
        if (engine !== undefined) for (const jobs of byName.values()) jobs.healed(engine)
      }
    }
  }
}
