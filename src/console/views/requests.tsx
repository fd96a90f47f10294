/** Shows the requests of the organization's keys, and one of them with the bodies of a failure. */
import { get } from "../api.ts"
import { setSearch } from "../router.ts"
import { Copy, Fault, Head, Loading, Part, Select } from "../ui/basics.tsx"
import { RequestList, RequestParts } from "../ui/requestList.tsx"
import { useLoad, usePages } from "../usePages.ts"
import { Filters, given, since } from "./filters.tsx"

const methods = ["GET", "POST", "PATCH", "PUT", "DELETE"] as const
const classes = ["2xx", "3xx", "4xx", "5xx"]

export const Requests = () => {
  const method = methods.find((one) => one === given("method"))
  const [status, path, key, requestId] = [given("status"), given("path"), given("key"), given("requestId")]
  const all = [method ?? "", status, path, key, requestId, given("hours")]
  const paged = usePages(
    (cursor) =>
      get("/v1/requests", { query: { method, status, path, key, requestId, since: since(), cursor, limit: 25 } }),
    all
  )
  // A link may name one status.
  const statuses = status === "" || classes.includes(status) ? classes : [...classes, status]
  return (
    <>
      <Head title="Requests" note="What your keys asked for, for the last seven days." />
      <Part title="All requests">
        <div class="filters">
          <Select
            label="Method"
            value={method ?? ""}
            options={[["", "Any method"], ...methods.map((one) => [one, one] as const)]}
            onChange={(next) => setSearch({ method: next })}
          />
          <Select
            label="Status"
            value={status}
            options={[["", "Any status"], ...statuses.map((one) => [one, one] as const)]}
            onChange={(next) => setSearch({ status: next })}
          />
          <Filters
            fields={[
              ["path", "Path", "/v1/send/emails/{id}"],
              ["key", "Key", "key_…"],
              ["requestId", "X-Request-Id", "req_…"]
            ]}
          />
        </div>
        <RequestList paged={paged} placeOf={(id) => `/requests/${id}`} isFiltered={all.some((one) => one !== "")} />
      </Part>
    </>
  )
}

export const Request = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/v1/requests/:id", { params: { id } }), [id])
  return (
    <>
      <Head
        title={data === undefined ? "Request" : `${data.method} ${data.path}`}
        note={<span class="mono">{id}</span>}
        trail={["/requests", "Requests"]}
        actions={<Copy text={id} what="id" />}
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? error === undefined && <Loading /> : <RequestParts request={data} />}
    </>
  )
}
