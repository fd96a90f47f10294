/** Variants of the actors that decide about an account's mail. */
import type { Variant } from "./runner/variant.ts"

export const sendActors: ReadonlyArray<Variant> = [
  {
    name: "send: a history is decided under the figures in force",
    find: "this.admission = admissionBy(figuresOf(rules))",
    replace: "this.admission = admissionBy(figuresOf({}))",
    sentence: "an operator is told that other triggers would have paused the same accounts",
    finders: ["pastAccount.unit"]
  },
  {
    name: "send: mail that waits longer is handed over when it was",
    find: 'this.later({ _tag: "Outcome", at: at + afterMillis, email, what })',
    replace: 'this.later({ _tag: "Outcome", at: at + afterMillis - waitedMillis, email, what })',
    sentence: "a history under lower caps promotes senders by mail that still waits",
    finders: ["pastAccount.unit"]
  },
  {
    name: "send: a history forgets that an account is paused when held mail is due",
    find: 'isPaused ? { _tag: "Pause" } : { _tag: "Release"',
    replace: 'isPaused && at < 0 ? { _tag: "Pause" } : { _tag: "Release"',
    sentence: "held mail of a paused account counts as released",
    finders: ["pastAccount.unit"]
  },
  {
    name: "send: the history of a test account has the refusals of the live one",
    find: "and facts ->> 'kind' = 'send.refused' and facts ->> 'account' = ${mode}",
    replace: "and facts ->> 'kind' = 'send.refused' and ${mode}::text is not null",
    sentence: "what-if for a test account counts requests of live keys",
    finders: ["whatIf.it"]
  },
  {
    name: "send: a lift of another pause ends a later one",
    find: "if (this.isPaused && this.state.trust.since === due.pausedAt)",
    replace: "if (this.isPaused)",
    sentence: "a pause of a history ends after less than the hours that were asked for",
    finders: ["pastAccount.unit"]
  },
  {
    name: "sending: an account that is paused lets held mail go",
    find: 'if (read(SendAccount, mode).trust.stage === "sending_paused") {',
    replace: "if (read(SendAccount, mode).senders < 0) {",
    sentence: "held mail of a paused account goes at the next midnight",
    finders: ["sending", "decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: the emails of the request that pulls a trigger go",
    find: 'const isPaused = answers.some(({ state }) => state === "held")',
    replace: "const isPaused = answers.length < 0",
    sentence: "the request that pauses an account is sent all the same",
    finders: ["sending", "decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: a repeated hand-over counts again",
    find: 'if ((had & marks.handedOver) !== 0 || !(isEarly || state === "sending")) return false',
    replace: 'if (state === "none") return false',
    sentence: "a mailer that reports twice leads a domain into a higher tier",
    finders: ["sending", "decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: each bounce of an email counts",
    find: "(had & marks[what]) === 0",
    replace: "had >= 0",
    sentence: "an email with three recipients that bounce pauses an account, or prolongs its probation",
    finders: ["sending", "decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: held mail is handed over",
    find: "if (isPaused || isHeld(email,",
    replace: "if (isPaused && isHeld(email,",
    sentence: "a mailer that asks too early gets mail over the cap",
    finders: ["sending", "decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: a bounce does not suppress",
    find: 'if (what !== "delivered") this.suppress(report, what)',
    replace: 'if (what === "complained") this.suppress(report, what)',
    sentence: "mail goes again to addresses that bounced for good",
    finders: ["decideAdmission.unit", "lives.unit", "layers.unit"]
  },
  {
    name: "sending: what is told again is an event again",
    find: "if (heard.startsWith(entry, at)) return true",
    replace: "if (heard.startsWith(entry, at)) break",
    sentence: "each repeat of a report calls an organization's webhooks again",
    finders: ["sending", "accountEvents.unit"]
  },
  {
    name: "sending: a report that overtakes the hand-over is lost",
    find: 'if (!hasGone && state !== "sending") return false',
    replace: "if (!hasGone) return false",
    sentence: "a bounce that comes before the mailer has said that it handed over counts nowhere",
    finders: ["sending", "accountEvents.unit"]
  },
  {
    name: "sending: a closed account accepts mail",
    find: 'if (state.closedAt !== undefined && command._tag !== "Look")',
    replace: 'if (state.closedAt !== undefined && command._tag === "Begin")',
    sentence: "requests that were under way when an organization was deleted are accepted",
    finders: ["closedAccount.unit"]
  },
  {
    name: "sending: the plan of the organization is not read",
    find: "const plan = read(OrganizationActor).sendPlan ?? state.plan",
    replace: "const plan = state.plan",
    sentence: "an upgrade does not raise the monthly limit",
    finders: ["decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: limits are those of one account",
    find: "const others = [SendAccount.facts(otherMode(context.self.key as Mode), [set])]",
    replace: "const others: ReadonlyArray<Actor.OtherFacts> = []",
    sentence: "a limit that an operator sets does not count for test keys",
    finders: ["decideAdmission.unit", "lives.unit"]
  },
  {
    name: "sending: a test account that begins anew has no limits",
    find: "return { ...initialSendAccount, custom, plan, senders, waiting }",
    replace: "return { ...initialSendAccount, senders, waiting, ...(custom && plan ? {} : {}) }",
    sentence: "an operator's limits are gone once a customer starts the test account anew",
    finders: ["lives.unit"]
  },
  {
    name: "sending: a sender that comes back gives places out again",
    find: "return { ...initialSender, holds: { ...initialSender.holds, head, tail } }",
    replace: "return head > tail ? state : initialSender",
    sentence: "mail that waited under a removed sender takes the places of new mail",
    finders: ["lives.unit"]
  },
  {
    name: "sending: held mail waits for a promotion",
    find: "(promotion ?? release) : Math.min(promotion, release)",
    replace: "(promotion ?? release) : promotion",
    sentence: "mail over a daily cap is not let go the next day",
    finders: ["lives.unit"]
  },
  {
    name: "sending: a removed sender begins anew at once",
    find: "now < state.removedAt + removedSenderMillis",
    replace: "now < state.removedAt",
    sentence: "who removes a domain and adds it again forgets its bounces",
    finders: ["decideAdmission.unit", "lives.unit", "mailProperties.unit"]
  },
  {
    name: "sending: a raised cap waits for midnight's steps",
    find: "capOf(after) > capOf(before) ? { ...after, holds: unspread(after.holds, at) } : after",
    replace: "capOf(after) > capOf(before) && at < 0 ? { ...after, holds: unspread(after.holds, at) } : after",
    sentence: "mail that fits under a raised cap is held",
    finders: ["decideAdmission.unit", "lives.unit", "mailProperties.unit"]
  },
  {
    name: "sending: one account's hand-over takes the other's emails",
    find: 'if (email.mode !== mode || email.sender !== sender) return { id, state: "none", suppressed }',
    replace: 'if (email.sender !== sender) return { id, state: "none", suppressed }',
    sentence: "test mail counts for the live account",
    finders: ["lives.unit"]
  },
  {
    name: "sending: one suppressed recipient takes the mail from all",
    find: "const isEmpty = suppressed === 2 ** recipients.length - 1",
    replace: "const isEmpty = suppressed > 0",
    sentence: "nobody gets an email of which one recipient was suppressed meanwhile",
    finders: ["handoff.it"]
  },
  {
    name: "sending: a report that comes first is no hand-over",
    find: "if (!hasGone) this.countHandOver(report)",
    replace: "",
    sentence: "a bounce rate is counted over fewer emails than were handed over",
    finders: ["decideAdmission.unit", "lives.unit", "mailProperties.unit", "givenUp.unit", "accountEvents.unit"]
  },
  {
    name: "sending: a bounce that counts for nobody counts",
    find: 'what !== "delivered" && report.counts !== false && (had & marks[what]) === 0',
    replace: 'what !== "delivered" && (had & marks[what]) === 0',
    sentence: "mail that could not be delivered in 72 hours pauses an account",
    finders: ["decideAdmission.unit", "lives.unit", "givenUp.unit", "mailProperties.unit"]
  },
  {
    name: "sending: an id may be twice in a request",
    find: 'if (ids.has(id) || read(SendEmail, id).state !== "none")',
    replace: 'if (read(SendEmail, id).state !== "none")',
    sentence: "one email takes the other's place",
    finders: ["decideAdmission.unit"]
  },
  {
    name: "sending: an email may be scheduled for any time",
    find: "if (scheduledAt !== undefined && !(Number.isSafeInteger(scheduledAt) && scheduledAt <= latest))",
    replace: "if (scheduledAt !== undefined && !Number.isSafeInteger(scheduledAt))",
    sentence: "an email waits longer than its content is kept",
    finders: ["decideAdmission.unit"]
  },
  {
    name: "sending: the places of held mail are counted from the request's begin",
    find: "mask, held[before - released]",
    replace: "mask, held[before]",
    sentence: "held mail has no place and is never let go",
    finders: ["decideAdmission.unit", "lives.unit", "sending", "mailProperties.unit"]
  },
  {
    name: "sending: addresses of the simulator are suppressed",
    find: "|| !suppresses || recipient.toLowerCase().includes(simulatorDomain)",
    replace: "|| !suppresses",
    sentence: "the second test of a bounce finds its recipient suppressed",
    finders: ["decideAdmission.unit", "lives.unit", "accountEvents.unit", "handoff.it"]
  }
]
