/** Variants of the actors of sending, which only decisions on an engine or in its memory show: what a request touches, wakes, pauses, reports. */
import type { Finder, Variant } from "./runner/variant.ts"

const sending: Finder = { kind: "sending" }

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/send/${name}.unit.ts`)
})

const admitting = unit("actors/admitting", "actors/lives")
const layers = unit("layers")

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
    find: 'if (isHandedOver || state !== "sending") return undefined',
    replace: 'if (state === "none") return undefined',
    sentence: "a mailer that reports twice leads a domain into a higher tier",
    finders: [sending, admitting]
  },
  {
    name: "sending: each bounce of an email counts",
    file: src("reporting"),
    find: "if ((had & marks.bounced) !== 0) return undefined",
    replace: "",
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
    find: 'this.suppress(report, "bounced")',
    replace: "",
    sentence: "mail goes again to addresses that bounced for good",
    finders: [admitting, layers]
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
    name: "sending: a sender with scheduled mail is removed",
    file: src("SendSender"),
    find: "if (held + state.scheduled > 0) return",
    replace: "if (held > 0) return",
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
