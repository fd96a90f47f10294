/** Variants of sending: caps and windows, emails, domains, contents, the mailer and feedback. */
import type { Variant } from "./runner/variant.ts"

export const send: ReadonlyArray<Variant> = [
  {
    name: "send: an entry counts a millisecond too long",
    find: "if (at + windowMillis > time) sum +=",
    replace: "if (at + windowMillis >= time) sum +=",
    sentence: "a retry at the very instant that a refusal named is refused again",
    finders: ["windows.unit", "tables.unit", "admissionTables.unit"]
  },
  {
    name: "send: a domain dies with its first use",
    find: "if (!asked.has(value)) keep(value, uses[index] as number) } for (const value of asked) keep(value, time)",
    replace:
      "keep(value, uses[index] as number)\n  }\n  for (const value of asked) if (!kept.includes(value)) keep(value, time)",
    sentence: "a domain that is used again and again leaves the window an hour after its first use",
    finders: ["windows.unit", "accountProperties.unit"]
  },
  {
    name: "send: an email bounces twice",
    find: "if (bit === 0 || (state.bounced & bit) !== 0) return",
    replace: "if (bit === 0) return",
    sentence: "a bounce that is told again makes another fact, and pauses an account that is paused by two",
    finders: ["tables.unit", "admissionTables.unit", "accountProperties.unit"]
  },
  {
    name: "send: the month is asked after the caps",
    find: 'if (!month.allowed && month.limit !== "unlimited")',
    replace: 'if (!month.allowed && month.limit !== "unlimited" && state.trust.stage !== "probation")',
    sentence: "an account on probation sends more than its plan in a month",
    finders: ["tables.unit", "admissionTables.unit", "accountProperties.unit"]
  },
  {
    name: "send: new mail overtakes held mail",
    find: "const released = waiting(state) > 0 ? 0 : Math.min(",
    replace: "const released = Math.min(",
    sentence: "mail that comes while older mail is released goes before it",
    finders: ["senderProperties.unit"]
  },
  {
    name: "send: a release that comes late waits for the next day",
    find: "Math.ceil(fits / (releaseSteps - step))",
    replace: "Math.ceil(fits / releaseSteps)",
    sentence: "held mail that fits the day stays held after the 10 minutes",
    finders: ["senderProperties.unit", "sixtyDays.unit"]
  },
  {
    name: "search: a word is looked for in every field",
    find: 'fields: name === "anywhere" ? textFields : [name]',
    replace: "fields: textFields",
    sentence: "a search of subjects finds emails by their recipients",
    finders: ["searchTerms.unit"]
  },
  {
    name: "search: the content is not asked",
    find: "if (message != null && matches(message, options.search)) found.push(row)",
    replace: "if (message != null) found.push(row)",
    sentence: "parts of different addresses find an email to neither",
    finders: ["search.it"]
  },
  {
    name: "search: organizations share the key of digests",
    find: 'createSecretKey(Buffer.from(hkdfSync("sha256", dataKey, "", "sluice search terms", digestKeyBytes)))',
    replace: "createSecretKey(Buffer.alloc(digestKeyBytes))",
    sentence: "a reader of the database knows the words of one organization by those of another",
    finders: ["searchTerms.unit"]
  },
  {
    name: "search: pages begin anew",
    find: "const listed = [...listedIn(sql, owner, options), ...beyond(sql, place)] const rows",
    replace: "const listed = listedIn(sql, owner, options)\n  const rows",
    sentence: "the second page of a search is the first one again",
    finders: ["search.it"]
  },
  {
    name: "emails: both modes share their idempotency keys",
    find: 'mode === "live" ? "l" : "t"',
    replace: '"l"',
    sentence: "a test request is answered as a repeat of a live one, or as a conflict with it",
    finders: ["sending.it"]
  },
  {
    name: "emails: rows take the same records twice",
    find: "e.sequence < batch.sequence",
    replace: "e.sequence <= batch.sequence",
    sentence: "after a restore an email's history tells what happened twice",
    finders: ["projection.it"]
  },
  {
    name: "send: a return path does not authenticate the recipient",
    find: "{recipientIndex}`)",
    replace: "{emailId}`)",
    sentence: "a bounce of one recipient is turned into a bounce of another one",
    finders: ["verp.unit"]
  },
  {
    name: "send: not-spam is a complaint",
    find: '["abuse", "fraud", "virus"]',
    replace: '["abuse", "fraud", "virus", "not-spam"]',
    sentence: "somebody who takes a complaint back complains a second time",
    finders: ["parseFeedback.unit"]
  },
  {
    name: "send: reports have any number of recipients",
    find: "named.slice(0, maximumRecipients)",
    replace: "named",
    sentence: "one mail reports on tens of thousands of recipients",
    finders: ["hostile.unit"]
  },
  {
    name: "deletion: rows are not waited for",
    find: "const ended = yield* end(id, until)",
    replace: "const ended: ReadonlyArray<string> | undefined = []",
    sentence: "endpoints and senders of a deleted organization go on",
    finders: ["organizationDeletion.it"]
  },
  {
    name: "senders: one record is enough",
    find: 'seen.ownership === "found" && seen.dkim === "found"',
    replace: 'seen.ownership === "found" || seen.dkim === "found"',
    sentence:
      "who copies the public key of a domain into its zone, or owns no more than a token, sends from it unsigned",
    finders: ["checkResult.unit", "domainsHttp.e2e"]
  },
  {
    name: "senders: an eleventh look-up of SPF is free",
    find: "if (walk.lookups <= spfLookups) return true",
    replace: "if (walk.lookups <= spfLookups + 1) return true",
    sentence: "a record that receivers do not use counts as good, and strangers make the platform ask more names",
    finders: ["spfVerdict.unit", "spfWalk.unit"]
  },
  {
    name: "senders: what a refused part of SPF includes counts as allowed",
    find: "const isAllowing = allows && qualifier ===",
    replace: "const isAllowing = allows || qualifier ===",
    sentence: "a domain whose record refuses the relay is told that all is well",
    finders: ["spfVerdict.unit"]
  },
  {
    name: "senders: a silent name server has no SPF record",
    find: "walk.unanswered ??= question.name return undefined",
    replace: "return []",
    sentence: "an owner is told to set a record that is there, because a name server was slow",
    finders: ["spfVerdict.unit", "checkAuthentication.it"]
  },
  {
    name: "senders: a subdomain has its organization's own DMARC policy",
    find: "name === nameOf(domain) ? record.policy : record.subdomains",
    replace: "name === nameOf(domain) ? record.policy : record.policy",
    sentence: "a subdomain without protection counts as protected",
    finders: ["dmarcVerdict.unit"]
  },
  {
    name: "senders: SPF and DMARC are checked once",
    find: '!(isAsked || domain.stage === "verified")',
    replace: "!isAsked",
    sentence: "a record that breaks after the verification is never noticed",
    finders: ["domainsHttp.e2e"]
  },
  {
    name: "reports: an archive is unpacked to its end",
    find: "gunzip(bytes, { maxOutputLength: maximumReportBytes },",
    replace: "gunzip(bytes,",
    sentence: "a mail of some kilobytes takes gigabytes of memory",
    finders: ["reportMail.unit"]
  },
  {
    name: "reports: a domain is anybody's who has added it",
    find: "where name = ${name} and mode = 'live' and status = 'verified'",
    replace: "where name = ${name} and mode = 'live'",
    sentence: "an organization that does not own a domain sees who sends mail of it",
    finders: ["reportIntake.it"]
  },
  {
    name: "reports: a duplicate counts twice",
    find: 'if (yield* rows.isRepeated(owner, report)) return "repeated" as const',
    replace: "",
    sentence: "a report that a mail system repeats after a lost answer doubles all figures",
    finders: ["reportIntake.it"]
  },
  {
    name: "reports: alignment is read from the other result",
    find: 'const isSpfAligned = passIn(texts.get("spf"))',
    replace: 'const isSpfAligned = passIn(texts.get("dkim"))',
    sentence: "a domain whose SPF never passes looks as if it did",
    finders: ["parseReport.unit"]
  },
  {
    name: "reports: both results must be aligned",
    find: "passed: isDkimAligned || isSpfAligned ? count : 0",
    replace: "passed: isDkimAligned && isSpfAligned ? count : 0",
    sentence: "mail that passes by DKIM alone, as the platform's does, counts as failed",
    finders: ["sourceCounts.unit", "reportIntake.it"]
  },
  {
    name: "reports: documents may define entities",
    find: 'if (this.source.startsWith("<!", this.place)) return fault("it has a document type")',
    replace: 'if (this.source.startsWith("<!", this.place)) return this.skip(">", 2, "a declaration has no end")',
    sentence: "two readers of the same report may see different ones",
    finders: ["parseReport.unit"]
  },
  {
    name: "reports: one network may fill a domain's day",
    find: "all >= maximumReportsOfDomain || own >= maximumReportsOfNetwork",
    replace: "all >= maximumReportsOfDomain",
    sentence: "one sender of forged reports keeps all others out",
    finders: ["reportIntake.it"]
  },
  {
    name: "reports: a connection that ends keeps its place",
    find: "if (hasRoom) handlers.release() done(error)",
    replace: "if (hasRoom && error === undefined) handlers.release()\n    done(error)",
    sentence: "after 16 connections that end in between no report is ever taken again",
    finders: ["bounceListener.it"]
  },
  {
    name: "senders: opening a link is enough",
    find: "Effect.map(senders.linked(token), ({ email }) =>",
    replace: "Effect.map(senders.confirm(token), ({ email }) =>",
    sentence: "a mail scanner that opens links verifies addresses for whoever asked",
    finders: ["sendersHttp.e2e"]
  },
  {
    name: "contents: two requests share their places",
    find: "for (let before = 0; before < index; before++)",
    replace: "for (let before = 1; before < index; before++)",
    sentence: "an email goes out with nothing in it, or with what another one says",
    finders: ["messageContents.unit"]
  },
  {
    name: "contents: a pointer of a lost stream finds what is there now",
    find: "content !== undefined && checkOf(content) === check",
    replace: "content !== undefined && check !== undefined",
    sentence: "after the stream was made anew an email goes out with another one's content",
    finders: ["messageContents.unit"]
  },
  {
    name: "contents: copies are not made",
    find: "where content is null and ended_at is null and accepted_at <",
    replace: "where content is null and ended_at is null and accepted_at >",
    sentence: "mail that is held for two weeks has lost what it says",
    finders: ["messageContents.it"]
  },
  {
    name: "mailer: a connection lost after the whole mail is a plain failure",
    find: "progress.hasPassed = true",
    replace: "progress.hasPassed = false",
    sentence: "a mail that the relay may have taken is told as not taken",
    finders: ["relay.it"]
  },
  {
    name: "mailer: a refused sender is the mail's fault",
    find: 'const stage = error.command === "MAIL FROM" ? "sender" : "recipient"',
    replace: 'const stage = error.command === "" ? "sender" : "recipient"',
    sentence: "mail bounces because the relay does not know the account that it is sent with",
    finders: ["relay.it"]
  },
  {
    name: "mailer: a second From may be added to a signed mail",
    find: 'const sealedNames = ["from", "to",',
    replace: 'const sealedNames = ["to",',
    sentence: "somebody on the way shows another sender under a good signature",
    finders: ["smtpTransport.it"]
  },
  {
    name: "reports: a delivery that was given up counts as a bounce",
    find: "kind: answer, suppresses: false, counts: false }",
    replace: "kind: answer, suppresses: false, counts: true }",
    sentence: "an account is paused for full mailboxes",
    finders: ["feedbackReports.unit"]
  },
  {
    name: "answers: words that nobody knows name a dead address",
    find: 'isNobody || code === "permanent" || vagueNobodyWords.test(text) ? "permanent" : "reputation"',
    replace: '"permanent"',
    sentence: "good addresses are suppressed, and accounts paused, for what a server says of the sender",
    finders: ["answerClass.unit"]
  },
  {
    name: "answers: what the relay holds against the account is the recipient's",
    find: 'if (speaker === "recipient") return false return relayingWords.test(text)',
    replace: 'if (speaker !== "") return false; return relayingWords.test(text)',
    sentence: "a relay that denies relaying bounces every recipient",
    finders: ["answerClass.unit"]
  },
  {
    name: "reports: a feedback loop's reports name nothing",
    find: "targets.length > 0 ? targets : targetsIn(",
    replace: "targets.length >= 0 ? targets : targetsIn(",
    sentence: "complaints that come through a feedback loop count nowhere",
    finders: ["roundTrip.e2e"]
  },
  {
    name: "mailer: ends of lines are mended behind the signature",
    find: "composer.compile().build().then(wireBytes)",
    replace: "composer.compile().build()",
    sentence: "a long line is broken on the way, and the signature with it",
    finders: ["wire.it"]
  },
  {
    name: "warnings: none comes before the last step",
    find: "now.count >= warnsFrom(now) && now.count < now.limit",
    replace: "now.count > warnsFrom(now) && now.count < now.limit",
    sentence: "an account is paused without any sign before",
    finders: ["pauseWarnings.unit"]
  },
  {
    name: "content: a subject is judged as it is written",
    find: "isVerificationSubject(shown)",
    replace: "isVerificationSubject(subject)",
    sentence: "an encoded subject hides from the signals of risky content",
    finders: ["shownText.unit"]
  },
  {
    name: "reports: the listener takes mail for other domains",
    find: "address.toLowerCase().endsWith(",
    replace: "address.length > 0 || address.endsWith(",
    sentence: "a return path of another installation under the same key is taken for one of ours",
    finders: ["bounceListener.it"]
  }
]
