/**
 * The audit of a kill run: what was answered, what the API lists, the events and what the relay took must agree. Nothing that was answered is lost, nothing is accepted twice
 * under one key or beyond a cap, no email ends in two ways, and where a mail was handed over twice something was killed right after the first time.
 */
import type { Victim } from "../support/killed.ts"
import type { AccountPlan } from "./accounts.ts"

/** An email as the API lists it. */
export interface ListedEmail {
  readonly id: string
  readonly state: string
  readonly subject: string | null
  readonly created_at: string
}

/** Something that the relay took. */
export interface Taken {
  readonly id: string
  /** In Unix milliseconds. */
  readonly at: number
}

/** What was killed, and when. */
export interface Killed {
  readonly at: number
  readonly victim: Victim | "relay"
}

/** An event of an email's way that is final for its recipient. */
export interface EndEvent {
  readonly type: string
  readonly messageId: string
}

/** A mail that was handed over again, and the kill that explains it. */
export interface Repeat {
  readonly id: string
  readonly victim: Killed["victim"]
  /** How long before the kill the mail was handed over: the window in which a crash repeats it. */
  readonly windowMillis: number
}

/** How long before a kill a mail may have been handed over that goes again for it: the lease, in which what it has come to could not be recorded. */
export const explainedMillis = 14_000

export interface AccountFacts extends AccountPlan {
  /** The ids of answers, by the subject of the email, which no other has. */
  readonly answered: ReadonlyMap<string, string>
  /** Subjects that were asked for with a key, again and again until there was an answer. */
  readonly keyed: ReadonlySet<string>
  readonly listed: ReadonlyArray<ListedEmail>
  readonly events: ReadonlyArray<EndEvent>
}

export interface Audit {
  /** What must never happen and did. */
  readonly violations: ReadonlyArray<string>
  readonly answered: number
  /** Accepted, although the caller was not told so. */
  readonly unanswered: number
  readonly sent: number
  /** Refused by the relay. */
  readonly bounced: number
  readonly held: number
  /** Mails that were handed over more than once, each time that they were. */
  readonly repeats: ReadonlyArray<Repeat>
}

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

/** The most of these times in any stretch of that length, which begins with one of them. */
export const mostWithin = (times: ReadonlyArray<number>, millis: number): number => {
  const sorted = times.toSorted((a, b) => a - b)
  let most = 0
  let first = 0
  for (const [index, time] of sorted.entries()) {
    while (time - sorted[first]! >= millis) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

const auditAccount = (
  account: AccountFacts,
  taken: ReadonlyMap<string, ReadonlyArray<Taken>>,
  violation: (text: string) => void
): Omit<Audit, "violations" | "repeats"> => {
  const { answered, dailyCap, emailsPerHour, events, keyed, listed, name } = account
  const wrong = (text: string) => violation(`${name}: ${text}`)
  const bySubject = Map.groupBy(listed, ({ subject }) => subject ?? "")
  for (const [subject, emails] of bySubject) {
    if (emails.length > 1) wrong(`${subject} was accepted ${emails.length} times`)
    if (!answered.has(subject) && keyed.has(subject)) wrong(`${subject} has a key, was accepted, and never answered`)
  }
  for (const [subject, id] of answered) {
    const [email] = bySubject.get(subject) ?? []
    if (email === undefined) wrong(`${subject} was answered with ${id}, which is not there`)
    else if (email.id !== id) wrong(`${subject} was answered with ${id}, and is ${email.id}`)
  }
  const ends = Map.groupBy(events, ({ messageId }) => messageId)
  for (const { id, state } of listed) {
    const times = taken.get(id)?.length ?? 0
    const isRight = state === "sent" ? times > 0 : (state === "held" || state === "bounced") && times === 0
    if (!isRight) wrong(`${id} is ${state}, and was handed over ${times} times`)
    const told = (ends.get(id) ?? []).map(({ type }) => type)
    const expected = state === "held" ? [] : [`send.email.${state}`]
    if (told.join() !== expected.join()) wrong(`${id} is ${state}, and its events are ${told.join(", ") || "none"}`)
  }
  const times = listed.map(({ created_at }) => Date.parse(created_at))
  const within = mostWithin(times, hourMillis)
  if (within > emailsPerHour) wrong(`${within} emails were accepted in an hour, and the cap is ${emailsPerHour}`)
  const letGo = listed.flatMap(({ id }) => taken.get(id)?.[0]?.at ?? [])
  const days = new Set(letGo.map((at) => Math.floor(at / dayMillis))).size
  // What is let go before midnight may be handed over behind it.
  if (letGo.length > days * dailyCap)
    wrong(`${letGo.length} emails were let go on ${days} days, and the daily cap is ${dailyCap}`)
  return {
    answered: answered.size,
    unanswered: listed.filter(({ subject }) => !answered.has(subject ?? "")).length,
    sent: listed.filter(({ state }) => state === "sent").length,
    bounced: listed.filter(({ state }) => state === "bounced").length,
    held: listed.filter(({ state }) => state === "held").length
  }
}

/** The kill right after a hand-over, if there was one before the mail came again. */
const explanationOf = (kills: ReadonlyArray<Killed>, before: Taken, again: Taken): Omit<Repeat, "id"> | undefined => {
  // A relay's clock and the run's are the same; what is written at the kill may be stamped a moment later.
  const slackMillis = 50
  const kill = kills.find(({ at }) => at >= before.at - slackMillis && at <= again.at)
  if (kill === undefined || kill.at - before.at > explainedMillis) return undefined
  return { victim: kill.victim, windowMillis: Math.max(0, kill.at - before.at) }
}

export const audit = (
  accounts: ReadonlyArray<AccountFacts>,
  relay: ReadonlyArray<Taken>,
  kills: ReadonlyArray<Killed>
): Audit => {
  const violations: Array<string> = []
  const violation = (text: string) => void violations.push(text)
  const taken = Map.groupBy(relay, ({ id }) => id)
  const known = new Set(accounts.flatMap(({ listed }) => listed.map(({ id }) => id)))
  const repeats: Array<Repeat> = []
  for (const [id, times] of taken) {
    if (!known.has(id)) violation(`${id} was handed over, and nobody sent it`)
    for (const [index, again] of times.slice(1).entries()) {
      const explanation = explanationOf(kills, times[index]!, again)
      if (explanation === undefined) violation(`${id} was handed over twice, and nothing was killed in between`)
      else repeats.push({ id, ...explanation })
    }
  }
  const parts = accounts.map((account) => auditAccount(account, taken, violation))
  const sum = (field: keyof (typeof parts)[number]) => parts.reduce((total, part) => total + part[field], 0)
  return {
    violations,
    answered: sum("answered"),
    unanswered: sum("unanswered"),
    sent: sum("sent"),
    bounced: sum("bounced"),
    held: sum("held"),
    repeats
  }
}
