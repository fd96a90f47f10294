/**
 * A table of the promises of telco, events and webhooks (docs/platform.md, 4 to 7), each with the tests that hold the
 * platform to it. A test that is renamed or taken away leaves its line uncovered, which fails here.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"

/** A file below `test/`, and the beginning of a test's or of a group's name in it. */
type Place = readonly [file: string, name: string]

type Line = readonly [line: string, ...places: ReadonlyArray<Place>]

const telco = "http/sections/telco.ts"
const log = "http/sections/events.ts"
const lines = "webhooks/sections/lines.ts"
const missed = "webhooks/sections/missed.ts"
const states = "webhooks/sections/states.ts"
const kills = "deliveries/deliveries.e2e.ts"

const telcoLines: ReadonlyArray<Line> = [
  ["10 digits, optionally +1 or 1 before, punctuation ignored", [telco, "10 digits, optionally +1"]],
  ["else 400", [telco, "else 400, quoting it"]],
  [
    "answers {tn, npa, nxx, country, state, rateCenter, status, carrier | null, inInventory}",
    [telco, "answers {tn, npa, nxx, country, state, rateCenter, status, carrier | null, inInventory}"]
  ],
  ["no record of its code: 404 and no event", [telco, "no record of its code: 404 and no event"]],
  ["a record without carrier: 200, hasCarrier false", [telco, "a record without carrier: 200, `hasCarrier` false"]],
  [
    "GET /v1/telco/search?source=npanxx|inventory&state&npa&rateCenter&ocn with limit/offset",
    [telco, "search over npanxx combines its filters"],
    [telco, "search over the inventory shows"],
    [telco, "bad filters and pages are 400"]
  ],
  [
    "the answer is given after its event is stored; JetStream away: 503",
    ["http/sections/telcoOutage.ts", "503; the answer is given after its event is stored"],
    [kills, "delivers every answered event at least once"]
  ]
]

