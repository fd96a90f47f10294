/**
 * Lists the figures of email sending (docs/platform.md, 9). Rates are in basis points, hundredths of a percent, so that
 * rules compare integers.
 */
import { type Risk, risks, type SendPlan, sendPlans } from "../platform/model.ts"

export { type Risk, risks, type SendPlan, sendPlans }

/** An hour in milliseconds. See {@link SendLimits.ceilHour}. */
export const hourMillis = 3_600_000
/** A day in milliseconds. See {@link Admission}. */
export const dayMillis = 86_400_000

/** Emails per UTC month (docs/platform.md, 9.1). See {@link Admission}. */
export const emailsPerMonthByPlan = { hobby: 3_000, pro: 50_000, enterprise: "unlimited" } as const satisfies Record<
  SendPlan,
  number | "unlimited"
>

/** Send requests per minute of each key (docs/platform.md, 9.10). See {@link Admission}. */
export const requestsPerMinuteByPlan = { hobby: 10, pro: 60, enterprise: 600 } as const satisfies Record<
  SendPlan,
  number
>

/** The caps of an account on probation (docs/platform.md, 9.2). See {@link probationWindow}. */
export interface ProbationCaps {
  /** Emails in any hour. */
  readonly emailsPerHour: number
  /** Emails in any 24 hours. */
  readonly emailsPerDay: number
  /** Different recipient domains in any hour. */
  readonly domainsPerHour: number
}

/** Caps by risk (docs/platform.md, 9.2). See {@link probationWindow}. */
export const probationCaps: Readonly<Record<Risk, ProbationCaps>> = {
  standard: { emailsPerHour: 50, emailsPerDay: 200, domainsPerHour: 25 },
  higher: { emailsPerHour: 20, emailsPerDay: 100, domainsPerHour: 10 }
}

/**
 * Highest custom caps (docs/platform.md, 9.2): a window keeps each entry, and an account's state must stay within 64
 * KiB. See {@link probationWindow}.
 */
export const maximumProbationCaps: ProbationCaps = { emailsPerHour: 5_000, emailsPerDay: 5_000, domainsPerHour: 500 }

/** Length of a probation window (docs/platform.md, 9.3). See {@link trustStage}. */
export const probationMillis: Readonly<Record<Risk, number>> = { standard: 72 * hourMillis, higher: 7 * dayMillis }

/** Clean sending from established to trusted (docs/platform.md, 9.3). See {@link trustStage}. */
export const establishedMillis = 14 * dayMillis

/** The share of permanent bounces below which 24 hours are clean (docs/platform.md, 9.3). See {@link trustStage}. */
export const cleanBounceBasisPoints = 200

/** Whole hours before a check that it looks at (docs/platform.md, 9.3). See {@link trustStage}. */
export const checkedHours = 24

/**
 * The number of bounced emails among the first ones that pauses an account (docs/platform.md, 9.4). See
 * {@link pauseTriggers}.
 */
export const pausingBounces = 3
/** The number of first emails among which `pausingBounces` counts. See {@link pauseTriggers}. */
export const firstEmailsForBounces = 25

/**
 * The number of first emails of which one complaint pauses an account (docs/platform.md, 9.4). See
 * {@link pauseTriggers}.
 */
export const firstEmailsForComplaints = 100

/**
 * A spike: this many emails in an hour, and more than a multiple of the mean of the hours before (docs/platform.md,
 * 9.4). See {@link pauseTriggers}.
 */
export const spikeEmails = 100
/** The multiple of the hourly average of `spikeHours` above which an hour is a spike. See {@link pauseTriggers}. */
export const spikeFactor = 5
/** From this part of a spike on an account is warned (docs/platform.md, 9.4). See {@link pauseTriggers}. */
export const spikeWarning = 0.8
/** Hours over which the average is taken that a spike is compared with. See {@link pauseTriggers}. */
export const spikeHours = 24

/** Risky signals in 24 hours that pause an account (docs/platform.md, 9.4). See {@link pauseTriggers}. */
export const pausingSignals = 5
/** Within which time `pausingSignals` are counted. See {@link pauseTriggers}. */
export const signalsMillis = dayMillis

/** Tiers of a sender, lowest first (docs/platform.md, 9.5). See {@link domainTier}. */
export const tiers = ["new", "warming", "trusted"] as const
/** A tier of a sender. See {@link domainTier}. */
export type Tier = (typeof tiers)[number]

/** Emails a sender may hand over per UTC day (docs/platform.md, 9.5). See {@link domainTier}. */
export const emailsPerDayByTier: Readonly<Record<Tier, number>> = { new: 200, warming: 2_000, trusted: 50_000 }

/**
 * The totals since verification that lead from a tier to the next one (docs/platform.md, 9.5). See {@link domainTier}.
 */
export interface Promotion {
  readonly to: Tier
  readonly emails: number
  readonly millis: number
  /** The bounce and complaint rates must be below these. */
  readonly bounceBasisPoints: number
  readonly complaintBasisPoints: number
}

