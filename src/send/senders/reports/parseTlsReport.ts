/** Parses TLS reports of mail systems that send to a domain (RFC 8460, 4.4). Pure. */
import { Option, Result, Schema } from "effect"
import { maximumCount, maximumTlsFailures, maximumTlsPolicies } from "./limits.ts"
import { type TlsFailure, type TlsReport, type TlsSessions, tlsFailures, tlsPolicies } from "./model.ts"
import { domainIn, isPeriod, nameIn } from "./reportText.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumCount }))

/** Longest text of a type or a time. */
const Word = Schema.String.check(Schema.isMaxLength(100))

const Failure = Schema.Struct({ "result-type": Word, "failed-session-count": Count })

const Policy = Schema.Struct({
  policy: Schema.Struct({ "policy-type": Word, "policy-domain": Schema.String.check(Schema.isMaxLength(300)) }),
  summary: Schema.Struct({ "total-successful-session-count": Count, "total-failure-session-count": Count }),
  "failure-details": Schema.optionalKey(
    Schema.NullOr(Schema.Array(Failure).check(Schema.isMaxLength(maximumTlsFailures)))
  )
})

const Report = Schema.Struct({
  "organization-name": Schema.String,
  "date-range": Schema.Struct({ "start-datetime": Word, "end-datetime": Word }),
  "report-id": Schema.String,
  policies: Schema.Array(Policy).check(Schema.isMaxLength(maximumTlsPolicies), Schema.isMinLength(1))
})

const decode = Schema.decodeUnknownOption(Report)

const typeIn = (text: string): TlsFailure =>
  tlsFailures.find((one) => one === text.trim().toLowerCase() && one !== "unspecified") ?? "other"

/** The failures of a policy by type. The summary counts also those that no detail explains. */
const failuresOf = (policy: typeof Policy.Type): ReadonlyMap<TlsFailure, number> => {
  const failures = new Map<TlsFailure, number>()
  let explained = 0
  for (const { "failed-session-count": sessions, "result-type": type } of policy["failure-details"] ?? []) {
    const known = typeIn(type)
    failures.set(known, (failures.get(known) ?? 0) + sessions)
    explained += sessions
  }
  const others = policy.summary["total-failure-session-count"] - explained
  if (others > 0) failures.set("unspecified", others)
  return failures
}

/** The sessions of a report by policy, each once. */
const sessionsOf = (policies: ReadonlyArray<typeof Policy.Type>): ReadonlyArray<TlsSessions> =>
  tlsPolicies.flatMap((policy) => {
    const own = policies.filter(({ policy: { "policy-type": type } }) => {
      const known = tlsPolicies.find((one) => one === type.trim().toLowerCase()) ?? "other"
      return known === policy
    })
    if (own.length === 0) return []
    const maps = own.map(failuresOf)
    const failures = tlsFailures.flatMap((type) => {
      const sessions = maps.reduce((sum, map) => sum + (map.get(type) ?? 0), 0)
      return sessions === 0 ? [] : [{ type, sessions }]
    })
    const successful = own.reduce((sum, { summary }) => sum + summary["total-successful-session-count"], 0)
    return [{ policy, successful, failures }]
  })

const isoTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** An instant (RFC 3339), in Unix milliseconds; not a number if it is none. */
const instantIn = (text: string): number => (isoTime.test(text) ? Date.parse(text.replace(" ", "T")) : Number.NaN)

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The report in a JSON document, or what is wrong with it. All of its policies must be of one domain. */
export const parseTlsReport = (json: string): Result.Result<TlsReport, string> => {
  const decoded = Option.getOrUndefined(decode(parsedJson(json)))
  if (decoded === undefined) return Result.fail("it is no report about TLS")
  const reporter = nameIn(decoded["organization-name"])
  const reportId = nameIn(decoded["report-id"])
  if (reporter === undefined || reportId === undefined)
    return Result.fail("its sender or its id is missing or too long")
  const domains = new Set(decoded.policies.map(({ policy }) => domainIn(policy["policy-domain"])))
  const [domain] = domains
  if (domain === undefined || domains.size > 1) return Result.fail("it names no domain, or several")
  const beginsAt = instantIn(decoded["date-range"]["start-datetime"])
  const endsAt = instantIn(decoded["date-range"]["end-datetime"])
  if (!isPeriod(beginsAt, endsAt)) return Result.fail("its time is missing or too long")
  return Result.succeed({
    kind: "tls",
    domain,
    reporter,
    reportId,
    beginsAt,
    endsAt,
    policies: sessionsOf(decoded.policies)
  })
}
