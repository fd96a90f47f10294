/** The rules of endpoints: what their owners ask of them, secrets, modes, and what becomes of an event (docs/platform.md, 6). */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { catalogue } from "../../../src/events/catalogue.ts"
import { Event, encodeEvent } from "../../../src/events/event.ts"
import {
  dispositionOf,
  type Endpoint,
  maximumDescriptionLength,
  signingSecretIds,
  testEventOf
} from "../../../src/webhooks/endpoint/model.ts"
import { WebhookEndpoint } from "../../../src/webhooks/endpoint/rules.ts"
import {
  create,
  decideOn,
  disable,
  disposition,
  endpointId,
  failure,
  failures,
  given,
  gone,
  lookup,
  noon,
  paused,
  remove,
  requestTest,
  rotate,
  success,
  unpause,
  update,
  url,
  wakeBy
} from "./endpoints.ts"

describe("a test event", () => {
  const testOf = (state: Endpoint, id = endpointId) => {
    const { decision } = decideOn(state, requestTest)
    const fact = decision.facts[0]
    if (fact?._tag !== "TestRequested") throw new Error("no test was requested")
    return { decision, event: testEventOf(id, fact, noon) }
  }
  it("[platform 5.2] is the documented event, under the id of the answer", () => {
    const { decision, event } = testOf(given(create).state)
    expect(Schema.decodeUnknownSync(Event)(JSON.parse(encodeEvent(event)))).toEqual(event)
    expect(event).toMatchObject({ type: "platform.test", service: "platform", livemode: false, createdAt: noon })
    expect(event.data).toEqual({ message: expect.any(String), endpoint_id: endpointId })
    expect(decision.reply?.eventId).toBe(event.eventId)
  })
  it("is for its own endpoint, which need not subscribe to it", () => {
    const { event } = testOf(given(create).state)
    const everything = given({ ...create, enabledEvents: ["*"] }).state
    expect(dispositionOf(endpointId, given(create).state, event)).toBe("delivered")
    expect(dispositionOf("we_2", everything, event)).toBe("ignored")
    expect(dispositionOf("we_2", given({ ...create, enabledEvents: ["platform.test"] }).state, event)).toBe("ignored")
  })
  it("is made while Paused too", () => {
    given(...paused)
      .when(requestTest)
      .thenFacts("TestRequested")
    expect(dispositionOf(endpointId, given(...paused).state, testOf(given(...paused).state).event)).toBe("delivered")
  })
  it("is refused while Disabled", () => {
    given(create, disable).when(requestTest).thenRejected({ _tag: "EndpointDisabled", endpointId })
    given(...paused, disable)
      .when(requestTest)
      .thenRejected({ _tag: "EndpointDisabled" })
  })
  it("[platform 7.5] counts as no failure, and neither does a retry by hand", () => {
    for (const origin of ["test", "retry"] as const) {
      given(create, ...failures(9))
        .when(failure("a", 500, origin))
        .thenFacts()
        .thenIt({ consecutiveFailures: 9 })
      given(create, ...failures(9))
        .when(failure("a", 410, origin))
        .thenFacts()
        .thenIt({ paused: null })
      given(create).when(gone(origin)).thenFacts().thenIt({ paused: null })
    }
  })
})

