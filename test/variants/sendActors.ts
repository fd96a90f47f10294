/** Variants of the actors of sending, which only decisions on an engine or in its memory show: what a request touches, wakes, pauses, reports. */
import type { Finder, Variant } from "./runner/variant.ts"

const sending: Finder = { kind: "sending" }

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/send/${name}.unit.ts`)
})

const admitting = unit("actors/admitting", "actors/lives")
const events = unit("actors/events")
const layers = unit("layers")
const closing = unit("actors/closing")

const src = (name: string): string => `src/send/actors/${name}.ts`

export const sendActors: ReadonlyArray<Variant> = [
  {
    name: "sending: an account that is paused lets held mail go",
    file: src("SendSender"),
    find: 'if (read(SendAccount, mode).trust.stage === "sending_paused") {',
    replace: "if (read(SendAccount, mode).senders < 0) {",
    sentence: "held mail of a paused account goes at the next midnight",
    finders: [sending, admitting]
  },
  {
    name: "sending: a lift forgets the senders that wait",
    file: src("SendAccount"),
    find: 'waiting.length > 0 && trust.stage !== "sending_paused"',
    replace: 'waiting.length > 1_000 && trust.stage !== "sending_paused"',
    sentence: "mail that a pause has held stays held for ever after the pause was lifted",
    finders: [sending, admitting]
  },
  {
    name: "sending: the emails of the request that pulls a trigger go",
    file: src("admitting"),
    find: 'const isPaused = answers.some(({ state }) => state === "held")',
    replace: "const isPaused = answers.length < 0",
    sentence: "the request that pauses an account is sent all the same",
    finders: [sending, admitting]
  },
  {
    name: "sending: a cancelled email keeps its place",
    file: src("SendEmail"),
    find: "const others = [SendSender.facts(key, draft.facts), SendCancelledPlaces",
    replace: "const others = [SendCancelledPlaces",
    sentence: "a cancelled email uses up the cap of another one",
    finders: [sending, admitting]
  },
  {
    name: "sending: a page forgets what was cancelled",
    file: src("CancelledPlaces"),
    find: "withCancelled(page.length === 0 ? emptyPage : page, fact.place)",
    replace: "page",
    sentence: "cancelled emails are let go, and those behind them stay",
    finders: [sending, admitting]
  },
  {
    name: "sending: a cancelled schedule still counts",
    file: src("SendEmail"),
    find: 'SendSender.facts(key, [{ _tag: "Unscheduled", at: now }])], reply })',
    replace: "SendSender.facts(key, [])], reply })",
    sentence: "a sender can never be removed after a scheduled email was cancelled",
    finders: [sending, admitting]
  },
  {
    name: "sending: scheduled mail overtakes the queue",
    file: src("SendEmail"),
    find: "const [held] = draft.accept(1).held",
    replace: "const [held] = draft.accept(1).held.slice(1)",
    sentence: "a scheduled email whose sender is over its cap goes at its time",
    finders: [sending, admitting]
  },
  {
    name: "sending: a repeated hand-over counts again",
    file: src("reporting"),
    find: 'if ((had & marks.handedOver) !== 0 || !(isEarly || state === "sending")) return false',
    replace: 'if (state === "none") return false',
    sentence: "a mailer that reports twice leads a domain into a higher tier",
    finders: [sending, admitting]
  },
  {
    name: "sending: each bounce of an email counts",
    file: src("reporting"),
    find: "(had & marks[what]) === 0",
    replace: "had >= 0",
    sentence: "an email with three recipients that bounce pauses an account, or prolongs its probation",
    finders: [sending, admitting]
  },
  {
    name: "sending: held mail is handed over",
    file: src("reporting"),
    find: "if (isPaused || isHeld(email,",
    replace: "if (isPaused && isHeld(email,",
    sentence: "a mailer that asks too early gets mail over the cap",
    finders: [sending, admitting]
  },
  {
    name: "sending: suppression is looked up as it was given",
    file: src("names"),
    find: ".trim().toLowerCase()",
    replace: ".trim()",
    sentence: "an address that is suppressed in lower case gets mail in capitals",
    finders: [admitting]
  },
  {
    name: "sending: a bounce does not suppress",
    file: src("reporting"),
    find: 'if (what !== "delivered") this.suppress(report, what)',
    replace: 'if (what === "complained") this.suppress(report, what)',
    sentence: "mail goes again to addresses that bounced for good",
    finders: [admitting, layers]
  },
  {
    name: "sending: a refusal for reputation suppresses",
    file: src("reporting"),
    find: "recipient === undefined || !suppresses ||",
    replace: "recipient === undefined ||",
    sentence: "an address gets no mail any more because a server did not like the sender",
    finders: [admitting]
  },
  {
    name: "sending: what is told again is an event again",
    file: src("SendEmail"),
    find: "if (heard.startsWith(entry, at)) return true",
    replace: "if (heard.startsWith(entry, at)) break",
    sentence: "each repeat of a report calls an organization's webhooks again",
    finders: [sending, events]
  },
  {
    name: "sending: a delay is an event each time",
    file: src("reporting"),
    find: "isSending && (email.marks & marks.delayed) === 0",
    replace: "isSending && (email.marks & marks.bounced) === 0",
    sentence: "each failed try of an email has an event of its own",
    finders: [sending, events]
  },
  {
    name: "sending: a pause by reports has no event",
    file: src("reporting"),
    find: "this.events.push(...accountEvents(this.mode, facts))",
    replace: "",
    sentence: "an organization is not told that a complaint has paused its account",
    finders: [sending, events]
  },
  {
    name: "sending: a promotion by time has no event",
    file: src("SendAccount"),
    find: "if (!hasPastPause(state)) return Actor.decided({ facts, events,",
    replace: "if (!hasPastPause(state)) return Actor.decided({ facts, events: [],",
    sentence: "an organization is not told that its account was promoted",
    finders: [sending, events]
  },
  {
    name: "sending: a sender's promotion by time has no event",
    file: src("SendSender"),
    find: "others, events: draft.events,",
    replace: "others, events: [],",
    sentence: "an organization is not told that its domain may send more",
    finders: [events]
  },
  {
    name: "sending: a report that overtakes the hand-over is lost",
    file: src("reporting"),
    find: 'if (!hasGone && state !== "sending") return false',
    replace: "if (!hasGone) return false",
    sentence: "a bounce that comes before the mailer has said that it handed over counts nowhere",
    finders: [sending, events]
  },
  {
    name: "sending: events of the test account are live",
    file: src("events"),
    find: 'mode === "live"',
    replace: "mode.length > 0",
    sentence: "live endpoints get the events of tests",
    finders: [events]
  },
  {
    name: "sending: limits are those of one account",
    file: src("SendAccount"),
    find: "return Actor.decided({ facts, events, others, reply })",
    replace: "return Actor.decided({ facts, events, reply })",
    sentence: "an operator's limits hold for live keys and not for test keys",
    finders: [admitting]
  },
  {
    name: "sending: a bucket loses an entry to its neighbour",
    file: src("Suppressions"),
    find: "state.entries.slice(0, at) + entry + state.entries.slice(at)",
    replace: "state.entries.slice(0, at) + entry + state.entries.slice(at + entryLength)",
    sentence: "a suppressed address gets mail once another one of its bucket is suppressed",
    finders: [admitting]
  },
  {
    name: "sending: a raised cap waits for midnight's steps",
    file: src("senderRules"),
    find: "capOf(after) > capOf(before) ? { ...after, holds: unspread(after.holds, at) } : after",
    replace: "capOf(after) < 0 ? { ...after, holds: unspread(before.holds, at) } : after",
    sentence: "a cap that is raised in the ten minutes after midnight lets nothing go at once",
    finders: [admitting]
  },
  {
    name: "sending: a removed sender begins anew at once",
    file: src("senderRules"),
    find: "now < state.removedAt + removedSenderMillis",
    replace: "now < state.removedAt",
    sentence: "an organization resets the day's count by removing and verifying its domain",
    finders: [admitting]
  },
  {
    name: "sending: a closed account accepts mail",
    file: src("SendAccount"),
    find: 'if (state.closedAt !== undefined && command._tag !== "Look")',
    replace: 'if (state.closedAt !== undefined && command._tag === "Begin")',
    sentence: "requests that were under way when an organization was deleted are accepted",
    finders: [closing]
  },
  {
    name: "sending: a closed account suppresses what bounces late",
    file: src("closing"),
    find: "decision.others.filter(({ actor }) => actor !== SendSuppressions)",
    replace: "decision.others",
    sentence: "the address of a recipient is written down for an organization that was deleted",
    finders: [closing]
  },
  {
    name: "sending: a sender with scheduled mail is removed",
    file: src("SendSender"),
    find: "!force && held + state.scheduled > 0",
    replace: "!force && held > 0",
    sentence: "scheduled mail of a removed domain comes due without a sender",
    finders: [sending, admitting]
  },
  {
    name: "sending: the plan of the organization is not read",
    file: src("admitting"),
    find: "const plan = read(OrganizationActor).sendPlan ?? state.plan",
    replace: "const plan = state.plan",
    sentence: "an upgrade does not raise the monthly limit",
    finders: [admitting]
  },
  {
    name: "sending: an established account is trusted by its last checks alone",
    file: "src/send/trustRules.ts",
    find: "if (at !== undefined && at < unclean) return at",
    replace: "if (at === undefined) return at",
    sentence:
      "an account that was clean for its 14 days is not trusted, because good mail leaves the 24 hours afterwards",
    finders: [unit("tables")]
  }
]
