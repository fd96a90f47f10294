/**
 * Implements `sluice domains reports <domain> --org ID`, which shows the claims of other mail systems about a domain: a
 * sentence, then a table (docs/platform.md, 9.21).
 */
import { Clock, Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { modes } from "../send/index.ts"
import { reportKinds } from "../send/senders/reports/model.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable } from "./output.ts"

interface Source {
  readonly source: string | null
  readonly messages: number
  readonly passed: number
  readonly dkimAligned: number
  readonly spfAligned: number
  readonly quarantined: number
  readonly rejected: number
}

interface TlsDay {
  readonly day: string
  readonly policy: string
  readonly successful: number
  readonly failed: number
  readonly failures: ReadonlyArray<{ readonly type: string; readonly sessions: number }>
}

interface Reported {
  readonly reporters: ReadonlyArray<{ readonly name: string; readonly reports: number }>
}

const shown = (count: number): string => count.toLocaleString("en")

/** A share in percent, rounded down: one failure of many is not all. */
const percent = (part: number, whole: number): string => `${Math.floor((part / whole) * 1_000) / 10} %`

const byWhom = ({ reporters }: Reported): string =>
  `Reported by ${reporters.map(({ name, reports }) => `${name} (${shown(reports)})`).join(", ")}. Nothing proves who sent a report.`

/** The sentences above the sources. The first source has most failures. */
export const dmarcSentences = (
  reported: Reported & {
    readonly totals: { readonly messages: number; readonly passed: number }
    readonly data: ReadonlyArray<Source>
  }
): ReadonlyArray<string> => {
  const { data, totals } = reported
  if (reported.reporters.length === 0) return ["No report about mail of this domain has come."]
  if (totals.messages === 0) return ["The reporters have seen no mail of this domain.", byWhom(reported)]
  const [worst] = data
  const failed = worst === undefined ? 0 : worst.messages - worst.passed
  return [
    `${percent(totals.passed, totals.messages)} of ${shown(totals.messages)} messages passed.${
      worst === undefined || failed === 0
        ? ""
        : ` ${worst.source ?? "Other sources"} sent ${shown(failed)} that failed both SPF and DKIM.`
    }`,
    byWhom(reported)
  ]
}

export const tlsSentences = (
  reported: Reported & { readonly totals: { readonly successful: number; readonly failed: number } }
): ReadonlyArray<string> => {
  const { failed, successful } = reported.totals
  if (reported.reporters.length === 0) return ["No report about encryption of mail to this domain has come."]
  if (failed + successful === 0) return ["The reporters have made no connection to this domain.", byWhom(reported)]
  return [
    `${percent(successful, failed + successful)} of ${shown(failed + successful)} connections were encrypted properly.`,
    byWhom(reported)
  ]
}

const sourceRow = (one: Source): ReadonlyArray<string> => [
  one.source ?? "others",
  ...[one.messages, one.passed, one.dkimAligned, one.spfAligned, one.quarantined, one.rejected].map(shown)
]

const tlsRow = ({ day, failed, failures, policy, successful }: TlsDay): ReadonlyArray<string> => [
  day,
  policy,
  shown(successful),
  shown(failed),
  failures.map(({ sessions, type }) => `${type} ${shown(sessions)}`).join(", ")
]

const dayMillis = 24 * 60 * 60 * 1000

export const reports = Command.make(
  "reports",
  {
    domain: Argument.String("domain").pipe(Argument.withDescription("A domain that the organization has added")),
    org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
    mode: Flag.Literals("mode", modes).pipe(
      Flag.withDescription("Whether it is of the live keys or of the test keys, which get no reports"),
      Flag.withDefault("live" as const)
    ),
    kind: Flag.Literals("kind", reportKinds).pipe(
      Flag.withDescription("dmarc: mail from the domain; tls: encryption of mail to it"),
      Flag.withDefault("dmarc" as const)
    ),
    days: Flag.Int("days").pipe(Flag.withDescription("How many days, 1 to 90"), Flag.withDefault(30)),
    limit: Flag.Int("limit").pipe(Flag.withDescription("Most rows, 1 to 100"), Flag.withDefault(25)),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const now = yield* Clock.currentTimeMillis
        const params = { id: flags.org, domain: flags.domain }
        const since = Math.max(0, now - (now % dayMillis) - (flags.days - 1) * dayMillis)
        const query = { mode: flags.mode, kind: flags.kind, since, limit: flags.limit }
        const reported = yield* client.send.domainReports({ params, query })
        if (flags.json) return yield* printJson(reported)
        const isDmarc = reported.kind === "dmarc"
        yield* Console.log((isDmarc ? dmarcSentences(reported) : tlsSentences(reported)).join("\n"))
        if (reported.data.length === 0) return
        yield* reported.kind === "dmarc"
          ? printTable(
              ["SOURCE", "MESSAGES", "PASSED", "DKIM", "SPF", "QUARANTINED", "REJECTED"],
              reported.data.map(sourceRow),
              ""
            )
          : printTable(["DAY", "POLICY", "SUCCESSFUL", "FAILED", "FAILURES"], reported.data.map(tlsRow), "")
      })
    )
).pipe(Command.withDescription("Show what other mail systems report about a domain"))
