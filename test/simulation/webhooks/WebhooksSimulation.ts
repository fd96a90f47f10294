/**
 * A scenario of deliveries as it is played: the log of decisions, the store, receivers on a faulty network, and processes that run the real
 * dispatcher and die. Endpoints decide by their real rules, events are matched by the real matching. Steps come from `play.ts`. Needs no
 * service.
 */
import { Effect, Result } from "effect"
import type { EventRecord, FactRecord } from "../../../src/engine/records.ts"
import { eventRetentionMillis } from "../../../src/events/event.ts"
import { Marks } from "../../../src/simulation/engine/Marks.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"
import { epochMillis, World } from "../../../src/simulation/kernel/World.ts"
import { deliveryIdOf } from "../../../src/webhooks/delivery/model.ts"
import type { DeliveryOutcome, DeliveryStore } from "../../../src/webhooks/delivery/ports.ts"
import type { DispatcherPorts } from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import { DeliveriesMemory, make as makeStore } from "../../../src/webhooks/embedded/DeliveryStoreMemory.ts"
import { EndpointsMemory } from "../../../src/webhooks/embedded/EndpointsMemory.ts"
import { lineOf } from "../../../src/webhooks/endpoint/deliveryOrder.ts"
import {
  dispositionOf,
  type Endpoint,
  type EndpointCommand,
  type EndpointFact
} from "../../../src/webhooks/endpoint/model.ts"
import { Network } from "./Network.ts"
import type { Checker, Lined, Observer, Sent } from "./Observer.ts"
import { SimulatedDispatcher } from "./SimulatedDispatcher.ts"
import type { Operation, Scenario } from "./WebhooksScenario.ts"

/** What a checker found. */
export interface Violation {
  readonly checker: string
  readonly message: string
  /** Virtual time, milliseconds since the scenario's beginning. */
  readonly at: number
}

export interface SimulationOptions {
  readonly checkers: ReadonlyArray<Checker>
  /** Stands between the dispatcher and its ports, for stores and receivers of one's own. Default: nothing does. */
  readonly ports?: ((ports: DispatcherPorts) => DispatcherPorts) | undefined
  /** Whether a readable trace is kept; costs time. */
  readonly isTraced?: boolean | undefined
}

/** Values of events by which they are in lines; one is no key. */
const eventKeys = ["a", "a", "b", "c", null] as const

/** The place of an endpoint is the first number of its id. */
const placeOf = (endpointId: string): number => Number(endpointId.split("_")[1])

export const secretOf = (id: string): string => `whsec_${id}`

export class Simulation {
  readonly scenario: Scenario
  readonly world: World
  readonly marks = new Marks()
  readonly ports: (ports: DispatcherPorts) => DispatcherPorts
  readonly endpoints: EndpointsMemory
  readonly data = new DeliveriesMemory({ maximumSettled: Number.MAX_SAFE_INTEGER })
  readonly store: DeliveryStore
  readonly network: Network
  /** The log, and how far the reactor has committed it. */
  readonly log: Array<FactRecord | EventRecord> = []
  cursor = 0
  /** When the store took an endpoint's state in, virtual milliseconds. */
  readonly foldedAt = new Map<string, number>()
  /** When the reactor committed a delivery, virtual milliseconds. */
  readonly committedAt = new Map<string, number>()
  /** The state of endpoints that frames have shown to the process that runs, and since when; null once deleted. */
  readonly shownAt = new Map<string, { readonly endpoint: Endpoint | null; readonly at: number }>()
  /** Deliveries that somebody had sent once more. */
  readonly retried = new Set<string>()
  readonly secrets = new Set<string>()
  /** The process that runs, and all there were. */
  running: SimulatedDispatcher | undefined
  processes = 0
  /** When a process, the store or a clock was last disturbed. */
  disturbedAt = Number.NEGATIVE_INFINITY
  readonly violations: Array<Violation> = []
  readonly lines: Array<string> = []
  isHealed = false
  /** A hash of everything that has happened. */
  fingerprint = 0x811c9dc5
  private readonly planned = new Map<string, string>()
  private readonly counts = new Map<Operation, number>()
  private readonly latencies: Prng
  /** The values by which events are in lines. */
  private readonly keys: Prng
  private readonly observers: ReadonlyArray<Observer>
  private readonly isTraced: boolean
  private outageUntil = Number.NEGATIVE_INFINITY
  private ids = 0
  private readonly generations: Array<number> = []

