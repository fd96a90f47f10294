/** Shows one event: its payload, the decision that caused it, and its deliveries. */
import { get } from "../api.ts"
import { hasScope, hasService } from "../session.ts"
import { Chip, Command, Copy, Empty, Facts, Fault, Head, Json, Link, Loading, Part, Tabs, Time } from "../ui/basics.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { useLoad, usePages } from "../usePages.ts"

/** Facts of the account that sends which outlive the log. */
const KeptFacts = ({ sequence }: { readonly sequence: number }) => {
  const { data } = useLoad(() => get("/v1/send/tenants/facts"), [sequence])
  const own = (data?.data ?? []).filter((one) => one.sequence === sequence)
  if (own.length === 0) return null
  return (
    <ol class="story">
      {own.map((one) => (
        <li key={one.index}>
          {one.sentence}
          <div class="sub">record {one.index}</div>
        </li>
      ))}
    </ol>
  )
}

const Origin = ({ id }: { readonly id: string }) => {
  const { data, error, reload } = useLoad(() => get("/v1/events/:id/origin", { params: { id } }), [id])
  if (error !== undefined) return <Fault error={error} retry={reload} />
  if (data === undefined) return <Loading />
  return (
    <>
      <Facts
        of={[
          ["Partition", data.partition],
          ["Place in its log", `${data.sequence}, record ${data.index}`],
          data.frame !== null && ["Frame", `${data.frame.number} of epoch ${data.frame.epoch}`],
          data.frame !== null && ["Decided", <Time at={data.frame.decidedAt} />]
        ]}
      />
      {data.frame === null ? (
        <>
          <p class="note">
            The log holds this frame no more. What is kept of the decision for longer is the event, and the facts of an
            account that sends.
          </p>
          {hasService("send") && <KeptFacts sequence={data.sequence} />}
        </>
      ) : (
        <ol class="story" style={{ marginTop: "14px" }}>
          {data.frame.records.map((one) => (
            <li key={one.index} class={one.index === data.index ? "key" : ""}>
              <strong>{one.isEvent ? "Event" : "Fact"}</strong> of <span class="mono">{one.kind}</span>{" "}
              <span class="mono">{one.key}</span>
              <details>
                <summary>Record {one.index}</summary>
                <Json value={one.record} label={`Record ${one.index}`} />
              </details>
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

const Deliveries = ({ id }: { readonly id: string }) => {
  const paged = usePages((cursor) => get("/v1/events/:id/deliveries", { params: { id }, query: { cursor } }), [id])
  return (
    <PagedTable
      paged={paged}
      caption="Deliveries of this event"
      keyOf={(one) => one.id}
      empty={
        <Empty title="It was delivered to nobody">
          <p class="note">No endpoint wanted its type when it happened. Events from now on go to endpoints made now:</p>
          <Command
            text={`curl -X POST ${location.origin}/v1/webhooks -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"url": "https://example.com/hook", "enabled_events": ["*"]}'`}
          />
        </Empty>
      }
      columns={[
        {
          head: "Delivery",
          isName: true,
          cell: (one) => <Link to={`/endpoints/${one.endpointId}/deliveries/${one.id}`}>{one.id}</Link>
        },
        { head: "Endpoint", cell: (one) => <Link to={`/endpoints/${one.endpointId}`}>{one.endpointId}</Link> },
        { head: "State", cell: (one) => <Chip state={one.status} /> },
        { head: "Attempts", isFigure: true, cell: (one) => one.attemptCount },
        { head: "Created", cell: (one) => <Time at={one.createdAt} /> }
      ]}
    />
  )
}

export const Event = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/v1/events/:id", { params: { id } }), [id])
  return (
    <>
      <Head
        title={data?.type ?? "Event"}
        note={<span class="mono">{id}</span>}
        trail={["/events", "Events"]}
        actions={<Copy text={id} what="id" />}
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data !== undefined && (
        <>
          <Part title="Event">
            <Facts
              of={[
                ["Service", data.service],
                ["Mode", data.livemode ? "live" : "test"],
                ["Created", <Time at={data.createdAt} />]
              ]}
            />
          </Part>
          <Part title="What it says">
            <Tabs
              label="The event as data or whole"
              tabs={[
                ["Data", () => <Json value={data.data} label="Data" />],
                ["As delivered", () => <Json value={data} label="Event" />]
              ]}
            />
          </Part>
          {hasScope("platform:webhooks:read") && (
            <Part title="Deliveries">
              <Deliveries id={id} />
            </Part>
          )}
          <Part title="Why it happened">
            <Origin id={id} />
          </Part>
        </>
      )}
    </>
  )
}
