/**
 * Shows one domain: the records that it needs beside those that exist, SPF and DMARC, its tier, and the conditions of the next one.
 */
import { type Answer, ask, get, post } from "../api.ts"
import { go } from "../router.ts"
import { session } from "../session.ts"
import { Chip, Copy, Facts, Fault, Head, Loading, Meter, Part, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"

type Shown = Answer<"GET", "/v1/send/domains/:id">

const Seen = ({ texts }: { readonly texts: ReadonlyArray<string> | null | undefined }) => {
  if (texts === undefined) return <span class="note">looking …</span>
  if (texts === null)
    return (
      <span class="none">
        {session.value?.mode === "test" ? "not looked at in test mode" : "no name server answers"}
      </span>
    )
  if (texts.length === 0) return <span class="none">nothing</span>
  return (
    <>
      {texts.map((text) => (
        <div key={text} class="mono">
          {text}
        </div>
      ))}
    </>
  )
}

const Records = ({ domain }: { readonly domain: Shown }) => {
  const { data, error, reload } = useLoad(
    () => get("/v1/send/domains/:id/records", { params: { id: domain.id } }),
    [domain.id]
  )
  return (
    <>
      {error !== undefined && <Fault error={error} retry={reload} />}
      <Table
        caption="Records, expected and seen"
        items={domain.records}
        keyOf={({ name, record }) => `${record} ${name}`}
        columns={[
          {
            head: "Record",
            isName: true,
            cell: ({ name, record, required, type }) => (
              <>
                {record} {required ? "" : "(advised)"}
                <span class="sub mono">
                  {type} {name}
                </span>
              </>
            )
          },
          { head: "State", cell: ({ status }) => <Chip state={status} /> },
          {
            head: "Expected",
            cell: ({ record, value }) => (
              <>
                <span class="mono">{value.length > 90 ? `${value.slice(0, 60)}…${value.slice(-16)}` : value}</span>{" "}
                <Copy text={value} what={`the value of ${record}`} />
              </>
            )
          },
          {
            head: "Seen now",
            cell: ({ name, record }) => {
              const found = data?.data.find((one) => one.name === name && one.record === record)
              return <Seen texts={data === undefined ? undefined : (found?.seen ?? null)} />
            }
          }
        ]}
      />
    </>
  )
}

/** SPF and DMARC: a line each with the sentence that says what to set. */
const Authentication = ({ domain }: { readonly domain: Shown }) =>
  domain.authentication.length === 0 ? (
    <p class="note">
      {session.value?.mode === "test" ? "Not checked in test mode." : "Not checked yet: “Check now” does."}
    </p>
  ) : (
    <Table
      caption="SPF and DMARC, as last checked"
      items={domain.authentication}
      keyOf={({ name, record }) => `${record} ${name}`}
      columns={[
        {
          head: "Record",
          isName: true,
          cell: ({ name, record }) => (
            <>
              {record}
              <span class="sub mono">TXT {name}</span>
            </>
          )
        },
        { head: "State", cell: ({ status }) => <Chip state={status} /> },
        {
          head: "Verdict",
          cell: ({ advised, message, record }) => (
            <>
              {message}{" "}
              {advised !== null && (
                <span class="sub">
                  <span class="mono">{advised}</span> <Copy text={advised} what={`the advised ${record} record`} />
                </span>
              )}
            </>
          )
        },
        { head: "Checked", cell: ({ checkedAt }) => <Time at={checkedAt} /> }
      ]}
    />
  )

const percent = (rate: unknown): string => `${(Number(rate) * 100).toFixed(2)} %`

const Tier = ({ domain }: { readonly domain: Shown }) => {
  const { nextTier } = domain
  return (
    <>
      <Meter
        label={`Let go today, tier ${domain.tier}`}
        used={domain.releasedToday}
        limit={domain.dailyCap}
        note={`${domain.held.toLocaleString()} held, ${domain.scheduled.toLocaleString()} scheduled`}
      />
      {nextTier === null ? (
        <p class="note">There is no higher tier.</p>
      ) : (
        <Facts
          of={[
            ["Next tier", nextTier.tier],
            ["Emails missing", nextTier.emailsMissing.toLocaleString()],
            ["Not before", <Time at={nextTier.notBefore} />],
            ["Bounces", `${percent(nextTier.bounceRate)}, must be under ${percent(nextTier.bounceRateBelow)}`],
            ["Complaints", `${percent(nextTier.complaintRate)}, must be under ${percent(nextTier.complaintRateBelow)}`]
          ]}
        />
      )}
    </>
  )
}

export const Domain = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/v1/send/domains/:id", { params: { id } }), [id])
  return (
    <>
      <Head
        title={data?.name ?? "Domain"}
        note={data !== undefined && <Chip state={data.status} />}
        trail={["/domains", "Domains"]}
        actions={
          <>
            <Act
              word="Check now"
              kind="primary"
              act={async () => {
                await post("/v1/send/domains/:id/verify", { params: { id } })
                reload()
              }}
            />
            <Act
              word="Rotate key"
              act={async () => {
                await post("/v1/send/domains/:id/rotate-key", { params: { id } })
                reload()
              }}
            />
            <Opener word="Remove" kind="danger">
              {(close) => (
                <FormDialog
                  title="Remove this domain?"
                  verb="Remove it"
                  isDangerous
                  onClose={close}
                  act={async () => {
                    await ask("DELETE", "/v1/send/domains/:id", { params: { id } })
                    go("/domains")
                  }}
                >
                  <p>No email may be from it any more.</p>
                </FormDialog>
              )}
            </Opener>
          </>
        }
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Part title="Records">
            <Records domain={data} />
          </Part>
          <Part title="SPF and DMARC">
            <Authentication domain={data} />
          </Part>
          <Part title="Tier">
            <Tier domain={data} />
          </Part>
        </>
      )}
    </>
  )
}
