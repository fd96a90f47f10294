/** Variants of workers: leases, attempts, replies and shares of their jobs. */
import type { Variant } from "./runner/variant.ts"

export const engineWorkers: ReadonlyArray<Variant> = [
  {
    name: "engine: a job in memory may be taken while somebody has it",
    find: "job.dueAt = leasedUntil",
    replace: "job.dueAt = Math.min(job.dueAt, leasedUntil)",
    sentence: "two processes do one job concurrently",
    finders: ["contracts.unit", "workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: an outcome counts whoever has the job",
    find: "job.isFailed || job.attempts !== outcome.attempt",
    replace: "job.isFailed || job.attempts < outcome.attempt",
    sentence: "a process that has lost a job ends it while another one does it",
    finders: ["contracts.unit"]
  },
  {
    name: "engine: the first job of a line is taken twice",
    find: ")) and t.due_at <= ${now} and not exists (",
    replace: ")) and t.due_at <= ${leasedUntil} and now() is null = not exists (",
    sentence: "two processes do one job concurrently",
    finders: ["workerJobs.it"]
  },
  {
    name: "engine: a retried job of a line begins beside a later one",
    find: "held.due_at <= ${leasedUntil} and held.attempts > 0",
    replace: "held.due_at <= ${leasedUntil} and held.attempts < 0",
    sentence: "two jobs of an organization run concurrently, though they are ordered",
    finders: ["workerJobs.it"]
  },
  {
    name: "engine: a retried job in memory begins beside a later one",
    find: "if (isOrdered && own.some(mayBeHeld)) return []",
    replace: "void mayBeHeld",
    sentence: "two jobs of an organization run concurrently, though they are ordered",
    finders: ["contracts.unit"]
  },
  {
    name: "engine: a retry lets the numbers of attempts begin again",
    find: "attempts = (t.attempts / ${retrySpan}::int4 + 1) % ${retryRounds}::int4 * ${retrySpan}::int4",
    replace: "attempts = t.attempts / ${retrySpan}::int4 * ${retryRounds}::int4",
    sentence: "an operator's retry is lost if the answer to the failure before it was",
    finders: ["workerJobs.it"]
  },
  {
    name: "engine: a retry in memory lets the numbers of attempts begin again",
    find: "attempts: round * retrySpan,",
    replace: "attempts: round * 0,",
    sentence: "an operator's retry is lost if the answer to the failure before it was",
    finders: ["contracts.unit", "workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: each rejection of a reply is believed",
    find: "(hasRead && knowsRecord(context, id)) || asked - begun >= replyDoubtMillis",
    replace: "hasRead || asked >= begun || replyDoubtMillis > 0",
    sentence: "an order is open for ever, since a process that was replaced does not know it",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: an outcome whose answer was lost is not counted",
    find: "return isOver && isAnswerLost &&",
    replace: "return isOver && !isAnswerLost &&",
    sentence: "jobs that are done are missing in the metrics",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a count of jobs has the time of a look",
    find: "deadline(jobs.figures(this.name, served()), countDeadlineMillis, silent)",
    replace: "deadline(jobs.figures(this.name, served()), Math.min(countDeadlineMillis, lookupDeadlineMillis), silent)",
    sentence: "the metrics of many jobs stand still",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a lease ends before the attempt",
    find: "const leasedUntil = now + worker.timeoutMillis + leaseMarginMillis",
    replace: "const leasedUntil = now + leaseMarginMillis",
    sentence: "another process begins a job that is still being done, or it is given back for ever",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a reply is asked under a new key each time",
    find: "const once = { key: onceKeyOf(id, round), digest: worker.name, windowMillis: windowMillis! }",
    replace:
      "const once = { key: `${onceKeyOf(id, round)} ${Math.random()}`, digest: worker.name, windowMillis: windowMillis! }",
    sentence: "a payment counts twice once the process dies behind its reply",
    finders: ["workers/worker.unit", "jobOutcomes.unit", "workerRules.sim"]
  },
  {
    name: "engine: an attempt asks its reply behind its lease",
    find: "if ((yield* Clock.currentTimeMillis) >= leasedUntil) return",
    replace: "if ((yield* Clock.currentTimeMillis) < 0) return",
    sentence: "a payment counts twice once a machine was suspended for longer than its key is remembered",
    finders: ["workerRules.sim"]
  },
  {
    name: "engine: a reply has the key of the one before an operator's retry",
    find: "`sluice.worker ${id} ${round}`",
    replace: "`sluice.worker ${id} ${round * 0}`",
    sentence: "an order stays unpaid though its second charge succeeded",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a job goes before its reply is asked",
    find: '  const asked = reply === undefined ? "accepted"',
    replace: '  yield* end(context, job, stored, failure)\n  const asked = reply === undefined ? "accepted"',
    sentence: "an order stays unpaid if its actor cannot be asked before the process ends",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: an outcome is not stored before its reply",
    find: "leasedUntil, payload: JSON.stringify(answered)",
    replace: "leasedUntil, payload: JSON.stringify(stored)",
    sentence: "a job is done again whose outcome its actor knows",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: an outcome is offered to the store once",
    find: "if (yield* Effect.retry(once, settleTries)) return true",
    replace: "if (yield* Effect.retry(once, { ...settleTries, times: 0 })) return true",
    sentence: "each restart of PostgreSQL repeats the effects under way",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a job is given back several times",
    find: 'settleOnce(context, job, { _tag: "Returned", dueAt: now })',
    replace: 'settle(context, job, { _tag: "Returned", dueAt: now })',
    sentence: "two processes do one job concurrently, behind a lost answer of the store",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: the key of a job changes by attempt",
    find: "worker.run(stored.job, { key: id, attempt: attemptOf(attempt),",
    replace: "worker.run(stored.job, { key: `${id}.${attempt}`, attempt: attemptOf(attempt),",
    sentence: "a customer is charged again with each attempt",
    finders: ["workers/worker.unit", "jobOutcomes.unit", "workerRules.sim"]
  },
  {
    name: "engine: jobs of different frames share a key",
    find: "const id = `${worker.name}.${partition}.${sequence}.${index}.${now}`",
    replace: "const id = `${worker.name}.${partition}.${index}.${now}`",
    sentence: "an order is taken for another one, and is never charged",
    finders: ["workers/worker.unit", "jobOutcomes.unit", "workerRules.sim"]
  },
  {
    name: "engine: pauses between attempts are ignored",
    find: 'return { _tag: "Again", dueAt: now + Math.max(shortened,',
    replace: 'return { _tag: "Again", dueAt: now + 0 * Math.max(shortened,',
    sentence: "a service that is away is called without a pause",
    finders: ["workerRules.unit", "workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a job that is given up is tried again",
    find: "isFinal: (error) => error instanceof GiveUp || isFinal?.(error as E) === true,",
    replace: "isFinal: (error) => isFinal?.(error as E) === true,",
    sentence: "a declined card is tried for hours",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: an attempt without an outcome does not count",
    find: "attempt <= pausesMillis.length + 1",
    replace: "attempt <= pausesMillis.length + 1_000",
    sentence: "a job that kills its process does so for ever",
    finders: ["workerRules.unit", "workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: the organization that waits longest goes first",
    find: "held.turnOf(left.organization) - held.turnOf(right.organization) ||",
    replace: "",
    sentence: "one customer's backlog keeps all others waiting",
    finders: ["workerRules.unit"]
  },
  {
    name: "engine: an organization may have all slots",
    find: "if (roomOf(own, { capacity: held.capacity, used }) === 0) continue",
    replace: "",
    sentence: "one customer's slow calls leave no slot for others",
    finders: ["workerRules.unit", "workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: attempts that a shutdown ends are not given back",
    find: "Effect.onInterrupt(part, () => Effect.ignore(returnJob(context, job)))",
    replace: "part",
    sentence: "after each deployment jobs wait until their leases end, and an attempt is lost",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a shutdown does not wait for attempts",
    find: "Effect.timeoutOption(ended, Duration.millis(millis)),",
    replace: "Effect.timeoutOption(ended, Duration.millis(millis * 0)),",
    sentence: "each deployment interrupts calls under way",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  },
  {
    name: "engine: a worker reads the first page of organizations alone",
    find: "else places.set(partition, page.at(-1)!.organization)",
    replace: "else places.delete(partition)",
    sentence: "jobs wait for ever behind those of 256 organizations that are due later",
    finders: ["workers/worker.unit", "jobOutcomes.unit"]
  }
]
