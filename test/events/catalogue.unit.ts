/** The event's shape and the catalogue: every documented type has a payload, an example and a service. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import * as Actor from "../../src/engine/Actor.ts"
import { Engine, layerMemory } from "../../src/engine/Engine.ts"
import { eventId } from "../../src/engine/ids.ts"
import {
  type CataloguedType,
  catalogue,
  checkData,
  Event,
  encodeEvent,
  eventOf,
  eventServices,
  isEventType,
  knownTypes,
  matchesAny,
  parsePatterns,
  publicEvent,
  unmatchedPatterns
} from "../../src/events/index.ts"
import { pauseReasons, SendLimits, stages } from "../../src/send/index.ts"

const types = Object.keys(catalogue) as ReadonlyArray<CataloguedType>
const id = eventId(3, 1, 42, 0)
const now = Date.UTC(2026, 6, 1)

/** The types and payloads of docs/platform.md, 5.2. */
const documented = {
  "send.email.sent": ["messageId", "from", "to", "subject"],
  "send.email.delivered": ["messageId", "recipient", "from", "subject", "code", "kind", "reason"],
  "send.email.bounced": ["messageId", "recipient", "from", "subject", "code", "kind", "reason"],
  "send.email.complained": ["messageId", "recipient", "from", "subject", "code", "kind", "reason"],
  "send.email.delayed": ["messageId", "from", "to", "subject", "code", "reason"],
  "send.email.failed": ["messageId", "from", "to", "subject", "code", "kind", "reason"],
  "send.account.paused": ["trustStage", "pauseReason", "pausedAt"],
  "send.account.warning": ["trigger", "count", "limit"],
  "send.account.promoted": ["trustStage", "previousTrustStage", "promotedAt"],
  "send.domain.promoted": ["sender", "tier", "previousTier", "emailsPerDay", "promotedAt"],
  "telco.lookup.completed": ["tn", "npa", "nxx", "hasCarrier", "hasInventory"],
  "telco.lookups.completed": ["numbers", "found", "inInventory"],
  "telco.search.completed": ["source", "filters"],
  "telco.directory.updated": ["source", "publication", "added", "changed", "removed"],
  "talk.speech.completed": ["characters", "voice", "format", "duration", "bytes"],
  "subscription.created": [
    "id",
    "plan",
    "sendPlan",
    "status",
    "currentPeriodStart",
    "currentPeriodEnd",
    "cancelAtPeriodEnd"
  ],
  "invoice.paid": ["id", "amount", "currency", "status", "createdAt", "pdfUrl"],
  "platform.test": ["message", "endpoint_id"]
}

describe("the catalogue", () => {
  it.each(Object.entries(documented))("[platform 5.2] has %s with the documented fields", (type, fields) => {
    expect(Object.keys(catalogue[type as CataloguedType].example)).toEqual(fields)
  })

  it.each(types)("the example of %s is a payload of it", (type) => {
    const { example, service } = catalogue[type]
    expect(checkData(type, example)).toEqual(example)
    expect(eventServices).toContain(service)
    expect(isEventType(type)).toBe(true)
  })

  it.each(types)("%s is recorded and shown with its payload as it was emitted", (type) => {
    const { example, service } = catalogue[type]
    const event = eventOf({ id, now, event: publicEvent(type as "platform.test", example as never, true) })
    expect(event).toEqual({ eventId: `evt_${id}`, type, service, data: example, livemode: true, createdAt: now })
    expect(Schema.decodeUnknownSync(Event)(JSON.parse(encodeEvent(event)))).toEqual(event)
  })

  it.each(types)("%s with a missing, an unknown or a wrong field is not emitted", (type) => {
    const { example } = catalogue[type]
    for (const field of Object.keys(example)) {
      const { [field]: _, ...without } = example as Record<string, unknown>
      expect(() => checkData(type, without), `without ${field}`).toThrow(field)
      expect(() => checkData(type, { ...example, [field]: { not: "this" } }), `wrong ${field}`).toThrow(field)
    }
    expect(() => checkData(type, { ...example, extra: 1 })).toThrow("extra")
    expect(() => checkData(type, null)).toThrow()
  })

  it("[platform 5.2] has the types of billing among those of the platform", () => {
    for (const type of ["subscription.created", "subscription.updated", "subscription.canceled"])
      expect(knownTypes.get(type)).toBe("platform")
    for (const type of ["invoice.paid", "invoice.failed"]) expect(knownTypes.get(type)).toBe("platform")
  })

  it("refuses payloads that contradict the documents", () => {
    const lookup = catalogue["telco.lookup.completed"].example
    expect(() => checkData("telco.lookup.completed", { ...lookup, tn: "+12125550123" })).toThrow("tn")
    expect(() => checkData("telco.lookup.completed", { ...lookup, npa: "21" })).toThrow("npa")
    const search = catalogue["telco.search.completed"].example
    expect(() => checkData("telco.search.completed", { ...search, source: "all" })).toThrow("source")
    expect(() => checkData("telco.search.completed", { ...search, filters: { state: "NY" } })).toThrow("npa")
  })
})

