/**
 * A process of a simulation: the real dispatcher over ports that take time and fail, the real tasks of acknowledged
 * frames, and a reactor that follows the log. When it is killed, only the store's data is left.
 */
import { Context, Effect, Exit, Logger, Result, Scope } from "effect"
import { OutcomeUnknown, PartitionUnavailable } from "../../../src/engine/errors.ts"
import type { CommittedFrame, EventRecord, FactRecord } from "../../../src/engine/records.ts"
import { ReactorTasks } from "../../../src/engine/shell/reactors/ReactorTasks.ts"
import { eventRetentionMillis } from "../../../src/events/event.ts"
import { SimulatedProcess } from "../../../src/simulation/kernel/World.ts"
import { DispatchFeed, type DispatchListener } from "../../../src/webhooks/delivery/DispatchFeed.ts"
import { MatchedBatch, unattempted } from "../../../src/webhooks/delivery/matchEvents.ts"
import { deliveryIdOf, encodePayload, retryLaneOf } from "../../../src/webhooks/delivery/model.ts"
import {
  DeliveriesUnavailable,
  type DeliveryOutcome,
  type DeliveryStore,
  type EndpointActors,
  SecretsUnavailable,
  type SigningSecrets,
  type TakenDelivery
} from "../../../src/webhooks/delivery/ports.ts"
import { defaultSchedule } from "../../../src/webhooks/delivery/schedule.ts"
import {
  defaultSettings,
  leaseOf,
  make,
  type WebhookDispatcher
} from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import { lineOf } from "../../../src/webhooks/endpoint/deliveryOrder.ts"
import { dispositionOf, type EndpointFact, type EndpointReply, statusOf } from "../../../src/webhooks/endpoint/model.ts"
import { deliveryMark } from "./Network.ts"
import type { Operation } from "./WebhooksScenario.ts"
import { now, type Simulation, secretOf } from "./WebhooksSimulation.ts"

/** Records of each organization that the reactor takes at a time. */
const batchRecords = 8

/** How late a slow operation is. */
const slowMillis = 1_500

/** The longest wait that a receiver can ask for in a simulation. */
export const maximumRetryAfterMillis = 5_000

export class SimulatedDispatcher {
  readonly process: SimulatedProcess
  dispatcher: WebhookDispatcher["Service"] | undefined
  private readonly simulation: Simulation
  private readonly feed = now(Effect.scoped(Effect.provide(Effect.service(DispatchFeed), DispatchFeed.layer)))
  private readonly scope = Scope.makeUnsafe()
  private readonly services: Context.Context<Scope.Scope>
  private tasks!: ReactorTasks
  /** Organizations whose state the life has taken in. */
  private readonly known = new Set<string>()
  /** Acknowledged frames that the store does not have. */
  private frames: Array<CommittedFrame> = []
  /** Records of the log that this process has seen acknowledged, or found at its start. */
  private acknowledged = 0
  private isFollowing = false
  /** When the last question reaches the actors. */
  private askedAt = 0

  constructor(simulation: Simulation, number: number) {
    this.simulation = simulation
    const logger = Logger.make<unknown, void>(({ message }) => {
      const text = Array.isArray(message) ? String(message[0]) : String(message)
      simulation.trace(() => `  p${number}: ${text}`)
    })
    this.process = new SimulatedProcess(simulation.world, number, logger)
    this.services = Context.add(this.process.services, Scope.Scope, this.scope)
  }

  start(): void {
    const simulation = this.simulation
    const { capacity, delaysMillis, timeoutMillis } = simulation.scenario.topology
    const made = make(
      simulation.ports({
        store: this.store(),
        sender: { send: (request) => simulation.network.send(this.process, request) },
        actors: this.actors(),
        secrets: this.secrets(),
        feed: this.markingFeed()
      }),
      {
        ...defaultSettings,
        schedule: { ...defaultSchedule, delaysMillis, maximumRetryAfterMillis },
        timeoutMillis,
        capacity: { main: capacity, slow: capacity },
        leaseMillis: leaseOf(timeoutMillis),
        drainMillis: 1_000
      }
    )
    this.run(made, (exit) => {
      if (Exit.isFailure(exit)) return simulation.violate("start", String(exit.cause))
      this.dispatcher = exit.value
      this.live()
      // What is there already is the reactor's alone.
      this.acknowledged = simulation.log.length
      this.follow()
    })
  }

