/** Shows who did what to the organization: its keys, sessions and operators. */
import { get } from "../api.ts"
import { AuditList } from "../ui/auditList.tsx"
import { Head, Part } from "../ui/basics.tsx"
import { usePages } from "../usePages.ts"
import { Filters, given, since } from "./filters.tsx"

export const Audit = () => {
  const act = given("act")
  const paged = usePages(
    (cursor) => get("/v1/audit", { query: { act, since: since(), cursor, limit: 25 } }),
    [act, given("hours")]
  )
  return (
    <>
      <Head title="Audit" note="Who changed what, for the last 400 days." />
      <Filters fields={[["act", "Act", "key.created"]]} />
      <Part title="All acts">
        <AuditList paged={paged} />
      </Part>
    </>
  )
}
