/**
 * Keeps the endpoints of an embedded dispatcher in memory: decided by the rules, with their secrets beside them. Their
 * decisions go to the store, and to the dispatcher. Synchronous: the time is an argument. Needs `DispatchFeed`, which
 * its maker passes in.
 */
import { randomUUID } from "node:crypto"
import { Result } from "effect"
import { randomText } from "../../common/identifiers.ts"
import { type Event, type InvalidPattern, parsePatterns } from "../../events/index.ts"
import type { DispatchFeed } from "../delivery/DispatchFeed.ts"
import { MatchedBatch } from "../delivery/matchEvents.ts"
import { rateProblem } from "../endpoint/fields.ts"
import { type CustomHeaders, encodeHeaders, headersProblem } from "../endpoint/headers.ts"
import {
  type Endpoint,
  type EndpointCommand,
  type EndpointFact,
  EndpointInvalid,
  type EndpointRejection,
  type EndpointReply,
  maximumIdLength
} from "../endpoint/model.ts"
import { checkUrl, type TargetPolicy, type UrlRefused } from "../target/targets.ts"
import type { DeliveriesMemory } from "./DeliveryStoreMemory.ts"
import { type DecidedEndpoint, EndpointsMemory } from "./EndpointsMemory.ts"

/** Endpoints that one dispatcher in memory serves. See {@link Webhooks}. */
export const maximumMemoryEndpoints = 10_000

/** An endpoint, as its owner describes it. See {@link Webhooks}. */
export interface EndpointOptions {
  /** Chosen by the caller, 1 to 64 characters. */
  readonly id: string
  readonly url: string
  /** The types that it receives: `*`, `orders.*`, `orders.created`; 1 to 50 of them. */
  readonly patterns: ReadonlyArray<string>
  /** Signs its deliveries; `makeSecret` makes one. */
  readonly secret: string
  /** Sent with each delivery besides the dispatcher's own; names that it sends itself are refused. Default none. */
  readonly headers?: CustomHeaders | undefined
  /** Attempts per second at most, 1 to 10,000; null, the default, for no limit. */
  readonly rateLimit?: number | null | undefined
  /** False: nothing is delivered, and only its pending deliveries are kept. Default true. */
  readonly isActive?: boolean | undefined
}

/** All endpoints are of one organization. */
const organizationId = "memory"

const invalid = (field: string, message: string) => Result.fail(new EndpointInvalid({ field, message }))

type Fault = EndpointInvalid | UrlRefused | InvalidPattern

const checked = (
  { headers = {}, id, patterns, rateLimit, secret, url }: EndpointOptions,
  targets: TargetPolicy
): Result.Result<unknown, Fault> => {
  if (id.length === 0 || id.length > maximumIdLength)
    return invalid("id", `id must have 1 to ${maximumIdLength} characters`)
  if (secret === "") return invalid("secret", "secret must not be empty")
  const problem = headersProblem(headers) ?? rateProblem(rateLimit)
  if (problem !== undefined) return Result.fail(problem)
  return Result.flatMap(
    checkUrl(url, targets),
    (): Result.Result<unknown, InvalidPattern> => parsePatterns(patterns, "any")
  )
}

export class EmbeddedEndpoints {
  /** Signing secrets by their ids. */
  readonly secrets = new Map<string, string>()
  private readonly targets: TargetPolicy
  private readonly data: DeliveriesMemory
  private readonly feed: DispatchFeed["Service"]
  private readonly endpoints = new EndpointsMemory({ idOf: () => randomUUID() })

  constructor(targets: TargetPolicy, data: DeliveriesMemory, feed: DispatchFeed["Service"]) {
    this.targets = targets
    this.data = data
    this.feed = feed
  }

  /** The partition of all endpoints. */
  get partition(): number {
    return this.endpoints.partition
  }

  get(id: string): Endpoint | undefined {
    return this.endpoints.get(id)
  }

  /** Asks a command of an endpoint, after its due wakes. */
  ask(endpointId: string, command: EndpointCommand, now: number): Result.Result<EndpointReply, EndpointRejection> {
    const place = { organizationId, endpointId }
    const due = this.endpoints.of(organizationId)
    this.apply(due, this.endpoints.wakeDue(place, now) ?? { records: [] }, now)
    const before = this.endpoints.of(organizationId)
    return Result.map(this.endpoints.ask(place, command, now), (made) => {
      this.apply(before, made, now)
      return made.reply
    })
  }

