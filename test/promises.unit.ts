/**
 * What docs/platform.md, 4 to 7 promises to callers, section by section, each promise with the tests that hold the
 * platform to it. A section without a promise fails here, and so does a test that was renamed or taken away.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { describePromises, isNamed, type Promises } from "./conformance/promises.ts"

const console_ = "console/sections/api.ts"
const telco = "http/sections/telco.ts"
const log = "http/sections/events.ts"
const stream = "http/sections/stream.ts"
const numbers = "cli/numbers.e2e.ts"
const catalogue = "events/catalogue.unit.ts"
const patterns = "events/patterns.unit.ts"
const lines = "webhooks/sections/lines.ts"
const missed = "webhooks/sections/missed.ts"
const states = "webhooks/sections/states.ts"
const rules = "webhooks/endpoint/endpointRules.unit.ts"
const pauses = "webhooks/endpoint/endpointPauses.unit.ts"
const schedule = "webhooks/delivery/schedule.unit.ts"
const signature = "webhooks/secret/signature.unit.ts"
const standard = "webhooks/secret/standardWebhooks.e2e.ts"
const headers = "webhooks/endpoint/headers.unit.ts"
const headersHttp = "webhooks/http/headersHttp.it.ts"
const ownHeaders = "webhooks/sections/headers.ts"
const endpoints = "webhooks/http/endpointsHttp.it.ts"
const actions = "webhooks/http/endpointActionsHttp.it.ts"
const deliveries = "webhooks/http/deliveriesHttp.it.ts"
const replays = "webhooks/http/replaysHttp.it.ts"
const targets = "webhooks/target/publicTargets.e2e.ts"
const restarts = "webhooks/dispatcher/dispatchRestart.it.ts"
const kills = "deliveries/deliveries.e2e.ts"

const ofTelco: Promises = {
  "4.1": [
    ["A number may be written in several ways", [telco, "takes a number as people write it"]],
    ["What is none is 400", [telco, "quotes what is no number: 400"]]
  ],
  "4.2": [
    ["A look-up answers what the directory knows of the code", [telco, "tells what the directory says"]],
    ["A code without a record is 404, and no event", [telco, "a code that the directory lacks is 404"]],
    ["A code without a carrier is answered", [telco, "a code that nobody holds is answered"]],
    [
      "No answer without its event",
      ["http/sections/telcoOutage.ts", "503: what is answered has its event"],
      [kills, "delivers every answered event at least once"]
    ]
  ],
  "4.3": [
    [
      "A search goes through codes or the organization's numbers",
      [telco, "search over npanxx combines its filters"],
      [telco, "search over the inventory shows"]
    ],
    ["Filters and pages have rules", [telco, "bad filters and pages are 400"]]
  ],
  "4.4": [
    ["Numbers are imported from lines", [numbers, "import takes a number at the beginning of each line"]],
    ["A file with many malformed lines is refused", [numbers, "import names malformed lines by their place"]]
  ]
}

const ofEvents: Promises = {
  "5.1": [
    ["An event has its fields in their order", [catalogue, "is written in the order of the document"]],
    ["What a test key causes is not live", [telco, "a test key's events carry livemode false"]],
    [
      "Log and deliveries show the same bytes",
      [log, "an event has one text"],
      [lines, "holds the very bytes that the receiver got"]
    ]
  ],
  "5.2": [
    [
      "The types of telco",
      [telco, "emits telco.lookup.completed with the documented payload"],
      [telco, "search emits telco.search.completed with source and filters"]
    ],
    [
      "The types of webhooks",
      [rules, "is the documented event, under the id of the answer"],
      [pauses, "come with the fifth and the tenth failure, each with its event"]
    ],
    ["The types of billing are the platform's", [catalogue, "has the types of billing among those of the platform"]]
  ],
  "5.3": [
    ["A star matches everything", [patterns, "a star alone"], [lines, "select everything, a family"]],
    ["x.* matches types that begin so", [patterns, "a family, x.*"]],
    ["Where x is a service, it matches what the service emits", [patterns, "has the events of a service"]],
    ["x.y.* matches types that begin so", [patterns, "a narrower family, x.y.*"]],
    ["Anything else matches itself", [patterns, "a whole type"]],
    [
      "A star elsewhere and an unknown first segment are 400",
      [patterns, "a star anywhere but at the end"],
      [patterns, "a beginning that no service and no type has"],
      [lines, "with a misplaced star or an unknown beginning are 400"]
    ]
  ],
  "5.4": [
    ["The log follows the decisions", [log, "follows within a second when nothing is wrong"]],
    ["It is filtered by one pattern", [log, "`type` is a pattern: a family takes the events of the service"]],
    [
      "It is filtered by an interval, and the newest event comes first",
      [log, "an event at `since` is in the interval, one at `until` is not"],
      [lines, "is read by pattern and interval, the newest event at the top"]
    ]
  ],
  "5.5": [
    ["The stream begins with the next event", [stream, "sends `id`, `event` and `data` of each event as it comes"]],
    ["It goes on where it was left", [stream, "is resumable by Last-Event-ID"]],
    ["It ends with its key", [stream, "ends with the key that opened it"]],
    [
      "There are so many for an organization and for a node",
      [stream, "at most so many of one organization at once"],
      ["events/EventStreams.unit.ts", "a node has its places too"]
    ]
  ],
  "5.6": [["Test events are the catalogue's examples, not live", [log, "has every event once, the newest at the top"]]],
  "5.7": [
    ["The catalogue says what patterns match", [console_, "says which types patterns match"]],
    ["Events are counted by the minute", [console_, "counts events by the minute"]],
    ["An event leads to its decision", [console_, "tells the decision that an event comes from"]]
  ]
}

const ofEndpoints: Promises = {
  "6.1": [
    ["An endpoint shows its failures and its last delivery", [endpoints, "shows failures and the pause"]],
    ["Before the first delivery that is null", [states, "is Active from its creation"]],
    ["Without an answer its status is 0", [lines, "that nobody answers in time has the status 0"]],
    ["An organization has 50 of them", [lines, "are 50 and no more"], [rules, "the bound of endpoints"]]
  ],
  "6.2": [
    ["Its secret is in one answer only", [endpoints, "creates an endpoint: 201 with its secret"]],
    ["It is read, changed and deleted", [lines, "is shown as the list shows it, changes field by field"]],
    ["A change leaves the rest as it is", [endpoints, "changes what is given and leaves the rest"]],
    ["A pause is among what stays", [endpoints, "leaves a pause as it is when is_active changes"]],
    ["Its end cancels what is pending", [missed, "is cancelled together with its endpoint"]]
  ],
  "6.3": [
    ["The two sentences about a URL", [endpoints, "without url: 400"], [endpoints, "with the url %s: 400"]],
    ["Another fault is named", [endpoints, "with %o: 400 invalid_request"]],
    ["An unknown endpoint is 404", [endpoints, "an unknown endpoint is 404"]],
    ["The 51st is 409", [endpoints, "refuses the 51st with 409"]],
    ["Without a server it is 503", ["http/sections/webhookOutages.ts", "webhook endpoints while the %s is gone"]]
  ],
  "6.4": [
    ["An endpoint is Disabled by its owner", [states, "that its owner has disabled gets nothing"]],
    ["What is pending then is kept", [missed, "outlives a time of being Disabled"]],
    ["Failures pause it", [states, "is warned of after five failed deliveries in a row, Paused after ten"]],
    ["What is pending then is kept too", [missed, "outlives a pause"]],
    [
      "One state does not touch the other",
      [states, "that is Paused gets nothing, and enabling it does not change that"],
      [pauses, "a pause and being Disabled are independent"]
    ],
    [
      "Skipped events are listed",
      [missed, "is listed as skipped, and a replay sends it"],
      [deliveries, "lists the events that happened while it was Paused or Disabled"]
    ],
    ["The place in the log decides who gets an event", [lines, "get an event or not by what they were"]]
  ],
  "6.5": [
    ["A test is for one endpoint and tried once", [missed, "is tried once, at its own endpoint"]],
    ["It never counts", [missed, "reaches a paused endpoint and no disabled one; neither its failure"]]
  ],
  "6.6": [
    ["An unpause clears the failures", [actions, "sets the counter to 0 and resumes"]],
    ["What is pending goes on", [missed, "outlives a pause; the unpause sends it and forgets the failures"]],
    ["It sends what was skipped, if asked to", [missed, "is sent by an unpause that asks for it"]]
  ],
  "6.7": [
    ["A replay sends an interval again", [replays, "sends every event of the interval that matches the patterns"]],
    ["It goes back 30 days", [replays, "is 400 for more than 30 days"]],
    ["It needs an Active endpoint", [replays, "is 409 unless the endpoint is Active"]]
  ],
  "6.8": [
    ["Secrets are stored encrypted", ["webhooks/secret/WebhookSecrets.it.ts", "are whsec_ texts that the database"]],
    ["The earlier one signs for a time", [actions, "gives a new secret; the one before signs too for overlapSeconds"]],
    ["That time has bounds", [rules, "has bounds for overlapSeconds"]],
    ["There is one earlier secret", [lines, "are two in an overlap, the newer one signing first"]]
  ],
  "6.9": [
    ["An address that is not public makes no endpoint", [targets, "an address inside makes no endpoint"]],
    [
      "A name that leads to one is not connected to",
      [targets, "a name that leads inside is not connected to"],
      ["webhooks/dispatcher/HttpSender.it.ts", "connects to no address that is not public, by name or by number"]
    ],
    ["Plain http is refused", [targets, "plain http makes none, not even to this machine"]],
    ["The setting opens this machine", [lines, "are this machine over plain http where any target is allowed"]],
    [
      "A start for development has it",
      ["cli/webhooks.e2e.ts", "lets webhooks go anywhere, http on this machine included, and says so"],
      ["cli/webhooks.e2e.ts", "makes a key of its own, readable by its owner only, and finds it again; in production"]
    ]
  ],
  "6.10": [
    ["Each delivery carries them", [ownHeaders, "gets them with first attempts, retries and tests"]],
    ["They are few, plain and none of the platform's", [headers, "may have none of the names that every delivery has"]],
    [
      "A change merges",
      [headersHttp, "are merged: what is not named stays, null removes one, null for all removes all"],
      [headersHttp, "are all there after changes that come at once"]
    ],
    ["Answers show names only", [headersHttp, "are shown by name"]],
    ["A repeat with other values is another request", [headersHttp, "make another request under an Idempotency-Key"]]
  ]
}

const ofDeliveries: Promises = {
  "7.1": [
    ["A delivery has one of five states", [deliveries, "lists those of one status"]],
    [
      "It does not outlive its event",
      [schedule, "a delivery that the event log has outlived ends expired"],
      [restarts, "ends deliveries that are older than the event log, also of a paused endpoint"]
    ]
  ],
  "7.2": [
    ["The platform's headers", [signature, "makes the documented headers, in whole Unix seconds"]],
    ["Those of Standard Webhooks", [standard, "is signed with both secrets in both schemes"]]
  ],
  "7.3": [
    ["The whole secret is the key", [signature, "is HMAC-SHA256, hexadecimal"]],
    ["A part of it is not", [signature, "refuses a key that is only part of the secret"]],
    ["Each attempt is signed anew", [lines, "is attempted up to six times with one eventId, each attempt with"]],
    ["An old signature is refused", [signature, "has a tolerance of five minutes"]],
    ["Others verify the standard one", [standard, "is verified by the published package"]],
    ["Early secrets have none", [standard, "carries no standard headers while only a secret of the earlier form"]]
  ],
  "7.4": [
    [
      "A rate of its own is never exceeded and no failure",
      [ownHeaders, "gets everything, and another one of its organization does not wait for it"],
      [ownHeaders, "goes on at once when the rate is taken away"]
    ],
    ["A delivery is attempted six times", [lines, "is attempted up to six times"], [schedule, "the schedule"]],
    ["Between attempts it waits", [schedule, "behind attempt %d the next one waits %d ms, and up to a fifth longer"]],
    ["2xx is a success", [schedule, "2xx is a success and nothing else is"]],
    ["Silence is a failure", [schedule, "no answer is the status 0, also when the 15 s are over"]],
    ["So is a redirect", [schedule, "a redirect is a failure"], [lines, "fails at a redirect"]],
    [
      "A later Retry-After is heeded",
      [schedule, "Retry-After"],
      [lines, "waits for a Retry-After that is later than the schedule"]
    ],
    ["Waits and timeout can be configured", [schedule, "settings"]],
    ["An endpoint has 4 to 64 attempts in flight", ["webhooks/dispatcher/pace.unit.ts", "given quick successes, then"]]
  ],
  "7.5": [
    ["A delivery fails with its last attempt", [lines, "are deliveries that failed to the last attempt"]],
    ["The fifth failure warns, the tenth pauses", [pauses, "the warning and the pause"]],
    ["410 pauses", [lines, "need not add up for a pause where the answer is 410"]],
    ["Tests and retries by hand do not count", [rules, "counts as no failure, and neither does a retry by hand"]],
    ["The count stops at the pause", ["webhooks/http/integratorHttp.it.ts", "counts its failures up to the pause"]]
  ],
  "7.6": [
    [
      "A crash loses no delivery, and may repeat one",
      [kills, "delivers every answered event at least once"],
      [restarts, "that dies between the answer and its record has the delivery attempted again, once"]
    ]
  ],
  "7.7": [
    ["Deliveries are listed", [deliveries, "lists an endpoint's deliveries, newest first"]],
    ["Each shows its attempts", [missed, "tells of each attempt and of what was answered"]]
  ],
  "7.8": [
    ["What is over is sent once more", [deliveries, "sends a delivery that is %s once more: 202"]],
    [
      "What is pending is not, nor anything while Disabled",
      [deliveries, "409 while it is pending"],
      [deliveries, "409 when Disabled"]
    ]
  ],
  "7.9": [["The request is shown as it was signed", [console_, "shows the request as it was signed"]]]
}

const promises: Promises = { ...ofTelco, ...ofEvents, ...ofEndpoints, ...ofDeliveries }

const document = readFileSync(new URL("../docs/platform.md", import.meta.url), "utf8")
const sections = [...document.matchAll(/^### ([4-7]\.\d+) (.+)$/gm)].map(([, number, title]) => ({ number, title }))

describe("docs/platform.md, 4 to 7", () => {
  it("has a promise here for every section, and no other", () => {
    expect(sections.map(({ number }) => number).toSorted()).toEqual(Object.keys(promises).toSorted())
  })

  for (const { number, title } of sections) describePromises(`${number} ${title}`, promises[number!] ?? [])

  it("is not held by a test that is not there", () => {
    expect(isNamed(["promises.unit.ts", "is not held by a test that is not there"])).toBe(true)
    expect(isNamed(["promises.unit.ts", "held by a test that is not there"])).toBe(false)
    expect(isNamed(["promises.unit.ts", "is not held by a test that is somewhere"])).toBe(false)
  })
})
