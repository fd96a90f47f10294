/** The specification of event patterns, in words, and the same against a naive matcher. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  eventServices,
  knownTypes,
  type Matchable,
  matchesAny,
  maximumPatterns,
  maximumTypeLength,
  parsePatterns
} from "../../src/events/index.ts"

const event = (type: string): Matchable => ({ type, service: knownTypes.get(type) ?? type.slice(0, type.indexOf(".")) })

/** Endpoints as they subscribe, what then happens, and whether they get it. */
const given = (...patterns: ReadonlyArray<string>) => {
  const parsed = parsePatterns(patterns)
  return {
    when: (happens: string | Matchable) => {
      const matched = matchesAny(Result.getOrThrow(parsed), typeof happens === "string" ? event(happens) : happens)
      return {
        thenDelivered: () => expect(matched, `${patterns} should match ${JSON.stringify(happens)}`).toBe(true),
        thenNothing: () => expect(matched, `${patterns} should not match ${JSON.stringify(happens)}`).toBe(false)
      }
    },
    thenRefused: (reason: string, message: string) => {
      expect(Result.isFailure(parsed) && parsed.failure).toMatchObject({ _tag: "InvalidPattern", reason })
      expect(Result.isFailure(parsed) && parsed.failure.message).toContain(message)
    }
  }
}

describe("[platform 5.3] a star alone", () => {
  it.each([...knownTypes.keys()])("matches %s", (type) => given("*").when(type).thenDelivered())
})

describe("[platform 5.3] a family, x.*", () => {
  it("matches the types of a service", () => {
    given("send.*").when("send.email.sent").thenDelivered()
    given("send.*").when("send.account.paused").thenDelivered()
    given("telco.*").when("telco.search.completed").thenDelivered()
  })
  it("[platform 5.3] has the events of a service, platform.* that of subscription.created", () => {
    given("platform.*").when("subscription.created").thenDelivered()
    given("platform.*").when("invoice.failed").thenDelivered()
    given("platform.*").when("platform.test").thenDelivered()
  })
  it("matches by type alone where x is no service", () => {
    given("subscription.*").when("subscription.created").thenDelivered()
    given("subscription.*").when("invoice.paid").thenNothing()
    given("subscription.*").when("platform.test").thenNothing()
  })
  it("[platform 5.3] matches by type too where another service emits it", () => {
    given("talk.*").when({ type: "talk.speech.made", service: "voip" }).thenDelivered()
    given("voip.*").when({ type: "talk.speech.made", service: "voip" }).thenDelivered()
    given("send.*").when({ type: "talk.speech.made", service: "voip" }).thenNothing()
  })
  it("does not match other services", () => {
    given("send.*").when("telco.lookup.completed").thenNothing()
    given("send.*").when("platform.test").thenNothing()
  })
  it("ends at the dot", () => {
    given("send.*").when({ type: "sender.verified", service: "platform" }).thenNothing()
    given("send.email.*").when({ type: "send.emails.sent", service: "send" }).thenNothing()
  })
})

describe("[platform 5.3] a narrower family, x.y.*", () => {
  it("[platform 5.3] matches the types of a group", () => {
    given("send.email.*").when("send.email.bounced").thenDelivered()
    given("platform.webhook.*").when("platform.webhook.paused").thenDelivered()
  })
  it("does not match other groups of the service", () => {
    given("send.email.*").when("send.account.paused").thenNothing()
    given("platform.webhook.*").when("platform.test").thenNothing()
    given("platform.webhook.*").when("subscription.created").thenNothing()
  })
  it("[platform 5.3] reaches below the group", () => {
    given("send.email.*").when({ type: "send.email.sent.again", service: "send" }).thenDelivered()
    given("send.email.sent.*").when({ type: "send.email.sent.again", service: "send" }).thenDelivered()
    given("send.email.sent.*").when("send.email.sent").thenNothing()
  })
})

describe("[platform 5.3] a whole type", () => {
  it("[platform 5.3] matches only that type", () => {
    given("telco.lookup.completed").when("telco.lookup.completed").thenDelivered()
    given("telco.lookup.completed").when("telco.search.completed").thenNothing()
    given("telco.lookup.completed").when({ type: "telco.lookup.completed.late", service: "telco" }).thenNothing()
  })
  it("may be a type of a known service that does not exist yet", () => {
    given("talk.speech.created").when({ type: "talk.speech.created", service: "talk" }).thenDelivered()
  })
})

describe("several patterns", () => {
  it("[platform 5.3] matches what one of them matches", () => {
    const both = given("send.email.bounced", "telco.*")
    both.when("send.email.bounced").thenDelivered()
    both.when("telco.search.completed").thenDelivered()
    both.when("send.email.sent").thenNothing()
  })
})

