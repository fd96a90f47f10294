/**
 * Parses DMARC aggregate reports (RFC 7489, appendix C; also of the newer namespace, whose elements that matter are the
 * same). Elements that are not known are passed over. Pure.
 */
import { isIP } from "node:net"
import { Option, Result } from "effect"
import { NetAddress } from "effect/net"
import { maximumCount, maximumRecords, xmlTokensAtOnce } from "./limits.ts"
import { type Disposition, type DmarcRecord, type DmarcReport, dispositions } from "./model.ts"
import { domainIn, isPeriod, nameIn } from "./reportText.ts"
import { XmlScanner } from "./XmlScanner.ts"

/** The head's elements, by their paths. */
const headPaths = {
  "feedback/report_metadata/org_name": "reporter",
  "feedback/report_metadata/report_id": "reportId",
  "feedback/report_metadata/date_range/begin": "begin",
  "feedback/report_metadata/date_range/end": "end",
  "feedback/policy_published/domain": "domain"
} as const

const recordPath = "feedback/record"

/** A record's elements. Signatures and the results of SPF alone are not looked at: only aligned ones count. */
const recordPaths = {
  "feedback/record/row/source_ip": "source",
  "feedback/record/row/count": "count",
  "feedback/record/row/policy_evaluated/disposition": "disposition",
  "feedback/record/row/policy_evaluated/dkim": "dkim",
  "feedback/record/row/policy_evaluated/spf": "spf"
} as const

type Texts = Map<string, string>

/** The address in the one spelling that rows have; an IPv4 address in the form of IPv6 is itself. */
const sourceIn = (text: string): string | undefined => {
  const address = text.trim()
  if (isIP(address) === 0 || address.includes("%")) return undefined
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return Option.getOrUndefined(Option.map(Result.getSuccess(NetAddress.ipFromString(mapped ?? address)), String))
}

const countIn = (text: string): number | undefined => {
  const count = Number(text.trim())
  return /^\s*\d{1,9}\s*$/.test(text) && count <= maximumCount ? count : undefined
}

/** Whether a result is `pass`; a missing one is none. Undefined for other words. */
const passIn = (text = "fail"): boolean | undefined => {
  const word = text.trim().toLowerCase()
  return word === "pass" ? true : word === "fail" ? false : undefined
}

/** `pass` says in newer reports that the policy had nothing to do. */
const dispositionIn = (text = "none"): Disposition | undefined => {
  const word = text.trim().toLowerCase()
  return word === "pass" ? "none" : dispositions.find((one) => one === word)
}

const recordOf = (texts: Texts): DmarcRecord | string => {
  const source = sourceIn(texts.get("source") ?? "")
  if (source === undefined) return "a record has no source address"
  const count = countIn(texts.get("count") ?? "")
  if (count === undefined) return "a record has no count"
  const disposition = dispositionIn(texts.get("disposition"))
  const isDkimAligned = passIn(texts.get("dkim"))
  const isSpfAligned = passIn(texts.get("spf"))
  return disposition === undefined || isDkimAligned === undefined || isSpfAligned === undefined
    ? "a record has an unknown result"
    : { source, count, disposition, isDkimAligned, isSpfAligned }
}

/** Seconds since the Unix epoch, in milliseconds. */
const instantIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d{1,11}\s*$/.test(text) ? Number(text) * 1000 : undefined

const reportOf = (head: Texts, records: ReadonlyArray<DmarcRecord>): DmarcReport | string => {
  const reporter = nameIn(head.get("reporter") ?? "")
  const reportId = nameIn(head.get("reportId") ?? "")
  if (reporter === undefined || reportId === undefined) return "its sender or its id is missing or too long"
  const domain = domainIn(head.get("domain") ?? "")
  if (domain === undefined) return "it names no domain"
  const beginsAt = instantIn(head.get("begin"))
  const endsAt = instantIn(head.get("end"))
  return beginsAt === undefined || endsAt === undefined || !isPeriod(beginsAt, endsAt)
    ? "its time is missing or too long"
    : { kind: "dmarc", domain, reporter, reportId, beginsAt, endsAt, records }
}

/** Collects texts and records while elements close. */
class Collector {
  readonly head: Texts = new Map()
  readonly records: Array<DmarcRecord> = []
  private record: Texts = new Map()

  /** Takes the text of an element; what is wrong with it, if anything is. */
  close(path: string, text: string): string | undefined {
    if (path === recordPath) return this.closeRecord()
    const inHead = Object.hasOwn(headPaths, path) ? headPaths[path as keyof typeof headPaths] : undefined
    const inRecord = Object.hasOwn(recordPaths, path) ? recordPaths[path as keyof typeof recordPaths] : undefined
    const name = inHead ?? inRecord
    if (name === undefined) return undefined
    const texts = inHead === undefined ? this.record : this.head
    // Two readers of the same report must see the same one.
    if (texts.has(name)) return `it has ${name} twice`
    texts.set(name, text)
    return undefined
  }

  private closeRecord(): string | undefined {
    if (this.records.length >= maximumRecords) return `it has more than ${maximumRecords} records`
    const record = recordOf(this.record)
    this.record = new Map()
    if (typeof record === "string") return record
    this.records.push(record)
    return undefined
  }
}

/** The next token's consequence: the outcome, or undefined while there is more to read. */
const stepOf = (scanner: XmlScanner, collector: Collector, paths: Array<string>): DmarcOutcome | undefined => {
  const token = scanner.next()
  switch (token._tag) {
    case "Open": {
      const above = paths.at(-1)
      if (above === undefined && token.name !== "feedback") return Result.fail("it is no report about DMARC")
      paths.push(above === undefined ? token.name : `${above}/${token.name}`)
      return undefined
    }
    case "Close": {
      const problem = collector.close(paths.pop()!, token.text)
      return problem === undefined ? undefined : Result.fail(problem)
    }
    case "Fault":
      return Result.fail(token.reason)
    case "End": {
      const report = reportOf(collector.head, collector.records)
      return typeof report === "string" ? Result.fail(report) : Result.succeed(report)
    }
  }
}

type DmarcOutcome = Result.Result<DmarcReport, string>

/** Reads a report in steps, so that other work can have its turn between them. */
export function* dmarcReportSteps(xml: string): Generator<void, DmarcOutcome> {
  const scanner = new XmlScanner(xml)
  const collector = new Collector()
  const paths: Array<string> = []
  for (let tokens = 1; ; tokens++) {
    const outcome = stepOf(scanner, collector, paths)
    if (outcome !== undefined) return outcome
    if (tokens % xmlTokensAtOnce === 0) yield
  }
}

/** The report in an XML document, or what is wrong with it. */
export const parseDmarcReport = (xml: string): DmarcOutcome => {
  const steps = dmarcReportSteps(xml)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