  stop(done: () => void): void {
    this.run(Scope.close(this.scope, Exit.void), () => {
      this.process.kill()
      done()
    })
  }

  wake(endpointId: string): void {
    if (this.dispatcher !== undefined) this.run(this.dispatcher.wake(0, endpointId), () => undefined)
  }

  /** Shows the records that were stored since the last call to the tasks, frame by frame, and to the reactor. */
  acknowledge(): void {
    const { log } = this.simulation
    if (this.dispatcher === undefined) return
    while (this.acknowledged < log.length) {
      const [first] = log.slice(this.acknowledged, this.acknowledged + 1)
      let end = this.acknowledged + 1
      while (end < log.length && log[end]!.sequence === first!.sequence) end++
      this.frames.push(frameOf(log.slice(this.acknowledged, end)))
      this.show(this.frames.at(-1)!)
      this.acknowledged = end
      this.tasks.followed(this.frames.at(-1)!)
    }
    this.follow()
  }

  /** Notes the states that a frame has shown of endpoints whose organization this process knows. */
  private show({ records }: CommittedFrame): void {
    const { endpoints, shownAt, world } = this.simulation
    for (const record of records)
      if (record._tag === "Fact" && this.known.has(record.organization))
        shownAt.set(record.key, { endpoint: endpoints.get(record.key) ?? null, at: world.now })
  }

  /** Makes the reactor look at the log soon. */
  private follow(): void {
    const simulation = this.simulation
    if (this.isFollowing || simulation.cursor >= this.acknowledged) return
    this.isFollowing = true
    const fault = simulation.isOut ? undefined : simulation.fault("commit")
    const lag =
      simulation.latency() +
      (fault === "late" ? slowMillis : simulation.draw() * simulation.scenario.topology.lagMillis)
    const wait = Effect.suspend(() => {
      const millis = this.tasks.waitMillis(this.place)
      this.tasks.atRest.clear()
      return millis === 0 ? Effect.void : Effect.raceFirst(Effect.sleep(millis), this.tasks.atRest.wait)
    })
    simulation.world.after(lag, this.process, () => this.run(wait, () => this.begin(fault)))
  }

  private again(millis: number): void {
    this.isFollowing = false
    this.simulation.world.after(millis, this.process, () => this.follow())
  }

  /** The frame up to which the store has all. */
  private get place(): number {
    const { cursor, log } = this.simulation
    return cursor === 0 ? 0 : log[cursor - 1]!.sequence
  }

  /** What the reactor gets next. A frame is never split, as in the engine. */
  private batch(): ReadonlyArray<FactRecord | EventRecord> {
    const { cursor, log, organizations } = this.simulation
    let end = Math.min(this.acknowledged, cursor + batchRecords * organizations.length)
    while (end < log.length && log[end]!.sequence === log[end - 1]!.sequence) end++
    const through = this.tasks.readyThrough(this.place)
    const ready = log.slice(cursor, end).filter(({ sequence }) => sequence <= through)
    return ready.length === 0 ? log.slice(cursor, end) : ready
  }