describe("what is refused", () => {
  it.each([
    "*.*",
    "*.email",
    "send.*.sent",
    "send.em*",
    "send*",
    "send.email.**",
    "**",
    "send.*.*"
  ])("[platform 5.3] a star before the end: %s", (pattern) =>
    given(pattern).thenRefused("wildcard", JSON.stringify(pattern)))
  it.each([
    "order.*",
    "order.created",
    "sent.email.*",
    "platforms.test",
    "directory.*"
  ])("[platform 5.3] a beginning that no service and no type has: %s", (pattern) =>
    given(pattern).thenRefused("unknown", "invoice, platform, send, subscription, talk, telco"))
  it.each([
    "",
    " ",
    ".",
    "..",
    ".*",
    "send.",
    ".send",
    "send..email",
    "send..*",
    " send.*",
    "Send.*",
    "send.Email.*"
  ])("no type and no pattern: %j", (pattern) => given(pattern).thenRefused("malformed", JSON.stringify(pattern)))
  it.each([
    "send.email.sent\n",
    "send.e\u0301mail.*",
    "send.1.*",
    "send.email-sent",
    "send,telco"
  ])("forbidden characters: %j", (pattern) => given(pattern).thenRefused("malformed", JSON.stringify(pattern)))
  it("a service alone, saying what was probably meant", () => given("send").thenRefused("malformed", '"send.*"'))
  it("a pattern longer than a type can be, quoted in part", () => {
    given(`send.${"a".repeat(maximumTypeLength)}`).thenRefused("too_long", `"send.${"a".repeat(59)}…"`)
    given(`send.${"a".repeat(maximumTypeLength - 5)}`)
      .when("send.b")
      .thenNothing()
  })
  it("the whole list, for one bad pattern", () => given("*", "order.*").thenRefused("unknown", '"order.*"'))
  it.each([[undefined], [null], ["*"], [[]], [{}], [["*", 1]]])("what is no list of texts: %j", (list) => {
    expect(parsePatterns(list)).toMatchObject({ _tag: "Failure", failure: { reason: "list" } })
  })
  it("more patterns than one endpoint may have", () => {
    const list = (count: number) => Array.from({ length: count }, () => "*")
    expect(parsePatterns(list(maximumPatterns + 1))).toMatchObject({ failure: { reason: "too_many" } })
    expect(Result.isSuccess(parsePatterns(list(maximumPatterns)))).toBe(true)
  })
})

/** Splits and compares segment by segment; says nothing of how the real one works. */
const naiveMatch = (pattern: string, { service, type }: Matchable): boolean => {
  if (pattern === "*") return true
  const wanted = pattern.split(".")
  const actual = type.split(".")
  if (wanted.at(-1) !== "*")
    return wanted.length === actual.length && wanted.every((segment, at) => segment === actual[at])
  const prefix = wanted.slice(0, -1)
  if (prefix.length === 1 && (eventServices as ReadonlyArray<string>).includes(prefix[0]!) && prefix[0] === service)
    return true
  return actual.length > prefix.length && prefix.every((segment, at) => segment === actual[at])
}

const naiveIsValid = (pattern: string): boolean => {
  if (pattern === "*") return true
  const segments = pattern.split(".")
  const names = segments.at(-1) === "*" ? segments.slice(0, -1) : segments
  const firsts = [...eventServices, "subscription", "invoice"] as ReadonlyArray<string>
  return segments.length >= 2 && firsts.includes(names[0]!) && names.every((name) => /^[a-z][a-z0-9_]*$/.test(name))
}

const Word = Schema.Literals(["send", "telco", "platform", "subscription", "email", "e", "sent", "sen"])
const Type = Schema.Array(Word).check(Schema.isMinLength(2), Schema.isMaxLength(4))
const Happening = Schema.Struct({ type: Type, service: Schema.Literals(eventServices) })
const Segments = Schema.Array(Schema.Union([Word, Schema.Literals(["*", "*", "", "A", "order", "a*"])])).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(4)
)

describe("against a naive matcher", () => {
  it.prop(
    "lists match alike",
    [Schema.Array(Segments).check(Schema.isMinLength(1), Schema.isMaxLength(4)), Happening],
    ([lists, { service, type }]) => {
      const patterns = lists.map((segments) => segments.join("."))
      const happening = { type: type.join("."), service }
      const parsed = parsePatterns(patterns)
      expect(Result.isSuccess(parsed)).toBe(patterns.every(naiveIsValid))
      if (Result.isSuccess(parsed))
        expect(matchesAny(parsed.success, happening)).toBe(patterns.some((pattern) => naiveMatch(pattern, happening)))
    },
    { arbitrary: { runs: 2_000 } }
  )

  it.prop(
    "a pattern made from a type matches it",
    [Happening, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))],
    ([{ service, type }, kept]) => {
      const whole = ["send", ...type]
      const pattern = kept >= type.length ? whole.join(".") : `${whole.slice(0, kept + 1).join(".")}.*`
      given(pattern)
        .when({ type: whole.join("."), service })
        .thenDelivered()
    },
    { arbitrary: { runs: 500 } }
  )

  it.prop("any text is either refused or a pattern that the naive rules allow", [Schema.String], ([text]) => {
    expect(Result.isSuccess(parsePatterns([text]))).toBe(naiveIsValid(text))
  })
})
