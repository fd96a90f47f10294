/** Shows the overview: what needs attention, how much happens, and the next releases. */
import type { ComponentChildren } from "preact"
import { type Answer, get } from "../api.ts"
import { type Knowledge, knowledgeOf } from "../knowledge.ts"
import { hasScope, hasService, session } from "../session.ts"
import { Chip, Command, Empty, Fault, Head, Link, Loading, Part, Time } from "../ui/basics.tsx"
import { Chart } from "../ui/chart.tsx"
import { Table } from "../ui/lists.tsx"
import { type Loaded, useLoad, usePolling, useRefresh } from "../usePages.ts"
import { EmailFigures } from "./emailFigures.tsx"
import { gistOf } from "./gist.ts"

type Endpoint = Answer<"GET", "/v1/webhooks">["endpoints"][number]

const never = () => Promise.resolve(undefined)

const minuteMillis = 60_000
const shownMinutes = 60

/** Columns of the last hour, by kind of event. */
const columnsOf = (rates: Answer<"GET", "/v1/events/rates">["data"], present: number) => {
  const last = Math.floor(present / minuteMillis)
  const times = Array.from({ length: shownMinutes }, (_, at) => (last - shownMinutes + 1 + at) * minuteMillis)
  const isTrouble = (type: string) => /bounced|complained|failed|failing|paused/.test(type)
  const valuesOf = (wanted: boolean) =>
    times.map((minute) =>
      rates.reduce((sum, one) => (one.minute === minute && isTrouble(one.type) === wanted ? sum + one.count : sum), 0)
    )
  return {
    times,
    series: [
      { label: "events", colour: "--bar-busy", values: valuesOf(false) },
      { label: "of trouble", colour: "--bar-bad", values: valuesOf(true) }
    ]
  }
}

const Rates = ({ rates }: { readonly rates: Loaded<Answer<"GET", "/v1/events/rates"> | undefined> }) => {
  if (rates.error !== undefined) return <Fault error={rates.error} retry={rates.reload} />
  if (rates.data === undefined) return <Loading />
  return <Chart label="Events in each minute of the last hour" {...columnsOf(rates.data.data, Date.now())} />
}

interface Alarm {
  readonly id: string
  readonly state: string
  readonly word: string
  readonly text: ComponentChildren
}

const endpointAlarm = (one: Endpoint): Alarm | undefined => {
  const name = <Link to={`/endpoints/${one.id}`}>{one.url}</Link>
  if (one.is_paused)
    return {
      id: one.id,
      state: "paused",
      word: "Paused",
      text: (
        <>
          {name} gets nothing: {one.pending.toLocaleString()} deliveries wait
        </>
      )
    }
  if (one.consecutive_failures > 0)
    return {
      id: one.id,
      state: "failing",
      word: "Failing",
      text: (
        <>
          {name} failed {one.consecutive_failures} of the 10 times that pause it
        </>
      )
    }
  return undefined
}

const alarmsOf = (
  endpoints: ReadonlyArray<Endpoint>,
  tenant: Answer<"GET", "/v1/send/tenants"> | undefined,
  domains: Answer<"GET", "/v1/send/domains">["data"]
): ReadonlyArray<Alarm> => [
  ...(tenant?.trustStage === "sending_paused"
    ? [
        {
          id: "sending",
          state: "paused",
          word: "Sending paused",
          text: (
            <>
              No email goes out since <Time at={tenant.pausedAt} />. <Link to="/sending">See why</Link>
            </>
          )
        }
      ]
    : []),
  ...endpoints.flatMap((one) => endpointAlarm(one) ?? []),
  ...domains
    .filter(({ status }) => status === "failed" || status === "partially_failed")
    .map(({ id, name, status }) => ({
      id,
      state: status,
      word: "Records",
      text: (
        <>
          <Link to={`/domains/${id}`}>{name}</Link> lacks records
        </>
      )
    }))
]

const Alarms = ({ alarms, known }: { readonly alarms: ReadonlyArray<Alarm>; readonly known: Knowledge }) => {
  if (known === "loading") return <Loading />
  if (known === "unknown")
    return (
      <p>
        <Chip state="degraded" word="Not known" /> The platform does not answer all that is asked here.
      </p>
    )
  if (known === "well")
    return (
      <p>
        <Chip state="ok" word="All well" /> Nothing needs you.
      </p>
    )
  return (
    <Table
      caption="What needs you"
      items={alarms}
      keyOf={({ id }) => id}
      columns={[
        { head: "State", cell: ({ state, word }) => <Chip state={state} word={word} /> },
        { head: "What", isName: true, cell: ({ text }) => text }
      ]}
    />
  )
}

const Releases = ({ held }: { readonly held: Loaded<Answer<"GET", "/v1/send/emails"> | undefined> }) => {
  if (held.error !== undefined) return <Fault error={held.error} retry={held.reload} />
  if (held.data === undefined) return <Loading />
  if (held.data.data.length === 0) return <p class="note">No email is held.</p>
  return (
    <>
      <Table
        caption="Held emails"
        items={held.data.data}
        keyOf={({ id }) => id}
        columns={[
          { head: "Email", isName: true, cell: ({ id, subject }) => <Link to={`/emails/${id}`}>{subject ?? id}</Link> },
          { head: "Goes", cell: ({ held }) => (held?.until ? <Time at={held.until} /> : "when the pause ends") }
        ]}
      />
      <p class="note after">
        <Link to="/emails?state=held">All held emails</Link>
      </p>
    </>
  )
}

