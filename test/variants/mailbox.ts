/** Variants of the local mailbox: its search, its bounds, its folder, and what keeps others' texts from doing anything. */
import type { Variant } from "./runner/variant.ts"

export const mailbox: ReadonlyArray<Variant> = [
  {
    name: "mailbox: an excluded word is looked for",
    find: "terms.every((term) => fits(mail, term) !== term.isExcluded)",
    replace: "terms.every((term) => fits(mail, term))",
    sentence: "a search without a word finds the mails that have it",
    finders: ["mailSearch.unit"]
  },
  {
    name: "mailbox: a mail may have any one of the words",
    find: "terms.every((term) => fits(mail, term) !== term.isExcluded)",
    replace: "terms.length === 0 || terms.some((term) => fits(mail, term) !== term.isExcluded)",
    sentence: "a test that waits for the mail of its user gets another user's",
    finders: ["mailSearch.unit"]
  },
  {
    name: "mailbox: old mails stay in the folder",
    find: "yield* Effect.catch(folder.remove(old), (error) =>",
    replace: "yield* Effect.catch(gone > 0 ? Effect.void : folder.remove(old), (error) =>",
    sentence: "the folder grows until the disk is full",
    finders: ["mailboxFolder.it"]
  },
  {
    name: "mailbox: a cut file is believed",
    find: "if (number === undefined || text.slice(0, Math.max(0, end)) !== digestOf(json)) return undefined",
    replace: "if (number === undefined) return undefined",
    sentence: "a changed file is shown as the mail that was handed over",
    finders: ["mailboxFolder.it"]
  },
  {
    name: "mailbox: a mail is accepted before it is kept",
    find: 'onFailure: ({ message }): HandoffAnswer => ({ _tag: "Temporary", code: "4.3.1", reason: message })',
    replace: "onFailure: (): HandoffAnswer => accepted",
    sentence: "mail that a full disk took nothing of counts as sent",
    finders: ["mailboxFolder.it"]
  },
  {
    name: "mailbox: any host may ask",
    find: "if (host !== undefined && !loopback.test(host) && host.toLowerCase() !== publicHost?.toLowerCase()) return false",
    replace: "",
    sentence: "a page of another site reads the mails under a name of its own",
    finders: ["mailbox/mailbox.unit"]
  },
  {
    name: "mailbox: a mail's frame runs scripts",
    find: "`sandbox; default-src 'none'; style-src 'unsafe-inline';",
    replace: "`sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline';",
    sentence: "a script in a mail runs in the developer's browser",
    finders: ["mailbox/mailbox.unit"]
  },
  {
    name: "mailbox: every attachment opens",
    find: "if (!isDownload && shown.has(type))",
    replace: "if (!isDownload)",
    sentence: "an attached page runs its script beside the mailbox",
    finders: ["mailbox/mailbox.unit"]
  },
  {
    name: "mailbox: the links of http are not guarded",
    find: 'const result = guard.open(url.replace(/^http:/i, "https:"))',
    replace: 'const result = url.startsWith("http:") ? Result.succeed(new URL(url)) : guard.open(url)',
    sentence: "a mail makes the platform ask addresses inside its network",
    finders: ["linkChecks.it"]
  }
]
