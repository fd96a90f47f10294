/** "Platform API", the parts on sending email: limits, trust, tiers and errors, in our words, with the tests that hold them. */
import { describeDocument } from "./promises.ts"

const sending = "send/http/sending.it.ts"
const tables = "send/tables.unit.ts"
const more = "send/admissionTables.unit.ts"
const life = "send/http/life.e2e.ts"
const lives = "send/actors/lives.unit.ts"
const tenants = "send/http/tenants.e2e.ts"
const read = "send/emails/readMessage.unit.ts"

describeDocument("Platform API, sending", {
  Endpoints: [
    ["An email is sent by one request", [sending, "is accepted, and the email can be read at once"]],
    [
      "A batch of at most 100 is one request",
      [sending, "of several emails is answered in their order"],
      [sending, "counts for its key alone, and a batch once"]
    ],
    [
      "The account's stage is told, and the end of its probation",
      [tenants, "on probation tells every cap with what was used of it"]
    ]
  ],
  "Requests a minute": [
    ["Each plan has its number, and an operator may set another one", [tables, "%s: %i, or what an operator says"]],
    [
      "They are counted for each key, by plan, for the endpoints that take email alone",
      [sending, "counts for its key alone, and a batch once"],
      [sending, "says how many requests the key has left, and nothing of the platform's rate"]
    ],
    [
      "Over it is 429 with the time to wait, and nothing was sent",
      ["send/http/resend.it.ts", "that its rate is used up, and for how long"]
    ]
  ],
  "Emails a month": [
    ["Each plan has its number, and one has none", [tables, "%s: %s"]],
    [
      "At the limit nothing is taken until the first of the month",
      [sending, "where the month is used up, and waiting is not offered"]
    ],
    [
      "An upgrade ends that at once",
      ["billing/upgrade.unit.ts", "sends again with the decision after its upgrade, and each email is counted once"]
    ],
    ["The refusal tells limit, use, end and where to upgrade", [more, "answers with exactly the documented fields"]],
    [
      "A batch over the limit is refused whole",
      ["send/actors/admitting.unit.ts", "is refused as a whole, and changes nothing then"]
    ]
  ],
  Probation: [
    [
      "A new account has 50 an hour, 200 a day and 25 domains for 72 hours; a riskier one less for longer",
      [tables, "%s: %i an hour, %i a day, %i domains, %i hours"]
    ],
    ["The windows roll", ["limits/windows.unit.ts", "counts an entry in [t, t + window), to the millisecond"]],
    [
      "Domains are counted over all recipients",
      [more, "counts the domains of all recipients, in lower case and punycode"]
    ],
    [
      "What is refused does not count",
      ["send/actors/admitting.unit.ts", "is refused as a whole, and changes nothing then"]
    ],
    [
      "The refusal tells cap, window, measure and end",
      [sending, "where a cap of the probation is crossed, with the time after which it passes"]
    ],
    ["It ends after a clean window", [life, "leads from probation with its caps by clean days to trusted"]],
    ["It goes on after another one", [life, "goes on in probation where a window was not clean"]],
    ["Established accounts have the caps of their plans alone", [tables, "at the end of probation, %s: %s"]],
    [
      "Fourteen further clean days make it trusted",
      [life, "leads from probation with its caps by clean days to trusted"]
    ],
    [
      "Signals of risk are looked for at sign-up and with a domain",
      ["send/risk/riskSignals.unit.ts", "make a higher risk, each alone"],
      ["send/http/domains.e2e.ts", "that speaks for a higher risk raises its account's"]
    ]
  ],
  Pauses: [
    [
      "Three bounces in the first 25 pause",
      [tables, "a bounce of %s"],
      [life, "for %s holds what waits until it is lifted"]
    ],
    ["A complaint in the first 100 pauses", [tables, "a complaint about %s: %s"]],
    ["A sudden rise pauses", ["send/sixtyDays.unit.ts", "of an account that spikes"]],
    [
      "Five risky signals in a day pause, and one blocks nothing",
      [tables, "risky content: %i signals and %i more after %i ms"]
    ],
    [
      "Three kinds of content are risky",
      ["send/content/riskyContent.unit.ts", "a link to another domain"],
      ["send/content/riskyContent.unit.ts", "a shortened link"],
      ["send/content/verificationSubject.unit.ts", "a subject"]
    ],
    [
      "A paused account is refused, and its contact mailed",
      [sending, "where sending is paused"],
      ["send/handoff/handoff.it.ts", "a pause keeps what waits, the contact hears of it once, and the lift lets it go"]
    ],
    [
      "Support lifts a pause, and probation begins again",
      ["cli/send.e2e.ts", "a paused account is shown with the facts that paused it, and its pause is lifted"],
      [more, "begins anew after a lift: no cap, count or trigger knows"]
    ]
  ],
  Tiers: [
    ["A sender has a day's number by its tier", [more, "%s: %i a day"]],
    [
      "It rises by emails, days, bounces and complaints",
      [more, "promotes by one tier a check, at whole hours, and refuses what is not verified"]
    ],
    [
      "What is over the number waits for the next day",
      [life, "has mail over a sender's daily cap held until the next day"],
      [sending, "over the sender's daily cap is held, with the midnight at which it fits"]
    ],
    [
      "A single address is a sender, too",
      ["send/actors/admitting.unit.ts", "is of a verified domain, or of a verified address"]
    ],
    ["An operator may set other limits", [lives, "share what an operator sets as limits, from the next decision"]]
  ],
  "Other limits": [
    [
      "A batch has 100 emails",
      ["send/http/sending.it.ts", "whole where one email of a batch is at fault, which it names"]
    ],
    ["An email has 10 attachments", [read, "is refused with %s"]],
    ["A body has 241,664 bytes", [sending, "where its body is larger than 241,664 bytes, on both ways"]],
    ["A subject has 500 characters", [read, "may have a subject of 500 characters, whatever they take"]],
    [
      "An address is mailed its link once in five minutes",
      ["send/http/senders.e2e.ts", "is mailed once in five minutes, whoever asks"]
    ],
    [
      "Larger attachments come by their address",
      [
        "send/mailer/smtpTransport.it.ts",
        "are fetched when the mail is handed over, and say what becomes of it where they cannot be"
      ]
    ]
  ],
  Errors: [
    ["They have a code, a sentence and what belongs to them", [more, "answers with exactly the documented fields"]]
  ]
})
