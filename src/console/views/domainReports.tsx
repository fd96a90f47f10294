/** Shows what other mail systems report about a domain: a sentence and a table for DMARC, and the same for TLS. */
import { type Answer, get } from "../api.ts"
import { session } from "../session.ts"
import { Fault, Loading } from "../ui/basics.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"

type Reports = Answer<"GET", "/v1/send/domains/:id/reports">
type DmarcReports = Extract<Reports, { readonly kind: "dmarc" }>
type TlsReports = Extract<Reports, { readonly kind: "tls" }>

/** A share in percent, rounded down: one failure of many is not all. */
const percent = (part: number, whole: number): string => `${Math.floor((part / whole) * 1_000) / 10} %`

const Reporters = ({ reporters }: Pick<Reports, "reporters">) => (
  <p class="note">
    In 30 days, as reported by {reporters.map(({ name, reports }) => `${name} (${reports})`).join(", ")}. Nothing proves
    who sent a report.
  </p>
)

const dmarcSentence = ({ data, totals }: DmarcReports): string => {
  if (totals.messages === 0) return "The reporters have seen no mail of this domain."
  const passed = `${percent(totals.passed, totals.messages)} of ${totals.messages.toLocaleString()} messages passed.`
  const [worst] = data
  const failed = worst === undefined ? 0 : worst.messages - worst.passed
  if (worst === undefined || failed === 0) return passed
  return `${passed} ${worst.source ?? "Other sources"} sent ${failed.toLocaleString()} that failed both SPF and DKIM.`
}

const Dmarc = ({ reports }: { readonly reports: DmarcReports }) => (
  <>
    <p>{dmarcSentence(reports)}</p>
    <Reporters reporters={reports.reporters} />
    {reports.data.length > 0 && (
      <Table
        caption="Sources of mail of this domain"
        items={reports.data}
        keyOf={({ source }) => source ?? "others"}
        columns={[
          {
            head: "Source",
            isName: true,
            cell: ({ firstDay, lastDay, source }) => (
              <>
                {source === null ? "others" : <span class="mono">{source}</span>}
                <span class="sub">{firstDay === lastDay ? firstDay : `${firstDay} to ${lastDay}`}</span>
              </>
            )
          },
          { head: "Messages", isFigure: true, cell: ({ messages }) => messages.toLocaleString() },
          { head: "Failed both", isFigure: true, cell: ({ messages, passed }) => (messages - passed).toLocaleString() },
          { head: "DKIM", isFigure: true, cell: ({ dkimAligned, messages }) => percentOr(dkimAligned, messages) },
          { head: "SPF", isFigure: true, cell: ({ messages, spfAligned }) => percentOr(spfAligned, messages) },
          {
            head: "Refused or put aside",
            isFigure: true,
            cell: ({ quarantined, rejected }) => (quarantined + rejected).toLocaleString()
          }
        ]}
      />
    )}
    {reports.has_more && <p class="note">The first {reports.data.length} sources, those with most failures first.</p>}
  </>
)

const percentOr = (part: number, whole: number): string => (whole === 0 ? "" : percent(part, whole))

const Tls = ({ reports }: { readonly reports: TlsReports }) => {
  const { failed, successful } = reports.totals
  const all = failed + successful
  return (
    <>
      <p>
        {all === 0
          ? "The reporters have made no connection to this domain."
          : `${percent(successful, all)} of ${all.toLocaleString()} connections to this domain were encrypted properly.`}
      </p>
      <Reporters reporters={reports.reporters} />
      {reports.data.length > 0 && (
        <Table
          caption="Connections to this domain"
          items={reports.data}
          keyOf={({ day, policy }) => `${day} ${policy}`}
          columns={[
            { head: "Day", isName: true, cell: ({ day }) => day },
            { head: "Policy", cell: ({ policy }) => policy },
            { head: "Encrypted", isFigure: true, cell: (one) => one.successful.toLocaleString() },
            { head: "Failed", isFigure: true, cell: (one) => one.failed.toLocaleString() },
            {
              head: "Because of",
              cell: ({ failures }) => failures.map((one) => `${one.type} (${one.sessions.toLocaleString()})`).join(", ")
            }
          ]}
        />
      )}
    </>
  )
}

/** Both kinds of reports, each once there are some. */
export const DomainReports = ({ domainId }: { readonly domainId: string }) => {
  const { data, error, reload } = useLoad(
    () =>
      Promise.all(
        (["dmarc", "tls"] as const).map((kind) =>
          get("/v1/send/domains/:id/reports", { params: { id: domainId }, query: { kind, limit: 25 } })
        )
      ),
    [domainId]
  )
  if (data === undefined) return error === undefined ? <Loading /> : <Fault error={error} retry={reload} />
  const some = data.filter(({ reporters }) => reporters.length > 0)
  if (some.length === 0)
    return (
      <p class="note">
        {session.value?.mode === "test"
          ? "There are no reports in test mode."
          : "No report has come yet. Other mail systems send them daily once a DMARC record asks for them."}
      </p>
    )
  return (
    <>
      {some.map((reports) =>
        reports.kind === "dmarc" ? <Dmarc key="dmarc" reports={reports} /> : <Tls key="tls" reports={reports} />
      )}
    </>
  )
}
