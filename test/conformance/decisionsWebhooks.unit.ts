/** "Decisions where the two specifications say 'not shown'": events and webhooks, in our words, with the tests that hold them. */
import { describeDocument } from "./promises.ts"

const lines = "webhooks/sections/lines.ts"
const missed = "webhooks/sections/missed.ts"
const states = "webhooks/sections/states.ts"
const log = "http/sections/events.ts"
const patterns = "events/patterns.unit.ts"
const schedule = "webhooks/delivery/schedule.unit.ts"
const pauses = "webhooks/endpoint/endpointPauses.unit.ts"
const rules = "webhooks/endpoint/endpointRules.unit.ts"
const integrator = "webhooks/http/integratorHttp.it.ts"
const replays = "webhooks/http/replaysHttp.it.ts"
const deliveries = "webhooks/http/deliveriesHttp.it.ts"
const actions = "webhooks/http/endpointActionsHttp.it.ts"
const standard = "webhooks/secret/standardWebhooks.e2e.ts"
const targets = "webhooks/target/publicTargets.e2e.ts"

describeDocument("Decisions, events and webhooks", {
  "The event log": [
    [
      "It shows events byte for byte as they are delivered, soon",
      [lines, "holds the very bytes that the receiver got"],
      [log, "follows within a second when nothing is wrong"]
    ],
    [
      "It is filtered by pattern and interval, the newest first",
      [log, "an event at `since` is in the interval, one at `until` is not"],
      [log, "`type` is a pattern: a family takes the events of the service"]
    ],
    ["The stream takes several patterns", [integrator, "takes `type`, several times, as the list does"]]
  ],
  Patterns: [
    [
      "A family takes a service's events and types that begin so",
      [patterns, "has the events of a service"],
      [patterns, "matches by type too where another service emits it"]
    ],
    ["A narrower one goes by type alone", [patterns, "reaches below the group"]],
    [
      "A star stands alone or at the end, behind a known beginning",
      [patterns, "a star anywhere but at the end"],
      [patterns, "a beginning that no service and no type has"]
    ],
    [
      "One that matches nothing of the catalogue is taken with a warning",
      [integrator, "with a pattern that nothing of the catalogue matches is made, with a warning"]
    ]
  ],
  Endpoints: [
    [
      "They are matched as they were at the event's place, and are 50 at most",
      [lines, "get an event or not by what they were at its place in the log"],
      [lines, "are 50 and no more"]
    ],
    ["They are read, changed and deleted", [lines, "is shown as the list shows it, changes field by field"]],
    [
      "Their secret is rotated with an overlap of bounds",
      [actions, "gives a new secret; the one before signs too for overlapSeconds"],
      [rules, "has bounds for overlapSeconds"]
    ],
    [
      "A change of one state leaves the other",
      [states, "that is Paused gets nothing, and enabling it does not change that"]
    ]
  ],
  Deliveries: [
    [
      "Success is any 2xx in time, and no redirect",
      [schedule, "2xx is a success and nothing else is"],
      [schedule, "a redirect is a failure"],
      [schedule, "no answer is the status 0, also when the 15 s are over"]
    ],
    [
      "Five waits with jitter, or a later Retry-After of up to an hour",
      [schedule, "behind attempt %d the next one waits %d ms"],
      [schedule, "counts for an hour and no longer"]
    ],
    ["Waits can be configured", [schedule, "give another schedule"]],
    [
      "Each attempt is signed anew under one event id, at least once",
      [lines, "is attempted up to six times with one eventId"],
      ["deliveries/deliveries.e2e.ts", "delivers every answered event at least once"]
    ],
    [
      "One older than its event's 30 days expires",
      [schedule, "a delivery that the event log has outlived ends expired"]
    ],
    [
      "It is listed with its attempts and the beginning of answers",
      [missed, "tells of each attempt and of what was answered"],
      ["webhooks/dispatcher/dispatch.it.ts", "reads a bounded part of the answer and shows less"]
    ]
  ],
  Failures: [
    [
      "They are counted by delivery, and a success clears them",
      [lines, "are deliveries that failed to the last attempt; a success clears"]
    ],
    [
      "The fifth warns, the tenth pauses and mails the contact",
      [pauses, "come with the fifth and the tenth failure, each with its event"],
      ["send/handoff/handoff.it.ts", "the contact hears of a paused endpoint"]
    ],
    ["Gone pauses at once", [lines, "need not add up for a pause where the answer is 410"]],
    [
      "Tests and retries by hand never count",
      [missed, "reaches a paused endpoint and no disabled one; neither its failure"]
    ],
    [
      "No answer has the status 0, and nothing yet is null",
      [lines, "that nobody answers in time has the status 0"],
      [states, "is Active from its creation"]
    ]
  ],
  "What was missed": [
    [
      "Pauses keep what is pending, a delete cancels it",
      [missed, "outlives a pause"],
      [missed, "outlives a time of being Disabled"],
      [missed, "is cancelled together with its endpoint"]
    ],
    ["An unpause clears the count and resumes", [actions, "sets the counter to 0 and resumes"]],
    [
      "Skipped events are listed and replayed, at most 30 days back",
      [missed, "is listed as skipped, and a replay sends it"],
      [replays, "is 400 for more than 30 days"]
    ],
    ["A replay needs an endpoint that is active", [replays, "is 409 unless the endpoint is Active"]],
    ["An unpause replays where it is asked to", [missed, "is sent by an unpause that asks for it"]],
    [
      "A retry by hand needs one that is over",
      [deliveries, "409 while it is pending; of several at once one is done"],
      [deliveries, "409 when Disabled; while Paused it is done"]
    ]
  ],
  Signatures: [
    [
      "The headers of Standard Webhooks stand beside the platform's",
      [standard, "is verified by the published package with the secret as it was shown, and by ours"]
    ],
    [
      "Both secrets of a rotation sign in both schemes",
      [standard, "is signed with both secrets in both schemes during a rotation"]
    ],
    [
      "Earlier secrets carry none until they are rotated",
      [standard, "carries no standard headers while only a secret of the earlier form signs"]
    ]
  ],
  Targets: [
    [
      "Addresses inside are refused when an endpoint is made",
      [integrator, "at a literal address that is not public is refused"]
    ],
    [
      "Names that lead inside are refused when one connects",
      [targets, "a name that leads inside is not connected to"],
      ["webhooks/target/targets.unit.ts", "does not happen when the name points inside"]
    ],
    [
      "A setting lifts that, and alone allows http to this machine",
      [lines, "are this machine over plain http where any target is allowed"],
      [targets, "plain http makes none, not even to this machine"]
    ]
  ]
})
