/** Shows operators one request of an organization's keys. */
import { get } from "../api.ts"
import { Copy, Fault, Head, Loading } from "../ui/basics.tsx"
import { RequestParts } from "../ui/requestList.tsx"
import { useLoad } from "../usePages.ts"

export const OrganizationRequest = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const { id = "", recordId = "" } = params
  const { data, error, reload } = useLoad(
    () => get("/admin/v1/organizations/:id/requests/:recordId", { params: { id, recordId } }),
    [id, recordId]
  )
  return (
    <>
      <Head
        title={data === undefined ? "Request" : `${data.method} ${data.path}`}
        note={<span class="mono">{recordId}</span>}
        trail={[`/organizations/${id}`, "Organization"]}
        actions={<Copy text={recordId} what="id" />}
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? error === undefined && <Loading /> : <RequestParts request={data} />}
    </>
  )
}
