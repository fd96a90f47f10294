/** The result of a batch of the log: deliveries for each endpoint, those for the dispatcher of this process, and those that stay in the queue. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { EventRecord, FactRecord } from "../../../src/engine/records.ts"
import { eventRetentionMillis } from "../../../src/events/event.ts"
import { MatchedBatch } from "../../../src/webhooks/delivery/matchEvents.ts"
import { decodePayload, jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { Endpoint, EndpointFact, FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"
import { endpoint } from "../dispatcher/dispatcherSupport.ts"

const now = 1_800_000_000_000
const leaseMillis = 35_000

const folded = (endpointId: string, more: Partial<Endpoint> = {}): FoldedEndpoint => ({
  endpointId,
  organizationId: "org_1",
  partition: 3,
  sequence: 1,
  endpoint: { ...endpoint, ...more }
})

const paused = { paused: { reason: "gone", at: 1 } } as const

interface Room {
  readonly deliveries?: number
  readonly characters?: number
  readonly ofEndpoint?: number
  readonly ofOrganization?: { readonly deliveries?: number; readonly characters?: number }
}

/** A dispatcher that has room for so much. */
const listener = ({ characters = 1e6, deliveries = 100, ofEndpoint = 100, ofOrganization }: Room = {}) => ({
  leaseMillis,
  room: () => ({ deliveries, characters }),
  roomFor: () => ({ deliveries, characters, ...ofOrganization }),
  roomOf: () => ofEndpoint,
  holds: () => false,
  committed: () => undefined,
  followed: () => undefined,
  offer: () => undefined,
  late: () => undefined,
  missed: () => undefined,
  recorded: () => undefined,
  outdated: () => undefined,
  drain: Effect.void
})

let sequence = 1
const place = () => ({ partition: 3, sequence: ++sequence, index: 0, now: now - 5, organization: "org_1" })

const factOf = (endpointId: string, fact: EndpointFact): FactRecord => ({
  _tag: "Fact",
  ...place(),
  kind: WebhookEndpoint.kind,
  key: endpointId,
  fact
})

const uuid = (number: number) => `00000000-0000-8000-8000-${String(number).padStart(12, "0")}`

const telcoEvent = (number: number): EventRecord => ({
  _tag: "Event",
  ...place(),
  kind: "emitter",
  key: "",
  id: uuid(number),
  event: { type: "telco.lookup.completed", service: "telco", livemode: true, data: {} }
})

const test = (endpointId: string, number = 1) =>
  factOf(endpointId, { _tag: "TestRequested", eventId: `evt_${uuid(number)}` })

const handedOver = ({ taken }: MatchedBatch) => taken.map(({ endpointId, lane }) => [endpointId, lane])

