/** Endpoints on the engine in memory: the limit per organization, time, what travels, and what a follower of the log makes of it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Actor from "../../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../../src/engine/Engine.ts"
import { ReactorTransaction } from "../../../src/engine/ports/Cursors.ts"
import type { Reactor } from "../../../src/engine/Reactor.ts"
import type { FactRecord, LogRecord } from "../../../src/engine/records.ts"
import { catalogue, type Event, eventOf, publicEvent } from "../../../src/events/index.ts"
import {
  dispositionOf,
  type Endpoint,
  EndpointCommand,
  type EndpointFact,
  EndpointRejection,
  EndpointReply,
  signingSecretIds,
  testEventOf
} from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint, WebhookEndpoints } from "../../../src/webhooks/endpoint/rules.ts"
import { often } from "../../support/often.ts"
import { create, disable, enable, failure, failures, gone, remove, requestTest, rotate, unpause } from "./endpoints.ts"

const organization = "org_1"
const actors = [WebhookEndpoint, WebhookEndpoints]
const ask = (key: string, command: EndpointCommand, of = organization) =>
  Effect.flatMap(Effect.service(Engine), (engine) => engine.ask(WebhookEndpoint, { organization: of, key }, command))
const list = Effect.flatMap(Effect.service(Engine), (engine) =>
  engine.ask(WebhookEndpoints, { organization }, { _tag: "List" as const })
)
const memory = layerMemory({ actors })

describe("endpoints of an organization", () => {
  it.effect(
    "are at most 50, also when all are asked for at once; a deleted one makes room; others have their own",
    () =>
      Effect.gen(function* () {
        const made = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, at) => `we_${at}`),
          (key) => Effect.result(ask(key, { ...create, secretId: `secret_of_${key}` })),
          { concurrency: "unbounded" }
        )
        expect(made.filter(({ _tag }) => _tag === "Success").length).toBe(50)
        const { endpointIds } = yield* list
        expect(endpointIds.length).toBe(50)
        expect(yield* Effect.flip(ask("we_new", create))).toMatchObject({ _tag: "TooManyEndpoints", maximum: 50 })
        yield* ask(endpointIds[7]!, remove)
        yield* ask("we_new", create)
        expect((yield* list).endpointIds).toEqual([...endpointIds.filter((_, at) => at !== 7), "we_new"])
        yield* ask("we_other", create, "org_2")
      }).pipe(Effect.provide(memory))
  )

  it.effect("leave nothing behind when they are deleted", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* ask("we_1", create)
      yield* ask("we_1", remove)
      expect(yield* list).toEqual({ endpointIds: [] })
      expect(yield* engine.state(WebhookEndpoint, { organization, key: "we_1" })).toBeNull()
      expect(yield* Effect.flip(ask("we_1", unpause))).toMatchObject({ _tag: "EndpointNotFound", endpointId: "we_1" })
    }).pipe(Effect.provide(memory))
  )

  it.effect("give up the previous secret when the overlap has passed, by the Clock", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* ask("we_1", create)
      const { endpoint } = yield* ask("we_1", rotate("secret_2", 3_600))
      const { until } = endpoint!.previousSecret!
      expect(signingSecretIds(endpoint!, until - 1)).toEqual(["secret_2", "secret_1"])
      yield* TestClock.setTime(until - 1)
      expect((yield* ask("we_1", { _tag: "Get" })).endpoint?.previousSecret).not.toBeNull()
      yield* TestClock.adjust("2 seconds")
      expect(yield* engine.state(WebhookEndpoint, { organization, key: "we_1" })).toMatchObject({
        secretId: "secret_2",
        previousSecret: null
      })
    }).pipe(Effect.provide(memory))
  )

  it.effect("refuse what no honest caller sends, without harm to the others", () =>
    Effect.gen(function* () {
      yield* ask("we_1", create)
      const long = "a".repeat(65)
      expect(yield* Effect.flip(ask("we_1", failure(long)))).toMatchObject({ _tag: "CommandInvalid" })
      expect(yield* Effect.flip(ask("we_1", rotate(long)))).toMatchObject({ _tag: "CommandInvalid" })
      expect((yield* ask("we_1", { _tag: "Get" })).endpoint).toMatchObject({
        secretId: "secret_1",
        consecutiveFailures: 0
      })
    }).pipe(Effect.provide(memory))
  )
})

/** Stands for any product: a command is an event. */
const Telco = Actor.make<null, null, null>({
  kind: "telco",
  command: Schema.Null,
  fact: Schema.Null,
  state: Schema.Null,
  initial: () => null,
  evolve: () => null,
  decide: () =>
    Actor.decided({
      events: [publicEvent("telco.lookup.completed", catalogue["telco.lookup.completed"].example, true)]
    })
})

