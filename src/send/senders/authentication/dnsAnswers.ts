/** Defines the questions of SPF and DMARC checks, and the answers so far. Pure. */
import type { NameAnswer } from "../../../common/nameServers.ts"

/** `addresses` are those of both families. */
export interface DnsQuestion {
  readonly type: "texts" | "mailHosts" | "addresses"
  readonly name: string
}

/** Texts whose strings are joined, hosts, or addresses. */
export type DnsAnswer = NameAnswer<ReadonlyArray<string>>

/** The answer to a question; undefined if it was not asked yet. */
export type DnsAnswers = (question: DnsQuestion) => DnsAnswer | undefined

export const questionKey = ({ name, type }: DnsQuestion): string => `${type} ${name}`
