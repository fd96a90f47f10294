/** Shows one endpoint: its state with the causes, its deliveries, and the types that it gets. */
import { ask, get } from "../api.ts"
import { go, search, setSearch } from "../router.ts"
import { hasScope, portal } from "../session.ts"
import { Chip, Copy, Empty, Facts, Fault, Head, Link, Loading, Part, Select, Tabs, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { EventLink } from "../ui/eventLink.tsx"
import { counted } from "../ui/figureWords.ts"
import { PagedTable } from "../ui/lists.tsx"
import { useLoad, usePages, usePolling, useRefresh } from "../usePages.ts"
import { AttemptFigures } from "./attemptFigures.tsx"
import { Replay, Rotate, Test } from "./endpointActs.tsx"
import { Edit } from "./endpointEdit.tsx"
import { type EndpointShown, stateOf, Unpause } from "./endpoints.tsx"
import { PatternTester } from "./patternTester.tsx"
import { RecoverFailed } from "./recoverFailed.tsx"

const statuses = ["pending", "succeeded", "failed", "expired", "cancelled"] as const

/** The events that tell how an endpoint came to its state, in order. */
const Why = ({ endpoint }: { readonly endpoint: EndpointShown }) => {
  const { data } = useLoad(
    async () =>
      portal.value === null
        ? get("/v1/events", { query: { type: "platform.webhook.*", object: endpoint.id, limit: 6 } })
        : undefined,
    [endpoint.id, endpoint.is_paused, endpoint.consecutive_failures]
  )
  const story = (data?.data ?? []).toReversed()
  const state = stateOf(endpoint)
  return (
    <section class={`why ${state === "paused" ? "bad" : ""}`} aria-label="Why">
      <h2>
        {state === "paused"
          ? "Why it is paused"
          : state === "failing"
            ? `It fails: ${counted(endpoint.consecutive_failures, "delivery", "deliveries")} in a row; 10 pause it`
            : "It is disabled, so nothing is sent"}
      </h2>
      <ol class="story">
        {story.map((event) => (
          <li key={event.eventId} class={event.type.endsWith("paused") ? "trouble" : ""}>
            <Link to={`/events/${event.eventId}`}>{event.type}</Link>{" "}
            <span class="sub">
              <Time at={event.createdAt} /> {String((event.data as { reason?: string }).reason ?? "")}
            </span>
          </li>
        ))}
        {state === "paused" && (
          <li>
            Since then {counted(endpoint.pending, "delivery waits", "deliveries wait")}, and new events are listed as
            missed. Unpause it when its receiver answers again.
          </li>
        )}
      </ol>
    </section>
  )
}

const Deliveries = ({ id, isActive }: { readonly id: string; readonly isActive: boolean }) => {
  const wanted = statuses.find((one) => one === search.value.get("deliveries"))
  const paged = usePages(
    (cursor) => get("/v1/webhooks/:id/deliveries", { params: { id }, query: { cursor, status: wanted } }),
    [id, wanted ?? ""]
  )
  usePolling(10_000, paged.reload)
  const isFailure = wanted === "failed" || wanted === "expired"
  return (
    <>
      <div class="filters">
        <Select
          label="State"
          value={wanted ?? ""}
          options={[["", "All"], ...statuses.map((one) => [one, one] as const)]}
          onChange={(value) => setSearch({ deliveries: value })}
        />
        {isActive && hasScope("platform:webhooks:manage") && (
          <div class="field end">
            <RecoverFailed id={id} status={isFailure ? wanted : "failed"} done={paged.reload} />
          </div>
        )}
      </div>
      <PagedTable
        paged={paged}
        caption="Deliveries"
        keyOf={(one) => one.id}
        empty={
          wanted === undefined ? (
            <Empty title="Nothing was sent yet">
              <p class="note">Send a test event with the button above.</p>
            </Empty>
          ) : (
            <Empty title={`No delivery is ${wanted}`} />
          )
        }
        columns={[
          {
            head: "Event",
            isName: true,
            cell: (one) => (
              <span class="mono type">
                <Link to={`/endpoints/${id}/deliveries/${one.id}`}>{one.eventType}</Link>
              </span>
            )
          },
          { head: "State", cell: (one) => <Chip state={one.status} /> },
          { head: "Attempts", isFigure: true, cell: (one) => one.attemptCount },
          { head: "Cause", cell: (one) => (one.replayId === null ? one.origin : "replay") },
          { head: "Created", cell: (one) => <Time at={one.createdAt} /> },
          { head: "Next attempt", cell: (one) => <Time at={one.nextAttemptAt} /> }
        ]}
      />
    </>
  )
}

const Skipped = ({ id }: { readonly id: string }) => {
  const paged = usePages((cursor) => get("/v1/webhooks/:id/skipped", { params: { id }, query: { cursor } }), [id])
  return (
    <PagedTable
      paged={paged}
      caption="Missed events"
      keyOf={(one) => one.eventId}
      empty={<p class="note">It missed nothing.</p>}
      columns={[
        {
          head: "Event",
          isName: true,
          cell: (one) => (
            <span class="mono type">
              <EventLink id={one.eventId}>{one.eventType}</EventLink>
            </span>
          )
        },
        { head: "Because it was", cell: (one) => <Chip state={one.reason} /> },
        { head: "When", cell: (one) => <Time at={one.eventCreatedAt} /> }
      ]}
    />
  )
}

const Acts = ({ endpoint, reload }: { readonly endpoint: EndpointShown; readonly reload: () => void }) => {
  const { id } = endpoint
  if (!hasScope("platform:webhooks:manage")) return null
  return (
    <>
      {endpoint.is_paused && <Unpause endpoint={endpoint} done={reload} />}
      <Test endpoint={endpoint} done={reload} />
      <Edit endpoint={endpoint} done={reload} />
      <Rotate id={id} done={reload} />
      <Replay id={id} done={reload} />
      <Act
        word={endpoint.is_active ? "Disable" : "Enable"}
        act={async () => {
          await ask("PATCH", "/v1/webhooks/:id", { params: { id }, body: { is_active: !endpoint.is_active } })
          reload()
        }}
      />
      <Opener word="Delete" kind="danger">
        {(close) => (
          <FormDialog
            title="Delete this endpoint?"
            verb="Delete it"
            isDangerous
            onClose={close}
            act={async () => {
              await ask("DELETE", "/v1/webhooks/:id", { params: { id } })
              go("/endpoints")
            }}
          >
            <p>Deliveries that wait are cancelled. This cannot be undone.</p>
          </FormDialog>
        )}
      </Opener>
    </>
  )
}

const orderOf = (ordering: EndpointShown["ordering"]): string => {
  if (ordering === null) return "none"
  return ordering.key === "organization" ? "all events, one after the other" : `by ${ordering.key}, one after the other`
}

export const Endpoint = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/v1/webhooks/:id", { params: { id } }), [id])
  useRefresh(["platform.webhook", "platform.test"], reload, 10_000)
  if (data === undefined)
    return (
      <>
        <Head title="Endpoint" trail={["/endpoints", "Endpoints"]} />
        {error === undefined ? <Loading /> : <Fault error={error} retry={reload} />}
      </>
    )
  const state = stateOf(data)
  return (
    <>
      <Head
        title={data.url}
        note={
          <>
            <Chip state={state} /> <span class="mono">{id}</span> <Copy text={id} what="id" />
          </>
        }
        trail={["/endpoints", "Endpoints"]}
        actions={<Acts endpoint={data} reload={reload} />}
      />
      {state !== "active" && <Why endpoint={data} />}
      <Part title="Endpoint">
        <Facts
          of={[
            ["Events", <span class="mono">{data.enabled_events.join(" ")}</span>],
            data.description !== null && ["Description", data.description],
            data.label !== null && portal.value === null && ["Label", <span class="mono">{data.label}</span>],
            ["Failures in a row", `${data.consecutive_failures} of 10`],
            ["Waiting", data.pending.toLocaleString()],
            ["Oldest that waits", <Time at={data.oldest_pending_at} />],
            ["Last delivery", <Time at={data.last_delivery_at} />],
            data.header_names.length > 0 && ["Own headers", <span class="mono">{data.header_names.join(" ")}</span>],
            ["Rate", data.rate_limit === null ? "no limit" : `${data.rate_limit} a second`],
            ["Order", orderOf(data.ordering)],
            ["Created", <Time at={data.created_at} />]
          ]}
        />
      </Part>
      <AttemptFigures id={id} />
      <Part title="What was sent">
        <Tabs
          label="Sent and missed"
          tabs={[
            ["Deliveries", () => <Deliveries id={id} isActive={data.is_active} />],
            ["Missed", () => <Skipped id={id} />]
          ]}
        />
      </Part>
      <Part title="Which events it gets">
        <PatternTester endpoint={data} done={reload} />
      </Part>
    </>
  )
}