describe("the events of sending", () => {
  it("take every reason, stage and tier that the rules know, and no other", () => {
    const paused = catalogue["send.account.paused"].example
    for (const pauseReason of pauseReasons) checkData("send.account.paused", { ...paused, pauseReason })
    expect(() => checkData("send.account.paused", { ...paused, pauseReason: "mood" })).toThrow("pauseReason")
    const warning = catalogue["send.account.warning"].example
    for (const trigger of pauseReasons) checkData("send.account.warning", { ...warning, trigger })
    expect(() => checkData("send.account.warning", { ...warning, trigger: "mood" })).toThrow("trigger")
    const account = catalogue["send.account.promoted"].example
    const promotedTo = stages.filter((stage) => stage !== "probation" && stage !== "sending_paused")
    expect(promotedTo).toHaveLength(2)
    for (const trustStage of promotedTo) checkData("send.account.promoted", { ...account, trustStage })
    expect(() => checkData("send.account.promoted", { ...account, trustStage: "probation" })).toThrow("trustStage")
    const sender = catalogue["send.domain.promoted"].example
    const [first, ...higher] = SendLimits.tiers
    for (const tier of higher)
      checkData("send.domain.promoted", { ...sender, tier, emailsPerDay: SendLimits.emailsPerDayByTier[tier] })
    expect(() => checkData("send.domain.promoted", { ...sender, tier: first })).toThrow("tier")
  })

  it.each(
    Object.keys(catalogue).filter((type) => type.startsWith("send."))
  )("%s reaches who asked for send.*", (type) => {
    const event = { type, service: "send" }
    const reaches = (...given: ReadonlyArray<string>) => matchesAny(Result.getOrThrow(parsePatterns(given)), event)
    const [, group] = type.split(".")
    expect([reaches("send.*"), reaches(`send.${group}.*`), reaches(type), reaches("*")]).toEqual([
      true,
      true,
      true,
      true
    ])
    expect(reaches("platform.*", "telco.*", group === "email" ? "send.account.*" : "send.email.*")).toBe(false)
    expect(unmatchedPatterns([type, `send.${group}.*`, "send.*"])).toEqual([])
  })
})

describe("the event", () => {
  const event = eventOf({ id, now, event: publicEvent("platform.test", { message: "a", endpoint_id: "we_1" }, false) })

  it("[platform 5.1] is written in the order of the document, whatever order it came in", () => {
    const text = `{"eventId":"evt_${id}","type":"platform.test","service":"platform","data":{"message":"a","endpoint_id":"we_1"},"livemode":false,"createdAt":${now}}`
    expect(encodeEvent(event)).toBe(text)
    const { createdAt, data, eventId, ...rest } = event
    expect(encodeEvent({ createdAt, data, ...rest, eventId })).toBe(text)
  })

  it.each([
    { eventId: "evt_1" },
    { eventId: id },
    { type: "platform" },
    { type: "Platform.test" },
    { type: `platform.${"a".repeat(128)}` },
    { service: "directory" },
    { data: [] },
    { data: null },
    { livemode: 1 },
    { createdAt: -1 },
    { createdAt: 1.5 }
  ])("is none with %j", (wrong) => {
    expect(() => Schema.decodeUnknownSync(Event)({ ...event, ...wrong })).toThrow(Object.keys(wrong)[0])
  })

  it.prop("is the same after any detour through its text", [Event], ([any]) => {
    expect(JSON.parse(encodeEvent(any))).toEqual(JSON.parse(JSON.stringify(any)))
  })
})

describe("a rule that emits", () => {
  const Emitter = Actor.make<string, null, null>({
    kind: "emitter",
    command: Schema.String,
    fact: Schema.Null,
    state: Schema.Null,
    initial: () => null,
    evolve: () => null,
    decide: (_state, tn) =>
      Actor.decided({
        events: [
          publicEvent(
            "telco.lookup.completed",
            { tn, npa: tn.slice(0, 3), nxx: tn.slice(3, 6), hasCarrier: true, hasInventory: false },
            true
          )
        ]
      })
  })

  it.effect("has its command refused, not the partition stopped, when the payload is not the catalogue's", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const failed = yield* Effect.flip(engine.ask(Emitter, { organization: "org_1" }, "no number"))
      expect(failed).toMatchObject({ _tag: "CommandFailed" })
      yield* engine.ask(Emitter, { organization: "org_1" }, "2125550123")
    }).pipe(Effect.provide(Layer.fresh(layerMemory({ actors: [Emitter] }))))
  )
})
