/** Variants of what is found in an email's content and in a sign-up or a domain, and of what operators are shown. */
import type { Finder, Variant } from "./runner/variant.ts"

const unit = (...names: ReadonlyArray<string>): Finder => ({
  kind: "unit",
  files: names.map((name) => `test/send/${name}.unit.ts`)
})

const content = unit("content/riskyContent")
const subjects = unit("content/verificationSubject")
const risk = unit("risk/riskSignals")
const mailHosts: Finder = { kind: "servers", files: ["test/send/risk/mailHosts.it.ts"] }
const facts = unit("operator/accountFacts")

export const sendContent: ReadonlyArray<Variant> = [
  {
    name: "send: a user name before the host is taken for the host",
    file: "src/send/content/linkHosts.ts",
    find: 'authority.slice(authority.lastIndexOf("@") + 1)',
    replace: 'authority.split("@", 1)[0]!',
    sentence: "a link that shows the sender's domain as its user name leads anywhere, and is no signal",
    finders: [content]
  },
  {
    name: "send: names below a shared suffix are one sender's",
    file: "src/send/content/linkHosts.ts",
    find: "getDomain(host, { allowPrivateDomains: true, extractHostname: false }) ?? undefined",
    replace: "getDomain(host, { allowPrivateDomains: false, extractHostname: false }) ?? undefined",
    sentence: "the pages of everybody at one host of pages are taken for the sender's own",
    finders: [content]
  },
  {
    name: "send: a label of any length is made punycode",
    file: "src/send/content/linkHosts.ts",
    find: 'if (written === "" || isTooLong(written)) return undefined',
    replace: 'if (written === "") return undefined',
    sentence: "an email of long names in another script keeps the process busy for seconds",
    finders: [content]
  },
  {
    name: "send: what does not end is looked for again",
    file: "src/send/content/links.ts",
    find: "this.at = found === -1 ? this.text.length : found + text.length",
    replace: "this.at = found === -1 ? from : found + text.length",
    sentence: "an email of tags that do not end costs the square of its length",
    finders: [content]
  },
  {
    name: "send: references in links are not read",
    file: "src/send/content/links.ts",
    find: "add(found, hostOfLink(withoutReferences(value)))",
    replace: "add(found, hostOfLink(value))",
    sentence: "a link whose colon is written as a reference is no signal",
    finders: [content]
  },
  {
    name: "send: the second of two addresses of a link counts",
    file: "src/send/content/links.ts",
    find: "if (followed.has(name) && !attributes.has(name)) attributes.set(name, value)",
    replace: "if (followed.has(name)) attributes.set(name, value)",
    sentence: "a link is judged by an address that no mail program follows",
    finders: [content]
  },
  {
    name: "send: letters of other scripts hide a subject",
    file: "src/send/content/verificationSubject.ts",
    find: "Array.from(word, (letter) => lookalikes[letter] ?? letter)",
    replace: "Array.from(word)",
    sentence: "a subject with a foreign letter in each word is no signal",
    finders: [subjects]
  },
  {
    name: "send: the words of a subject may stand anywhere",
    file: "src/send/content/verificationSubject.ts",
    find: "given.slice(at + 1, at + 1 + next.within)",
    replace: "given.slice(at + 1)",
    sentence: "subjects that have some words in common with an account verification are signals",
    finders: [subjects]
  },
  {
    name: "send: a suffix that many share is a provider",
    file: "src/send/risk/providers.ts",
    find: 'if (name === registered || !name.includes(".")) return false',
    replace: 'if (!name.includes(".")) return false',
    sentence: "whoever has a name below net.ua is of a higher risk",
    finders: [risk]
  },
  {
    name: "send: the second organization of a domain is the third",
    file: "src/send/risk/RiskSignals.ts",
    find: "(yield* earlierOfDomain(domain)) + 1 >= sameDomainOrganizations",
    replace: "(yield* earlierOfDomain(domain)) + 2 >= sameDomainOrganizations",
    sentence: "a company's second organization has the caps of a higher risk",
    finders: [risk]
  },
  {
    name: "send: a name server that is silent speaks for a higher risk",
    file: "src/send/risk/mailHosts.ts",
    find: 'Option.getOrElse(() => "unknown" as const)',
    replace: 'Option.getOrElse(() => "none" as const)',
    sentence: "a domain has the caps of a higher risk because its name server was slow",
    finders: [mailHosts]
  },
  {
    name: "send: a name server of a closed network speaks for a higher risk",
    file: "src/send/risk/mailHosts.ts",
    find: '(yield* knowTopLevelDomain(askServers, domain)) ? ("none" as const) : ("unknown" as const)',
    replace: '"none" as const',
    sentence: "every domain has the caps of a higher risk on a machine that asks no name server of the outside world",
    finders: [mailHosts]
  },
  {
    name: "send: operators are shown emails of spikes that had no signals",
    file: "src/send/operator/accountFacts.ts",
    find: 'return { tag: "Accepted", since: Math.max(since, pausedAt - signalsMillis), onlyWithSignals: true }',
    replace: 'return { tag: "Accepted", since: Math.max(since, pausedAt - signalsMillis), onlyWithSignals: false }',
    sentence: "the five signals of a pause are lost among hundreds of harmless emails",
    finders: [facts]
  }
]
