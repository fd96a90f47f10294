/** Variants of webhook deliveries: the dispatcher, its leases and its shutdown, matching, retries, endpoints and what waits in the store. */
import type { Finder, Variant } from "./runner/variant.ts"

const simulation: Finder = { kind: "deliveries" }

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/webhooks/${name}.unit.ts`)
})

/** The tests of the dispatcher itself, over ports of their own. */
const dispatcher = unit("dispatcher/WebhookDispatcher", "dispatcher/dispatcherLeases", "dispatcher/dispatcherShutdown")
const refilling = unit("dispatcher/refilling")
const attempting = unit("dispatcher/attempting")
const memory = unit("dispatcher/Dispatching", "dispatcher/DispatchQueue")
const rules = unit(
  "endpoint/endpointRules",
  "endpoint/endpointPauses",
  "endpoint/endpointProperties",
  "endpoint/endpointEngine"
)

const src = (name: string) => `src/webhooks/${name}.ts`

const leases: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a lost lease goes on",
    file: src("dispatcher/refilling"),
    find: "          else dispatching.release(delivery)\n",
    replace: "",
    sentence: "a delivery that another process has taken meanwhile is attempted here as well",
    finders: [dispatcher, simulation]
  },
  {
    name: "webhooks: leases are kept too late",
    file: src("dispatcher/refilling"),
    find: "leasedUntil < now + leaseMillis / 2",
    replace: "leasedUntil < now",
    sentence: "a delivery whose attempt takes long is attempted by another process at the same time",
    finders: [dispatcher]
  },
  {
    name: "webhooks: what was let go is attempted",
    file: src("dispatcher/attempting"),
    find: "    if (!isHeld || endpoint === undefined || endpoint === null) {",
    replace: "    if (endpoint === undefined || endpoint === null) {",
    sentence: "a delivery that waits here is attempted although another process has taken it",
    finders: [dispatcher]
  },
  {
    name: "webhooks: the end of a lost attempt lets the next one go",
    file: src("dispatcher/Dispatching"),
    find: "if (held?.delivery !== delivery) return",
    replace: "if (held === undefined) return",
    sentence: "a delivery that was lost and taken again is forgotten when its first attempt ends",
    finders: [memory]
  },
  {
    name: "webhooks: a moved partition is served on",
    file: src("dispatcher/refilling"),
    find: "      dispatching.dropOthers(new Set(partitions))\n",
    replace: "",
    sentence: "two processes attempt the deliveries of a partition that has moved",
    finders: [refilling]
  }
]

const shutdown: ReadonlyArray<Variant> = [
  {
    name: "webhooks: shutdown gives back what is being recorded",
    file: src("dispatcher/WebhookDispatcher"),
    find: "          .filter(({ id }) => !dispatching.recording.has(id))\n",
    replace: "",
    sentence: "an outcome whose answer is lost at a shutdown is undone, and the retry does not wait for its time",
    finders: [dispatcher, simulation]
  },
  {
    name: "webhooks: shutdown gives nothing back",
    file: src("dispatcher/WebhookDispatcher"),
    find: "if (left.length === 0) return",
    replace: "if (left.length >= 0) return",
    sentence: "after a restart what was held waits until its lease is over instead of being attempted at once",
    finders: [dispatcher, simulation]
  },
  {
    name: "webhooks: attempts go on behind a shutdown",
    file: src("dispatcher/WebhookDispatcher"),
    find: "        yield* FiberSet.clear(attempts)\n",
    replace: "",
    sentence: "a delivery that was given back is recorded as well, by the process that gave it back",
    finders: [dispatcher]
  },
  {
    name: "webhooks: the end of a dispatcher detaches its successor",
    file: src("delivery/DispatchFeed"),
    find: "if (current === listener) current = undefined",
    replace: "current = undefined",
    sentence: "after a change of dispatchers nothing is handed over, and first attempts wait for a scan",
    finders: [unit("delivery/DispatchFeed")]
  }
]

const matching: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a taken test delivery is not handed over",
    file: src("delivery/matching"),
    find: "    if (isTaken)\n      this.taken.push({",
    replace: "    if (isTaken && lane !== jobLanes.asked)\n      this.taken.push({",
    sentence: "a test that an owner asks for is attempted only when its lease is over",
    finders: [unit("delivery/matching"), simulation]
  },
  {
    name: "webhooks: room is counted once for all endpoints",
    file: src("delivery/matching"),
    find: "this.rooms.get(endpointId) ?? this.roomOf(endpointId)",
    replace: "this.roomOf(endpointId)",
    sentence: "one endpoint is handed more than it has room for, before its older deliveries",
    finders: [unit("delivery/matching")]
  },
  {
    name: "webhooks: a rotation forgets the secret that still signs",
    file: src("endpoint/model"),
    find: "  ...(previousSecret === null ? [] : [previousSecret.secretId]),\n",
    replace: "",
    sentence: "during the overlap of a rotation receivers with the previous secret refuse everything",
    finders: [unit("delivery/matching"), simulation]
  }
]

const finding: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a failed look at the store is the last one",
    file: src("dispatcher/refilling"),
    find: "for (const { lane, worker } of claims) dispatching.wake(worker.partition, worker.endpointId, [lane])",
    replace: "",
    sentence: "what is due while PostgreSQL is away for a moment waits for a scan, which a busy machine puts off",
    finders: [refilling]
  },
  {
    name: "webhooks: a full batch is taken for the last one",
    file: src("dispatcher/refilling"),
    find: "=== limit) worker.more[lane] = true\n    else if",
    replace: "=== -1) worker.more[lane] = true\n    else if",
    sentence: "a backlog is worked off in steps with pauses between them",
    finders: [refilling]
  },
  {
    name: "webhooks: nobody looks for what is due a little later",
    file: src("dispatcher/refilling"),
    find: "exhausted.slice(0, looksAhead)",
    replace: "exhausted.slice(0, 0)",
    sentence: "a retry that a crash has left waits for a scan instead of its time",
    finders: [refilling]
  },
  {
    name: "webhooks: a scan looks at its first page only",
    file: src("dispatcher/refilling"),
    find: "if (page.length < pageSize) return",
    replace: "return",
    sentence: "with more than a thousand endpoints the later ones are never served after a restart",
    finders: [refilling]
  },
  {
    name: "webhooks: a scan trusts what it knows of endpoints",
    file: src("dispatcher/refilling"),
    find: "yield* readEndpoints(parts, [...workers])",
    replace: "yield* readEndpoints(parts, [...workers].filter(({ folded }) => folded === undefined))",
    sentence: "an endpoint that was paused while another process served is sent to",
    finders: [refilling]
  },
  {
    name: "webhooks: more is taken than may be held",
    file: src("dispatcher/refilling"),
    find: "const limit = Math.min(worker.wantedIn(lane), own, room)",
    replace: "const limit = worker.wantedIn(lane)",
    sentence: "memory is not bounded by what was promised",
    finders: [refilling]
  },
  {
    name: "webhooks: room that is made wakes nobody",
    file: src("dispatcher/Dispatching"),
    find: "    if (this.wanting.size > 0 && this.hasRoomFor(delivery.organizationId)) this.wakeup.notify()\n",
    replace: "",
    sentence: "with many busy endpoints those that found no room wait for a scan",
    finders: [refilling]
  },
  {
    name: "webhooks: a lane is looked at later once",
    file: src("dispatcher/Dispatching"),
    find: "      if (worker.armedFor[lane] === at) worker.armedFor[lane] = Number.POSITIVE_INFINITY\n",
    replace: "",
    sentence: "the second retry of an endpoint waits for a scan",
    finders: [refilling]
  },
  {
    name: "webhooks: a deleted endpoint's later retries stay",
    file: src("dispatcher/refilling"),
    find: "    dispatching.cancel(dispatching.worker(partition, endpointId))\n",
    replace: "{}\n",
    sentence: "deliveries of a deleted endpoint are pending until they are due, which may be an hour",
    finders: [refilling]
  },
  {
    name: "webhooks: what is too old is ended once",
    file: src("dispatcher/refilling"),
    find: "if (begunAt < due) next.set(partition, due)",
    replace: "if (begunAt < due || endingAt.has(partition)) next.set(partition, due)",
    sentence: "deliveries of a paused endpoint stay pending for ever",
    finders: [refilling]
  }
]

const attempts: ReadonlyArray<Variant> = [
  {
    name: "webhooks: a retry does not wait",
    file: src("delivery/schedule"),
    find: 'return { _tag: "RetryAt", atMillis: nowMillis + Math.max(waitMillis, askedMillis) }',
    replace: 'return { _tag: "RetryAt", atMillis: nowMillis + Math.min(waitMillis, askedMillis) }',
    sentence: "a delivery that failed is attempted again at once, against the schedule",
    finders: [unit("delivery/schedule"), simulation]
  },
  {
    name: "webhooks: manual retries follow the schedule",
    file: src("dispatcher/attempting"),
    find: 'origin === "event" ? parts.dispatching.settings.schedule : singleAttempt',
    replace: 'origin !== "test" ? parts.dispatching.settings.schedule : singleAttempt',
    sentence: "what an owner sends once more is attempted six times",
    finders: [attempting]
  },
  {
    name: "webhooks: a failed test counts for its endpoint",
    file: src("dispatcher/attempting"),
    find: '  if (origin === "event") {\n',
    replace: "  if (origin) {\n",
    sentence: "an owner who tests an endpoint that fails pauses it",
    finders: [attempting, simulation]
  },
  {
    name: "webhooks: a success is told behind its record",
    file: src("dispatcher/attempting"),
    find: 'return Effect.andThen(tell(parts, worker, delivery, { _tag: "RecordSuccess" }), recorded)',
    replace: 'return Effect.andThen(recorded, tell(parts, worker, delivery, { _tag: "RecordSuccess" }))',
    sentence: "after a crash between the two the endpoint goes on counting failures",
    finders: [attempting]
  },
  {
    name: "webhooks: every success is told",
    file: src("dispatcher/attempting"),
    find: "  worker.isSuccessTold = true\n",
    replace: "",
    sentence: "an endpoint that recovers with a backlog has a decision for each of its deliveries",
    finders: [attempting]
  },
  {
    name: "webhooks: a stopped partition is not waited for",
    file: src("dispatcher/attempting"),
    find: '{ isIdempotent: true }) || error._tag === "PartitionStopped"',
    replace: "{ isIdempotent: true })",
    sentence: "failures while a partition waits for an operator are never counted",
    finders: [attempting]
  },
  {
    name: "webhooks: the previous secret signs alone",
    file: src("dispatcher/attempting"),
    find: "if (!found.has(endpoint.secretId))",
    replace: "if (texts.length === 0)",
    sentence: "a delivery is signed as if its endpoint's secret had never been rotated",
    finders: [attempting]
  },
  {
    name: "webhooks: a broken attempt keeps its place",
    file: src("dispatcher/WebhookDispatcher"),
    find: "          dispatching.queue.end(slot, undefined)\n",
    replace: "",
    sentence: "after a few defects an endpoint is never sent to again",
    finders: [attempting]
  },
  {
    name: "webhooks: a quick answer makes an endpoint slow",
    file: src("dispatcher/Dispatching"),
    find: "const before = this.now - slowAfterMillis",
    replace: "const before = this.now",
    sentence: "every endpoint is served with the slow ones a moment after its first attempt",
    finders: [memory, simulation]
  },
  {
    name: "webhooks: a slow endpoint takes places of the others",
    file: src("dispatcher/DispatchQueue"),
    find: "if (queue.pace.track !== track) {",
    replace: "if (queue.pace === undefined) {",
    sentence: "an endpoint that became slow while it waited for its turn holds a place of those that answer",
    finders: [memory, simulation]
  }
]

const endpoints: ReadonlyArray<Variant> = [
  {
    name: "webhooks: an unpaused endpoint forgets its failures",
    file: src("endpoint/rules"),
    find: "return { ...endpoint, paused: null, consecutiveFailures: 0 }",
    replace: "return { ...endpoint, paused: null, consecutiveFailures: 0, failedDeliveries: [] }",
    sentence: "a failure that was in flight during a pause counts twice",
    finders: [rules]
  },
  {
    name: "webhooks: the oldest failures are remembered",
    file: src("endpoint/rules"),
    find: ".slice(-maximumRememberedFailures)",
    replace: ".slice(0, maximumRememberedFailures)",
    sentence: "after 128 failures each one that is reported twice counts twice",
    finders: [rules]
  },
  {
    name: "webhooks: the previous secret signs a moment too long",
    file: src("endpoint/model"),
    find: "now < previousSecret.until",
    replace: "now <= previousSecret.until",
    sentence: "a secret signs beyond the overlap that its owner asked for",
    finders: [rules]
  }
]

export const webhooks: ReadonlyArray<Variant> = [
  ...leases,
  ...shutdown,
  ...matching,
  ...finding,
  ...attempts,
  ...endpoints
]
