/** Lists the acts of operators over all organizations. */
import { get } from "../api.ts"
import { Empty, Head, Json, Part, Time } from "../ui/basics.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, usePolling } from "../usePages.ts"
import { Filters, given, since } from "../views/filters.tsx"
import { Age } from "./parts.tsx"
import { SubjectLink } from "./subjectLink.tsx"

const refreshSeconds = 10

export const OperatorActs = () => {
  const [act, subject, hours] = [given("act"), given("subject"), given("hours")]
  const paged = usePages(
    (cursor) => get("/admin/v1/acts", { query: { cursor, act, subject, since: since() } }),
    [act, subject, hours]
  )
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head title="Acts" note="What operators have done, here and by the command line." />
      <Part title="Acts of operators">
        <Filters
          fields={[
            ["act", "Act", "send.lifted"],
            ["subject", "On", "org_…"]
          ]}
        />
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Acts of operators"
          keyOf={({ id }) => String(id)}
          empty={<Empty title={[act, subject, hours].some((one) => one !== "") ? "No such act" : "No acts yet"} />}
          columns={[
            { head: "Act", isName: true, cell: (one) => <span class="mono type">{one.act}</span> },
            { head: "On", cell: (one) => <SubjectLink id={one.subject} /> },
            {
              head: "Given",
              cell: ({ act: name, detail, id }) =>
                Object.keys(detail).length === 0 ? (
                  <span class="none">nothing</span>
                ) : (
                  <details>
                    <summary aria-label={`Show what was given to act ${id}, ${name}`}>Show</summary>
                    <Json value={detail} label={`What was given to act ${id}`} />
                  </details>
                )
            },
            { head: "When", cell: ({ at }) => <Time at={at} /> }
          ]}
        />
      </Part>
    </>
  )
}
