/** Variants of mail on the direct path: its tasks, the schedule of accounts, and what transactions write. */
import type { Variant } from "./runner/variant.ts"

const simulator = ["mails"]
const groups = ["handoff/groups.unit"]

export const mailTasks: ReadonlyArray<Variant> = [
  {
    name: "mail: an email is handed over and has a job all the same",
    find: 'case "Done":\n      return undefined\n    case "Again"',
    replace: 'case "Done":\n      return job\n    case "Again"',
    sentence: "each email costs a row in the queue, and a second look at it",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: a first attempt that failed has no retry",
    find: "return { ...job, lane, leasedUntil: dueAt, payload, error }",
    replace: "return undefined",
    sentence: "an email that the relay puts off is sending for ever",
    finders: simulator
  },
  {
    name: "mail: a retry is due immediately",
    find: "return { ...job, lane, leasedUntil: dueAt, payload, error }",
    replace: "return { ...job, lane, payload }",
    sentence: "an email that the relay puts off is tried again without a pause, as if it never had been",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: an email that was given back is forgotten",
    find: "return { ...job, lane, dueAt, payload }",
    replace: "return undefined",
    sentence: "an email whose account was paused as it was to go is held for ever",
    finders: simulator
  },
  {
    name: "mail: an email given back keeps no word of its recipients",
    find: "const { dueAt, lane = job.lane, payload = job.payload } = outcome\n      return { ...job, lane, dueAt, payload }",
    replace: "const { dueAt, lane = job.lane } = outcome\n      return { ...job, lane, dueAt, payload: job.payload }",
    sentence: "the refusals of an account are counted from the beginning",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: a job under way has no lease",
    find: 'if (written._tag === "Running") return { ...job, leasedUntil: written.task.payload.leasedUntil }',
    replace: 'if (written._tag === "Running") return job',
    sentence: "a mail that the relay takes long for is handed over a second time beside it",
    finders: simulator
  },
  {
    name: "mail: held mail has the right to go",
    find: 'this.goes && state === "queued"',
    replace: "this.goes",
    sentence: "mail over its sender's cap goes out today",
    finders: ["decideAdmission.unit", "sending"]
  },
  {
    name: "mail: mail with the right to go knows no suppressions",
    find: "suppressed: fact.suppressed ?? 0",
    replace: "suppressed: 0",
    sentence: "mail goes to an address that was suppressed before the email was accepted",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: the right of one email is another's",
    find: 'if (next?._tag !== "Fact" || next.kind !== SendEmail.kind || next.key !== accepted.key) return undefined',
    replace: 'if (next?._tag !== "Fact" || next.kind !== SendEmail.kind) return undefined',
    sentence: "an email that was only accepted goes although it was cancelled",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: what runs has no job",
    find: 'if (written._tag === "Running") return { ...job, leasedUntil: written.task.payload.leasedUntil }',
    replace: 'if (written._tag === "Running") return undefined',
    sentence: "a crash loses the mail that is under way",
    finders: simulator
  },
  {
    name: "mail: what is left is begun",
    find: "if (!known.register.run(known.task)) {",
    replace: "if (!known.register.run(known.task) && known.task.outcome !== undefined) {",
    sentence: "an email that the queue has is handed over from memory too",
    finders: simulator
  },
  {
    name: "mail: an attempt of an earlier life is not known",
    find: "return known !== undefined && known.task.payload.leasedUntil > now",
    replace: "return known !== undefined && known.task.payload.leasedUntil < now",
    sentence: "after a partition has moved within a process its mail is handed over twice at the same time",
    finders: ["handoff/MailTasks.unit", ...simulator]
  },
  {
    name: "mail: an attempt that never ended is known for ever",
    find: "return known !== undefined && known.task.payload.leasedUntil > now",
    replace: "return known !== undefined",
    sentence: "an email whose outcome could not be told waits until the process ends",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: outcomes never reach the register",
    find: "return !known.register.end(known.task, outcome)",
    replace: "return true",
    sentence: "each email is written as a job, which waits until its lease is over",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: outcomes never reach the queue",
    find: "return !known.register.end(known.task, outcome)",
    replace: "known.register.end(known.task, outcome); return false",
    sentence: "an email that was recorded while it was under way is handed over again",
    finders: ["handoff/MailTasks.unit", ...simulator]
  },
  {
    name: "mail: the outcome beside a commit is forgotten",
    find: "({ payload }, outcome) => this.workers()?.late(payload, outcome)",
    replace: "() => undefined",
    sentence: "an email that was handed over as its job was committed is looked at again after a minute",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: the note is written before there is a job",
    find: "return known === undefined || known.register.isQueued(known.task)",
    replace: "return known === undefined || known !== undefined",
    sentence: "after a crash a recipient who has the mail gets it again, with those who have not",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: mail that waits in memory has no bound",
    find: "if (this.waitingCount >= maximumOffered || waiting.length >= maximumOfferedOfAccount) return false",
    replace: "",
    sentence: "a relay that stands still fills the memory",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: offered mail waits for the queue's search",
    find: "offered: (some) => groups.offered(some)",
    replace: "offered: () => undefined",
    sentence: "each email waits up to two seconds, and costs a job",
    finders: ["handoff.it"]
  },
  {
    name: "mail: memory takes all of an account's room",
    find: "isQueued ? Math.ceil(most / 2) : most",
    replace: "most",
    sentence: "an account's older mail waits for as long as new mail comes",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: a database that is away stops mail in memory",
    find: "if (!isQueued) return { jobs: offered, queued: 0 }",
    replace: "",
    sentence: "accepted mail waits while PostgreSQL is away",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "mail: retries of an account hold up its new mail",
    find: "const usable = isQueued ? room : room.slice(0, handoffLanes.first + 1)",
    replace: "const usable = room",
    sentence: "new mail waits because ten of its account's retries are slow",
    finders: groups
  },
  {
    name: "mail: offered mail is kept while nothing takes it over",
    find: "this.hasWaiting = true\n        this.options.leave(one)",
    replace: "this.hasWaiting = true",
    sentence: "while the relay is away nothing of the event log is written for as long as it may wait",
    finders: groups
  }
]
