/** "Decisions where the two specifications say 'not shown'": tenancy, statuses, rates, billing, talk and several machines, in our words, with the tests that hold them. */
import { describeDocument } from "./promises.ts"

const keys = "http/sections/keys.ts"
const errors = "http/sections/errors.ts"
const own = "platform/ownKeys.it.ts"
const modes = "webhooks/sections/modes.ts"
const authentication = "platform/Authentication.it.ts"
const rate = "http/requestRate.e2e.ts"
const billing = "billing/checkout.it.ts"
const rules = "billing/rules.unit.ts"
const usage = "billing/usage.it.ts"
const talk = "talk/talkHttp.it.ts"
const commands = "cli/billing.e2e.ts"
const cluster = "cli/cluster.e2e.ts"
const once = "webhooks/http/idempotencyHttp.it.ts"

describeDocument("Decisions", {
  "Organizations and keys": [
    [
      "An organization has what belongs to it, and a contact",
      ["platform/tenancy.it.ts", "keep what they were made with, and have ids of their own"]
    ],
    [
      "Two ladders of plans, and limits of an operator's own",
      ["limits/RateLimiter.unit.ts", "yield to a custom limit, even to one of nothing"],
      ["cli/send.e2e.ts", "risk and limits are set, shown and recorded"]
    ],
    [
      "A key is random, kept as a digest and shown once",
      [keys, "have at least 128 random bits, a prefix of their mode, and differ"],
      [keys, "are shown once"],
      ["platform/tenancy.it.ts", "are stored as SHA-256 only"]
    ],
    [
      "It has services, scopes, a last use and perhaps an end",
      ["platform/tenancy.it.ts", "note their last use, which never moves back"],
      [keys, "expired: refused from that moment on"]
    ],
    [
      "Unknown keys are remembered in bounds, with few look-ups at once",
      [authentication, "keeps a bounded number of unknown keys"],
      [authentication, "has at most 32 look-ups under way"]
    ],
    [
      "What is known lives five seconds where revocations cannot be announced",
      [authentication, "trusts what it knows for five seconds once changes cannot be announced"]
    ],
    [
      "The first form of a key decides; a parameter is for the directory",
      [keys, "the first form present decides, a good one"],
      ["platform/access.unit.ts", "is not looked for in the query where the product does not take it there"]
    ],
    [
      "Products need their service, and scopes where that is said",
      [billing, "needs its scopes, a price of the catalogue"],
      ["webhooks/http/endpointsHttp.it.ts", "%s %s needs platform:webhooks:%s"],
      ["platform/access.unit.ts", "scopes"]
    ],
    [
      "Links lead to a public address, and only this machine is listened to unless told otherwise",
      [commands, "links lead to the address at which customers reach the platform"],
      ["config/settings.unit.ts", "has defaults for everything that must have a value"]
    ],
    ["The name of the host changes nothing", [errors, "the Host header changes nothing"]],
    [
      "An organization manages its keys with one of them, which gives no more than it has",
      [own, "is made with some of the rights of the key that makes it, and works"],
      [own, "never gives more than it has"]
    ],
    [
      "Such a key is rotated with an overlap, and revoked",
      [own, "is rotated with an overlap, or without"],
      [own, "is revoked at once"]
    ],
    [
      "Operators have an interface of their own, with a credential that opens nothing else",
      [keys, "the admin credential is no key, and a key is no admin credential"],
      ["cli/external.e2e.ts", "have an admin API only where it was given a credential"]
    ],
    [
      "What an operator does is recorded",
      [commands, "a payment that an operator confirms puts the plan in force, and is recorded"],
      ["cli/send.e2e.ts", "a domain counts as verified on an operator's word, which is recorded as such"]
    ]
  ],
  Modes: [
    [
      "What a key makes is of its mode, and the other mode knows nothing of it",
      [modes, "a test key with every scope neither sees nor changes a live endpoint"],
      [own, "is of the mode of the key that makes it"],
      ["send/http/domains.e2e.ts", "of a test key is verified at once, and seen by test keys alone"]
    ],
    [
      "Events go to endpoints of their mode, an operator's to both",
      [modes, "events go to endpoints of their mode, an operator's test events to both"]
    ],
    [
      "A live key sees all events, a test key those that are not live",
      [modes, "in log and stream a live key sees all events"]
    ],
    [
      "Test mail goes to the local mailbox, and no counter is shared",
      ["send/mailer/smtpTransport.it.ts", "of a test key goes to the local mailbox alone"],
      ["send/actors/lives.unit.ts", "share what an operator sets as limits"]
    ],
    [
      "Three recipients act out their names, for test keys alone",
      ["send/handoff/handoff.it.ts", "of a test key to %s@simulator.invalid is"],
      ["send/handoff/handoff.it.ts", "of a live key knows no simulator"],
      ["send/http/sending.it.ts", "where a live key sends to the simulator"]
    ],
    [
      "A test account may begin anew, a live one never",
      ["send/http/tenants.e2e.ts", "that is paused says since when and why, and a test key starts it anew"],
      ["send/http/tenants.e2e.ts", "of live keys is never started anew"]
    ]
  ],
  "Other products' sites": [
    [
      "A credential speaks for one organization, and is shown once",
      [commands, "a site's credential is shown once, listed, used and revoked"],
      ["platform/sites.it.ts", "speak for their organization until they are revoked"]
    ],
    [
      "It reports usage, answered 202 with the month's sum",
      [usage, "is reported by sites, counts a repeated report once, and limits nothing"]
    ],
    [
      "A repeat under a key counts once, and no report limits anything",
      [usage, "is reported by sites, counts a repeated report once, and limits nothing"]
    ],
    [
      "It reports what became of emails",
      ["send/http/feedback.it.ts", "reaches the email, the suppression list and whoever sends there next, once"]
    ],
    ["It has a rate of its own", [usage, "is reported by each site credential at most 600 times a minute"]]
  ],
  "Statuses and bodies": [
    [
      "Each product has one shape for all its errors",
      [errors, "%s is 404 in its product's shape, for any method"],
      [errors, "%s refuses all but reading, with Allow, in its product's shape"],
      [errors, "larger than the limit: 413"]
    ],
    [
      "All codes are one list, which the documents show",
      ["api/openapi.unit.ts", "lists every error code with its status"]
    ],
    [
      "A limit or offset that is none is quoted, not clamped",
      ["http/sections/directory.ts", "limit=%s is refused and quoted"],
      ["http/sections/directory.ts", "offset=%s is refused and quoted"]
    ],
    ["A parameter that is repeated is refused", [keys, "apiKey given twice is 400, whichever is good"]],
    [
      "Pages have 25, at most 100; a cursor that was made up or is stale is refused",
      ["http/sections/events.ts", "cursor pages: default 25, maximum 100"],
      ["http/sections/events.ts", "a forged or stale cursor is 400"]
    ],
    ["Every answer has the id of its request", [errors, "one is made for every request that brings none"]],
    [
      "Every POST that makes something may be repeated under a key",
      [once, "of %s answers what the first one did, and says so"],
      [billing, "has one checkout under one Idempotency-Key"],
      [own, "made twice under one Idempotency-Key is one"]
    ],
    [
      "Unknown names are refused with the nearest known one",
      ["webhooks/http/integratorHttp.it.ts", "in a body is refused with the nearest one, and nothing is done"],
      ["webhooks/http/integratorHttp.it.ts", "in a query is refused where a key is needed"]
    ]
  ],
  "Request rate": [
    [
      "It is one for an organization, in the minute of the clock",
      [rate, "is one for all keys of an organization"],
      ["limits/rules.unit.ts", "starts anew at the first millisecond of the next minute"]
    ],
    [
      "Counted answers say where one stands, without a limit nothing",
      [rate, "takes a limit of its own, none at all, and the plan's again"]
    ],
    [
      "Over it is 429 with whole seconds to wait, and does not count",
      [rate, "refuses what is over the limit with 429 and when to come again"]
    ],
    ["A change of plan keeps the count and is in force at once", [rate, "keeps its count through a change of plan"]],
    [
      "It fails open after 250 ms, and quotas closed",
      [rate, "passes and counts what its limiter does not answer in time"],
      ["send/http/emailErrors.unit.ts", "503 where nobody knows, with the way to repeat"]
    ]
  ],
  Telco: [
    ["Numbers are read as people write them", ["http/sections/telco.ts", "takes a number as people write it"]],
    [
      "A code without a record is 404 and no event, one without a carrier is answered",
      ["http/sections/telco.ts", "a code that the directory lacks is 404"],
      ["http/sections/telco.ts", "a code that nobody holds is answered"]
    ],
    [
      "Searches go through codes or numbers, in pages",
      ["http/sections/telco.ts", "search over npanxx combines its filters"],
      ["http/sections/telco.ts", "bad filters and pages are 400"]
    ],
    ["No answer without its event", ["http/sections/telcoOutage.ts", "503: what is answered has its event"]]
  ],
  Billing: [
    [
      "Platform plan and send plan stand side by side, null is no limit",
      [usage, "say what the plans in force include and allow"]
    ],
    [
      "An unknown product or period is refused, no period is the current one",
      [usage, "is of the current month, or of one that is named"],
      [usage, "say what the plans in force include and allow"]
    ],
    [
      "Without a subscription the free plans and the calendar month are shown",
      [billing, "is the free one, for the calendar month, where nothing was bought"]
    ],
    [
      "A page pays by itself in development, an operator confirms in production",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"],
      [billing, "wait as an open invoice, and put the plan in force when they are confirmed"],
      [commands, "a payment that has failed puts nothing in force"]
    ],
    [
      "Addresses to return to are https, or of this machine in development",
      [billing, "needs its scopes, a price of the catalogue"]
    ],
    [
      "Calls without a fact are flushed at most once a second, and count once",
      ["billing/counting.unit.ts", "reach the log once each under whatever answers are lost"],
      ["usage/usage.e2e.ts", "the figures are those of the log's facts"]
    ],
    ["Plans say which products they include", [usage, "leave out products that no plan in force includes"]],
    [
      "A failed renewal has a grace, after which the free plans are in force",
      [rules, "given a failed renewal, then it is past due for its grace, and after that canceled"]
    ],
    [
      "An operator's plan stands until it follows the subscription again",
      [rules, "stands while a subscription begins, changes and ends"],
      [commands, "a plan that an operator sets stands until it is to follow the subscription"]
    ],
    [
      "There is one subscription; a change begins a new period at the full price",
      [rules, "given another price, when that is paid, then the plans change and a whole period begins"]
    ],
    [
      "It is canceled with its period or at once",
      [billing, "changes with another checkout for a new period, is canceled with its period, and at once"]
    ],
    [
      "Storage is the contents that are kept, to the hour",
      [usage, "are counted in bytes while they are kept, to the hour"],
      [
        "billing/counting.unit.ts",
        "take room in every hour from their acceptance until seven days after their first end"
      ]
    ],
    [
      "Events carry subscription and invoice as the API shows them",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"]
    ],
    [
      "Stripe may take the payments",
      ["billing/stripe.it.ts", "puts plans in force, and a repeat of it changes nothing"],
      ["billing/stripe.it.ts", "is taken by what Stripe has now, in whatever order notices come"]
    ]
  ],
  Talk: [
    [
      "Over an organization's places 429, over all 503, both with the time to wait",
      [talk, "over an organization's share 429, over all 503, both with Retry-After"]
    ],
    [
      "A speech takes text, voice, format and speed, and answers audio",
      [talk, "take 5,000 characters, a character of two units counting once"],
      ["talk/espeak/espeakHttp.it.ts", "is quicker or slower by the speed"]
    ],
    [
      "Voices and formats are lists of what there is",
      ["talk/espeak/espeakHttp.it.ts", "are listed with id, name, language and gender"],
      ["talk/espeak/espeakHttp.it.ts", "are listed as far as they can be made"]
    ],
    [
      "Voip and transcribe have no endpoints, and say so",
      ["http/sections/talk.ts", "voip and transcribe have no endpoints, and say so"]
    ],
    ["Bad fields are one sentence", [talk, "%j: 400"]],
    [
      "What hangs is given up, and keeps no place",
      ["talk/deadlines.unit.ts", "that hangs keeps no place, and its request is given up with it"]
    ]
  ],
  "Several machines": [
    [
      "A partition is taken over by a process that is left, and the first one answers nothing that is not stored",
      ["nats/engine.it.ts", "a second process takes the partition over"]
    ],
    [
      "Meanwhile its requests are 503 with the time to wait",
      ["http/fastLane.it.ts", "is passed where the log is silent"],
      ["http/sections/outages.ts", "health is degraded, reads go on, and it recovers"]
    ],
    [
      "The partitions of a killed process, and of one that stops, are served by the others",
      [cluster, "take over what a killed node had"],
      [cluster, "give a stopped node's partitions to the other one before it ends"],
      ["cluster/cluster.e2e.ts", "kept every answered decision, once"]
    ],
    ["Request rates count over all nodes", [cluster, "count an organization's requests together"]],
    [
      "Logs with three copies outlive the loss of a server",
      ["nats/engineKills.it.ts", "three servers with three copies, one after the other killed"]
    ]
  ]
})
