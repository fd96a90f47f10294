/** Shows the requests of the organization's keys, and one of them with the bodies of a failure. */
import { get } from "../api.ts"
import { setSearch } from "../router.ts"
import { hasScope, hasService } from "../session.ts"
import { Copy, Fault, Head, Link, Loading, Part, Select } from "../ui/basics.tsx"
import { LinkedText } from "../ui/linkedText.tsx"
import { type RequestDetail, RequestList, RequestParts } from "../ui/requestList.tsx"
import { useLoad, usePages } from "../usePages.ts"
import { atMoment, Filters, given, Moment, since, until } from "./filters.tsx"

const methods = ["GET", "POST", "PATCH", "PUT", "DELETE"] as const
const classes = ["2xx", "3xx", "4xx", "5xx"]

export const Requests = () => {
  const method = methods.find((one) => one === given("method"))
  const [status, path, key, requestId] = [given("status"), given("path"), given("key"), given("requestId")]
  const all = [method ?? "", status, path, key, requestId, given("hours"), given("moment")]
  const paged = usePages(
    (cursor) =>
      get("/v1/requests", {
        query: { method, status, path, key, requestId, since: since(), until: until(), cursor, limit: 25 }
      }),
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
        <Moment />
        <RequestList paged={paged} placeOf={(id) => `/requests/${id}`} isFiltered={all.some((one) => one !== "")} />
      </Part>
    </>
  )
}

/** How long before its answer a request may have done what it did. */
const actMillis = 3_000

/** The objects that a request changed or made, by the acts that name it; and a list of the emails of its moment. */
const Made = ({ request }: { readonly request: RequestDetail }) => {
  const { at, keyId, method, requestId, route, status } = request
  const isRead = method === "GET" || status >= 400
  const seesActs = hasScope("platform:audit:read")
  const { data, error, reload } = useLoad(
    async () =>
      isRead || !seesActs
        ? []
        : (await get("/v1/audit", { query: { since: at - actMillis, until: at + actMillis, limit: 100 } })).data.filter(
            (one) => one.requestId === requestId
          ),
    [requestId, isRead]
  )
  const sends = method === "POST" && route.startsWith("/v1/send/emails") && hasService("send")
  if (isRead || (data?.length === 0 && !sends)) return null
  return (
    <Part title="What it did">
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined && error === undefined && <Loading />}
      <ul class="plain">
        {data?.map((act) => (
          <li key={act.id}>
            <span class="mono">{act.act}</span>{" "}
            {act.object !== null && (
              <span class="mono">
                <LinkedText text={act.object} />
              </span>
            )}
          </li>
        ))}
        {sends && (
          <li>
            <Link to={`/emails?key=${keyId}&${atMoment(at)}`}>Emails of its key at that moment</Link>
          </li>
        )}
      </ul>
    </Part>
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
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <RequestParts request={data} />
          <Made request={data} />
        </>
      )}
    </>
  )
}
