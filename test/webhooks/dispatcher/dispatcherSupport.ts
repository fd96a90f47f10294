/** The dispatcher over ports of a test's own: a store, a receiver, an actor and secrets that do what the test says. Time is the test's. */

import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { AskError } from "../../../src/engine/errors.ts"
import { DeliveryTasks } from "../../../src/webhooks/delivery/DeliveryTasks.ts"
import { DispatchFeed, type DispatchListener } from "../../../src/webhooks/delivery/DispatchFeed.ts"
import { jobLanes } from "../../../src/webhooks/delivery/model.ts"
import {
  DeliveriesUnavailable,
  type DeliveryAnswer,
  type DeliveryOutcome,
  type DeliveryStore,
  type SecretsUnavailable,
  type TakenDelivery
} from "../../../src/webhooks/delivery/ports.ts"
import type { DispatcherSettings } from "../../../src/webhooks/dispatcher/DispatcherState.ts"
import {
  type DispatcherPorts,
  defaultSettings,
  make,
  type WebhookDispatcher
} from "../../../src/webhooks/dispatcher/WebhookDispatcher.ts"
import { EndpointCache, OrganizationCache } from "../../../src/webhooks/endpoint/EndpointCache.ts"
import type { Endpoint, EndpointCommand, FoldedEndpoint } from "../../../src/webhooks/endpoint/model.ts"
import { signatureHeader } from "../../../src/webhooks/secret/signature.ts"

export const endpoint: Endpoint = {
  url: "https://example.com/",
  enabledEvents: ["*"],
  description: null,
  livemode: true,
  isActive: true,
  headers: null,
  rateLimit: null,
  paused: null,
  consecutiveFailures: 0,
  failedDeliveries: [],
  secretId: "secret",
  previousSecret: null,
  createdAt: 0
}

export const folded: FoldedEndpoint = {
  endpointId: "we_1",
  organizationId: "org_1",
  partition: 0,
  sequence: 1,
  endpoint
}

export const delivery = (name: string, more: Partial<TakenDelivery> = {}): TakenDelivery => ({
  id: `dlv_${name}`,
  partition: 0,
  organizationId: "org_1",
  endpointId: "we_1",
  lane: jobLanes.first,
  attempt: 1,
  leasedUntil: 60_000,
  origin: "event",
  eventId: `evt_${name}`,
  eventCreatedAt: 0,
  body: name,
  ...more
})

export const answered = (status: number, response = ""): DeliveryAnswer => ({
  attempt: { _tag: "Answered", status },
  response,
  error: null
})

export interface Faults {
  /** What a body is answered with. */
  readonly answer?: (body: string) => DeliveryAnswer
  readonly record?: (outcomes: ReadonlyArray<DeliveryOutcome>) => Effect.Effect<void, DeliveriesUnavailable>
  readonly tell?: (command: EndpointCommand) => Effect.Effect<void, AskError>
  /** What the endpoint is when its actor was told; otherwise one failure is counted. */
  readonly told?: (command: EndpointCommand) => Endpoint
  readonly open?: () => Effect.Effect<void, SecretsUnavailable>
  /** The texts of secrets; `whsec_` and the id otherwise. */
  readonly secrets?: (ids: ReadonlyArray<string>) => ReadonlyMap<string, string>
  /** Instead of an answer at once. */
  readonly send?: (body: string) => Effect.Effect<DeliveryAnswer>
  /** Operations of the store that are another than one in which nothing waits. */
  readonly store?: Partial<DeliveryStore>
  readonly settings?: Partial<DispatcherSettings>
  /** The partitions that are served here; 0 alone otherwise. */
  readonly partitions?: () => ReadonlyArray<number>
  /** How far the clock goes on with what is handed over; otherwise further than outcomes wait for each other. */
  readonly momentMillis?: number
}

