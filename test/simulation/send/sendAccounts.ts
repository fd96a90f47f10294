/**
 * The workload with which sending is simulated: one account with two senders, caps so small that every request is near one, queues, cancels, schedules,
 * reports and pauses, and hours and days that go by.
 */
import { Arbitrary, Schema } from "effect"
import {
  Admission,
  modes,
  SendAccount,
  SendEmail,
  SendSender,
  SendSuppressions,
  suppressionPlace
} from "../../../src/send/index.ts"
import type { CommandSource, Workload } from "../../../src/simulation/engine/Workload.ts"
import { epochMillis } from "../../../src/simulation/kernel/World.ts"
import { mode, organization, sendKept } from "./sendCheckers.ts"

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const draw = <S extends Schema.Constraint>(schema: S) => Arbitrary.schema(schema) as Arbitrary.Arbitrary<unknown>

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

const domains = ["a.test", "b.test", "c.test", "d.test"]
/** The first is one that is often suppressed. */
const recipients = ["no@a.test", ...domains.map((domain) => `yes@${domain}`)]
const froms = ["ann@one.test", "ann@one.test", "eve@two.test"]
const senders = ["one.test", "eve@two.test"]
/** Commands to look back at, for ids of emails that may have been accepted, and emails of each. */
const lookedBack = 16
const maximumBatch = 3

const idOf = (number: number, index: number): string => `m${number}/${index}`

const AdmitDraw = Schema.Struct({
  emails: Schema.Array(
    Schema.Struct({
      from: Schema.Literals(froms),
      to: Schema.Array(int(0, recipients.length - 1)).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
      /** Hours from the simulation's beginning. */
      scheduled: Schema.NullOr(int(0, 30 * 24)),
      isScheduled: Schema.Literals([false, false, false, false, true]),
      signals: int(0, 9)
    })
  ).check(Schema.isMinLength(1), Schema.isMaxLength(maximumBatch))
})

const admit = (drawn: typeof AdmitDraw.Type, number: number) => ({
  _tag: "Admit" as const,
  upgradeUrl: "https://up.test",
  goes: number % 2 === 1,
  emails: drawn.emails.map(({ from, isScheduled, scheduled, signals, to }, index) => ({
    id: idOf(number, index),
    from,
    recipients: to.map((at) => recipients[at]!),
    ...(isScheduled && scheduled !== null ? { scheduledAt: epochMillis + scheduled * hourMillis } : {}),
    ...(signals > 5 ? { signals: ["foreign_link" as const] } : {})
  }))
})

/** The ids of the last commands, each with every sender it may be of. */
const recent = (number: number): ReadonlyArray<{ readonly id: string; readonly sender: string }> =>
  Array.from({ length: lookedBack * maximumBatch }, (_, at) =>
    idOf(Math.max(0, number - 1 - Math.floor(at / maximumBatch)), at % maximumBatch)
  ).flatMap((id) => senders.map((sender) => ({ id, sender })))

const ReportDraw = Schema.Struct({
  what: Schema.Literals([
    "handedOver",
    "handedOver",
    "handedOver",
    "delayed",
    "delivered",
    "bounced",
    "complained",
    "failed"
  ]),
  from: int(0, lookedBack * maximumBatch - 1),
  count: int(1, 6),
  /** Whom it is about, and whether the reporter has the email's content at hand. */
  recipient: int(0, recipients.length - 1),
  isBare: Schema.Literals([false, false, false, true])
})

const content = { from: "ann@one.test", to: ["yes@a.test"], subject: "Hello", code: "5.1.1", kind: "expired" }

const report = ({ count, from, isBare, recipient, what }: typeof ReportDraw.Type, number: number) => ({
  _tag: "Report" as const,
  reports: recent(number)
    .slice(2 * from, 2 * (from + (what === "handedOver" || what === "delayed" ? lookedBack * maximumBatch : count)))
    .map((one) => ({ ...one, what, recipient: recipients[recipient]!, ...(isBare ? {} : content) }))
})

const CapsDraw = Schema.Struct({
  emailsPerMonth: /** 0 for the plan's own. */ Schema.Literals([0, 0, 0, 12]),
  emailsPerHour: int(2, 6),
  emailsPerDay: int(4, 14),
  domainsPerHour: int(1, 4),
  isOwn: Schema.Literals([true, true, true, false])
})

