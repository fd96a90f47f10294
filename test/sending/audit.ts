/**
 * The audit of a kill run: what was answered, what the API lists and what the mailbox took must agree. Nothing that was answered is lost, nothing is accepted twice under one
 * key or beyond a cap, and a mail that was handed over twice was so by two lives of the platform.
 */
import type { AccountPlan } from "./accounts.ts"

/** An email as the API lists it. */
export interface ListedEmail {
  readonly id: string
  readonly state: string
  readonly subject: string | null
  readonly created_at: string
}

/** Something that the mailbox took. */
export interface Taken {
  readonly id: string
  /** In Unix milliseconds. */
  readonly at: number
  /** The process that took it. */
  readonly life: number
}

export interface AccountFacts extends AccountPlan {
  /** The ids of answers, by the subject of the email, which no other has. */
  readonly answered: ReadonlyMap<string, string>
  /** Subjects that were asked for with a key, again and again until there was an answer. */
  readonly keyed: ReadonlySet<string>
  readonly listed: ReadonlyArray<ListedEmail>
}

export interface Audit {
  /** What must never happen and did. */
  readonly violations: ReadonlyArray<string>
  readonly answered: number
  /** Accepted, although the caller was not told so. */
  readonly unanswered: number
  readonly sent: number
  readonly held: number
  /** Emails that were handed over more than once. */
  readonly duplicates: number
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
): Omit<Audit, "violations" | "duplicates"> => {
  const { answered, dailyCap, emailsPerHour, keyed, listed, name } = account
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
  for (const { id, state } of listed) {
    const times = taken.get(id)?.length ?? 0
    if (state === "sent" ? times === 0 : state !== "held")
      wrong(`${id} is ${state}, and was handed over ${times} times`)
    if (state === "held" && times > 0) wrong(`${id} is held, and was handed over`)
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
    held: listed.filter(({ state }) => state === "held").length
  }
}

export const audit = (accounts: ReadonlyArray<AccountFacts>, mailbox: ReadonlyArray<Taken>): Audit => {
  const violations: Array<string> = []
  const violation = (text: string) => void violations.push(text)
  const taken = Map.groupBy(mailbox, ({ id }) => id)
  const known = new Set(accounts.flatMap(({ listed }) => listed.map(({ id }) => id)))
  let duplicates = 0
  for (const [id, times] of taken) {
    if (!known.has(id)) violation(`${id} was handed over, and nobody sent it`)
    if (times.length === 1) continue
    duplicates++
    // A life hands a mail over once: what comes again was begun by one that was killed before it could say so.
    if (new Set(times.map(({ life }) => life)).size < times.length)
      violation(`${id} was handed over twice, and nothing was killed in between`)
  }
  const parts = accounts.map((account) => auditAccount(account, taken, violation))
  const sum = (field: keyof (typeof parts)[number]) => parts.reduce((total, part) => total + part[field], 0)
  return {
    violations,
    answered: sum("answered"),
    unanswered: sum("unanswered"),
    sent: sum("sent"),
    held: sum("held"),
    duplicates
  }
}