/** A dispatcher; deliveries are handed over as by the reactor. */
export const start = (faults: Faults = {}): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.gen(function* () {
    const recorded: Array<DeliveryOutcome> = []
    const told: Array<EndpointCommand> = []
    const sent: Array<string> = []
    const signatures: Array<string> = []
    let listener: DispatchListener | undefined
    const store: DeliveryStore = {
      due: () => Effect.succeed([]),
      take: () => Effect.succeed([]),
      lines: () => Effect.succeed({ found: [], isReplaying: false }),
      takeLines: () => Effect.succeed([]),
      keep: (deliveries) => Effect.succeed(new Set(deliveries.map(({ id }) => id))),
      record: (outcomes) =>
        Effect.map(faults.record?.(outcomes) ?? Effect.void, () => {
          recorded.push(...outcomes)
          return new Set(outcomes.map((outcome) => outcome.delivery.id))
        }),
      expire: () => Effect.succeed(0),
      endpoints: () => Effect.succeed([]),
      deleted: () => Effect.succeed([]),
      cancel: () => Effect.succeed(0),
      // Of a store that says nothing of it everything is asked.
      holding: (partitions) => Effect.succeed(new Set(partitions)),
      backlog: () => Effect.succeed({ pending: 0, oldestDueAt: null }),
      pausedEndpoints: () => Effect.succeed(0),
      ...faults.store
    }
    const ports: DispatcherPorts = {
      store,
      sender: {
        send: ({ body, headers }) =>
          Effect.suspend(() => {
            sent.push(body)
            signatures.push(headers[signatureHeader]!)
            return faults.send?.(body) ?? Effect.succeed(faults.answer?.(body) ?? answered(200))
          })
      },
      actors: {
        tell: (_, command) =>
          Effect.map(faults.tell?.(command) ?? Effect.void, () => {
            told.push(command)
            return { endpoint: faults.told?.(command) ?? { ...endpoint, consecutiveFailures: 1 } }
          }),
        partitions: Effect.sync(() => faults.partitions?.() ?? [0])
      },
      secrets: {
        open: (ids) =>
          Effect.map(
            faults.open?.() ?? Effect.void,
            () => faults.secrets?.(ids) ?? new Map(ids.map((id) => [id, `whsec_${id}`]))
          ),
        forget: () => Effect.void
      },
      feed: DispatchFeed.of({
        remembered: new EndpointCache(),
        organizations: new OrganizationCache(),
        tasks: new DeliveryTasks(() => listener),
        listener: () => listener,
        attach: (attached) =>
          Effect.sync(() => {
            listener = attached
          })
      })
    }
    const dispatcher = yield* make(ports, {
      ...defaultSettings,
      schedule: { ...defaultSettings.schedule, delaysMillis: [] },
      ...faults.settings
    })
    return {
      recorded,
      told,
      sent,
      signatures,
      held: Effect.map(dispatcher.load, ({ held }) => held),
      load: dispatcher.load,
      wake: dispatcher.wake,
      listener: listener!,
      hand: (...names: ReadonlyArray<string>) =>
        Effect.andThen(
          Effect.sync(() =>
            listener!.committed({ taken: names.map((name) => delivery(name)), queued: new Map(), endpoints: [folded] })
          ),
          TestClock.adjust(faults.momentMillis ?? 20)
        )
    }
  })

export interface Started {
  readonly recorded: ReadonlyArray<DeliveryOutcome>
  readonly told: ReadonlyArray<EndpointCommand>
  readonly sent: ReadonlyArray<string>
  /** The signature headers of what was sent. */
  readonly signatures: ReadonlyArray<string>
  readonly held: Effect.Effect<number>
  readonly load: WebhookDispatcher["Service"]["load"]
  readonly wake: WebhookDispatcher["Service"]["wake"]
  /** The dispatcher, as the reactor sees it. */
  readonly listener: DispatchListener
  readonly hand: (...names: ReadonlyArray<string>) => Effect.Effect<void>
}

export const resultsOf = ({ recorded }: Pick<Started, "recorded">) =>
  recorded.map(({ delivery: { id }, made, result }) => [
    id,
    result._tag === "Settled" ? result.status : result._tag,
    made?.response ?? null
  ])

export const away = new DeliveriesUnavailable({ message: "away", isTransient: true })
export const notTaken = new DeliveriesUnavailable({ message: "not taken", isTransient: false })
