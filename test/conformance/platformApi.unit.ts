/** "Platform API", one of the two documents that the platform was built from: what it asks for, in our words, with the tests that hold it. Its parts on email are in `platformApiSend.unit.ts`; what it leaves open is in the files on decisions. */
import { describeDocument } from "./promises.ts"

const billing = "billing/checkout.it.ts"
const usage = "billing/usage.it.ts"
const lines = "webhooks/sections/lines.ts"
const missed = "webhooks/sections/missed.ts"
const states = "webhooks/sections/states.ts"
const endpoints = "webhooks/http/endpointsHttp.it.ts"
const catalogue = "events/catalogue.unit.ts"
const patterns = "events/patterns.unit.ts"
const signature = "webhooks/secret/signature.unit.ts"
const schedule = "webhooks/delivery/schedule.unit.ts"
const log = "http/sections/events.ts"
const telco = "http/sections/telco.ts"
const talk = "talk/talkHttp.it.ts"
const rate = "http/requestRate.e2e.ts"
const tour = "send/inbound/tours.e2e.ts"

describeDocument("Platform API", {
  Conventions: [
    [
      "One key opens several products",
      [tour, "the same customer looks a number up and has a text spoken"],
      ["http/sections/keys.ts", "without the service directory: 403"]
    ],
    ["Bodies are JSON", ["http/sections/errors.ts", "of JSON with a charset are taken"]],
    [
      "The generic success has a mark and data",
      [usage, "is reported by sites, counts a repeated report once, and limits nothing"]
    ],
    ["The generic error has a mark, a code and a sentence", [billing, "needs its scopes, a price of the catalogue"]],
    [
      "Other products have shapes of their own",
      ["http/sections/errors.ts", "%s is 404 in its product's shape, for any method"]
    ],
    [
      "Lists have a cursor, and say whether there is more",
      [log, "cursor pages: every event once, whatever the size and filter"]
    ]
  ],
  Billing: [
    [
      "A subscription has its plan, status and period",
      [billing, "is the free one, for the calendar month, where nothing was bought"]
    ],
    [
      "An entitlement has access, limits and usage of a product",
      [usage, "say what the plans in force include and allow"]
    ],
    [
      "Usage has a period, calls, emails and storage",
      [usage, "is of the current month, or of one that is named"],
      [usage, "are counted in bytes while they are kept, to the hour"]
    ],
    [
      "An invoice has its amount, currency, status, time and document",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"]
    ],
    [
      "Invoices are listed in pages",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"],
      ["http/sections/malformedBilling.ts", "in every query parameter of billing and keys"]
    ],
    [
      "A checkout takes a price and two addresses, and answers the address of a page",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"],
      ["billing/checkoutPage.it.ts", "pays, and goes on to the shop"]
    ],
    [
      "Another product's site reports usage with a bearer",
      [usage, "is reported by sites, counts a repeated report once, and limits nothing"]
    ]
  ],
  "Webhook endpoints": [
    [
      "One is made with an https address, patterns and perhaps a description",
      [endpoints, "creates an endpoint: 201 with its secret"]
    ],
    [
      "Its secret is told once",
      [endpoints, "creates an endpoint: 201 with its secret"],
      ["http/sections/webhooks.ts", "are in no row of the database in the clear"]
    ],
    ["The list says how each one does", [endpoints, "shows failures and the pause"]],
    ["One is shown by its id", [lines, "is shown as the list shows it, changes field by field"]],
    ["A test publishes an event to it", [missed, "is tried once, at its own endpoint"]],
    ["A missing address has its sentence", [endpoints, "without url: 400"]],
    ["So has one that is not https", [endpoints, "with the url %s: 400"]],
    [
      "So have a bad key and a missing scope",
      [endpoints, "without a key, or with an unknown one: 401 with the document's body"],
      [endpoints, "%s %s needs platform:webhooks:%s"]
    ]
  ],
  "States of an endpoint": [
    ["It is active from its creation", [states, "is Active from its creation"]],
    ["Its owner may disable it", [states, "that its owner has disabled gets nothing"]],
    [
      "Ten failures in a row pause it",
      [states, "is warned of after five failed deliveries in a row, Paused after ten"]
    ],
    ["Only its owner lets it go on", [missed, "outlives a pause; the unpause sends it and forgets the failures"]]
  ],
  Patterns: [
    ["A star matches all", [patterns, "a star alone"]],
    ["A service's star matches the service", [patterns, "has the events of a service"]],
    ["A group's star matches the group", [patterns, "matches the types of a group"]],
    ["A type matches itself", [patterns, "matches only that type"]],
    ["Several may stand in one list", [patterns, "matches what one of them matches"]]
  ],
  Events: [
    [
      "An event has an id, type, service, data, mode and time",
      [catalogue, "is written in the order of the document, whatever order it came in"]
    ],
    ["It is kept in a log of 30 days", ["events/eventLog.it.ts", "an event is not shown after its 30 days"]],
    ["It goes to every endpoint with a pattern for it", [lines, "select everything, a family"]],
    ["It goes as it is in the log", [lines, "holds the very bytes that the receiver got"]],
    ["A look-up has its event with five fields", [telco, "emits telco.lookup.completed with the documented payload"]],
    [
      "A search has its event with source and filters",
      [telco, "search emits telco.search.completed with source and filters"]
    ],
    ["A test event names its endpoint", [missed, "is tried once, at its own endpoint"]],
    [
      "Subscriptions and invoices have their events",
      [billing, "is paid on the checkout's page, once, and holds from the next request on"],
      [billing, "changes with another checkout for a new period"],
      [billing, "that fail change no plan"]
    ],
    [
      "An email that was sent has its event with four fields",
      [catalogue, "has %s with the documented fields"],
      ["send/actors/events.unit.ts", "tell each step once, with what the first report of it said"]
    ],
    [
      "One that was delivered, bounced or complained about has its own",
      ["send/actors/events.unit.ts", "are one of a bounce and of a complaint for each recipient"]
    ],
    [
      "A number in the caller's inventory is said to be there",
      [telco, "emits telco.lookup.completed with the documented payload"]
    ]
  ],
  Deliveries: [
    [
      "A failed one is repeated up to five times, ever later",
      [lines, "is attempted up to six times with one eventId, each attempt with"],
      [schedule, "behind attempt %d the next one waits %d ms"]
    ],
    [
      "It is a signed POST with five headers",
      [signature, "makes the documented headers, in whole Unix seconds"],
      ["webhooks/dispatcher/dispatch.it.ts", "is the event, signed, and its outcome is recorded"]
    ],
    ["The signature is of time and body, under the whole secret", [signature, "is HMAC-SHA256, hexadecimal"]],
    [
      "A receiver finds a wrong one",
      [signature, "refuses a key that is only part of the secret"],
      [tour, "a customer signs up, buys, sends up to the cap, hears of it, and gets an invoice"]
    ]
  ],
  Keys: [
    ["They come as bearer or in a header of their own", ["http/sections/keys.ts", "%s takes each of them"]],
    ["They must be active", ["http/sections/keys.ts", "revoked: refused a moment later, also while it is in use"]],
    ["They must have the product", ["http/sections/keys.ts", "without any service: 403"]],
    ["They have scopes", ["platform/access.unit.ts", "scopes"]],
    [
      "The event log has a scope, or that of the endpoints",
      [log, "one of its two scopes opens it, whatever services the key has"]
    ]
  ],
  Talk: [
    [
      "Three endpoints have a scope each, and one for all",
      [talk, "%s %s: 401 without a key or with a wrong one, 403 without service or scope"],
      [talk, "talk:* and * open everything"]
    ],
    [
      "A speech is made of a text in a voice",
      ["talk/espeak/espeakHttp.it.ts", "has a header that is true, is no silence"]
    ],
    [
      "Its four refusals have their sentences",
      [talk, "%s %s: 401 without a key or with a wrong one, 403 without service or scope"]
    ]
  ],
  "Request rate": [
    ["Each plan has its requests a minute", ["limits/RateLimiter.unit.ts", "have the rates of the platform document"]],
    [
      "Three headers tell limit, rest and end of the minute",
      [rate, "is on every answer to a key, whatever the answer is, and counts each"]
    ]
  ],
  Versions: [
    ["Paths begin with /v1", ["http/sections/system.ts", "it describes every documented path and both path forms"]],
    [
      "The signature's scheme is v1, and the sender's version 1.0",
      [signature, "makes the documented headers, in whole Unix seconds"]
    ]
  ]
})