  /** Begins a transaction: its statements are made here, and reach the store a moment later. */
  private begin(fault: string | undefined): void {
    const simulation = this.simulation
    if (simulation.isOut) {
      this.again(200)
      return
    }
    const records = this.batch()
    const to = records.at(-1)!.sequence
    const folded = [...simulation.data.endpoints.values()].filter(({ endpoint }) => endpoint !== null)
    const listener = fault === "no room" ? undefined : this.feed.listener()
    const outcomes: Array<DeliveryOutcome> = []
    const batch = new MatchedBatch(folded, listener, this.process.wallMillis(), (place, endpointId) => {
      const written = this.feed.tasks.written(place, endpointId)
      if (written !== undefined) simulation.marks.reach(`written: ${written._tag}`)
      if (written?._tag === "Ended") outcomes.push(written.outcome)
      return written
    })
    for (const record of records) {
      if (record._tag === "Fact") batch.fold(record)
      else batch.event(record)
    }
    if (fault === "crash before") {
      simulation.crash("before a commit of the reactor")
      return
    }
    simulation.world.after(simulation.latency(), this.process, () => {
      // The next transaction writes the same records, as the register knows them then.
      if (fault === "rolled back") return this.again(50)
      this.takeEffect(batch, records, outcomes)
      // The dispatcher finds the states that nobody has told it of when it next looks through the store, which may be slow.
      if (fault === "answer lost")
        for (const endpointId of batch.changed.keys())
          simulation.foldedAt.set(endpointId, simulation.world.now + defaultSettings.scanMillis + slowMillis)
      if (fault === "crash after") return simulation.crash("after a commit of the reactor")
      simulation.world.after(simulation.latency(), this.process, () => {
        // Without the answer the reactor reads its place and goes on there.
        if (fault === "answer lost") this.tasks.resumed()
        else this.committed(batch, to)
        this.tasks.recorded(to)
        if (fault === "new life") this.live()
        this.again(0)
      })
    })
  }

  /** The transaction takes effect. */
  private takeEffect(
    batch: MatchedBatch,
    records: ReadonlyArray<FactRecord | EventRecord>,
    outcomes: ReadonlyArray<DeliveryOutcome>
  ): void {
    const simulation = this.simulation
    simulation.data.put(batch, batch.bodies)
    for (const outcome of outcomes) simulation.recorded(outcome)
    for (const { id } of batch.deliveries) simulation.committedAt.set(id, simulation.world.now)
    for (const { endpoint, endpointId } of batch.changed.values()) {
      simulation.foldedAt.set(endpointId, simulation.world.now)
      simulation.trace(() => `  reactor: ${endpointId} is ${endpoint === null ? "deleted" : statusOf(endpoint)}`)
    }
    for (const record of records) {
      const fact = record._tag === "Fact" ? (record.fact as EndpointFact) : undefined
      if (fact?._tag === "ReplayRequested") this.replay(record.key, fact, record.sequence)
    }
    simulation.cursor += records.length
    this.frames = this.frames.filter(({ sequence }) => sequence > this.place)
  }

  /** What the reactor does in memory once it knows of its commit. */
  private committed(batch: MatchedBatch, to: number): void {
    const { endpoints, queued, retries, taken } = batch
    this.feed.listener()?.committed({ taken: taken.map(marked), queued, retries, endpoints })
    for (const organization of this.simulation.organizations) {
      if (this.framesAfter(to) !== undefined) this.known.add(organization)
      this.feed.tasks.seed(0, organization, batch.endpointsOf(organization), to)
    }
  }

  /** The acknowledged frames behind one; undefined where some are from before the start of the process. */
  private framesAfter(after: number): ReadonlyArray<CommittedFrame> | undefined {
    const next = this.simulation.log.slice(0, this.acknowledged).find(({ sequence }) => sequence > after)
    const frames = this.frames.filter(({ sequence }) => sequence > after)
    return frames[0]?.sequence === next?.sequence ? frames : undefined
  }

  /** Begins a life of the partition, which ends the one before. */
  private live(): void {
    this.tasks?.close()
    this.known.clear()
    const framesAfter = (after: number) => this.framesAfter(after)
    this.tasks = new ReactorTasks(
      [this.feed.tasks],
      { partition: 0, framesAfter, spanOf: () => undefined },
      () => this.simulation.world.now
    )
  }

