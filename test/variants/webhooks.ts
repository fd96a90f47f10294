/** Variants of webhook deliveries: leases, shutdown, matching, retries, rates and endpoints. */
import type { Variant } from "./runner/variant.ts"

export const webhooks: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a lost lease goes on",
    find: "else dispatching.release(delivery)",
    replace: "",
    sentence: "a delivery that another process has taken meanwhile is attempted here as well",
    finders: ["WebhookDispatcher.unit", "dispatcherLeases.unit", "dispatcherShutdown.unit", "deliveries"]
  },
  {
    name: "webhooks: leases are kept too late",
    find: "leasedUntil < now + leaseMillis / 2",
    replace: "leasedUntil < now",
    sentence: "a delivery whose attempt takes long is attempted by another process at the same time",
    finders: ["WebhookDispatcher.unit", "dispatcherLeases.unit", "dispatcherShutdown.unit"]
  },
  {
    name: "webhooks: what was let go is attempted",
    find: "if (!isHeld || endpoint === undefined || endpoint === null) {",
    replace: "if (endpoint === undefined || endpoint === null) {",
    sentence: "a delivery that waits here is attempted although another process has taken it",
    finders: ["WebhookDispatcher.unit", "dispatcherLeases.unit", "dispatcherShutdown.unit"]
  },
  {
    name: "webhooks: the end of a lost attempt lets the next one go",
    find: "if (held?.delivery !== delivery) return",
    replace: "if (held === undefined) return",
    sentence: "a delivery that was lost and taken again is forgotten when its first attempt ends",
    finders: ["DispatcherState.unit", "DispatchQueue.unit"]
  },
  {
    name: "webhooks: a moved partition is served on",
    find: "dispatching.dropOthers(new Set(partitions))",
    replace: "",
    sentence: "two processes attempt the deliveries of a partition that has moved",
    finders: ["storeSync.unit"]
  },
  {
    name: "webhooks: shutdown gives back what is being recorded",
    find: ".filter(({ id }) => !dispatching.recording.has(id))",
    replace: "",
    sentence: "an outcome whose answer is lost at a shutdown is undone, and the retry does not wait for its time",
    finders: ["WebhookDispatcher.unit", "dispatcherLeases.unit", "dispatcherShutdown.unit", "deliveries"]
  },
  {
    name: "webhooks: attempts go on behind a shutdown",
    find: "yield* FiberSet.clear(attempts)",
    replace: "",
    sentence: "a delivery that was given back is recorded as well, by the process that gave it back",
    finders: ["WebhookDispatcher.unit", "dispatcherLeases.unit", "dispatcherShutdown.unit"]
  },
  {
    name: "webhooks: a taken test delivery is not handed over",
    find: "if (isTaken) this.taken.push({",
    replace: "if (isTaken && lane !== jobLanes.asked)\n      this.taken.push({",
    sentence: "a test that an owner asks for is attempted only when its lease is over",
    finders: ["matchEvents.unit", "deliveries"]
  },
  {
    name: "webhooks: a rotation forgets the secret that still signs",
    find: "...(previousSecret === null ? [] : [previousSecret.secretId]),",
    replace: "",
    sentence: "during the overlap of a rotation receivers with the previous secret refuse everything",
    finders: ["matchEvents.unit", "deliveries"]
  },
  {
    name: "webhooks: a failed look at the store is the last one",
    find: "for (const { lane, worker } of claims) dispatching.wake(worker.partition, worker.endpointId, [lane])",
    replace: "",
    sentence: "what is due while PostgreSQL is away for a moment waits for a scan, which a busy machine puts off",
    finders: ["storeSync.unit"]
  },
  {
    name: "webhooks: more is taken than may be held",
    find: "const limit = Math.min(worker.wantedIn(lane), own, room)",
    replace: "const limit = worker.wantedIn(lane)",
    sentence: "memory is not bounded by what was promised",
    finders: ["storeSync.unit"]
  },
  {
    name: "webhooks: a retry does not wait",
    find: 'return { _tag: "RetryAt", atMillis: nowMillis + Math.max(waitMillis, askedMillis) }',
    replace: 'return { _tag: "RetryAt", atMillis: nowMillis + Math.min(waitMillis, askedMillis) }',
    sentence: "a delivery that failed is attempted again at once, against the schedule",
    finders: ["schedule.unit", "deliveries"]
  },
  {
    name: "webhooks: a slow endpoint takes places of the others",
    find: "if (queue.pace.track !== track) {",
    replace: "if (queue.pace === undefined) {",
    sentence: "an endpoint that became slow while it waited for its turn holds a place of those that answer",
    finders: ["DispatcherState.unit", "DispatchQueue.unit", "deliveries"]
  },
  {
    name: "webhooks: the oldest failures are remembered",
    find: ".slice(-maximumRememberedFailures)",
    replace: ".slice(0, maximumRememberedFailures)",
    sentence: "after 128 failures each one that is reported twice counts twice",
    finders: ["endpointRules.unit", "endpointPauses.unit", "endpointProperties.unit", "endpointEngine.unit"]
  },
  {
    name: "webhooks: an organization takes all that is free",
    find: "Math.ceil((capacity - used - own) / 2)",
    replace: "capacity - used",
    sentence: "the endpoints of one organization hold every place, and those of another wait for them",
    finders: ["common/Shares.unit", "DispatchQueue.unit"]
  },
  {
    name: "webhooks: what hangs keeps its place",
    find: 'slot.place = "overdue"',
    replace: 'this.shares.main.take(slot.queue.organizationId)\n    slot.place = "overdue"',
    sentence: "endpoints that hang hold the places of those that answer until their timeout",
    finders: ["DispatcherState.unit", "DispatchQueue.unit", "deliveries"]
  },
  {
    name: "webhooks: retries pass by the rate",
    find: "const isStarting = queue.rateLimit !== null",
    replace: "const isStarting = queue.rateLimit !== null && lane !== jobLanes.retry",
    sentence: "a receiver that comes back gets all of its retries at once",
    finders: ["rates.unit", "deliveries"]
  },
  {
    name: "webhooks: who waits for its rate is forgotten",
    find: "if (queue.heldUntil! <= now) this.letGo(queue) else this",
    replace: "this",
    sentence: "an endpoint that has used up its rate gets nothing any more",
    finders: ["rates.unit", "deliveries"]
  },
  {
    name: "webhooks: a line does not wait for what is in the store",
    find: "if (line === undefined || this.unsure !== undefined || line.stored.size > 0) {",
    replace: "if (line === undefined) {",
    sentence: "a new delivery of a line overtakes an older one that waits in the store for its retry",
    finders: ["EndpointLines.unit", "deliveries"]
  },
  {
    name: "webhooks: a line goes on when its first delivery waits for a retry",
    find: "if (departure.isOver) this.advance(lines, delivery)",
    replace: "if (departure.isOver || departure.dueAt !== undefined) this.advance(lines, delivery)",
    sentence: "the next delivery of a line begins while the one before has attempts left",
    finders: ["DispatchLines.unit", "deliveries"]
  },
  {
    name: "webhooks: a line goes on before it is known how its delivery was recorded",
    find: "if (departure.isOver && delivery.task?.isBeingWritten === true) {",
    replace: "if (departure.isOver && delivery.task?.isBeingWritten === undefined) {",
    sentence: "a crash repeats a delivery of a line behind a later one that is recorded",
    finders: ["DispatchLines.unit", "deliveries"]
  },
  {
    name: "webhooks: what is behind a returned delivery of a line stays",
    find: "const taken = line.waiting.splice(at < 0 ? 0 : at)",
    replace: "const taken = line.waiting.splice(at < 0 ? line.waiting.length : at)",
    sentence: "deliveries that were taken behind one that must be attempted again are attempted before it",
    finders: ["EndpointLines.unit", "deliveries"]
  },
  {
    name: "webhooks: the store hands out a later delivery of a line",
    find: "const end = jobs.findIndex(({ dueAt }) => dueAt > now)\n  return jobs.slice(0, Math.min(limit, end < 0 ? limit : end))",
    replace: "return jobs.filter(({ dueAt }) => dueAt <= now).slice(0, limit)",
    sentence:
      "deliveries of a line are taken although an earlier one is taken by a process that is gone, or is due later",
    finders: ["deliveries"]
  },
  {
    name: "webhooks: what the reactor has queued of a line waits in memory",
    find: "const offered = line.behind.splice(at)",
    replace: "const offered = line.behind.slice(at, at)",
    sentence: "a line stands still, or a later delivery of it goes first",
    finders: ["EndpointLines.unit", "deliveries"]
  },
  {
    name: "webhooks: attempts begin before the frames behind their commit are read",
    find: "this.isPumping = false\n    }\n    this.offerWakeup.notify()",
    replace: "this.isPumping = false\n    }\n    this.pump()",
    sentence: "a deleted endpoint gets a delivery when a life of its partition begins",
    finders: ["DispatcherState.unit", "deliveries"]
  },
  {
    name: "webhooks: the row of a deleted endpoint brings it back",
    find: "if (known > 0 && worker.folded?.endpoint === null && folded.endpoint !== null) return",
    replace: "",
    sentence: "a deleted endpoint gets a delivery when a life of its partition begins",
    finders: ["DispatcherState.unit"]
  },
  {
    name: "webhooks: one whose outcome was lost is repeated behind the next",
    find: "if (next !== undefined) this.holdBack(worker, lines, next)",
    replace: "void next",
    sentence: "a delivery of a line is repeated after a later one was recorded",
    finders: ["DispatchLines.unit"]
  },
  {
    name: "webhooks: a walk takes the known first of a line for all of it",
    find: "if (line !== undefined && (!isAlone || line.stored.size === 0)) this.storeOthers(line)",
    replace: "if (line !== undefined && line.stored.size === 0) this.storeOthers(line)",
    sentence: "an event goes before an event of a replay that is due a little later",
    finders: ["EndpointLines.unit"]
  },
  {
    name: "webhooks: a replay is not waited for",
    find: "if (endpoint?.ordering) this.lines.of(worker.endpointId)\n    this.lines.doubt(worker, sequence)",
    replace: "if (endpoint?.ordering) this.lines.of(worker.endpointId)",
    sentence: "an event behind a replay goes before the events of the replay",
    finders: ["deliveries"]
  }
]