const setLimits = ({ emailsPerMonth, isOwn, ...probation }: typeof CapsDraw.Type) => ({
  _tag: "SetLimits" as const,
  custom: { emailsPerMonth: emailsPerMonth === 0 ? null : emailsPerMonth, probation: isOwn ? probation : null }
})

/** A source whose commands are made of what is drawn and of their number. */
const made = <S extends Schema.Constraint>(
  actor: CommandSource["actor"],
  weight: number,
  schema: S,
  finish: (drawn: S["Type"], number: number) => unknown,
  where: Pick<CommandSource, "keys" | "keyOf"> = {}
): CommandSource => ({
  actor,
  weight,
  arbitrary: draw(schema),
  // What is drawn is of the schema.
  finish: (drawn, number) => finish(drawn as S["Type"], number),
  ...where
})

const senderKeys = { keys: senders.map((sender) => `${mode}/${sender}`) }
const Suppressed = Schema.Literals(["Suppress", "Suppress", "Unsuppress"])

/**
 * The workload that the rules of sending are proved with.
 *
 * @example
 * ```ts
 * import { campaign, sendAccounts } from "sluice/simulation"
 *
 * console.log(campaign(sendAccounts, { seed: 1, seeds: 1, steps: 20 }).failure) // undefined
 * ```
 */
export const sendAccounts: Workload = {
  name: "send",
  actors: Admission.actors,
  lanes: [],
  signals: {},
  organizations: [organization],
  keys: [modes[0]],
  commands: [
    made(SendAccount, 22, AdmitDraw, admit),
    made(SendAccount, 11, Schema.Null, (_, number) => ({
      _tag: "Dispatch",
      emails: recent(number).map((one) => ({ ...one, recipients: ["yes@a.test"] }))
    })),
    made(SendAccount, 12, ReportDraw, report),
    made(SendAccount, 4, CapsDraw, setLimits),
    made(SendAccount, 3, Schema.Literals(["Lift", "Check"]), (_tag) => ({ _tag })),
    made(SendAccount, 1, Schema.Literals(["standard", "higher"]), (risk) => ({ _tag: "SetRisk", risk })),
    made(SendSender, 8, Schema.Null, () => ({ _tag: "Verify" }), senderKeys),
    made(SendSender, 6, Schema.NullOr(int(1, 5)), (cap) => ({ _tag: "SetDailyCap", cap }), senderKeys),
    made(SendSender, 1, Schema.Null, () => ({ _tag: "Remove" }), senderKeys),
    made(
      SendEmail,
      6,
      Schema.Struct({ sender: Schema.Literals(senders), place: Schema.NullOr(int(0, 8)) }),
      ({ place, sender }) => ({ _tag: "Cancel", mode, sender, place }),
      { keyOf: (number) => idOf(Math.max(0, number - 1 - (number % 4)), 0) }
    ),
    made(SendEmail, 1, int(0, 20), (days) => ({ _tag: "Reschedule", scheduledAt: epochMillis + days * dayMillis }), {
      keyOf: (number) => idOf(Math.max(0, number - 1 - (number % 3)), 0)
    }),
    made(
      SendSuppressions,
      2,
      Suppressed,
      (_tag) =>
        _tag === "Suppress" ? { _tag, address: "no@a.test", reason: "manual" } : { _tag, address: "no@a.test" },
      { keys: [suppressionPlace(organization, mode, "no@a.test").key] }
    )
  ],
  leaps: [20 * 60_000, hourMillis - 62_000, hourMillis, 5 * hourMillis, 12 * hourMillis, dayMillis, 3 * dayMillis],
  least: { maximumActors: 150, logBytes: 100_000 },
  isWithoutRepeats: true,
  isRepeatable: false,
  oracles: {},
  invariants: {},
  checkers: [sendKept]
}

/** What a campaign over this workload must have reached. See {@link sendAccounts}. */
export const requiredSendMarks: ReadonlyArray<string> = [
  "send, sender_not_verified",
  "send, sending_paused",
  "send, monthly_limit_reached",
  "send, probation_limit_reached",
  "send, mail waited for the days after",
  "send, a pause was lifted at the end",
  "send, told send.email.sent",
  "send, told send.email.delayed",
  "send, told send.email.failed",
  "send, told send.email.delivered",
  "send, told send.email.bounced",
  "send, told send.email.complained",
  "send, told send.account.paused",
  "send, told send.account.promoted"
]