describe("a batch of the log", () => {
  it("given room at the dispatcher, then what is delivered is handed to it, taken for its time and not to be found by others", () => {
    const batch = new MatchedBatch([folded("a"), folded("b")], listener(), now)
    batch.event(telcoEvent(1))
    expect(handedOver(batch)).toEqual([
      ["a", jobLanes.first],
      ["b", jobLanes.first]
    ])
    expect(batch.queued.size).toBe(0)
    for (const [at, job] of batch.jobs.entries()) {
      const { attempt, body, eventCreatedAt, eventId, id, origin, partition, leasedUntil } = batch.taken[at]!
      expect(job).toMatchObject({
        id,
        partition: 3,
        lane: jobLanes.first,
        leasedUntil: now + leaseMillis,
        dueAt: now - 5
      })
      expect(job.expiresAt).toBe(now - 5 + eventRetentionMillis)
      expect([attempt, partition, leasedUntil, origin]).toEqual([1, 3, now + leaseMillis, "event"])
      expect(decodePayload(job.payload)).toEqual({ organizationId: "org_1", eventId, eventCreatedAt, origin })
      expect(JSON.parse(body)).toMatchObject({ eventId: `evt_${uuid(1)}`, createdAt: now - 5 })
      expect(batch.bodies.get(eventId)).toBe(body)
    }
    expect(batch.deliveries.map(({ endpoint_id, id }) => [endpoint_id, id])).toEqual(
      batch.taken.map(({ endpointId, id }) => [endpointId, id])
    )
  })

  it("given a test that an owner asks for, then it is handed over too, in the lane of what was asked for, to this endpoint alone", () => {
    const batch = new MatchedBatch([folded("a"), folded("b")], listener(), now)
    batch.fold(test("a"))
    expect(handedOver(batch)).toEqual([["a", jobLanes.asked]])
    expect(batch.taken[0]).toMatchObject({ origin: "test", attempt: 1, leasedUntil: now + leaseMillis })
    expect(batch.jobs).toMatchObject([{ group: "a", lane: jobLanes.asked, leasedUntil: now + leaseMillis }])
    expect(batch.tests.map(({ event }) => event.type)).toEqual(["platform.test"])
    expect(batch.queued.size).toBe(0)
  })

  it("given a paused endpoint, then its test is delivered and its events are skipped; a disabled one skips both", () => {
    const batch = new MatchedBatch([folded("a", paused), folded("b", { isActive: false })], listener(), now)
    batch.fold(test("a", 1))
    batch.fold(test("b", 2))
    batch.event(telcoEvent(3))
    expect(handedOver(batch)).toEqual([["a", jobLanes.asked]])
    expect(batch.skipped.map(({ endpoint_id, event_id, reason }) => [endpoint_id, event_id, reason])).toEqual([
      ["b", `evt_${uuid(2)}`, "disabled"],
      ["a", `evt_${uuid(3)}`, "paused"],
      ["b", `evt_${uuid(3)}`, "disabled"]
    ])
  })

  it("given no dispatcher, then everything waits in the queue, due since its event", () => {
    const batch = new MatchedBatch([folded("a")], undefined, now)
    batch.event(telcoEvent(1))
    batch.fold(test("a"))
    expect(batch.taken).toEqual([])
    expect(batch.jobs.map(({ dueAt, leasedUntil }) => [dueAt, leasedUntil])).toEqual([
      [now - 5, undefined],
      [now - 5, undefined]
    ])
    expect([...batch.queued]).toEqual([["a", { partition: 3, lines: [] }]])
  })

  it.each<[string, Room]>([
    ["one more delivery", { deliveries: 1 }],
    ["one more delivery of each endpoint", { ofEndpoint: 1 }],
    ["one more delivery of the organization", { ofOrganization: { deliveries: 1 } }]
  ])("given room for %s, then the first is handed over and the next waits", (_name, room) => {
    const batch = new MatchedBatch([folded("a")], listener(room), now)
    batch.event(telcoEvent(1))
    batch.event(telcoEvent(2))
    expect(batch.taken.map(({ eventId }) => eventId)).toEqual([`evt_${uuid(1)}`])
    expect(batch.jobs.map(({ leasedUntil }) => leasedUntil)).toEqual([now + leaseMillis, undefined])
    expect([...batch.queued.keys()]).toEqual(["a"])
  })

  it("given a delivery whose attempt an earlier life has begun, then its job is taken, without room too", () => {
    const deliveries = 0
    const holding = (isHeld: boolean) =>
      new MatchedBatch([folded("a")], { ...listener({ deliveries }), holds: () => isHeld }, now)
    const [held, other] = [holding(true), holding(false)]
    for (const batch of [held, other]) batch.event(telcoEvent(1))
    expect(held.taken).toMatchObject([{ endpointId: "a", attempt: 1, leasedUntil: now + leaseMillis }])
    expect(held.jobs).toMatchObject([{ leasedUntil: now + leaseMillis }])
    expect(other.taken).toEqual([])
  })

  it("given room for one more delivery of each endpoint, then each has its own", () => {
    const batch = new MatchedBatch([folded("a"), folded("b")], listener({ ofEndpoint: 1 }), now)
    batch.event(telcoEvent(1))
    batch.event(telcoEvent(2))
    expect(batch.taken.map(({ endpointId }) => endpointId)).toEqual(["a", "b"])
  })

  it("given two endpoints of an organization that has room for one more delivery, then another organization has its own", () => {
    const others = { ...folded("c"), organizationId: "org_2" }
    const batch = new MatchedBatch(
      [folded("a"), folded("b"), others],
      listener({ ofOrganization: { deliveries: 1 } }),
      now
    )
    batch.event(telcoEvent(1))
    batch.event({ ...telcoEvent(2), organization: "org_2" })
    expect(batch.taken.map(({ endpointId }) => endpointId)).toEqual(["a", "c"])
    expect([...batch.queued.keys()]).toEqual(["b"])
  })

  it.each([
    ["all", (characters: number) => ({ characters })],
    ["the organization", (characters: number) => ({ ofOrganization: { characters } })]
  ])("given room of %s for the text of one body and no more, then one is handed over", (_name, roomOf) => {
    const first = new MatchedBatch([folded("a")], listener(), now)
    first.event(telcoEvent(1))
    const { length } = first.taken[0]!.body
    for (const [characters, count] of [
      [length - 1, 0],
      [length, 1],
      [2 * length - 1, 1],
      [2 * length, 2]
    ] as const) {
      const batch = new MatchedBatch([folded("a")], listener(roomOf(characters)), now)
      batch.event(telcoEvent(1))
      batch.event(telcoEvent(2))
      expect(batch.taken).toHaveLength(count)
    }
  })

  it("judges an event by its endpoints as they were at that place", () => {
    const batch = new MatchedBatch([folded("a")], undefined, now)
    batch.event(telcoEvent(1))
    batch.fold(factOf("a", { _tag: "Paused", reason: "gone", at: now }))
    batch.event(telcoEvent(2))
    batch.fold(factOf("a", { _tag: "Unpaused" }))
    batch.event(telcoEvent(3))
    batch.fold(factOf("a", { _tag: "Deleted" }))
    batch.event(telcoEvent(4))
    expect(batch.deliveries.map(({ event_id }) => event_id)).toEqual([`evt_${uuid(1)}`, `evt_${uuid(3)}`])
    expect(batch.skipped.map(({ event_id }) => event_id)).toEqual([`evt_${uuid(2)}`])
    expect(batch.endpoints.map(({ endpoint: after }) => after)).toEqual([null])
    expect(batch.endpointsOf("org_1")).toEqual([])
  })

  it("forgets secrets that nobody signs with any more, and no others", () => {
    const batch = new MatchedBatch([folded("a", { secretId: "s1" })], undefined, now)
    batch.fold(factOf("a", { _tag: "SecretRotated", secretId: "s2", previousUntil: now + 1 }))
    expect(batch.forgotten).toEqual([])
    batch.fold(factOf("a", { _tag: "SecretRotated", secretId: "s3", previousUntil: now + 2 }))
    expect(batch.forgotten).toEqual(["s1"])
    batch.fold(factOf("a", { _tag: "PreviousSecretEnded" }))
    expect(batch.forgotten).toEqual(["s1", "s2"])
    batch.fold(factOf("a", { _tag: "Deleted" }))
    expect(batch.forgotten).toEqual(["s1", "s2", "s3"])
  })

  it("forgets headers that were replaced or removed, and those of a deleted endpoint", () => {
    const headers = (secretId: string) => ({ secretId, names: ["X-Key"] })
    const batch = new MatchedBatch([folded("a", { headers: headers("h1"), secretId: "s1" })], undefined, now)
    batch.fold(factOf("a", { _tag: "Updated", rateLimit: 3 }))
    expect(batch.forgotten).toEqual([])
    batch.fold(factOf("a", { _tag: "Updated", headers: headers("h2") }))
    expect(batch.forgotten).toEqual(["h1"])
    batch.fold(factOf("a", { _tag: "Updated", headers: null }))
    expect(batch.forgotten).toEqual(["h1", "h2"])
    batch.fold(factOf("a", { _tag: "Updated", headers: headers("h3") }))
    batch.fold(factOf("a", { _tag: "Deleted" }))
    expect(batch.forgotten.toSorted()).toEqual(["h1", "h2", "h3", "s1"])
  })

  it("names every endpoint that receives something or has changed once, as it is at the end", () => {
    const batch = new MatchedBatch(
      [folded("a"), folded("b"), folded("c", { enabledEvents: ["send.*"] })],
      undefined,
      now
    )
    batch.event(telcoEvent(1))
    batch.fold(factOf("b", { _tag: "DeliveryFailed", deliveryId: "dlv_1", status: 500 }))
    batch.event(telcoEvent(2))
    expect(batch.endpoints.map(({ endpoint: after, endpointId }) => [endpointId, after?.consecutiveFailures])).toEqual([
      ["a", 0],
      ["b", 1]
    ])
  })
})