/** What a dispatcher does: it knows the endpoints by the log alone, and asks what each event comes to. */
const makeFollower = () => {
  const endpoints = new Map<string, Endpoint>()
  const seen: Array<string> = []
  const { evolve } = WebhookEndpoint.options
  const look = (event: Event) => {
    for (const [id, endpoint] of endpoints) {
      const disposition = dispositionOf(id, endpoint, event)
      if (disposition !== "ignored") seen.push(`${event.type} ${disposition} ${id}`)
    }
  }
  const apply = (record: FactRecord, fact: EndpointFact) => {
    const next = evolve(endpoints.get(record.key) ?? null, fact)
    if (next === null) endpoints.delete(record.key)
    else endpoints.set(record.key, next)
    if (fact._tag === "TestRequested") look(testEventOf(record.key, fact, record.now))
  }
  const follow = (record: LogRecord) => {
    if (record._tag === "Event") look(eventOf(record))
    else if (record.kind === WebhookEndpoint.kind) apply(record, record.fact as EndpointFact)
  }
  const reactor: Reactor = {
    name: "follower",
    handle: (records) =>
      Effect.map(Effect.service(ReactorTransaction), ({ onCommit }) => onCommit(() => records.forEach(follow)))
  }
  return { reactor, seen, endpoints }
}

describe("a follower of the log", () => {
  it.effect("sees each event meet the endpoints as they were at its place", () =>
    Effect.gen(function* () {
      const follower = makeFollower()
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const lookup = engine.ask(Telco, { organization }, null)
        yield* lookup
        yield* ask("we_1", create)
        yield* ask("we_2", { ...create, enabledEvents: ["*"], secretId: "secret_of_2" })
        yield* lookup
        yield* ask("we_1", disable)
        yield* lookup
        yield* ask("we_1", enable)
        yield* ask("we_1", gone())
        yield* lookup
        yield* ask("we_1", requestTest)
        yield* ask("we_1", unpause)
        for (const command of failures(5)) yield* ask("we_1", command)
        yield* ask("we_1", remove)
        yield* lookup
        expect([...follower.endpoints.keys()].length).toBeLessThanOrEqual(2)
        yield* Effect.repeat(TestClock.adjust("1 second"), { times: 9 })
        expect(yield* engine.state(WebhookEndpoint, { organization, key: "we_2" })).toEqual(
          follower.endpoints.get("we_2")
        )
      }).pipe(Effect.provide(Layer.fresh(layerMemory({ actors: [...actors, Telco], reactors: [follower.reactor] }))))
      expect(follower.seen).toEqual([
        "telco.lookup.completed delivered we_1",
        "telco.lookup.completed delivered we_2",
        "telco.lookup.completed skipped we_1",
        "telco.lookup.completed delivered we_2",
        "platform.webhook.paused delivered we_2",
        "telco.lookup.completed skipped we_1",
        "telco.lookup.completed delivered we_2",
        "platform.test delivered we_1",
        "platform.webhook.failing delivered we_2",
        "telco.lookup.completed delivered we_2"
      ])
    })
  )
})

/** JSON knows no negative zero. */
const withoutNegativeZero = (value: unknown): unknown => {
  if (typeof value === "number") return value + 0
  if (Array.isArray(value)) return value.map(withoutNegativeZero)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withoutNegativeZero(field)]))
}

describe("what travels to another machine", () => {
  const throughJson = <A>(schema: Actor.JsonCodec<A>, value: A): A => {
    const codec = Schema.toCodecJson(schema)
    return Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeUnknownSync(codec)(value))))
  }
  it.prop(
    "is every command",
    [EndpointCommand],
    ([command]) => {
      expect(throughJson(WebhookEndpoint.options.command, command)).toEqual(withoutNegativeZero(command))
    },
    { arbitrary: { runs: often(100) } }
  )

  it.prop(
    "is every reply",
    [EndpointReply],
    ([reply]) => {
      expect(throughJson(EndpointReply, reply)).toEqual(withoutNegativeZero(reply))
    },
    { arbitrary: { runs: often(50) } }
  )

  it.effect("is every rejection, as the error that it is", () =>
    Effect.gen(function* () {
      yield* ask("we_1", create)
      yield* ask("we_1", disable)
      const rejections = yield* Effect.forEach(
        [
          ask("we_2", requestTest),
          ask("we_1", requestTest),
          ask("we_1", { ...create, secretId: "another" }),
          ask("we_2", { ...create, url: "http://example.com" }),
          ask("we_2", { ...create, enabledEvents: [] }),
          ask("we_1", rotate("s", -1))
        ],
        Effect.flip
      )
      expect(rejections.map(({ _tag }) => _tag)).toEqual([
        "EndpointNotFound",
        "EndpointDisabled",
        "EndpointExists",
        "UrlRefused",
        "InvalidPattern",
        "EndpointInvalid"
      ])
      for (const rejection of rejections as ReadonlyArray<EndpointRejection>) {
        const arrived = throughJson(EndpointRejection, rejection)
        expect(arrived).toEqual(rejection)
        expect(arrived.message).toBe(rejection.message)
        expect(arrived.message).not.toBe("")
      }
    }).pipe(Effect.provide(memory))
  )
})
