/** Variants of what other mail systems tell about an email, and of the return paths by which they tell it. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/send/feedback/${name}.unit.ts`)
})

const parsing = unit("parseFeedback")
const hostile = unit("hostile")
const verp = unit("verp")

const src = (name: string): string => `src/send/feedback/${name}.ts`

export const sendFeedback: ReadonlyArray<Variant> = [
  {
    name: "send: a return path needs no key",
    file: src("verp"),
    find: 'return isGenuine && !bits.slice(macTo).includes("1") ? target : null',
    replace: 'return !bits.slice(macTo).includes("1") ? target : null',
    sentence: "anybody can report a bounce of any email",
    finders: [verp]
  },
  {
    name: "send: a return path does not authenticate the recipient",
    file: src("verp"),
    find: "{recipientIndex}`)",
    replace: "{emailId}`)",
    sentence: "a bounce of one recipient is turned into a bounce of another one",
    finders: [verp]
  },
  {
    name: "send: a return path must keep its case",
    file: src("verp"),
    find: "address.slice(0, at).toLowerCase()",
    replace: "address.slice(0, at)",
    sentence: "bounces that come by way of a mail system that writes addresses in capitals are lost",
    finders: [verp]
  },
  {
    name: "send: returned mails are opened",
    file: src("mailParts"),
    find: "forceRfc822Attachments: true",
    replace: "forceRfc822Attachments: false",
    sentence: "a letter to which somebody attached a report is taken for a bounce",
    finders: [parsing]
  },
  {
    name: "send: posts of mailing lists are reports",
    file: src("parseFeedback"),
    find: "if (isFromList(mail)) return null",
    replace: "",
    sentence: "a bounce that a mailing list distributed counts against its reader",
    finders: [parsing]
  },
  {
    name: "send: a report in words is of anybody whom it names",
    file: src("wordsReport"),
    find: "recipient === undefined || another !== undefined || answer === null",
    replace: "recipient === undefined || answer === null",
    sentence: "of several recipients in the words of a bounce the first one is taken for the one that failed",
    finders: [parsing]
  },
  {
    name: "send: words in which a mail may pass count as a failure",
    file: src("wordsReport"),
    find: "map(({ digit }) => digit)).size === 1",
    replace: "map(({ digit }) => digit)).size > 0",
    sentence: "a mail that a server put off is taken for a permanent bounce because of another answer beside it",
    finders: [parsing]
  },
  {
    name: "send: words of people are reports",
    file: src("parseFeedback"),
    find: '(type === "delivery-status" && isFromMailSystem(mail) ? wordsReport(mail) : null)',
    replace: '(type === "delivery-status" ? wordsReport(mail) : null)',
    sentence: "a letter that passes a bounce on is taken for the bounce",
    finders: [parsing]
  },
  {
    name: "send: not-spam is a complaint",
    file: src("abuseReport"),
    find: '["abuse", "fraud", "virus"]',
    replace: '["abuse", "fraud", "virus", "not-spam"]',
    sentence: "somebody who takes a complaint back complains a second time",
    finders: [parsing]
  },
  {
    name: "send: refusals by policy are about the recipient",
    file: src("reputation"),
    find: 'codes: ["7.*"] }',
    replace: "codes: [] }",
    sentence: "readers are put on the suppression list because their provider did not like the sender",
    finders: [parsing]
  },
  {
    name: "send: a failure is permanent whatever its status says",
    file: src("statusCodes"),
    find: 'status.startsWith("4") ? "temporary" : "permanent"',
    replace: '"permanent"',
    sentence: "a mail system that was down for some days puts all its users on the suppression list",
    finders: [parsing]
  },
  {
    name: "send: reports have any number of recipients",
    file: src("deliveryReport"),
    find: "named.slice(0, maximumRecipients)",
    replace: "named",
    sentence: "one mail reports on tens of thousands of recipients",
    finders: [hostile]
  }
]