const eventLines: ReadonlyArray<Line> = [
  [
    "the event log returns the Event shape, byte for byte as delivered",
    [lines, "returns the Event shape, byte for byte"]
  ],
  ["eventually consistent, normally under a second", [log, "is eventually consistent, normally under a second"]],
  [
    "GET /v1/events filters type (pattern), since (inclusive), until (exclusive), integer milliseconds; newest first",
    [lines, "filters type (pattern), since (inclusive), until (exclusive), integer milliseconds; newest first"],
    [log, "`since` (inclusive), `until` (exclusive), integer milliseconds"]
  ],
  ["patterns: *", ["events/patterns.unit.ts", "Patterns: *"], [lines, "`*`; `x.*` matches"]],
  [
    "x.* matches every type beginning with x. and, where x is a service name, every event of that service",
    ["events/patterns.unit.ts", "Patterns: x.* matches every type beginning with x. and, where x is a service name"],
    [log, "`type` (pattern): `x.*` matches every type beginning with `x.` and every event of the service x"]
  ],
  ["so platform.* covers subscription.created", ["events/patterns.unit.ts", "platform.* covers subscription.created"]],
  ["x.y.* by type alone", ["events/patterns.unit.ts", "Patterns: x.y.* by type alone"]],
  ["exact", ["events/patterns.unit.ts", "Patterns: exact"]],
  [
    "* only alone or as last segment; first segment must be known; otherwise 400",
    [lines, "`*` only alone or as last segment; first segment must be known; otherwise 400"],
    ["events/patterns.unit.ts", "Patterns: what is refused"]
  ],
  [
    "endpoints are matched as they were at the event's place in the log",
    [lines, "decisions: endpoints are matched as they were at the event's place in the log"]
  ],
  [
    "at most 50 per organization",
    [lines, "at most 50 per organization"],
    ["webhooks/endpoint/endpointRules.unit.ts", "At most 50"]
  ],
  [
    "a delivery is one event for one endpoint: a first attempt and at most 5 retries",
    [lines, "a first attempt and at most 5 retries"],
    ["webhooks/delivery/schedule.unit.ts", "A first attempt and at most 5 retries"]
  ],
  [
    "success: any 2xx within 15 s",
    ["webhooks/delivery/schedule.unit.ts", "Success: any 2xx; everything else fails"],
    ["webhooks/delivery/schedule.unit.ts", "the status is 0 without an answer, also after the 15 s"],
    [lines, "fails without an answer in time"]
  ],
  ["redirects are not followed and fail", [lines, "redirects are not followed and fail"]],
  [
    "delays 5 s, 30 s, 2 min, 15 min, 1 h, each with 0..20 % jitter",
    ["webhooks/delivery/schedule.unit.ts", "after attempt %d the next one is due in %d ms, 0..20 % more by jitter"]
  ],
  [
    "the later of it and Retry-After (429, 503; up to 1 h)",
    ["webhooks/delivery/schedule.unit.ts", "The later of the delay and Retry-After (429, 503; up to 1 h)"],
    [lines, "the later of the delay and Retry-After (429, 503)"]
  ],
  ["all configurable", ["webhooks/delivery/schedule.unit.ts", "All configurable"]],
  [
    "timestamp and signature are made anew for each attempt, in Unix seconds",
    [lines, "a first attempt and at most 5 retries; timestamp and signature are made anew for each attempt"]
  ],
  [
    "the HMAC key is the whole secret string, whsec_ included",
    [
      "webhooks/secret/signature.unit.ts",
      "is HMAC-SHA256, hexadecimal, of <timestamp>.<raw body>, keyed with the whole secret"
    ],
    ["webhooks/secret/signature.unit.ts", "refuses a key that is only part of the secret"]
  ],
  [
    "at least once, same eventId, no order promised",
    [kills, "delivers every answered event at least once"],
    [
      "webhooks/dispatcher/dispatchRestart.it.ts",
      "that dies between the answer and its record has the delivery attempted again, once"
    ]
  ],
  [
    "a delivery fails when its last attempt has failed",
    [lines, "decisions: a delivery fails when its last attempt has failed"]
  ],
  [
    "consecutive_failures counts failed deliveries, 0 after a success",
    [lines, "consecutive_failures counts failed deliveries, 0 after a success"]
  ],
  [
    "5 emits platform.webhook.failing, 10 makes the endpoint Paused, emits platform.webhook.paused",
    ["webhooks/endpoint/endpointRules.unit.ts", "5 emits platform.webhook.failing, 10 makes the endpoint Paused"],
    [states, "Paused, automatic, after 10 consecutive delivery failures"]
  ],
  ["410 Gone pauses at once", [lines, "410 Gone pauses at once"]],
  [
    "last_delivery_status is 0 without an answer, null before the first",
    [lines, "fails without an answer in time: last_delivery_status is 0"],
    [states, "Active, by creation"]
  ],
  [
    "Paused and Disabled keep pending deliveries",
    [missed, "Paused: unpause sets the counter to 0 and resumes"],
    [missed, "Disabled: they go on when it is enabled again"]
  ],
  ["delete cancels them", [missed, "delete cancels them"]],
  [
    "one older than its event's 30 days ends expired",
    ["webhooks/delivery/schedule.unit.ts", "One older than its event's 30 days ends expired"],
    [
      "webhooks/dispatcher/dispatchRestart.it.ts",
      "ends deliveries that are older than the event log, also of a paused endpoint"
    ]
  ],
  ["unpause sets the counter to 0 and resumes", [missed, "Paused: unpause sets the counter to 0 and resumes"]],
  [
    "PATCH is_active does not touch is_paused",
    ["webhooks/http/endpointsHttp.it.ts", "PATCH is_active does not touch is_paused"],
    [states, "Paused: must be unpaused manually, receives nothing meanwhile"]
  ],
  [
    "events that happened meanwhile are listed as skipped",
    [missed, "decisions: events that happened meanwhile are listed as skipped"],
    [
      "webhooks/http/deliveriesHttp.it.ts",
      "lists the events that happened while it was Paused or Disabled, newest first"
    ]
  ],
  [
    "and sent by POST …/replay {since, until?, types?} (202 {replayId, count}; 409 while Paused or Disabled; at most 30 days back)",
    [missed, "and sent by POST …/replay {since, until?, types?}: 202 {replayId, count}; 409 while Paused or Disabled"],
    ["webhooks/http/replaysHttp.it.ts", "sends every event of the interval that matches the patterns"],
    ["webhooks/http/replaysHttp.it.ts", "at most 30 days back"]
  ],
  ["or by POST …/unpause {replay: true}", [missed, "or by POST …/unpause {replay: true}"]],
  [
    "test goes to that endpoint only, whatever its patterns, one attempt",
    [missed, "goes to that endpoint only, whatever its patterns, one attempt"]
  ],
  [
    "also while Paused, 409 when Disabled; it and a manual retry never count as failures",
    [missed, "also while Paused, 409 when Disabled; it and a manual retry never count as failures"]
  ],
  [
    "GET one (list form), PATCH (url, enabled_events, description, is_active), DELETE",
    [lines, "GET one (list form), PATCH (url, enabled_events, description, is_active), DELETE"]
  ],
  [
    "POST …/rotate-secret {overlapSeconds? 0..604800, default 86400} (one previous secret; both sign, new first)",
    [lines, "one previous secret; both sign, new first"],
    [
      "webhooks/http/endpointActionsHttp.it.ts",
      "gives a new secret; the one before signs too for overlapSeconds, by default 86400"
    ],
    ["webhooks/endpoint/endpointRules.unit.ts", "overlapSeconds 0..604800"]
  ],
  [
    "GET …/deliveries and …/deliveries/{id} (attempts: time, status, duration, first 1 KB of the answer), POST …/deliveries/{id}/retry",
    [missed, "attempts: time, status, duration, first 1 KB of the answer; a retry makes one more"]
  ],
  [
    "targets: https; hosts that resolve to a non-public address are refused at connect time",
    [
      "webhooks/target/publicTargets.e2e.ts",
      "hosts that resolve to a loopback, private, link-local, metadata or other"
    ],
    ["webhooks/dispatcher/HttpSender.it.ts", "connects to no address that is not public, by name or by number"]
  ],
  [
    "SLUICE_WEBHOOK_TARGETS=any, off by default, on in the embedded development start, which says so",
    ["cli/webhooks.e2e.ts", "lets webhooks go anywhere, http on this machine included, and says so"],
    ["cli/webhooks.e2e.ts", "in production webhooks are public"]
  ],
  [
    "lifts that, and alone allows http:// to loopback hosts; any other http:// is always `Webhook URL must use HTTPS`",
    [lines, "http:// to loopback hosts is allowed with SLUICE_WEBHOOK_TARGETS=any alone; any other http:// never"],
    ["webhooks/target/publicTargets.e2e.ts", "any http:// is always `Webhook URL must use HTTPS`"]
  ]
]

/** Whether a text of the file, behind a parenthesis or at the beginning of a line, holds the name. */
const isNamed = ([file, name]: Place): boolean => {
  const source = readFileSync(new URL(`../${file}`, import.meta.url), "utf8")
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return new RegExp(`(?:^\\s*|\\()["\`][^"\\n]*${escaped}`, "m").test(source)
}

const tableOf = (name: string, lines: ReadonlyArray<Line>): void => {
  describe(`decisions: ${name}`, () => {
    for (const [line, ...places] of lines) it(line, () => expect(places.filter((place) => !isNamed(place))).toEqual([]))
  })
}

tableOf("Telco", telcoLines)
tableOf("Events and webhooks", eventLines)
