/** Variants of submission by SMTP, of the times that requests name in words, and of exported lists. */
import type { Variant } from "./runner/variant.ts"

export const submission: ReadonlyArray<Variant> = [
  {
    name: "submission: hidden recipients are shown",
    find: "if (copied.length > 0) return { to: copied, bcc: hidden }",
    replace: "if (copied.length > 0) return { to: [...copied, ...hidden] }",
    sentence: "those in Bcc are named to everybody where To has nobody",
    finders: ["mailForm.unit"]
  },
  {
    name: "submission: mail goes to whoever its headers name",
    find: "if (key === undefined || wanted === undefined) return []",
    replace: "if (key === undefined) return []",
    sentence: "a mail that a server has split goes to all of its recipients from each part",
    finders: ["mailForm.unit"]
  },
  {
    name: "submission: the parts of a split mail are repeats",
    find: "JSON.stringify([messageId, to])",
    replace: "JSON.stringify([messageId])",
    sentence: "only the recipients of the first part get the mail",
    finders: ["mailForm.unit", "submissionListener.it"]
  },
  {
    name: "submission: mail comes without a key",
    find: "if (connections.loginOf(session.id) === undefined)",
    replace: "if (connections.size < 0)",
    sentence: "a client that has not asked for TLS begins a mail without a login",
    finders: ["submissionListener.it"]
  },
  {
    name: "submission: keys are asked for before TLS",
    find: '...(session.secure || isPlainAllowed ? [] : ["AUTH"])',
    replace: '...(session.secure || !isPlainAllowed ? [] : ["AUTH"])',
    sentence: "clients send their keys in the clear",
    finders: ["submissionListener.it"]
  },
  {
    name: "submission: a second login of a connection counts again",
    find: "this.organizations.close(connection.login.principal.organizationId) connection.login = undefined",
    replace: "connection.login = undefined",
    sentence: "an organization whose clients log in again runs out of connections",
    finders: ["submissionConnections.unit"]
  },
  {
    name: "submission: a stop ends mails that are complete",
    find: "if (connections.isWaiting(connection.id)) continue metrics.ended(",
    replace: "metrics.ended(",
    sentence: "a client hears that its mail was not taken, though it was",
    finders: ["submissionListener.it"]
  },
  {
    name: "schedule: a weekday is today's although its hour has passed",
    find: "return next > now ? next : at(after + 7)",
    replace: "return next",
    sentence: "mail for next Friday goes at once on Friday evening",
    finders: ["scheduleTime.unit"]
  },
  {
    name: "schedule: days are those of UTC",
    find: "DateTime.toParts(DateTime.makeZonedUnsafe(now, { timeZone: zone }))",
    replace: 'DateTime.toParts(DateTime.makeZonedUnsafe(now, { timeZone: "UTC" }))',
    sentence: "tomorrow is the day after tomorrow in New York in the evening",
    finders: ["scheduleTime.unit"]
  },
  {
    name: "schedule: a repeat in words has another time",
    find: '...(state === "scheduled" && scheduledAt !== undefined ? { scheduledAt } : {})',
    replace: '...(state === "held" && scheduledAt !== undefined ? { scheduledAt } : {})',
    sentence: "the answer to a scheduled email does not say when it goes",
    finders: ["decideAdmission.unit"]
  },
  {
    name: "lists: an export ends behind its second page",
    find: "rows.length < pageRows ? Option.none() : Option.some(rows.at(-1))",
    replace: "rows.length > 0 ? Option.none() : Option.some(rows.at(-1))",
    sentence: "a list that moves to another account has lost its newer addresses",
    finders: ["suppressionsCsv.unit", "cli/suppressions.e2e"]
  }
]