  /** Sends events again, as `Replays.ts` does. */
  private replay(
    endpointId: string,
    fact: Extract<EndpointFact, { readonly _tag: "ReplayRequested" }>,
    sequence: number
  ): void {
    const { data, log, wallMillis } = this.simulation
    const endpoint = data.endpoints.get(endpointId)?.endpoint
    if (!endpoint) return
    const pending = new Set(
      data.deliveries(endpointId).flatMap((one) => (one.status === "pending" ? [one.eventId] : []))
    )
    const batch = new MatchedBatch([], undefined, wallMillis)
    const organizationId = this.simulation.organizationOf(endpointId)
    for (const record of log) {
      if (record._tag === "Fact" || record.organization !== organizationId) continue
      if (record.now < fact.since || record.now >= fact.until) continue
      const eventId = `evt_${record.id}`
      const active = { ...endpoint, isActive: true, paused: null }
      if (pending.has(eventId) || dispositionOf(endpointId, active, record.event) !== "delivered") continue
      const id = deliveryIdOf(eventId, endpointId, fact.replayId)
      const delivery = { organizationId, eventId, eventCreatedAt: record.now, origin: "event" } as const
      batch.bodies.set(eventId, data.bodyOf(eventId) ?? JSON.stringify({ eventId, ...record.event }))
      batch.deliveries.push({
        id,
        organization_id: organizationId,
        endpoint_id: endpointId,
        event_id: eventId,
        event_type: record.event.type,
        event_created_at: record.now,
        origin: "event",
        ...unattempted(record.now)
      })
      const line = lineOf(endpoint.ordering, record.event.data)
      const index = batch.jobs.length
      if (line !== undefined) this.simulation.lined({ endpointId, line, id, sequence, index })
      batch.jobs.push({
        id,
        partition: 0,
        group: endpointId,
        lane: retryLaneOf(line),
        line: line === undefined ? undefined : { name: line, place: sequence, index },
        dueAt: wallMillis,
        expiresAt: record.now + eventRetentionMillis,
        payload: encodePayload(delivery)
      })
    }
    this.simulation.marks.reach("replay")
    data.put(batch, batch.bodies)
    this.wake(endpointId)
  }

  /** The feed, with a listener that marks bodies. */
  private markingFeed(): DispatchFeed["Service"] {
    const { feed } = this
    const marking = (listener: DispatchListener): DispatchListener => ({
      ...listener,
      offer: (deliveries) => {
        for (const delivery of deliveries) Object.assign(delivery, marked(delivery))
        listener.offer(deliveries)
      }
    })
    return { ...feed, attach: (listener) => feed.attach(marking(listener)) }
  }

  /** Asks the store, with a delay each way. The store goes on even if the process is gone. */
  private asked<A>(operation: Operation | undefined, question: () => A): Effect.Effect<A, DeliveriesUnavailable> {
    const simulation = this.simulation
    const { world } = simulation
    return Effect.callback<A, DeliveriesUnavailable>((resume) => {
      const fault = operation === undefined ? undefined : simulation.fault(operation)
      const failed = Effect.fail(new DeliveriesUnavailable({ message: fault ?? "outage", isTransient: true }))
      const answer = (effect: Effect.Effect<A, DeliveriesUnavailable>, more = 0) =>
        world.after(simulation.latency() + more, this.process, () => resume(effect))
      world.after(simulation.latency(), undefined, () => {
        if (fault === "crash before" && this.process.alive) return simulation.crash(`before ${operation}`)
        if (simulation.isOut || fault === "unavailable") return answer(failed)
        const found = question()
        if (fault === "crash after" && this.process.alive) return simulation.crash(`after ${operation}`)
        return fault === "answer lost"
          ? answer(failed)
          : answer(Effect.succeed(found), fault === "slow" ? slowMillis : 0)
      })
    })
  }

