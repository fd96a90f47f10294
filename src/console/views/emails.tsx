/** Lists emails with their states, and why and until when they are held. */
import { type Answer, get } from "../api.ts"
import { setSearch } from "../router.ts"
import { Chip, Command, Empty, Head, Link, Part, Select, Time } from "../ui/basics.tsx"
import { shownDirections } from "../ui/directions.ts"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, useRefresh } from "../usePages.ts"
import { Filters, given, Moment, since, until } from "./filters.tsx"

type Listed = Answer<"GET", "/v1/send/emails">["data"][number]

/** The API's states, in this order; the type says if one is missing. */
const states = Object.keys({
  queued: true,
  held: true,
  scheduled: true,
  suppressed: true,
  canceled: true,
  sending: true,
  sent: true,
  failed: true,
  delivered: true,
  bounced: true,
  complained: true
} satisfies Readonly<Record<Listed["state"], true>>) as ReadonlyArray<Listed["state"]>

const reasons = { daily_cap: "the daily cap of", sending_paused: "sending is paused for" } as const

/** Why an email waits, and until when. */
export const Hold = ({ email }: { readonly email: Pick<Listed, "held" | "scheduled_at" | "state"> }) => {
  if (email.state === "scheduled")
    return (
      <>
        scheduled <Time at={email.scheduled_at} />
      </>
    )
  if (email.held === null) return <span class="none">–</span>
  return (
    <>
      {reasons[email.held.reason]} <span class="mono">{email.held.sender}</span>{" "}
      <span class="sub">
        {email.held.until === null ? (
          "until the pause ends"
        ) : (
          <>
            goes <Time at={email.held.until} /> at the latest
          </>
        )}
      </span>
    </>
  )
}

/** Fields that restrict the list, as the API names them. */
const fields = [
  ["search", "Search", "a name, an address, a subject"],
  ["to", "To", "ada@example.com"],
  ["from", "From", "shop"],
  ["subject", "Subject", "order 10482"],
  ["domain", "Domain", "example.com"],
  ["key", "API key", "key_…"]
] as const
type Field = (typeof fields)[number][0]

/** The address of the list as a file. */
const exportOf = (filters: Readonly<Record<string, string>>): string => {
  const given = Object.entries(filters).filter(([, text]) => text !== "")
  return `/v1/send/emails/export${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`
}

export const Emails = () => {
  const state = states.find((one) => one === given("state"))
  const range = given("hours")
  const texts = Object.fromEntries(fields.map(([name]) => [name, given(name)])) as Readonly<Record<Field, string>>
  const isFiltered =
    state !== undefined || range !== "" || given("moment") !== "" || Object.values(texts).some((text) => text !== "")
  const paged = usePages(
    async (cursor) => {
      const query = { ...texts, cursor, state, since: since(), until: until(), limit: 25, include: "total" } as const
      const { data, pagination } = await get("/v1/send/emails", { query })
      return { data, pagination }
    },
    [state ?? "", range, given("moment"), ...Object.values(texts)]
  )
  useRefresh(["send.email"], paged.reload)
  return (
    <>
      <Head title="Emails" note="Of this key's mode, newest first." />
      <Part title="All emails">
        <div class="filters">
          <Select
            label="State"
            value={state ?? ""}
            options={[["", "All"], ...states.map((one) => [one, one] as const)]}
            onChange={(value) => setSearch({ state: value })}
          />
          <Filters fields={fields.slice(0, 1)} more={fields.slice(1)} />
        </div>
        <p class="note">
          <a
            href={exportOf({ ...texts, state: state ?? "", since: String(since()), until: String(until()) })}
            download="emails.csv"
          >
            Export this list as CSV
          </a>{" "}
          (100,000 emails at most). Texts are found until seven days after an email has ended.
        </p>
        <Moment />
        <PagedTable
          paged={paged}
          caption="Emails"
          keyOf={({ id }) => id}
          empty={
            <Empty title={isFiltered ? `No such email${state === undefined ? "" : ` is ${state}`}` : "No email yet"}>
              {!isFiltered && (
                <>
                  <p class="note">Send one from a verified domain:</p>
                  <Command
                    text={`curl -X POST ${location.origin}/v1/send/emails -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"from": "hello@demo.test", "to": "you@example.com", "subject": "Hello", "text": "It works."}'`}
                  />
                </>
              )}
            </Empty>
          }
          columns={[
            {
              head: "Email",
              isName: true,
              cell: ({ from, id, subject }) => (
                <>
                  <Link to={`/emails/${id}`}>
                    {subject === null ? id : <bdi>{subject === "" ? "(no subject)" : shownDirections(subject)}</bdi>}
                  </Link>
                  <span class="sub line">{from !== null && <bdi>{shownDirections(from)}</bdi>}</span>
                </>
              )
            },
            {
              head: "To",
              cell: ({ to }) =>
                to === null ? <span class="none">not kept</span> : <bdi>{shownDirections(to.join(", "))}</bdi>
            },
            { head: "State", cell: (one) => <Chip state={one.state} /> },
            { head: "Waits for", cell: (one) => <Hold email={one} /> },
            { head: "Accepted", cell: ({ created_at }) => <Time at={created_at} /> }
          ]}
        />
      </Part>
    </>
  )
}
