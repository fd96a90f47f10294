/**
 * Decides endpoints by their own rules, without an engine: one decision after the other in memory, each as a frame of a
 * log that is not kept. For embedding the dispatcher alone and for simulations. Needs no service; the time is an
 * argument.
 */
import { Result } from "effect"
import type { AnyActor, Decision, PublicEvent } from "../../engine/Actor.ts"
import type { EventRecord, FactRecord } from "../../engine/records.ts"
import type {
  Endpoint,
  EndpointCommand,
  EndpointFact,
  EndpointPlace,
  EndpointRejection,
  EndpointReply,
  FoldedEndpoint
} from "../endpoint/model.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../endpoint/rules.ts"

/** A decision that was accepted. Its records all have its `sequence`. */
export interface DecidedEndpoint {
  readonly reply: EndpointReply
  /** Grows by 1 with each decision that has records. A decision without records has that of the last one. */
  readonly sequence: number
  readonly records: ReadonlyArray<FactRecord | EventRecord>
}

export interface EndpointsMemoryOptions {
  readonly partition?: number | undefined
  /** The UUID of a record's place, different for every place. */
  readonly idOf: (sequence: number, index: number) => string
}

const { decide, evolve, wake, wakeAt } = WebhookEndpoint.options

export class EndpointsMemory {
  readonly partition: number
  /** The last frame. */
  sequence = 0
  private readonly idOf: EndpointsMemoryOptions["idOf"]
  /** By their id, which is unique over all organizations. */
  private readonly folded = new Map<string, FoldedEndpoint>()
  private readonly lists = new Map<string, { readonly endpointIds: ReadonlyArray<string> }>()

  constructor(options: EndpointsMemoryOptions) {
    this.partition = options.partition ?? 0
    this.idOf = options.idOf
  }

  /** Its current state; undefined if there is none. */
  get(endpointId: string): Endpoint | undefined {
    return this.folded.get(endpointId)?.endpoint ?? undefined
  }

  /** The current endpoints of an organization. */
  of(organizationId: string): ReadonlyArray<FoldedEndpoint> {
    const { endpointIds } = this.lists.get(organizationId) ?? { endpointIds: [] }
    return endpointIds.map((id) => this.folded.get(id)!)
  }

  /** Takes a place in the log for a record that is not an endpoint's decision. */
  next(): number {
    return ++this.sequence
  }

  /** Decides a command. */
  ask(place: EndpointPlace, command: EndpointCommand, now: number): Result.Result<DecidedEndpoint, EndpointRejection> {
    return this.decided(place, now, (state, context) => decide(state, command, context))
  }

  /** Wakes an endpoint that has something due; undefined when it has not. */
  wakeDue(place: EndpointPlace, now: number): DecidedEndpoint | undefined {
    const state = this.get(place.endpointId) ?? null
    const at = wakeAt?.(state)
    if (at === undefined || at > now || wake === undefined) return undefined
    const decided = this.decided(
      place,
      now,
      (current, context) => wake(current, context) as Decision<EndpointFact, EndpointReply, never>
    )
    return Result.isSuccess(decided) ? decided.success : undefined
  }

  /** Applies facts that were checked elsewhere. */
  happen(place: EndpointPlace, facts: ReadonlyArray<EndpointFact>, now: number): DecidedEndpoint {
    const before = this.get(place.endpointId) ?? null
    const reply = { endpoint: facts.reduce(evolve, before) }
    if (before === null) this.list(place.organizationId, [{ _tag: "Added", endpointId: place.endpointId }])
    return this.commit(place, facts, [], reply, now)
  }

  private decided(
    place: EndpointPlace,
    now: number,
    made: (
      state: Endpoint | null,
      context: Parameters<typeof decide>[2]
    ) => Decision<EndpointFact, EndpointReply, EndpointRejection>
  ): Result.Result<DecidedEndpoint, EndpointRejection> {
    const { endpointId, organizationId } = place
    const list = this.lists.get(organizationId) ?? { endpointIds: [] }
    const decision = made(this.get(endpointId) ?? null, {
      now,
      self: { organization: organizationId, kind: WebhookEndpoint.kind, key: endpointId },
      level: Number.POSITIVE_INFINITY,
      id: (index) => this.idOf(this.sequence + 1, 1_000 + index),
      // The only other actor that the rule reads.
      read: <State>() => list as State
    })
    if (!decision.accepted) return Result.fail(decision.rejection as EndpointRejection)
    for (const other of decision.others)
      if ((other.actor as AnyActor).kind === WebhookEndpoints.kind) this.list(organizationId, other.facts)
    return Result.succeed(this.commit(place, decision.facts, decision.events, decision.reply as EndpointReply, now))
  }

  private list(organizationId: string, facts: ReadonlyArray<unknown>): void {
    const before = this.lists.get(organizationId) ?? { endpointIds: [] }
    type ListFact = Parameters<typeof WebhookEndpoints.options.evolve>[1]
    const after = (facts as ReadonlyArray<ListFact>).reduce(WebhookEndpoints.options.evolve, before)
    if (after.endpointIds.length === 0) this.lists.delete(organizationId)
    else this.lists.set(organizationId, after)
  }

  private commit(
    { endpointId, organizationId }: EndpointPlace,
    facts: ReadonlyArray<EndpointFact>,
    events: ReadonlyArray<PublicEvent>,
    reply: EndpointReply,
    now: number
  ): DecidedEndpoint {
    if (facts.length + events.length === 0) return { reply, sequence: this.sequence, records: [] }
    const sequence = this.next()
    const place = {
      partition: this.partition,
      sequence,
      now,
      organization: organizationId,
      kind: WebhookEndpoint.kind,
      key: endpointId
    }
    const records = [
      ...facts.map((fact, index): FactRecord => ({ _tag: "Fact", ...place, index, fact })),
      ...events.map((event, at): EventRecord => {
        const index = facts.length + at
        return { _tag: "Event", ...place, index, id: this.idOf(sequence, index), event }
      })
    ]
    const endpoint = facts.reduce(evolve, this.get(endpointId) ?? null)
    const { partition } = this
    if (endpoint === null) this.folded.delete(endpointId)
    else this.folded.set(endpointId, { endpointId, organizationId, partition, sequence, endpoint })
    return { reply, sequence, records }
  }
}
