/** Endpoints for tests: a decision is made as the engine makes it, its facts are folded, and both can be looked at. */
import { expect } from "@effect/vitest"
import type { DecideContext, Decision, PublicEvent } from "../../../src/engine/Actor.ts"
import { deriveId, idKinds } from "../../../src/engine/ids.ts"
import { catalogue } from "../../../src/events/catalogue.ts"
import {
  dispositionOf,
  type Endpoint,
  type EndpointCommand,
  type EndpointFact,
  type EndpointRejection,
  type EndpointReply
} from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"

export const endpointId = "we_1"
export const noon = Date.UTC(2026, 6, 1, 12)
export const url = "https://example.com/hook"

export const create = {
  _tag: "Create",
  url,
  enabledEvents: ["telco.*"],
  description: null,
  secretId: "secret_1",
  targets: "public"
} as const

export const failure = (deliveryId: string, status = 500, origin: "event" | "test" | "retry" = "event") =>
  ({ _tag: "RecordFailure", deliveryId, origin, status }) as const
export const failures = (count: number, name = "d"): ReadonlyArray<EndpointCommand> =>
  Array.from({ length: count }, (_, at) => failure(`${name}${at}`))
export const success = { _tag: "RecordSuccess" } as const
export const gone = (origin: "event" | "test" | "retry" = "event") => ({ _tag: "RecordGone", origin }) as const
export const update = (changes: object) => ({ _tag: "Update", targets: "public", ...changes }) as const
export const disable = update({ isActive: false })
export const enable = update({ isActive: true })
export const unpause = { _tag: "Unpause" } as const
export const requestTest = { _tag: "RequestTest" } as const
export const remove = { _tag: "Delete" } as const
export const rotate = (secretId: string, overlapSeconds = 86_400) =>
  ({ _tag: "RotateSecret", secretId, overlapSeconds }) as const

/** What pauses an endpoint: ten failed deliveries in a row. */
export const paused = [create, ...failures(10)]

/** An event that `create` subscribes to. */
export const lookup = {
  type: "telco.lookup.completed",
  service: "telco",
  livemode: true,
  data: catalogue["telco.lookup.completed"].example
}

/** What becomes of an event at the endpoint. */
export const disposition = (state: Endpoint, event: typeof lookup = lookup) => dispositionOf(endpointId, state, event)

type Made = Decision<EndpointFact, EndpointReply, EndpointRejection>

const { decide, evolve, wake, wakeAt } = WebhookEndpoint.options

const contextAt = (now: number, others: number): DecideContext => ({
  now,
  self: { organization: "org_1", kind: "webhookEndpoint", key: endpointId },
  level: Number.POSITIVE_INFINITY,
  id: (index) => deriveId({ partition: 0, epoch: 1, frame: now % 4096, kind: idKinds.decided, command: 0, index }),
  read: () => ({ endpointIds: Array.from({ length: others }, (_, at) => `other_${at}`) }) as never
})

/** Decides like the engine, facts and state going through their JSON. `others` is how many endpoints the organization has besides. */
export const decideOn = (state: Endpoint | null, command: EndpointCommand, now = noon, others = 0) => {
  const decision: Made = decide(state, command, contextAt(now, others))
  return { decision, state: fold(state, decision) }
}

const fold = (state: Endpoint | null, decision: Made): Endpoint | null => {
  const facts = decision.facts.map((fact) =>
    WebhookEndpoint.decodeFact(asJson(WebhookEndpoint.encodeFact(fact)), WebhookEndpoint.version)
  )
  const next = facts.reduce(evolve, state)
  if (decision.accepted) expect(decision.reply?.endpoint).toEqual(next)
  return WebhookEndpoint.decodeState(asJson(WebhookEndpoint.encodeState(next)), WebhookEndpoint.version)
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Wakes it if it wants to be woken by then. */
export const wakeBy = (state: Endpoint | null, now: number): Endpoint | null => {
  const due = wakeAt?.(state)
  return due === undefined || due > now ? state : fold(state, wake!(state, contextAt(now, 0)) as Made)
}

/** An endpoint to which this has happened; what then is asked of it; what comes of that. */
export const given = (...commands: ReadonlyArray<EndpointCommand>) => {
  const state = commands.reduce<Endpoint | null>((before, command) => decideOn(before, command).state, null)
  return {
    state: state!,
    when: (command: EndpointCommand, { now = noon, others = 0 } = {}) => {
      const { decision, state: after } = decideOn(state, command, now, others)
      const steps = {
        state: after!,
        decision,
        thenIt: (expected: object) => {
          expect(after).toMatchObject(expected)
          return steps
        },
        thenFacts: (...tags: ReadonlyArray<EndpointFact["_tag"]>) => {
          expect(decision.facts.map(({ _tag }) => _tag)).toEqual(tags)
          return steps
        },
        thenEvents: (...events: ReadonlyArray<Partial<PublicEvent>>) => {
          expect(decision.events).toMatchObject(events)
          return steps
        },
        thenRejected: (rejection: object) => {
          expect(decision.accepted).toBe(false)
          expect(decision.rejection).toMatchObject(rejection)
          expect(after).toEqual(state)
        }
      }
      return steps
    }
  }
}
