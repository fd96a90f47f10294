/** Shows what other mail systems report about a domain: a sentence and a table for DMARC, and the same for TLS. */
import { type Answer, get } from "../api.ts"
import { Fault, Part } from "../ui/basics.tsx"
import { type Column, Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"

type Reports = Answer<"GET", "/v1/send/domains/:id/reports">
type DmarcReports = Extract<Reports, { readonly kind: "dmarc" }>
type Source = DmarcReports["data"][number]
type TlsReports = Extract<Reports, { readonly kind: "tls" }>
type Day = TlsReports["data"][number]

/** A share, rounded down: one failure of many is not all. */
const share = (part: number, whole: number): string =>
  whole === 0 ? "0 of 0" : `${Math.floor((part / whole) * 1_000) / 10} % of ${whole.toLocaleString()}`

const figure = <Item,>(head: string, of: (item: Item) => number): Column<Item> => ({
  head,
  isFigure: true,
  cell: (item) => of(item).toLocaleString()
})

const failed = ({ messages, passed }: Source): number => messages - passed

const nameOf = ({ source }: Source): string => source ?? "Other sources"

const dmarcSentence = ({ data: [worst], totals }: DmarcReports): string =>
  `${share(totals.passed, totals.messages)} messages passed.${
    worst === undefined || failed(worst) === 0
      ? ""
      : ` ${nameOf(worst)} sent ${failed(worst).toLocaleString()} that failed both SPF and DKIM.`
  }`

const sourceColumns: ReadonlyArray<Column<Source>> = [
  { head: "Source", isName: true, cell: nameOf },
  figure("Messages", ({ messages }) => messages),
  figure("DKIM", ({ dkimAligned }) => dkimAligned),
  figure("SPF", ({ spfAligned }) => spfAligned),
  figure("Failed both", failed),
  figure("Refused", ({ quarantined, rejected }) => quarantined + rejected)
]

const tlsSentence = ({ totals: { failed, successful } }: TlsReports): string =>
  `${share(successful, failed + successful)} connections to this domain were encrypted properly.`

const dayColumns: ReadonlyArray<Column<Day>> = [
  { head: "Day", isName: true, cell: ({ day, policy }) => `${day}, ${policy}` },
  figure("Encrypted", ({ successful }) => successful),
  figure("Failed", ({ failed }) => failed),
  {
    head: "Because of",
    cell: ({ failures }) => failures.map(({ sessions, type }) => `${type} (${sessions.toLocaleString()})`).join(", ")
  }
]

/** Both kinds of reports, each once there are some. The first 25 sources are those with most failures. */
export const DomainReports = ({ domainId }: { readonly domainId: string }) => {
  const { data, error, reload } = useLoad(
    () =>
      Promise.all(
        (["dmarc", "tls"] as const).map((kind) =>
          get("/v1/send/domains/:id/reports", { params: { id: domainId }, query: { kind } })
        )
      ),
    [domainId]
  )
  const some = data?.filter(({ reporters }) => reporters.length > 0) ?? []
  return (
    <>
      {error !== undefined && <Fault error={error} retry={reload} />}
      {some.map((reports) => (
        <Part key={reports.kind} title={`${reports.kind.toUpperCase()} reports of other mail systems`}>
          <p>{reports.kind === "dmarc" ? dmarcSentence(reports) : tlsSentence(reports)}</p>
          <p class="note">
            In 30 days, as reported by {reports.reporters.map(({ name, reports: of }) => `${name} (${of})`).join(", ")}.
            Nothing proves who sent a report.
          </p>
          {reports.kind === "dmarc" ? (
            <Table caption="Sources" items={reports.data} keyOf={nameOf} columns={sourceColumns} />
          ) : (
            <Table
              caption="Connections"
              items={reports.data}
              keyOf={({ day, policy }) => `${day} ${policy}`}
              columns={dayColumns}
            />
          )}
        </Part>
      ))}
      {data !== undefined && some.length === 0 && (
        <Part title="Reports of other mail systems">
          <p class="note">None has come yet.</p>
        </Part>
      )}
    </>
  )
}
