/** Variants of the rules of sending and of the exact windows under them. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/${name}.unit.ts`)
})

const windows = unit("limits/windows")
const tables = unit("send/tables", "send/admissionTables")
const account = unit("send/accountProperties")
const sender = unit("send/senderProperties")
const sixtyDays = unit("send/sixtyDays")

export const send: ReadonlyArray<Variant> = [
  {
    name: "send: an entry counts a millisecond too long",
    file: "src/limits/rollingRules.ts",
    find: "if (at + windowMillis > time) sum +=",
    replace: "if (at + windowMillis >= time) sum +=",
    sentence: "a retry at the very instant that a refusal named is refused again",
    finders: [windows, tables]
  },
  {
    name: "send: a clock that is set back opens the window",
    file: "src/limits/rollingRules.ts",
    find: "Math.max(now, latest(state) ?? now)",
    replace: "now",
    sentence:
      "a request is told a reset that lies after the true one, and entries are stored out of order, when the clock is set back",
    finders: [windows]
  },
  {
    name: "send: a long history loses entries where its two lists are joined",
    file: "src/limits/rollingRules.ts",
    find: "...recent.entries.slice(1)",
    replace: "...recent.entries.slice(3)",
    sentence: "an account with many emails a day gets more than its cap",
    finders: [windows]
  },
  {
    name: "send: a domain dies with its first use",
    file: "src/limits/distinctRules.ts",
    find: "    if (!asked.has(value)) keep(value, uses[index] as number)\n  }\n  for (const value of asked) keep(value, time)",
    replace:
      "    keep(value, uses[index] as number)\n  }\n  for (const value of asked) if (!kept.includes(value)) keep(value, time)",
    sentence: "a domain that is used again and again leaves the window an hour after its first use",
    finders: [windows, account]
  },
  {
    name: "send: months have 31 days",
    file: "src/limits/monthlyRules.ts",
    find: "date.setUTCMonth(date.getUTCMonth() + 1, 1)",
    replace: "date.setTime(now + (32 - date.getUTCDate()) * 86_400_000)",
    sentence: "the quota of a short month is given back in the middle of the next one",
    finders: [windows]
  },
  {
    name: "send: the first crossed cap is told",
    file: "src/send/probationRules.ts",
    find: "cap.resetsAt > longest.resetsAt ? cap : longest",
    replace: "longest",
    sentence: "a request that crosses two caps is told to come again before the second one lets it pass",
    finders: [tables, account]
  },
  {
    name: "send: a late bounce of a first email is forgotten",
    file: "src/send/pauseRules.ts",
    find: "place === -1 || place >= firstEmailsForBounces ? 0",
    replace: "place === -1 || place >= firstEmailsForBounces || state.first.length > firstEmailsForBounces ? 0",
    sentence: "an account whose first emails bounce after it has sent more is not paused",
    finders: [tables, account]
  },
  {
    name: "send: an email bounces twice",
    file: "src/send/pauseRules.ts",
    find: "if (bit === 0 || (state.bounced & bit) !== 0) return",
    replace: "if (bit === 0) return",
    sentence: "a bounce that is told again makes another fact, and pauses an account that is paused by two",
    finders: [tables, account]
  },
  {
    name: "send: the running hour counts in the mean",
    file: "src/send/pauseRules.ts",
    find: "sumHours(state.accepted, 0, hour - hours, hour)",
    replace: "sumHours(state.accepted, 0, hour - hours, hour + 1)",
    sentence: "a spike raises the mean that it is compared with, and is not noticed",
    finders: [tables, account]
  },
  {
    name: "send: the hour of a check is part of what it sees",
    file: "src/send/trustRules.ts",
    find: "    sumHours(mail, bounced, hour - checkedHours, hour),",
    replace: "    sumHours(mail, bounced, hour - checkedHours + 1, hour),",
    sentence: "a bounce 24 hours before the end of probation is not seen",
    finders: [tables, account]
  },
  {
    name: "send: only bounces of now make a check unclean",
    file: "src/send/trustRules.ts",
    find: "uncleanAt: lastUnclean(state, hourOf(at)),",
    replace: "uncleanAt: state.uncleanAt,",
    sentence: "an established account is trusted although checks between its emails were not clean",
    finders: [account, sixtyDays]
  },
  {
    name: "send: a complaint of an earlier window prolongs probation",
    file: "src/send/trustRules.ts",
    find: "complainedAt !== null && complainedAt >= since",
    replace: "complainedAt !== null",
    sentence: "an account that somebody complained about once never leaves probation",
    finders: [account]
  },
  {
    name: "send: a lift leaves the caps as they were",
    file: "src/send/accountRules.ts",
    find: "        probation: probationWindow.initialState,\n        triggers",
    replace: "        triggers",
    sentence: "an account whose pause was lifted is refused for emails of before the pause",
    finders: [tables, account]
  },
  {
    name: "send: a rate that is met is under the limit",
    file: "src/send/limits.ts",
    find: "count * 10_000 < basisPoints * total",
    replace: "count * 10_000 <= basisPoints * total",
    sentence: "a domain with exactly 1 % of bounces is promoted",
    finders: [tables]
  },
  {
    name: "send: the month is asked after the caps",
    file: "src/send/admissionRules.ts",
    find: 'if (!month.allowed && month.limit !== "unlimited")',
    replace: 'if (!month.allowed && month.limit !== "unlimited" && state.trust.stage !== "probation")',
    sentence: "an account on probation sends more than its plan in a month",
    finders: [tables, account]
  },
  {
    name: "send: suppressed recipients count as domains",
    file: "src/send/admissionRules.ts",
    find: "going.flatMap(({ recipients }) => recipients.map(",
    replace: "going.flatMap(({ email }) => email.recipients.map(",
    sentence: "recipients that get nothing use up the cap of recipient domains",
    finders: [tables]
  },
  {
    name: "send: new mail overtakes held mail",
    file: "src/send/holdRules.ts",
    find: "const released = waiting(state) > 0 ? 0 : Math.min(",
    replace: "const released = Math.min(",
    sentence: "mail that comes while older mail is released goes before it",
    finders: [sender]
  },
  {
    name: "send: cancelled places use up the cap",
    file: "src/send/holdRules.ts",
    find: "  if (asked === undefined) return {",
    replace: "  if (asked === undefined || emails > 0) return {",
    sentence: "what was cancelled in the queue takes the room of mail that waits behind it",
    finders: [sender]
  },
  {
    name: "send: a release that comes late waits for the next day",
    file: "src/send/holdRules.ts",
    find: "Math.ceil(fits / (releaseSteps - step))",
    replace: "Math.ceil(fits / releaseSteps)",
    sentence: "held mail that fits the day stays held after the 10 minutes",
    finders: [sender, sixtyDays]
  }
]