  constructor(scenario: Scenario, options: SimulationOptions) {
    const { disorder, sliceOperations } = scenario.topology
    this.scenario = scenario
    this.ports = options.ports ?? ((ports) => ports)
    this.isTraced = options.isTraced ?? false
    this.world = new World({ seed: scenario.seed, disorder, sliceOperations, dragMicros: 0 })
    this.latencies = new Prng(scenario.seed, "latencies")
    this.keys = new Prng(scenario.seed, "keys")
    for (const { kind, nth, operation } of scenario.faults) this.planned.set(`${operation} ${nth}`, kind)
    this.endpoints = new EndpointsMemory({ idOf: () => this.uuid() })
    this.store = makeStore(this.data)
    this.network = new Network(this)
    this.observers = options.checkers.map((checker) =>
      checker.make(this, (message) => this.violate(checker.name, message))
    )
  }

  /** The correct wall clock. */
  get wallMillis(): number {
    return Math.floor(epochMillis + this.world.now)
  }

  uuid(): string {
    return `00000000-0000-8000-8000-${(++this.ids).toString(16).padStart(12, "0")}`
  }

  /** Notes what happens: for the fingerprint, and where it is wanted for people. */
  trace(line: () => string): void {
    const text = `${this.world.now.toFixed(3).padStart(12)} ${line()}`
    for (let index = 0; index < text.length; index++)
      this.fingerprint = Math.imul(this.fingerprint ^ text.charCodeAt(index), 0x01000193)
    if (this.isTraced) this.lines.push(text)
  }

  violate(checker: string, message: string): void {
    this.violations.push({ checker, message, at: this.world.now })
    this.trace(() => `VIOLATION, ${checker}: ${message}`)
  }

  tell(of: (observer: Observer) => void): void {
    for (const observer of this.observers) of(observer)
  }

  /** The time that a message takes, milliseconds. */
  latency(): number {
    return (20 + this.latencies.next() * this.scenario.topology.latencyMicros) / 1000
  }

  /** From 0 (included) to 1 (excluded). */
  draw(): number {
    return this.latencies.next()
  }

  /** The fault of the operation that happens now, if one is planned. */
  fault(operation: Operation): string | undefined {
    const nth = this.counts.get(operation) ?? 0
    this.counts.set(operation, nth + 1)
    const kind = this.isHealed ? undefined : this.planned.get(`${operation} ${nth}`)
    if (kind === undefined) return undefined
    this.marks.reach(`${operation}: ${kind}`)
    this.trace(() => `  fault: ${operation} ${nth}: ${kind}`)
    if (operation !== "send" || kind.startsWith("crash") || kind === "defect") this.disturb()
    return kind
  }

  disturb(): void {
    this.disturbedAt = this.world.now
  }

  get isOut(): boolean {
    return this.world.now < this.outageUntil
  }

  startOutage(millis: number): void {
    this.outageUntil = this.world.now + millis
    this.disturb()
  }

  heal(): void {
    this.isHealed = true
    this.outageUntil = Number.NEGATIVE_INFINITY
    this.network.heal()
    if (this.running !== undefined) this.running.process.clockStoppedAt = undefined
    this.disturb()
  }

  // Processes

  start(): void {
    this.shownAt.clear()
    this.running = new SimulatedDispatcher(this, ++this.processes)
    this.trace(() => `p${this.processes} starts`)
    this.running.start()
  }

  /** Kills what runs; another one starts a moment later. */
  crash(why: string): void {
    const dispatcher = this.running
    if (dispatcher === undefined) return
    this.trace(() => `p${this.processes} is killed ${why}`)
    this.marks.reach("crash")
    this.disturb()
    this.running = undefined
    dispatcher.process.kill()
    this.world.after(100, undefined, () => this.start())
  }

  /** Stops what runs as an operator does, then starts another one. */
  restart(): void {
    const dispatcher = this.running
    if (dispatcher === undefined) return
    this.trace(() => `p${this.processes} is told to stop`)
    this.marks.reach("restart")
    this.disturb()
    this.running = undefined
    dispatcher.stop(() => this.start())
  }

  // The log.

  /** Decides a command. Its facts are in the log at once, and the reactor sees them a little later. */
  ask(endpointId: string, command: EndpointCommand) {
    const place = { organizationId: this.organizationOf(endpointId), endpointId }
    const now = this.wallMillis
    const due = this.endpoints.wakeDue(place, now)
    if (due !== undefined) this.append(due.records)
    const before = this.endpoints.get(endpointId)
    const decided = this.endpoints.ask(place, command, now)
    if (Result.isFailure(decided)) return decided
    const after = decided.success.reply.endpoint ?? undefined
    this.trace(() => `${endpointId} ${command._tag}: ${after?.consecutiveFailures} ${after?.paused?.reason ?? ""}`)
    this.tell((observer) => observer.decided?.(endpointId, command, before, after))
    this.append(decided.success.records)
    return decided
  }

