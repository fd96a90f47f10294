/**
 * Shows new events live, and past ones. It holds only the newest of the live ones, and draws the page only a few times
 * a second.
 */
import { useSignal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import { get } from "../api.ts"
import { type LiveEvent, liveState, onEvent } from "../live.ts"
import { href } from "../router.ts"
import { session } from "../session.ts"
import { Chip, Command, Empty, Head, Link, Part, Time } from "../ui/basics.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { clockTime } from "../ui/time.ts"
import { usePages } from "../usePages.ts"
import { Filters, given, since } from "./filters.tsx"
import { gistOf } from "./gist.ts"

/** Most events that the page holds. */
const heldEvents = 200
/** How often it is drawn while events come. */
const drawMillis = 200

/** Whether a type fits a pattern such as `send.*`. */
const fits = (pattern: string, { service, type }: LiveEvent): boolean => {
  if (pattern === "" || pattern === "*") return true
  if (!pattern.endsWith(".*")) return type === pattern
  return type.startsWith(pattern.slice(0, -1)) || service === pattern.slice(0, -2)
}

/** The newest events that fit, newest first, and how many came while it was paused. */
const useLive = (pattern: string, isPaused: boolean) => {
  const [events, setEvents] = useState<ReadonlyArray<LiveEvent>>([])
  const [missed, setMissed] = useState(0)
  const waiting = useRef<Array<LiveEvent>>([])
  useEffect(() => {
    const draw = () => {
      if (waiting.current.length === 0) return
      if (isPaused) {
        setMissed(waiting.current.length)
        return
      }
      const come = waiting.current.reverse()
      waiting.current = []
      setMissed(0)
      setEvents((before) => [...come, ...before].slice(0, heldEvents))
    }
    const stop = onEvent((event) => {
      waiting.current.push(event)
      if (waiting.current.length > heldEvents) waiting.current.shift()
    })
    draw()
    const timer = setInterval(draw, drawMillis)
    return () => {
      stop()
      clearInterval(timer)
    }
  }, [isPaused])
  return { events: events.filter((event) => fits(pattern, event)), missed }
}

const LiveList = ({ events }: { readonly events: ReadonlyArray<LiveEvent> }) => (
  <ul class="live-list" aria-label="Events as they come">
    {events.map((event) => (
      <li key={event.eventId}>
        <a href={href(`/events/${event.eventId}`)}>
          <time dateTime={new Date(event.createdAt).toISOString()}>{clockTime(event.createdAt)}</time>
          <span class="type">{event.type}</span>
          <span class="gist">
            {event.livemode ? "" : "test · "}
            {gistOf(event)}
          </span>
        </a>
      </li>
    ))}
  </ul>
)

const History = ({ pattern }: { readonly pattern: string }) => {
  const [object, text] = [given("object"), given("text")]
  const paged = usePages(
    (cursor) =>
      get("/v1/events", {
        query: { type: pattern, object, text, since: since(), cursor, limit: 25, include: "total" }
      }),
    [pattern, object, text, given("hours")]
  )
  return (
    <PagedTable
      paged={paged}
      caption="Events of the last 30 days"
      keyOf={({ eventId }) => eventId}
      empty={
        <Empty title="No events">
          <p class="note">Ask for a number, and the look-up is recorded:</p>
          <Command text={`curl -H "Authorization: Bearer $KEY" ${location.origin}/v1/telco/lookup/2125560123`} />
        </Empty>
      }
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
        { head: "Mode", cell: ({ livemode }) => (livemode ? "live" : <Chip state="test" word="Test" />) },
        { head: "When", cell: ({ createdAt }) => <Time at={createdAt} /> }
      ]}
    />
  )
}

export const Events = () => {
  const isPaused = useSignal(false)
  const pattern = given("type")
  const { events, missed } = useLive(pattern, isPaused.value)
  return (
    <>
      <Head title="Events" note="What happened, as it happens, and for the last 30 days." />
      <Filters
        fields={[
          ["type", "Type", "send.* or telco.lookup.completed"],
          ["object", "About", "em_…, we_… or a number"],
          ["text", "Text", "at least three characters"]
        ]}
      />
      <Part
        title="Live"
        actions={
          <>
            <span role="status">
              {isPaused.value
                ? `Paused${missed > 0 ? `, ${missed} new` : ""}`
                : liveState.value === "live"
                  ? "Listening"
                  : "Connecting"}
            </span>
            <button
              type="button"
              aria-pressed={isPaused.value}
              onClick={() => {
                isPaused.value = !isPaused.value
              }}
            >
              {isPaused.value ? "Go on" : "Pause"}
            </button>
          </>
        }
      >
        {events.length === 0 ? (
          <Empty title="Nothing has come since you opened this page">
            <p class="note">Make something happen:</p>
            <Command
              text={`npx --no-install sluice trigger telco.lookup.completed --org ${session.value?.organization.id}`}
            />
          </Empty>
        ) : (
          <LiveList events={events} />
        )}
      </Part>
      <Part title="Earlier">
        <History pattern={pattern} />
      </Part>
    </>
  )
}
