/** Judges the DMARC record of a domain in one sentence (docs/platform.md, 9.13). Pure. */
import { Result } from "effect"
import { registrableDomain } from "../../rules/content/linkHosts.ts"
import type { AuthenticationVerdict } from "./authenticationVerdict.ts"
import { type DmarcRecord, isDmarc, parseDmarc } from "./dmarcRecord.ts"
import type { DnsAnswers, DnsQuestion } from "./dnsAnswers.ts"

export interface DmarcSubject {
  /** The domain of `From`, with which mail is signed too. */
  readonly domain: string
  /** Whether receivers can verify the signature, because its key is published. */
  readonly isSigned: boolean
  /** The domain whose SPF record receivers look at. */
  readonly returnPath: string
}

/** The record to set where there is none. */
export const advisedDmarc = "v=DMARC1; p=none;"

const nameOf = (domain: string): string => `_dmarc.${domain}`

/** The names to look at, in order: the domain's, then its organizational domain's (RFC 7489, 6.6.3). */
const namesOf = (domain: string): ReadonlyArray<string> => {
  const organizational = registrableDomain(domain)
  return organizational === undefined || organizational === domain
    ? [nameOf(domain)]
    : [nameOf(domain), nameOf(organizational)]
}

/** Whether a pass of SPF counts for the domain (RFC 7489, 3.1.2). */
const isSpfAligned = ({ domain, returnPath }: DmarcSubject, { isSpfStrict }: DmarcRecord): boolean => {
  if (returnPath === domain) return true
  const organizational = registrableDomain(domain)
  return !isSpfStrict && organizational !== undefined && registrableDomain(returnPath) === organizational
}

type Judgement = Pick<AuthenticationVerdict, "name" | "status" | "message"> & { readonly advised?: string }

/** The verdict of a valid record at a name. */
const judgeValid = (subject: DmarcSubject, record: DmarcRecord, name: string): Judgement => {
  const { domain, isSigned, returnPath } = subject
  const policy = name === nameOf(domain) ? record.policy : record.subdomains
  if (!isSigned && !isSpfAligned(subject, record))
    return {
      name,
      status: policy === "none" ? "advice" : "invalid",
      message: `Mail from ${domain} cannot pass DMARC, because its DKIM record is not there and the return path is at ${returnPath}: set the DKIM record.`
    }
  if (policy === "none")
    return {
      name,
      status: "advice",
      message: `The DMARC record at ${name} only asks for reports: set p=quarantine or p=reject once all mail passes.`
    }
  return { name, status: "pass", message: `The DMARC record at ${name} asks receivers to ${policy} forged mail.` }
}

const judge = (subject: DmarcSubject, answers: DnsAnswers): Judgement & { readonly needs?: DnsQuestion } => {
  const own = nameOf(subject.domain)
  for (const name of namesOf(subject.domain)) {
    const question = { type: "texts", name } as const
    const answer = answers(question)
    if (answer === undefined || answer._tag === "Unknown")
      return {
        name,
        status: "unknown",
        message: `No name server answered for ${name}: the DMARC record was not checked.`,
        ...(answer === undefined ? { needs: question } : {})
      }
    const [text, ...others] = answer._tag === "Found" ? answer.value.filter(isDmarc) : []
    if (text === undefined) continue
    if (others.length > 0)
      return {
        name,
        status: "invalid",
        message: `There are several DMARC records at ${name}, so receivers use none: keep one.`
      }
    const parsed = parseDmarc(text)
    return Result.isSuccess(parsed)
      ? judgeValid(subject, parsed.success, name)
      : {
          name,
          status: "invalid",
          message: `The DMARC record at ${name} is not valid, because ${parsed.failure}: correct it.`
        }
  }
  return {
    name: own,
    status: "missing",
    message: `${subject.domain} has no DMARC record: set "${advisedDmarc}" as a TXT record at ${own}.`,
    advised: advisedDmarc
  }
}

/** Judges the record of a domain as far as the answers go, and says what must still be asked. */
export const dmarcVerdict = (
  subject: DmarcSubject,
  answers: DnsAnswers
): { readonly needs: ReadonlyArray<DnsQuestion>; readonly verdict: AuthenticationVerdict } => {
  const { advised = null, message, name, needs, status } = judge(subject, answers)
  return {
    needs: needs === undefined ? [] : [needs],
    verdict: { record: "DMARC", name, status, message, advised }
  }
}
