/** Variants of the hand-off of accepted mail. */
import type { Variant } from "./runner/variant.ts"

export const handoff: ReadonlyArray<Variant> = [
  {
    name: "hand-off: what could not be recorded is handed over again",
    find: "if (before !== undefined) return Effect.succeed(before) return transport.deliver",
    replace: "return transport.deliver",
    sentence: "while the engine is away the same email goes out every few seconds",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: suppressed recipients are in the envelope",
    find: "(recipient) => !out.has(recipient)",
    replace: "() => true",
    sentence: "mail goes to an address that was suppressed after the email was accepted",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: released mail gets no job",
    find: 'if (fact._tag !== "Released") return',
    replace: 'if (fact._tag !== "Released" || fact.at > 0) return',
    sentence: "held mail that its sender's queue has let go is never handed over",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: the lift of a pause lets no mail go",
    find: 'if (fact._tag === "Lifted") batch.lifted.push',
    replace: "if (fact.at < 0) batch.lifted.push",
    sentence: "mail that a pause has kept waits up to an hour after the lift",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: a refusal of the account is an attempt",
    find: 'if (answers.some(({ _tag }) => _tag === "Account"))',
    replace: "if (answers.length < 0)",
    sentence: "mail that a relay refuses for its account's sake is forgotten",
    finders: ["handoff.it"]
  },
  {
    name: "turns: who has most connections gets the next one",
    find: "if (count >= least) continue",
    replace: "if (found !== undefined && count >= least) continue; if (found !== undefined) continue",
    sentence: "an account with slow mails keeps every connection to itself",
    finders: ["turns.unit"]
  },
  {
    name: "turns: a work that was interrupted keeps its connection",
    find: "if (!turns.withdraw(wish)) turns.ended(wish)",
    replace: "turns.withdraw(wish)",
    sentence: "after some mails nobody gets a connection any more",
    finders: ["inTurn.unit"]
  },
  {
    name: "hand-off: it goes on after 72 hours",
    find: "tried.length > 0 && isLast(attempt)",
    replace: "tried.length > 0 && attempt < 0",
    sentence: "an email that nobody takes stays sending for ever",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: the waits are shifted by one",
    find: "const delay = handoffDelaysMillis[attempt - 1]",
    replace: "const delay = handoffDelaysMillis[attempt]",
    sentence: "mail that a relay puts off for a minute comes five minutes later",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: a wait is of any length",
    find: "const part = 1 - handoffJitter * (yield* Random.next)",
    replace: "const part = yield* Random.next",
    sentence: "a relay that puts mail off gets it again within seconds, and 72 hours are over early",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: the last attempt is left out",
    find: "attempt > handoffDelaysMillis.length",
    replace: "attempt >= handoffDelaysMillis.length",
    sentence: "mail fails eight hours before its 72 hours are over",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: who has the mail gets it again where the others' part could not be recorded",
    find: 'if (answer._tag === "Accepted" || answer._tag === "Parted") unrecorded.set',
    replace: 'if (answer._tag === "Accepted") unrecorded.set',
    sentence: "while the engine is away the same email goes out to some of its recipients every few seconds",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: who has the mail is noted with the record alone",
    find: "yield* parts.note(ended.flatMap(({ note }) => note ?? []))",
    replace: "",
    sentence: "a crash behind the account's answer loses the mail to recipients who were put off",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: who was never attempted is forgotten at the end",
    find: 'of("Temporary", "Unknown", "Account", "Waits")',
    replace: 'of("Temporary", "Unknown", "Account")',
    sentence: "a recipient of an email that others have never gets it, and nobody hears of it",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: an attempt outlasts its lease",
    find: "const left = job.leasedUntil - leaseMillis + attemptMillis - now",
    replace: "const left = now > 0 ? attemptMillis + leaseMillis : job.leasedUntil",
    sentence: "an email is handed over twice at the same time",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: test mail goes to the relay",
    find: "const transport = parts.transport[state.mode]",
    replace: "const transport = parts.transport.live",
    sentence: "real people get the mail of a test key",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: what was cancelled or is held goes",
    find: '(answer.state === "sending" || goesOn)',
    replace: '(answer.state !== "suppressed" || goesOn)',
    sentence: "mail that was taken back, or that a pause holds, is handed over",
    finders: ["handoff.it"]
  },
  {
    name: "hand-off: an address that is named twice gets two",
    find: "...new Map(recipients.map((one) => [bareAddress(one), plainAddress(one)])).values()",
    replace: "...recipients.map(plainAddress)",
    sentence: "who is in to and cc gets the email twice",
    finders: ["attempts.e2e"]
  },
  {
    name: "hand-off: scheduled mail goes at once",
    find: 'fact._tag !== "Accepted" || fact.state !== "queued"',
    replace: 'fact._tag !== "Accepted" || fact.state === "held" || fact.state === "suppressed"',
    sentence: "mail for tomorrow asks the account all day",
    finders: ["handoff/MailTasks.unit"]
  },
  {
    name: "hand-off: a mail that gets no answer counts as handed over",
    find: '_tag: "Unknown", reason: `No answer within ${settings.deliverTimeoutMillis} ms`',
    replace: '_tag: "Accepted"',
    sentence: "an email that the relay never took is told as sent",
    finders: ["handoff.it", "attempts.e2e"]
  },
  {
    name: "hand-off: a node gives its partitions away while mail is under way",
    find: "yield* beforeLeave(mail.drain)",
    replace: "",
    sentence: "each rolling upgrade of a cluster sends mails twice",
    finders: ["leaving.e2e"]
  }
]
