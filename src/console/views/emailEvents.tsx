/** Lists the events of an email, each with the deliveries that it caused. */
import { get } from "../api.ts"
import { hasScope } from "../session.ts"
import { Chip, Fault, Link, Loading, Time } from "../ui/basics.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad, useRefresh } from "../usePages.ts"

/** Events that are shown with their deliveries; the list of events has the others. */
const maximumEvents = 10

const Deliveries = ({ eventId }: { readonly eventId: string }) => {
  const { data, error, reload } = useLoad(
    () => get("/v1/events/:id/deliveries", { params: { id: eventId }, query: { limit: 5 } }),
    [eventId]
  )
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  if (data.data.length === 0) return <span class="none">none</span>
  return (
    <>
      {data.data.map((one) => (
        <div key={one.id}>
          <Link to={`/endpoints/${one.endpointId}/deliveries/${one.id}`}>
            <Chip state={one.status} />
          </Link>{" "}
          <span class="sub mono">
            <Link to={`/endpoints/${one.endpointId}`}>{one.endpointId}</Link>
          </span>
        </div>
      ))}
      {data.pagination.hasMore && <Link to={`/events/${eventId}`}>All deliveries</Link>}
    </>
  )
}

export const EmailEvents = ({ id, state }: { readonly id: string; readonly state: string }) => {
  const { data, error, reload } = useLoad(
    () => get("/v1/events", { query: { object: id, limit: maximumEvents } }),
    [id, state]
  )
  useRefresh(["send.email"], reload)
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  if (data.data.length === 0) return <p class="note">It has caused no event of the last 30 days.</p>
  return (
    <>
      <Table
        caption="Events of this email"
        items={data.data}
        keyOf={({ eventId }) => eventId}
        columns={[
          {
            head: "Event",
            isName: true,
            cell: ({ eventId, type }) => (
              <span class="mono">
                <Link to={`/events/${eventId}`}>{type}</Link>
              </span>
            )
          },
          { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: "Deliveries",
            cell: ({ eventId }) =>
              hasScope("platform:webhooks:read") ? (
                <Deliveries eventId={eventId} />
              ) : (
                <span class="none">this key may not see them</span>
              )
          }
        ]}
      />
      {data.pagination.hasMore && <Link to={`/events?object=${id}`}>All its events</Link>}
    </>
  )
}
