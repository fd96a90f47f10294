/**
 * The deliveries that acknowledged frames offer, beside those that the reactor writes: over random logs they are the
 * same, wherever the reactor stands; and what it writes of an ended one.
 */
import { describe, expect, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import type { CommittedFrame, EventRecord, FactRecord } from "../../../src/engine/records.ts"
import { DeliveryTasks } from "../../../src/webhooks/delivery/DeliveryTasks.ts"
import type { DispatchListener } from "../../../src/webhooks/delivery/DispatchFeed.ts"
import { MatchedBatch } from "../../../src/webhooks/delivery/matchEvents.ts"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryOutcome, TakenDelivery } from "../../../src/webhooks/delivery/ports.ts"
import type { EndpointFact, FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"
import { endpoint } from "../dispatcher/dispatcherSupport.ts"

const now = 1_800_000_000_000
const Act = Schema.Struct({
  does: Schema.Literals(["event", "event", "event", "create", "pause", "unpause", "delete", "reactor"]),
  of: Schema.Literals([0, 1, 2])
})

const organizationOf = (of: number): string => `org_${of % 2}`
const uuid = (number: number) => `00000000-0000-8000-8000-${String(number).padStart(12, "0")}`

const factOf = (does: "create" | "pause" | "unpause" | "delete"): EndpointFact => {
  switch (does) {
    case "create":
      return {
        _tag: "Created",
        at: now,
        url: endpoint.url,
        enabledEvents: ["*"],
        description: null,
        livemode: true,
        secretId: "wsk_1"
      } as EndpointFact
    case "pause":
      return { _tag: "Paused", at: now, reason: "gone" } as EndpointFact
    case "unpause":
      return { _tag: "Unpaused", at: now } as EndpointFact
    case "delete":
      return { _tag: "Deleted", at: now } as EndpointFact
  }
}

/** A log with its tasks and a reactor that follows it. */
class World {
  readonly offered: Array<TakenDelivery> = []
  readonly tasks: DeliveryTasks
  readonly frames: Array<CommittedFrame> = []
  private readonly life: ReturnType<DeliveryTasks["open"]>
  private readonly endpoints = new Map<string, FoldedEndpoint>()
  private cursor = 0

  constructor() {
    const listener: DispatchListener = {
      leaseMillis: 1_000,
      room: () => ({ deliveries: 0, characters: 0 }),
      roomFor: () => ({ deliveries: 0, characters: 0 }),
      roomOf: () => 0,
      holds: () => false,
      committed: () => undefined,
      followed: () => undefined,
      offer: (deliveries) => {
        for (const delivery of deliveries) {
          delivery.task?.run()
          this.offered.push(delivery)
        }
      },
      late: () => undefined,
      missed: () => undefined,
      recorded: () => undefined,
      outdated: () => undefined,
      drain: Effect.void
    }
    this.tasks = new DeliveryTasks(() => listener)
    this.life = this.tasks.open({
      partition: 0,
      framesAfter: (after) => this.frames.filter(({ sequence }) => sequence > after),
      spanOf: () => undefined,
      settled: () => undefined
    })
  }

  append(of: number, what: EndpointFact | "event"): void {
    const sequence = this.frames.length + 1
    const place = { partition: 0, sequence, index: 0, now, organization: organizationOf(of) }
    const event = { type: "telco.a", service: "telco", livemode: true, data: {} }
    const record: FactRecord | EventRecord =
      what === "event"
        ? { _tag: "Event", ...place, kind: "emitter", key: "", id: uuid(sequence), event }
        : { _tag: "Fact", ...place, kind: WebhookEndpoint.kind, key: `we_${of}`, fact: what }
    const frame = { sequence, hash: "", number: sequence, epoch: 1, now, bytes: 1, records: [record] }
    this.frames.push(frame)
    this.life.followed(frame)
  }

  /** The reactor writes all that is there. Answers its batch. */
  react(): MatchedBatch {
    const records = this.frames.slice(this.cursor).flatMap((frame) => frame.records as ReadonlyArray<FactRecord>)
    const batch = new MatchedBatch([...this.endpoints.values()], undefined, now, (place, endpointId) =>
      this.tasks.written(place, endpointId)
    )
    for (const record of records as ReadonlyArray<FactRecord | EventRecord>) {
      if (record._tag === "Fact") batch.fold(record)
      else batch.event(record)
    }
    for (const folded of batch.changed.values()) {
      if (folded.endpoint === null) this.endpoints.delete(folded.endpointId)
      else this.endpoints.set(folded.endpointId, folded)
    }
    this.cursor = this.frames.length
    for (const organization of new Set(records.map((record) => record.organization)))
      this.tasks.seed(0, organization, batch.endpointsOf(organization), this.cursor)
    this.life.recorded(this.cursor)
    return batch
  }
}

describe("[platform 6.4] deliveries of acknowledged frames", () => {
  it.prop(
    "are exactly those that the reactor writes, once their organization is known",
    [Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(40)))],
    ([acts]) => {
      const world = new World()
      const known = new Set<string>()
      const unwritten = new Set<string>()
      const written: Array<string> = []
      const pending = new Set<string>()
      for (const { does, of } of acts) {
        if (does !== "reactor") {
          world.append(of, does === "event" ? "event" : factOf(does))
          pending.add(organizationOf(of))
          continue
        }
        const before = new Set(known)
        for (const { id, organization_id } of world.react().deliveries) {
          written.push(id)
          if (!before.has(organization_id)) unwritten.add(id)
        }
        for (const organization of pending) known.add(organization)
        pending.clear()
      }
      for (const { id } of world.react().deliveries) written.push(id)
      const offered = world.offered.map(({ id }) => id)
      expect(new Set(offered).size).toBe(offered.length)
      for (const id of offered) expect(written).toContain(id)
      // What was committed before its organization was known is the queue's alone.
      for (const id of unwritten) expect(offered).not.toContain(id)
    }
  )

  const attempted = (result: DeliveryOutcome["result"], made: DeliveryOutcome["made"]) => {
    const world = new World()
    world.append(0, factOf("create"))
    world.react()
    world.append(0, "event")
    const [delivery] = world.offered
    delivery!.task!.end({ delivery: delivery!, made, result })
    return { delivery: delivery!, batch: world.react() }
  }
  const made = { at: now, status: 503, duration: 40, response: "later", error: null }

  it("given a success before the record, then its row is final and there is no job", () => {
    const { batch, delivery } = attempted({ _tag: "Settled", status: "succeeded" }, { ...made, status: 200 })
    expect(batch.jobs).toEqual([])
    expect(batch.deliveries).toMatchObject([
      { id: delivery.id, status: "succeeded", attempts: 1, next_attempt_at: null, settled_at: now + 40 }
    ])
    expect(JSON.parse(batch.deliveries[0]!.attempt_log)).toEqual([{ ...made, status: 200 }])
    expect(batch.answers).toEqual([{ endpoint_id: "we_0", ended_at: now + 40, answered: 200 }])
  })

  it("given a failure before the record, then its retry is a job that counts the attempt", () => {
    const { batch } = attempted({ _tag: "Again", dueAt: now + 5_000 }, made)
    expect(batch.deliveries).toMatchObject([{ status: "pending", attempts: 1, next_attempt_at: now + 5_000 }])
    // As the queue has a job whose first attempt was taken: due then, with one attempt.
    expect(batch.jobs).toMatchObject([{ lane: jobLanes.retry, leasedUntil: now + 5_000 }])
    expect(batch.retries).toEqual([{ partition: 0, endpointId: "we_0", dueAt: now + 5_000 }])
  })

  it("given one that was given back, then its job waits in its lane without an attempt", () => {
    const { batch } = attempted({ _tag: "Returned", dueAt: now + 1_000 }, null)
    expect(batch.deliveries).toMatchObject([{ status: "pending", attempts: 0, attempt_log: "[]" }])
    expect(batch.jobs).toMatchObject([{ lane: jobLanes.first, dueAt: now + 1_000 }])
    expect(batch.jobs[0]!.leasedUntil).toBeUndefined()
    expect([...batch.queued.keys()]).toEqual(["we_0"])
  })

  it("given one that still runs, then its job is held, and its lease begins", () => {
    const world = new World()
    world.append(0, factOf("create"))
    world.react()
    world.append(0, "event")
    const batch = world.react()
    expect(batch.jobs).toMatchObject([{ lane: jobLanes.first, leasedUntil: now }])
    expect(batch.taken).toEqual([])
    expect([world.offered[0]!.leasedUntil, world.offered[0]!.task!.isQueued]).toEqual([now, true])
  })

  it("given a paused endpoint, then it is offered nothing until it goes on", () => {
    const world = new World()
    world.append(0, factOf("create"))
    world.react()
    world.append(0, factOf("pause"))
    world.append(0, "event")
    expect(world.offered).toEqual([])
    expect(world.react().skipped).toMatchObject([{ endpoint_id: "we_0", reason: "paused" }])
    world.append(0, factOf("unpause"))
    world.append(0, "event")
    expect(world.offered).toHaveLength(1)
  })

  it("given a deleted endpoint, then the head shows none, whatever the store has", () => {
    const world = new World()
    world.append(0, factOf("create"))
    world.react()
    const read: FoldedEndpoint = { endpointId: "we_0", organizationId: "org_0", partition: 0, sequence: 1, endpoint }
    expect(world.tasks.newest(read).endpoint).not.toBeNull()
    world.append(0, factOf("delete"))
    expect(world.tasks.newest(read).endpoint).toBeNull()
    const ofAnother = { ...read, organizationId: "org_unknown" }
    expect(world.tasks.newest(ofAnother)).toEqual(ofAnother)
  })
})
