/** Variants of tasks: the register, the fold at the head of the log, the reactor's wait, and webhooks on them. */
import type { Variant } from "./runner/variant.ts"

const register = ["tasks/TaskRegister.unit", "deliveries"]
const reactor = ["tasks/reactorTasks.unit"]
const simulator = ["deliveries"]

export const tasks: ReadonlyArray<Variant> = [
  {
    name: "tasks: an outcome behind its record is kept",
    find: 'if (entry.isQueued || entry.status !== "running") return false',
    replace: 'if (entry.status !== "running") return false',
    sentence: "the outcome of an attempt that outlasts its row is lost, and the attempt is made again",
    finders: register
  },
  {
    name: "tasks: what is left is begun",
    find: 'this.leave(entry)\n    return { _tag: "Left", task: entry }',
    replace: 'return { _tag: "Left", task: entry }',
    sentence: "a delivery that was written as a job is attempted from memory too",
    finders: register
  },
  {
    name: "tasks: a recorded frame gets tasks",
    find: "if (this.isClosed || sequence <= this.recordedThrough) return undefined",
    replace: "if (this.isClosed) return undefined",
    sentence: "a delivery is attempted although its row is written as a job",
    finders: ["tasks/TaskRegister.unit"]
  },
  {
    name: "tasks: an outcome beside a commit is forgotten",
    find: 'if (status === "ended" && written === "running") this.late(entry, outcome as Outcome)',
    replace: "void [status, outcome, written]",
    sentence: "the outcome of an attempt that ends while its row is committed is lost",
    finders: register
  },
  {
    name: "tasks: an outcome is told twice",
    find: 'if (status === "ended" && written === "running") this.late(entry, outcome as Outcome)',
    replace: 'if (status === "ended") this.late(entry, outcome as Outcome)',
    sentence: "an outcome that its row shows is written once more",
    finders: ["tasks/TaskRegister.unit"]
  },
  {
    name: "tasks: frames behind the record are forgotten",
    find: "if (frame.sequence > sequence) continue",
    replace: "",
    sentence: "what later frames ask for is attempted, and written as if it had not been",
    finders: register
  },
  {
    name: "tasks: room is not given back",
    find: "this.bounds.give(entry.organization, entry.characters)",
    replace: "",
    sentence: "after some thousand deliveries every first attempt goes by way of the queue",
    finders: ["tasks/TaskRegister.unit"]
  },
  {
    name: "tasks: the end of a life changes nothing",
    find: "this.known.clear()\n    this.isAnyExcluded = true\n    this.register.close()",
    replace: "this.known.clear()",
    sentence: "what a partition has begun before it moved is never recorded",
    finders: reactor
  },
  {
    name: "tasks: an organization is known from the past",
    find: "const frames = this.life.framesAfter(at)",
    replace: "const frames: ReturnType<TaskLife['framesAfter']> = at < 0 ? undefined : []",
    sentence: "an endpoint is served by a state that frames in memory have changed already",
    finders: simulator
  },
  {
    name: "tasks: parked organizations are served",
    find: "this.excluded.add(organization)\n    this.known.delete(organization)",
    replace: "",
    sentence: "what follows a parked record is attempted, and again once an operator retries it",
    finders: reactor
  },
  {
    name: "tasks: nothing is waited for",
    find: "return Math.max(0, at + this.ageMillis - this.monotonic())",
    replace: "return Math.min(0, at)",
    sentence: "each delivery is written as a job before its attempt ends, and updated after it",
    finders: reactor
  },
  {
    name: "tasks: a hanging task is waited for",
    find: "return Math.max(0, at + this.ageMillis - this.monotonic())",
    replace: "return Math.max(60_000, at - this.ageMillis)",
    sentence: "one endpoint that does not answer holds up the event log of its partition",
    finders: reactor
  },
  {
    name: "tasks: who waits for the reactors is not heard",
    find: "partition.isHurried ||",
    replace: "",
    sentence: "a receiver that asks for the event it has just got is answered 404",
    finders: reactor
  },
  {
    name: "tasks: a deleted endpoint stays at the head",
    find: "if (folded.endpoint === null) after.delete(record.key)\n  else after.set(record.key, folded)",
    replace: "if (folded.endpoint !== null) after.set(record.key, folded)",
    sentence: "events are sent to an endpoint that was deleted",
    finders: simulator
  },
  {
    name: "tasks: the head does not tell of pauses",
    find: "if (isEndpointFact(record)) this.listener()?.followed(changedBy(before, after, record))",
    replace: "void [before, after, record]",
    sentence: "an endpoint that was paused is sent events until the database has its state",
    finders: simulator
  },
  {
    name: "tasks: paused endpoints are offered events",
    find: 'if (endpoint === null || dispositionOf(endpointId, endpoint, event, reach) !== "delivered") continue',
    replace: 'if (endpoint === null || dispositionOf(endpointId, endpoint, event, reach) === "ignored") continue',
    sentence: "an event that an endpoint missed while it was paused is sent all the same",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: the store's state of an endpoint is believed",
    find: "return endpoints === undefined ? read : (endpoints.get(read.endpointId) ?? { ...read, endpoint: null })",
    replace: "return endpoints === undefined ? read : read",
    sentence: "an endpoint is served by a state that frames have changed already",
    finders: simulator
  },
  {
    name: "tasks: a retry after a first attempt has no job",
    find: "this.jobs.push({ ...job, lane: retryLaneOf(line), leasedUntil: result.dueAt })",
    replace: "",
    sentence: "a delivery whose first attempt fails is pending for ever",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: a retry is due at once",
    find: "this.jobs.push({ ...job, lane: retryLaneOf(line), leasedUntil: result.dueAt })",
    replace: "this.jobs.push({ ...job, lane: retryLaneOf(line), leasedUntil: job.dueAt })",
    sentence: "a delivery that failed is attempted again before its delay is over",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: a given back delivery has no job",
    find: "this.jobs.push({ ...job, dueAt: result.dueAt })",
    replace: "",
    sentence: "a delivery that was offered to an endpoint as it was paused is pending for ever",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: a written outcome is not shown",
    find: 'status: result._tag === "Settled" ? result.status : "pending",\n  attempts: made === null ? 0 : 1',
    replace: 'status: "pending",\n  attempts: made === null ? 0 : 1',
    sentence: "a delivery that has succeeded is pending for ever",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: a held delivery has no lease",
    find: "this.jobs.push({ ...job, leasedUntil: this.leasedUntil })\n      return",
    replace: "this.jobs.push({ ...job, leasedUntil: undefined })\n      return",
    sentence: "a delivery whose attempt takes long is attempted a second time beside it",
    finders: [...simulator, "delivery/DeliveryTasks.unit"]
  },
  {
    name: "tasks: a deleted endpoint's delivery never ends",
    find: "if (folded.endpoint === null) this.cancelHeld(delivery)",
    replace: "if (folded.endpoint === null) this.release(delivery)",
    sentence: "deliveries of a deleted endpoint are pending until their lease is over",
    finders: ["dispatcher/offered.unit"]
  },
  {
    name: "tasks: what waits for room is forgotten",
    find: "if (queue.offered.length > 0) this.takeOffered(queue)",
    replace: "",
    sentence: "deliveries of a burst wait for the queue although their endpoint has room",
    finders: ["dispatcher/offered.unit"]
  },
  {
    name: "tasks: a shutdown keeps what was offered",
    find: "for (const worker of this.offering) this.leaveOffered(worker)",
    replace: "",
    sentence: "what was offered to a process that stops is written without a job",
    finders: ["dispatcher/offered.unit"]
  },
  {
    name: "tasks: an attempt of an earlier life is made again",
    find: "const canGo = !this.isDraining && !this.held.has(delivery.id) && worker.permits(delivery.lane)",
    replace: "const canGo = !this.isDraining && worker.permits(delivery.lane)",
    sentence: "a task whose delivery is under way already never ends",
    finders: ["dispatcher/offered.unit"]
  },
  {
    name: "tasks: newer deliveries overtake the store's",
    find: "else if (!canGo || worker.more[delivery.lane]) delivery.task?.leave()",
    replace: "else if (!canGo) delivery.task?.leave()",
    sentence: "an endpoint with a backlog gets new events before the older ones",
    finders: ["dispatcher/offered.unit"]
  },
  {
    name: "tasks: a lost commit is not looked for",
    find: "this.rebuild = rebuild\n    this.tasks.resumed()",
    replace: "this.rebuild = rebuild",
    sentence: "an endpoint whose pause was committed without an answer is sent further attempts",
    finders: reactor
  },
  {
    name: "tasks: states without a word are not read",
    find: "this.outdated.add(worker)\n      this.lines.doubt(worker)",
    replace: "this.lines.doubt(worker)",
    sentence: "an endpoint whose pause was committed without an answer is sent further attempts",
    finders: simulator
  },
  {
    name: "tasks: what another life has is begun",
    find: "dispatching.held.get(delivery.id)?.delivery === delivery && delivery.task?.isAbandoned !== true",
    replace: "dispatching.held.get(delivery.id)?.delivery === delivery",
    sentence: "a delivery that waits as its partition moves is attempted by the old owner and by the new one",
    finders: simulator
  },
  {
    name: "tasks: leases are kept of what has none",
    find: "leasedUntil < now + leaseMillis / 2 && task?.isQueued !== false",
    replace: "leasedUntil < now + leaseMillis / 2 || task?.isQueued === false",
    sentence: "a delivery without a row is let go as if another process had it",
    finders: ["dispatcherLeases.unit", "deliveries"]
  }
]