/** The totals that a sender needs to leave its tier; undefined for the last one. See {@link domainTier}. */
export const promotions: Readonly<Record<Tier, Promotion | undefined>> = {
  new: { to: "warming", emails: 100, millis: 3 * dayMillis, bounceBasisPoints: 100, complaintBasisPoints: 5 },
  warming: { to: "trusted", emails: 5_000, millis: 14 * dayMillis, bounceBasisPoints: 50, complaintBasisPoints: 3 },
  trusted: undefined
}

/**
 * The time from 00:00 UTC over which held mail is released, and the number of steps (docs/platform.md, 9.6). See
 * {@link holds}.
 */
export const releaseMillis = 10 * 60_000
/** Steps in which held mail is released. See {@link holds}. */
export const releaseSteps = 60

/** Places of a sender's queue whose cancellations one page holds (docs/platform.md, 9.6). See {@link pageOf}. */
export const placesPerPage = 4_096

/**
 * Pages that one step of a release looks at: the rest of a queue that has more cancelled places waits for the next
 * step. See {@link Holds}.
 */
export const maximumPagesPerStep = 64

/**
 * Senders of an account: an account that is paused keeps a list of those that wait for the end of the pause. See
 * {@link Admission}.
 */
export const maximumSenders = 1_000

/** The time for which tier and counts of a removed sender are kept (docs/platform.md, 9.5). See {@link Admission}. */
export const removedSenderMillis = 30 * dayMillis

/** The longest time ahead for which mail may be scheduled (docs/platform.md, 9.1). See {@link Admission}. */
export const maximumScheduleMillis = 30 * dayMillis

/**
 * The time by which the clock of the node that decides may be behind that of the node that read a schedule such as
 * `in 30 days`. See {@link Admission}.
 */
export const scheduleSkewMillis = 60_000

/** The time for which an email is kept after its last change, once it is in a final state. See {@link Admission}. */
export const keptEmailMillis = 30 * dayMillis

/** Longest words of the remote side that an event of an email has, in UTF-16 code units. See {@link Admission}. */
export const maximumReasonLength = 1_000

/** Recipients that an email remembers to have heard of; beyond them a report makes no event. See {@link Admission}. */
export const maximumHeard = 3 * 50

/**
 * Buckets of an account's suppressed addresses: a million addresses are some 45 kB each, within an actor's bound. See
 * {@link Admission}.
 */
export const suppressionBuckets = 256

/** Emails of a request, recipients of an email (docs/platform.md, 9.7). See {@link Admission}. */
export const maximumEmails = 100
/** Recipients of one email. See {@link Admission}. */
export const maximumRecipients = 50

/** Bytes of a request to send, base64 included (docs/platform.md, 9.10). See {@link Admission}. */
export const maximumSendBodyBytes = 241_664

/**
 * The bounds of an email (docs/platform.md, 9.10). Lengths are in code points for the subject, else in UTF-16 units.
 * See {@link Admission}.
 */
export const maximumSubjectLength = 500
/** Attachments of one email. See {@link Admission}. */
export const maximumAttachments = 10
/** Tags of one email. See {@link Admission}. */
export const maximumTags = 50
/** Characters of a tag's name or value. See {@link Admission}. */
export const maximumTagLength = 256
/** Headers of its own that one email may have. See {@link Admission}. */
export const maximumHeaders = 50
/** Characters of a header's name. See {@link Admission}. */
export const maximumHeaderNameLength = 76
/** Characters of a header's value. See {@link Admission}. */
export const maximumHeaderValueLength = 2_000
/** Characters of an attachment's file name. See {@link Admission}. */
export const maximumFilenameLength = 255
/** Characters of an attachment's content id. See {@link Admission}. */
export const maximumContentIdLength = 128

/**
 * Whether `count` of `total` is below the rate; nothing at all is.
 *
 * @example
 * ```ts
 * import { SendLimits } from "sluice/send"
 *
 * // fewer than 2 % of 100
 * console.log(SendLimits.isBelow(1, 100, 200), SendLimits.isBelow(2, 100, 200)) // true false
 * ```
 */
export const isBelow = (count: number, total: number, basisPoints: number): boolean =>
  total === 0 || count * 10_000 < basisPoints * total

/**
 * The whole UTC hour at or after an instant.
 *
 * @example
 * ```ts
 * import { SendLimits } from "sluice/send"
 *
 * console.log(SendLimits.ceilHour(3_600_000), SendLimits.ceilHour(3_600_001)) // 3600000 7200000
 * ```
 */
export const ceilHour = (at: number): number => Math.ceil(at / hourMillis) * hourMillis

/**
 * The whole UTC hour after an instant: the first check that sees what happened then.
 *
 * @example
 * ```ts
 * import { SendLimits } from "sluice/send"
 *
 * console.log(SendLimits.nextHour(3_600_000)) // 7200000
 * ```
 */
export const nextHour = (at: number): number => Math.floor(at / hourMillis) * hourMillis + hourMillis