describe("a rotation keeps one earlier secret", () => {
  const day = 86_400_000
  const rotated = given(create).when(rotate("secret_2")).state
  it("both sign until the overlap has passed, the newer one first", () => {
    expect(signingSecretIds(given(create).state, noon)).toEqual(["secret_1"])
    expect(signingSecretIds(rotated, noon)).toEqual(["secret_2", "secret_1"])
    expect(signingSecretIds(rotated, noon + day - 1)).toEqual(["secret_2", "secret_1"])
    expect(signingSecretIds(rotated, noon + day)).toEqual(["secret_2"])
  })
  it("the previous one is given up when its time has come", () => {
    expect(WebhookEndpoint.options.wakeAt?.(rotated)).toBe(noon + day)
    expect(wakeBy(rotated, noon + day - 1)).toEqual(rotated)
    const ended = wakeBy(rotated, noon + day)
    expect(ended).toMatchObject({ secretId: "secret_2", previousSecret: null })
    expect(WebhookEndpoint.options.wakeAt?.(ended)).toBeUndefined()
  })
  it("a second rotation within the overlap leaves one previous secret", () => {
    const { state } = given(create, rotate("secret_2")).when(rotate("secret_3", 60), { now: noon + 1000 })
    expect(signingSecretIds(state, noon + 60_999)).toEqual(["secret_3", "secret_2"])
    expect(signingSecretIds(state, noon + 61_000)).toEqual(["secret_3"])
  })
  it("without an overlap only the new one signs, at once", () => {
    expect(signingSecretIds(given(create, rotate("secret_2", 0)).state, noon)).toEqual(["secret_2"])
  })
  it("the same rotation again changes nothing", () => {
    given(create, rotate("secret_2"))
      .when(rotate("secret_2"), { now: noon + 5000 })
      .thenFacts()
  })
  it("[platform 6.8] has bounds for overlapSeconds", () => {
    given(create).when(rotate("secret_2", 604_800)).thenFacts("SecretRotated")
    for (const overlap of [-1, 604_801, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      given(create).when(rotate("secret_2", overlap)).thenRejected({ _tag: "EndpointInvalid", field: "overlapSeconds" })
  })
})

describe("[platform 6.1] the bound of endpoints", () => {
  it("the 50th is made, the 51st is not", () => {
    given().when(create, { others: 49 }).thenFacts("Created")
    given().when(create, { others: 50 }).thenRejected({ _tag: "TooManyEndpoints", maximum: 50 })
  })
})

describe("Create, update, delete", () => {
  it("refuse a bad URL, bad patterns and a long description, with the documented words", () => {
    const long = "a".repeat(maximumDescriptionLength + 1)
    for (const [changes, rejection] of [
      [{ url: "" }, { _tag: "UrlRefused", message: "url is required" }],
      [{ url: "http://example.com" }, { _tag: "UrlRefused", message: "Webhook URL must use HTTPS" }],
      [{ url: "http://localhost:1234" }, { _tag: "UrlRefused", message: "Webhook URL must use HTTPS" }],
      [{ enabledEvents: [] }, { _tag: "InvalidPattern", reason: "list" }],
      [{ enabledEvents: ["*", "order.*"] }, { _tag: "InvalidPattern", reason: "unknown" }],
      [{ description: long }, { _tag: "EndpointInvalid", field: "description" }]
    ] as const) {
      given()
        .when({ ...create, ...changes })
        .thenRejected(rejection)
      given(create).when(update(changes)).thenRejected(rejection)
    }
    given()
      .when({ ...create, url: "http://localhost:1234", targets: "any" })
      .thenFacts("Created")
  })
  it("an update changes what it names and nothing else", () => {
    given(create, ...failures(2))
      .when(update({ url: "https://example.org", enabledEvents: ["*"], description: "Mine" }))
      .thenFacts("Updated")
      .thenIt({
        ...given(create, ...failures(2)).state,
        url: "https://example.org",
        enabledEvents: ["*"],
        description: "Mine"
      })
    given({ ...create, description: "Mine" })
      .when(update({ description: null }))
      .thenIt({ description: null })
  })
  it("an update that changes nothing is no fact", () => {
    given(create).when(update({})).thenFacts()
    given(create)
      .when(update({ url, enabledEvents: [...create.enabledEvents], description: null, isActive: true }))
      .thenFacts()
  })
  it("the same creation again changes nothing, another one under its id is refused", () => {
    given(create).when(create, { others: 50 }).thenFacts().thenIt(given(create).state)
    given(create)
      .when({ ...create, secretId: "other" })
      .thenRejected({ _tag: "EndpointExists", endpointId })
  })
  it("after the deletion there is nothing, and late outcomes do no harm", () => {
    const deleted = given(create, ...failures(3))
      .when(remove)
      .thenFacts("Deleted")
    expect(deleted.state).toBeNull()
    for (const command of [unpause, disable, requestTest, rotate("s"), remove, { _tag: "Get" } as const])
      given(create, remove).when(command).thenRejected({ _tag: "EndpointNotFound", endpointId })
    for (const command of [success, failure("a"), gone()]) given(create, remove).when(command).thenFacts().thenEvents()
  })
})

describe("an endpoint belongs to the mode of the key that made it", () => {
  const ofTest = { ...create, livemode: false }

  it("is live where it was made before there were modes, in the log as in a checkpoint", () => {
    const { livemode: _, ...state } = WebhookEndpoint.encodeState(given(create).state) as Record<string, unknown>
    expect(WebhookEndpoint.decodeState(state, 1)).toEqual(given(create).state)
    expect(WebhookEndpoint.decodeState(null, 1)).toBeNull()
    const { _tag, enabledEvents, description, secretId } = { ...create, _tag: "Created" as const }
    const fact = { _tag, url, enabledEvents, description, secretId, at: noon }
    expect(WebhookEndpoint.decodeFact(fact, 1)).toEqual({ ...fact, livemode: true })
    const replay = { _tag: "ReplayRequested", replayId: "rpl_1", since: 1, until: 2, patterns: ["*"], types: null }
    expect(WebhookEndpoint.decodeFact(replay, 1)).toEqual({ ...replay, livemode: true })
    expect(WebhookEndpoint.decodeFact({ _tag: "FailuresReset" }, 1)).toEqual({ _tag: "FailuresReset" })
  })

  it("is not there for a key of the other mode, whatever it asks", () => {
    const { state, when } = given(ofTest)
    const asked = { livemode: true } as const
    for (const command of [
      { _tag: "Get", ...asked },
      { _tag: "Delete", ...asked },
      { ...disable, ...asked },
      { ...unpause, ...asked },
      { ...requestTest, ...asked },
      { ...rotate("secret_2"), ...asked },
      { _tag: "RequestReplay", replayId: "rpl_1", since: noon - 1, until: null, types: null, ...asked }
    ] as const)
      when(command).thenRejected({ _tag: "EndpointNotFound" })
    expect(given(ofTest).when({ _tag: "Get", livemode: false }).state).toEqual(state)
  })

  it("gets the events of its mode, and an operator's of both", () => {
    const [live, ofTests] = [given(create).state, given(ofTest).state]
    const test = { ...lookup, livemode: false }
    expect([disposition(live), disposition(live, test)]).toEqual(["delivered", "ignored"])
    expect([disposition(ofTests), disposition(ofTests, test)]).toEqual(["ignored", "delivered"])
    for (const endpoint of [live, ofTests])
      expect(dispositionOf(endpointId, endpoint, test, "both modes")).toBe("delivered")
  })

  it("tells of its failures in its mode", () => {
    given(ofTest, ...failures(4))
      .when(failure("last"))
      .thenEvents({ type: "platform.webhook.failing", livemode: false })
  })
})

describe("what an event comes to", () => {
  it("is by the patterns first: what is not subscribed to is not listed as skipped either", () => {
    const other = { type: "send.email.sent", service: "send", data: catalogue["send.email.sent"].example }
    for (const state of [given(create).state, given(create, disable).state, given(...paused).state])
      expect(disposition(state, other as never)).toBe("ignored")
  })
  it("is nothing where a later version refuses a stored pattern", () => {
    expect(disposition({ ...given(create).state, enabledEvents: ["order.*"] })).toBe("ignored")
  })
  it("a platform.webhook.paused finds its own endpoint paused", () => {
    const { decision, state } = given({ ...create, enabledEvents: ["platform.*"] }).when(gone())
    const [event] = decision.events
    expect(dispositionOf(endpointId, state, event!)).toBe("skipped")
    expect(dispositionOf("we_2", given({ ...create, enabledEvents: ["platform.*"] }).state, event!)).toBe("delivered")
  })
})

describe("headers and rate of an endpoint", () => {
  const sealed = (secretId: string, ...names: ReadonlyArray<string>) => ({ secretId, names })
  const own = { headers: sealed("headers_1", "Authorization"), rateLimit: 5 }

  it("are none where nothing is said, in facts and states of older versions too", () => {
    const { state } = given(create)
    expect(state).toMatchObject({ headers: null, rateLimit: null })
    const { headers: _h, rateLimit: _r, ...older } = WebhookEndpoint.encodeState(state) as Record<string, unknown>
    expect(WebhookEndpoint.decodeState(older, 2)).toEqual(state)
    expect(WebhookEndpoint.decodeState(null, 2)).toBeNull()
    const { _tag, description, enabledEvents, secretId } = { ...create, _tag: "Created" as const }
    const fact = { _tag, url, enabledEvents, description, secretId, livemode: true, at: noon }
    const decoded = WebhookEndpoint.decodeFact(fact, 2)
    expect(decoded).toEqual(fact)
    expect(WebhookEndpoint.options.evolve(null, decoded)).toEqual(state)
  })

  it("are what it was made with, and read back from their JSON", () => {
    const { state } = given({ ...create, ...own })
    expect(state).toMatchObject(own)
  })

  it("change by what is given, and what is equal makes no fact", () => {
    given({ ...create, ...own })
      .when(update({ rateLimit: 7 }))
      .thenFacts("Updated")
      .thenIt({ ...own, rateLimit: 7 })
    given({ ...create, ...own })
      .when(update(own))
      .thenFacts()
    given({ ...create, ...own })
      .when(update({ headers: null, rateLimit: null }))
      .thenIt({ headers: null, rateLimit: null })
  })

  it("change from what the endpoint has, or are refused: nobody's change is lost", () => {
    const of = (secretId: string, before: string | null) =>
      update({ headers: sealed(secretId, "X-Key"), headersBefore: before })
    given({ ...create, ...own })
      .when(of("headers_2", "headers_1"))
      .thenIt({ headers: sealed("headers_2", "X-Key") })
    given({ ...create, ...own })
      .when(of("headers_2", null))
      .thenRejected({ _tag: "EndpointHeadersChanged" })
    given(create).when(of("headers_2", "headers_1")).thenRejected({ _tag: "EndpointHeadersChanged" })
    // Repeated after an unknown outcome.
    given({ ...create, ...own }, of("headers_2", "headers_1"))
      .when(of("headers_2", "headers_1"))
      .thenFacts()
  })

  it.each([0, -1, 1.5, 10_001, Number.NaN])("may not be the rate %s", (rateLimit) => {
    const refused = { _tag: "EndpointInvalid", field: "rate_limit" }
    expect(decideOn(null, { ...create, rateLimit }).decision).toMatchObject({ accepted: false, rejection: refused })
    given(create).when(update({ rateLimit })).thenRejected(refused)
  })

  it("may not have reserved names, whoever asks", () => {
    given(create)
      .when(update({ headers: sealed("headers_1", "Host") }))
      .thenRejected({ _tag: "EndpointInvalid", field: "headers" })
  })
})