  /** Makes an endpoint, or changes the one with that id. */
  set(options: EndpointOptions, now: number): Result.Result<void, Fault> {
    return Result.flatMap(checked(options, this.targets), () => {
      const known = this.endpoints.get(options.id)
      return known === undefined ? this.create(options, now) : Result.succeed(this.change(known, options, now))
    })
  }

  /** Keeps a secret and returns its id. */
  newSecret(secret: string): string {
    const secretId = `wsk_${randomText()}`
    this.secrets.set(secretId, secret)
    return secretId
  }

  /** Makes deliveries of an event; false when they would be more than may wait, and then none is made. */
  emit(event: Event, body: string, now: number): boolean {
    const batch = new MatchedBatch(this.endpoints.of(organizationId), this.feed.listener(), now)
    const place = { partition: this.partition, sequence: this.endpoints.next(), index: 0, organization: organizationId }
    batch.own(place, event, body)
    if (!this.data.hasRoom(batch.jobs.length)) return false
    this.commit(batch, new Map([[event.eventId, body]]))
    return true
  }

  private create(options: EndpointOptions, now: number) {
    const { headers, id, isActive = true, patterns, rateLimit = null, secret, url } = options
    if (this.endpoints.of(organizationId).length >= maximumMemoryEndpoints)
      return invalid("id", `there are ${maximumMemoryEndpoints} endpoints already`)
    const secretId = this.newSecret(secret)
    const enabledEvents = [...patterns]
    const sealed = this.sealed(headers, null)
    const own = { ...(sealed === null ? {} : { headers: sealed }), rateLimit }
    this.happen(
      id,
      [{ _tag: "Created", url, enabledEvents, description: null, secretId, ...own, livemode: true, at: now }],
      now
    )
    if (!isActive) this.happen(id, [{ _tag: "Updated", isActive }], now)
    return Result.void
  }

  /** The endpoint's headers, kept like a secret: those that it has already where they are the same. */
  private sealed(headers: CustomHeaders = {}, before: Endpoint["headers"]): Endpoint["headers"] {
    const names = Object.keys(headers)
    if (names.length === 0) return null
    const text = encodeHeaders(headers)
    if (before !== null && this.secrets.get(before.secretId) === text) return before
    return { secretId: this.newSecret(text), names }
  }

  private change(known: Endpoint, options: EndpointOptions, now: number): void {
    const { headers, id, isActive = true, patterns, rateLimit = null, secret, url } = options
    const own = { headers: this.sealed(headers, known.headers), rateLimit }
    const facts: Array<EndpointFact> = [{ _tag: "Updated", url, enabledEvents: [...patterns], isActive, ...own }]
    if (this.secrets.get(known.secretId) !== secret)
      facts.push({ _tag: "SecretRotated", secretId: this.newSecret(secret), previousUntil: null })
    this.happen(id, facts, now)
  }

  private happen(endpointId: string, facts: ReadonlyArray<EndpointFact>, now: number): void {
    const before = this.endpoints.of(organizationId)
    this.apply(before, this.endpoints.happen({ organizationId, endpointId }, facts, now), now)
  }

  /** Applies a decision. Its events are matched against the states from before. */
  private apply(
    before: ReturnType<EndpointsMemory["of"]>,
    { records }: Pick<DecidedEndpoint, "records">,
    now: number
  ): void {
    if (records.length === 0) return
    const batch = new MatchedBatch(before, this.feed.listener(), now)
    for (const record of records) {
      if (record._tag === "Fact") batch.fold(record)
      else batch.event(record)
    }
    this.commit(batch, batch.bodies)
  }

  private commit(batch: MatchedBatch, bodies: ReadonlyMap<string, string>): void {
    this.data.put(batch, bodies)
    for (const id of batch.forgotten) this.secrets.delete(id)
    this.feed.listener()?.committed({ taken: batch.taken, queued: batch.queued, endpoints: batch.endpoints })
  }
}
