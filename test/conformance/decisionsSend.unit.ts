/** "Decisions where the two specifications say 'not shown'": admission, the API and the senders of email, in our words, with the tests that hold them. */
import { describeDocument } from "./promises.ts"

const sending = "send/http/sending.it.ts"
const emails = "send/http/emails.it.ts"
const more = "send/admissionTables.unit.ts"
const tables = "send/tables.unit.ts"
const lives = "send/actors/lives.unit.ts"
const resend = "send/http/resend.it.ts"
const domains = "send/http/domains.e2e.ts"
const senders = "send/http/senders.e2e.ts"
const life = "send/http/life.e2e.ts"
const handoff = "send/handoff/handoff.it.ts"
const windows = "limits/windows.unit.ts"
const risk = "send/risk/riskSignals.unit.ts"
const admitting = "send/actors/admitting.unit.ts"
const read = "send/emails/readMessage.unit.ts"

describeDocument("Decisions, sending", {
  Admission: [
    [
      "Checks have an order, and the first that refuses decides",
      [more, "asks for sender, pause, month and caps in this order"]
    ],
    [
      "What is refused changes nothing",
      [admitting, "is refused as a whole, and changes nothing then"],
      ["send/actors/preview.unit.ts", "says what the request would come to, and changes nothing"]
    ],
    [
      "Recipients are 1 to 50, counted over all three fields by their domains",
      [more, "counts the domains of all recipients, in lower case and punycode"],
      [read, "is refused with %s"]
    ],
    ["Answers are in order, a batch's in a list", [sending, "of several emails is answered in their order"]],
    [
      "Suppressed recipients are taken out first and named; an email without others is counted nowhere",
      [more, "takes out suppressed recipients before it counts"],
      [sending, "answers recipients that are left out, and an email without any other is suppressed"]
    ],
    [
      "They are looked for again at the hand-off",
      [handoff, "mail waits, can be taken back, and is looked at again by the account before it goes"]
    ],
    [
      "A repeat under a key has the first answer, in whatever state the account is",
      [sending, "has the first answer, and is accepted once"],
      [sending, "with another body is a conflict"],
      ["send/actors/preview.unit.ts", "under an idempotency key leaves the key free"]
    ],
    [
      "A key for repeats is printable, of at most 255 characters, and counts for one mode of one organization",
      [sending, "is refused with a key that is too long or not printable"],
      [sending, "is another request in the other mode and in another organization"]
    ],
    [
      "Months are of UTC and count what was accepted",
      [windows, "the monthly quota against a list of all entries"],
      [sending, "where the month is used up, and waiting is not offered"]
    ],
    [
      "Mail is scheduled at most 30 days ahead, and taken back while it waits",
      [emails, "that is scheduled gets another time, at most 30 days ahead"],
      [emails, "that waits is taken back, once"]
    ]
  ],
  Probation: [
    [
      "Windows are exact, and a retry at the told second passes",
      [windows, "counts an entry in [t, t + window), to the millisecond"],
      ["send/services.unit.ts", "cap each account by itself, and a retry after the told seconds passes"]
    ],
    [
      "A domain counts until an hour after its latest use",
      [windows, "lets a value live until its latest use and the window have passed"]
    ],
    [
      "Of several caps the one that lasts longest is told",
      [tables, "tells of several crossed caps the one that lasts longest"]
    ],
    [
      "A request that never fits is told so",
      ["send/inbound/tours.e2e.ts", "a customer signs up, buys, sends up to the cap"]
    ],
    [
      "Checks come at whole hours, and a window that was not clean begins again",
      [tables, "checks at the whole hour at or after the window's end"],
      [life, "goes on in probation where a window was not clean"]
    ],
    [
      "The first 25 and 100 go by acceptance, and a late bounce counts",
      [tables, "keeps the first 100 ids in the order of acceptance"]
    ],
    ["A sudden rise is held against the hours before", ["send/sixtyDays.unit.ts", "of an account that spikes"]],
    [
      "The request that pauses is taken and held",
      [more, "accepts and holds the request that pauses the account, and rejects the next"]
    ],
    [
      "Higher risk comes from sign-up or domain, and is in force at once",
      [risk, "make a higher risk, each alone"],
      [tables, "takes 7 days from the window's own start when the risk rises"]
    ],
    [
      "A name server that does not answer is no signal",
      ["send/risk/mailHosts.it.ts", "whose name server is %s has no signal"]
    ],
    [
      "Trust takes fourteen clean days with mail in them",
      [life, "leads from probation with its caps by clean days to trusted"]
    ],
    [
      "A pause says when and why, holds what waits, and ends in a new probation",
      ["send/http/tenants.e2e.ts", "that is paused says since when and why"],
      [lives, "waits while its account is paused, and goes when the pause is lifted"]
    ],
    [
      "Pauses and promotions have events",
      ["send/actors/events.unit.ts", "tell a pause once, whatever pulled the trigger"],
      ["send/actors/events.unit.ts", "tell the promotions of both, by wakes"]
    ],
    [
      "Only a permanent bounce counts, and refusals for reputation suppress nobody",
      ["send/actors/givenUp.unit.ts", "pauses no account and suppresses nobody"],
      [lives, "takes in whose mail bounced for good and who complained, once"]
    ],
    [
      "An older organization begins with the plan of its row",
      [emails, "an account of an older organization begins with the plan of its row"]
    ]
  ],
  "The API": [
    [
      "Resend's package works as it is",
      [resend, "sends an email with everything it can say, and gets it back"],
      [resend, "sends a batch"],
      ["send/http/resendDomains.e2e.ts", "adds, reads, verifies, lists and removes domains"]
    ],
    [
      "Its clients find their fields in errors, others do not",
      [sending, "in the fields that clients of Resend's API read, for those alone"]
    ],
    [
      "Options that there are not are refused",
      ["send/http/resendDomains.e2e.ts", "is told which of its options there are not"]
    ],
    [
      "Waiting is offered for rates and caps, never for the month",
      [sending, "where the month is used up, and waiting is not offered"],
      [sending, "where a cap of the probation is crossed, with the time after which it passes"]
    ],
    [
      "Every answer to a good key tells the key's limit",
      [sending, "says how many requests the key has left, and nothing of the platform's rate"]
    ],
    ["Lists take a cursor or a neighbour", [emails, "is in pages, newest first, by cursor and by emails"]],
    [
      "Addresses have two forms, names of other scripts become punycode",
      ["send/emails/addresses.unit.ts", "an address that is read"],
      [domains, "is kept in lower case and punycode, once"]
    ],
    [
      "Mail about a sender too early is told when to ask again",
      [senders, "is mailed once in five minutes, whoever asks"]
    ]
  ],
  "Hand-off": [
    [
      "A failure for now is told once and tried again for 72 hours",
      [handoff, "a failure for now is tried again later, one for good is the end"],
      [handoff, "mail that nobody takes for 72 hours has failed"]
    ],
    ["Time without a relay uses none of that up", [handoff, "what nothing could take is no attempt"]],
    [
      "An attachment that cannot be had fails the email, without a bounce",
      [handoff, "an attachment that cannot be had is the end, and no bounce"]
    ],
    [
      "Content is kept for 7 days after the end, an email for 30",
      [
        "send/contents/messageContents.it.ts",
        "that outlive their stream are read from the copy, and erased a week after the end"
      ],
      [life, "shows what its emails said for seven days after their end"]
    ],
    [
      "A deletion erases contents, keys, endpoints and rows",
      ["cli/deletion.e2e.ts", "is deleted with everything that it has, and the others notice nothing"],
      ["admin/organizationDeletion.it.ts", "ends keys, endpoints, senders, waiting mail and the key of contents"]
    ],
    [
      "Other mail systems report over HTTP or by a signal",
      ["send/http/feedback.it.ts", "reaches the email, the suppression list"],
      ["send/inbound/roundTrip.e2e.ts", "a signal of another mail system is told like any other report"]
    ]
  ],
  Senders: [
    [
      "A domain is verified by records, an address by a mailed link",
      [domains, "sends once its records are there"],
      [senders, "sends once its link's button was pressed, and not when the link was only opened"]
    ],
    [
      "Two organizations may have one domain, each for itself",
      [domains, "is two organizations' with a token, a key and a standing of each"]
    ],
    [
      "It is not deleted while mail waits, and keeps its count for 30 days",
      [domains, "is deleted with its sender, but not while mail waits"],
      [lives, "that was removed keeps its count for 30 days"]
    ],
    [
      "Tiers go by totals since the verification, one step a check, and never back",
      [more, "promotes by one tier a check, at whole hours, and refuses what is not verified"],
      ["send/senderProperties.unit.ts", "a tier against totals that are counted at every hour"]
    ],
    [
      "Held mail goes in order, at once where a cap is raised, from midnight on in steps",
      ["send/senderProperties.unit.ts", "held mail against a list of emails"],
      [lives, "lets go at once what a raised cap takes"],
      ["send/senderProperties.unit.ts", "spreads a day's release over 10 minutes from midnight, in 60 steps"]
    ],
    [
      "It is told the midnight at which it fits",
      [more, "is held over the cap, until the midnight at which its place fits"]
    ],
    [
      "Each recipient's report has its event",
      ["send/actors/events.unit.ts", "are one of a bounce and of a complaint for each recipient"]
    ]
  ]
})