  private store(): DeliveryStore {
    const { store } = this.simulation
    return {
      due: (...of) => this.asked("due", () => now(store.due(...of))),
      take: (...of) => this.asked("take", () => now(store.take(...of)).map(marked)),
      takeLines: (...of) => this.asked("take", () => now(store.takeLines(...of)).map(marked)),
      lines: (...of) => this.asked("due", () => now(store.lines(...of))),
      keep: (...of) => this.asked("keep", () => now(store.keep(...of))),
      record: (outcomes, at) => this.asked("record", () => this.record(outcomes, at)),
      expire: (...of) => this.asked("expire", () => now(store.expire(...of))),
      endpoints: (...of) => this.asked("endpoints", () => now(store.endpoints(...of))),
      deleted: (...of) => this.asked("deleted", () => now(store.deleted(...of))),
      cancel: (...of) => this.asked("cancel", () => now(store.cancel(...of))),
      holding: (...of) => this.asked("due", () => now(store.holding(...of))),
      backlog: (...of) => this.asked(undefined, () => now(store.backlog(...of))),
      pausedEndpoints: (...of) => this.asked(undefined, () => now(store.pausedEndpoints(...of)))
    }
  }

  private record(outcomes: ReadonlyArray<DeliveryOutcome>, at: number): ReadonlySet<string> {
    const simulation = this.simulation
    const countOf = ({ delivery: { id } }: DeliveryOutcome) => simulation.data.delivery(id)?.attemptCount
    const before = outcomes.map(countOf)
    const counted = now(simulation.store.record(outcomes, at))
    for (const [index, outcome] of outcomes.entries()) {
      // The outcome comes again because the answer was lost, and changes nothing.
      const isRepeated = outcome.result._tag === "Again" && countOf(outcome) === before[index]
      if (counted.has(outcome.delivery.id) && !isRepeated) simulation.recorded(outcome)
    }
    return counted
  }

  private actors(): EndpointActors {
    const simulation = this.simulation
    const { world } = simulation
    return {
      partitions: Effect.succeed([0]),
      tell: ({ endpointId }, command) =>
        Effect.callback<EndpointReply, PartitionUnavailable | OutcomeUnknown>((resume) => {
          const fault = simulation.fault("tell")
          const answer = (effect: Effect.Effect<EndpointReply, PartitionUnavailable | OutcomeUnknown>, more = 0) =>
            world.after(simulation.latency() + more, this.process, () => resume(effect))
          // A mailbox keeps the order.
          this.askedAt = Math.max(this.askedAt, world.now + simulation.latency())
          world.after(this.askedAt - world.now, undefined, () => {
            if (fault === "unavailable")
              return answer(
                Effect.fail(new PartitionUnavailable({ partition: 0, reason: fault, retryAfterMillis: 10 }))
              )
            const decided = simulation.ask(endpointId, command)
            if (fault === "crash after" && this.process.alive) return simulation.crash("after the actor was told")
            if (fault === "outcome unknown") return answer(Effect.fail(new OutcomeUnknown({ partition: 0 })))
            const reply = Result.isSuccess(decided)
              ? decided.success.reply
              : { endpoint: simulation.endpoints.get(endpointId) ?? null }
            return answer(Effect.succeed(reply), fault === "late" ? slowMillis : 0)
          })
        })
    }
  }

  private secrets(): SigningSecrets["Service"] {
    const simulation = this.simulation
    return {
      open: (ids) =>
        Effect.mapError(
          this.asked(
            "secrets",
            () => new Map(ids.flatMap((id) => (simulation.secrets.has(id) ? [[id, secretOf(id)] as const] : [])))
          ),
          ({ message }) => new SecretsUnavailable({ message })
        ),
      forget: () => Effect.void
    }
  }

  private run<A, E>(effect: Effect.Effect<A, E, Scope.Scope>, done: (exit: Exit.Exit<A, E>) => void): void {
    this.simulation.world.ready(this.process, () => {
      Effect.runForkWith(this.services)(effect).addObserver((exit) => {
        if (this.process.alive) done(exit)
      })
    })
  }
}

const frameOf = (records: ReadonlyArray<FactRecord | EventRecord>): CommittedFrame => {
  const { now, sequence } = records[0]!
  return { sequence, hash: "", number: sequence, epoch: 1, now, bytes: 100, records }
}

/** Marks the body with its delivery's id. */
const marked = (delivery: TakenDelivery): TakenDelivery => ({
  ...delivery,
  body: `${delivery.body}${deliveryMark}${delivery.id}`
})