const Newest = ({ events }: { readonly events: Loaded<Answer<"GET", "/v1/events"> | undefined> }) => {
  if (events.error !== undefined) return <Fault error={events.error} retry={events.reload} />
  if (events.data === undefined) return <Loading />
  if (events.data.data.length === 0)
    return (
      <Empty title="No events yet">
        <p class="note">A look-up of a number makes the first one:</p>
        <Command text={`curl -H "Authorization: Bearer $KEY" ${location.origin}/v1/telco/lookup/2125560123`} />
      </Empty>
    )
  return (
    <Table
      caption="Newest events"
      items={events.data.data}
      keyOf={({ eventId }) => eventId}
      columns={[
        {
          head: "Type",
          isName: true,
          cell: ({ eventId, type }) => (
            <span class="mono type">
              <Link to={`/events/${eventId}`}>{type}</Link>
            </span>
          )
        },
        { head: "What", cell: (event) => <span class="sub gist">{gistOf(event)}</span> },
        { head: "When", cell: ({ createdAt }) => <Time at={createdAt} /> }
      ]}
    />
  )
}

const Glance = ({
  ready,
  tenant,
  endpoints,
  perMinute
}: {
  readonly ready: boolean | undefined
  readonly tenant: Answer<"GET", "/v1/send/tenants"> | undefined
  readonly endpoints: ReadonlyArray<Endpoint> | undefined
  readonly perMinute: number | undefined
}) => (
  <dl class="glance">
    <div>
      <dt>Platform</dt>
      <dd>
        {ready === undefined ? "…" : <Chip state={ready ? "ready" : "degraded"} word={ready ? "Ready" : "Not ready"} />}
      </dd>
    </div>
    {perMinute !== undefined && (
      <div>
        <dt>Events in the last hour</dt>
        <dd>{perMinute.toLocaleString()}</dd>
      </div>
    )}
    {endpoints !== undefined && (
      <div>
        <dt>Endpoints</dt>
        <dd>
          {endpoints.length}
          <span class="note">
            {endpoints.reduce((sum, { pending }) => sum + pending, 0).toLocaleString()} deliveries wait
          </span>
        </dd>
      </div>
    )}
    {tenant !== undefined && (
      <div>
        <dt>Emails this month</dt>
        <dd>
          {tenant.caps.emailsPerMonth.used.toLocaleString()}
          <span class="note">
            of{" "}
            {tenant.caps.emailsPerMonth.limit === null ? "no limit" : tenant.caps.emailsPerMonth.limit.toLocaleString()}
          </span>
        </dd>
      </div>
    )}
  </dl>
)

export const Overview = () => {
  const [seesEvents, seesWebhooks, sends] = [
    hasScope("platform:events:read") || hasScope("platform:webhooks:read"),
    hasScope("platform:webhooks:read"),
    hasService("send")
  ]
  const ready = useLoad(
    () =>
      get("/readyz").then(
        ({ status }) => status === "ready",
        () => false
      ),
    []
  )
  const rates = useLoad(() => (seesEvents ? get("/v1/events/rates") : never()), [])
  const events = useLoad(() => (seesEvents ? get("/v1/events", { query: { limit: 8 } }) : never()), [])
  const endpoints = useLoad(() => (seesWebhooks ? get("/v1/webhooks") : never()), [])
  const tenant = useLoad(() => (sends ? get("/v1/send/tenants") : never()), [])
  const domains = useLoad(() => (sends ? get("/v1/send/domains", { query: { limit: 100 } }) : never()), [])
  const held = useLoad(() => (sends ? get("/v1/send/emails", { query: { state: "held", limit: 5 } }) : never()), [])
  useRefresh([""], () => {
    events.reload()
    rates.reload()
  })
  useRefresh(["platform.webhook", "platform.test"], endpoints.reload)
  useRefresh(["send."], () => {
    tenant.reload()
    held.reload()
    domains.reload()
  })
  usePolling(30_000, ready.reload)
  const alarms = alarmsOf(endpoints.data?.endpoints ?? [], tenant.data, domains.data?.data ?? [])
  return (
    <>
      <Head title="Overview" note={`${session.value?.organization.name}, ${session.value?.mode} mode`} />
      <Glance
        ready={ready.data}
        tenant={tenant.data}
        endpoints={endpoints.data?.endpoints}
        perMinute={rates.data?.data.reduce((sum, { count }) => sum + count, 0)}
      />
      <Part title="Needs you">
        <Fault error={endpoints.error ?? tenant.error ?? domains.error ?? ""} />
        <Alarms alarms={alarms} known={knowledgeOf([endpoints, tenant, domains], ready.data, alarms.length)} />
      </Part>
      {sends && <EmailFigures />}
      {seesEvents && (
        <Part title="Events by the minute">
          <Rates rates={rates} />
        </Part>
      )}
      <div class={sends ? "columns wide" : ""}>
        {seesEvents && (
          <Part title="Newest events" actions={<Link to="/events">All events</Link>}>
            <Newest events={events} />
          </Part>
        )}
        {sends && (
          <Part title="Next releases">
            <Releases held={held} />
          </Part>
        )}
      </div>
    </>
  )
}