  /** Each organization emits an event. */
  emit(type: string): void {
    for (const organization of this.organizations) {
      const sequence = this.endpoints.next()
      const place = { partition: 0, sequence, index: 0, now: this.wallMillis, organization }
      const data = this.scenario.topology.orders === undefined ? {} : { k: this.keys.pick(eventKeys) }
      const event = { type, service: type.slice(0, type.indexOf(".")), livemode: true, data }
      this.append([{ _tag: "Event", ...place, kind: "emitter", key: "", id: this.uuid(), event }])
    }
  }

  append(records: ReadonlyArray<FactRecord | EventRecord>): void {
    for (const record of records) {
      this.log.push(record)
      if (record._tag === "Fact") {
        const fact = record.fact as EndpointFact
        if (fact._tag === "Created") this.secrets.add(fact.secretId)
        if (fact._tag === "SecretRotated") this.secrets.add(fact.secretId)
        continue
      }
      const event = { eventId: `evt_${record.id}`, ...record.event }
      for (const { endpoint, endpointId } of this.endpoints.of(record.organization))
        if (endpoint !== null && dispositionOf(endpointId, endpoint, event) !== "ignored")
          this.tell((observer) => observer.matched?.(endpointId, endpoint, event))
      for (const { endpoint, endpointId } of this.endpoints.of(record.organization)) {
        if (endpoint === null || dispositionOf(endpointId, endpoint, event) !== "delivered") continue
        const line = event.type === "platform.test" ? undefined : lineOf(endpoint.ordering, event.data)
        const { index, sequence } = record
        if (line !== undefined)
          this.lined({ endpointId, line, id: deliveryIdOf(event.eventId, endpointId), sequence, index })
      }
    }
    this.running?.acknowledge()
  }

  /** Notes the place of a delivery in its line. */
  lined(lined: Lined): void {
    this.tell((observer) => observer.lined?.(lined))
  }

  /** Notes an outcome that counts. */
  recorded(outcome: DeliveryOutcome): void {
    this.trace(
      () =>
        `  recorded ${outcome.delivery.id.slice(4, 10)} ${outcome.delivery.attempt}: ${JSON.stringify(outcome.result)}`
    )
    this.tell((observer) => observer.recorded?.(outcome))
  }

  sent(sent: Sent): void {
    this.trace(() => `  ${sent.endpointId} is sent ${sent.deliveryId.slice(4, 10)}`)
    this.tell((observer) => observer.sent?.(sent))
  }

  /** Sends a delivery that is over once more. A deleted endpoint has none that anybody could ask for. */
  retry(nth: number): void {
    const there = this.everyEndpoint.filter((id) => this.endpoints.get(id) !== undefined)
    const over = there.flatMap((id) => this.data.deliveries(id)).filter((one) => one.status !== "pending")
    const delivery = over[nth % Math.max(1, over.length)]
    if (delivery === undefined) return
    const endpointId = this.data.retry(delivery.id, 0, this.wallMillis, eventRetentionMillis)
    if (endpointId === undefined) return
    this.retried.add(delivery.id)
    this.marks.reach("retry")
    this.trace(() => `retry of ${delivery.id.slice(4, 10)}`)
    this.running?.wake(endpointId)
  }

  /** All organizations. */
  get organizations(): ReadonlyArray<string> {
    const { organizations = 1 } = this.scenario.topology
    return Array.from({ length: organizations }, (_, number) => `org_${number + 1}`)
  }

  /** Whose endpoint it is. */
  organizationOf(endpointId: string): string {
    return this.organizations[placeOf(endpointId) % this.organizations.length]!
  }

  /** The rate that an endpoint is made with. */
  rateOf(endpointId: string): number | null {
    return this.scenario.topology.rates?.[placeOf(endpointId)] ?? null
  }

  /** The key of the order that an endpoint is made with. */
  orderOf(endpointId: string): string | null {
    return this.scenario.topology.orders?.[placeOf(endpointId)] ?? null
  }

  /** The endpoint in a place now, or the last one there. A new endpoint has a new id. */
  endpointAt(place: number): string {
    return `we_${place}_${this.generations[place] ?? 0}`
  }

  /** A new endpoint in the place of a deleted one. */
  renew(place: number): string {
    this.generations[place] = (this.generations[place] ?? 0) + 1
    return this.endpointAt(place)
  }

  /** All endpoints there ever were. */
  get everyEndpoint(): ReadonlyArray<string> {
    return Array.from({ length: this.scenario.topology.endpoints }, (_, place) =>
      Array.from({ length: (this.generations[place] ?? 0) + 1 }, (_one, generation) => `we_${place}_${generation}`)
    ).flat()
  }

  close(): void {
    this.running?.process.kill()
  }
}

/** Runs something that neither waits nor fails. */
export const now = <A, E>(effect: Effect.Effect<A, E>): A => Effect.runSync(effect as Effect.Effect<A>)
