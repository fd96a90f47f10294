/**
 * Shows one domain: the records that it needs beside those that exist, SPF and DMARC, reports of
 * other mail systems, its tier, and the conditions of the next one.
 */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get, post } from "../api.ts"
import { go } from "../router.ts"
import { session } from "../session.ts"
import { Chip, Copy, Facts, Fault, Head, Loading, Meter, Part, Time } from "../ui/basics.tsx"
import { Act, FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { wordOf } from "../ui/states.ts"
import { useLoad } from "../usePages.ts"
import { DomainReports } from "./domainReports.tsx"

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

/** Says the result of a check, and the records that are still missing. */
const Checked = ({ at, domain }: { readonly at: number; readonly domain: Shown }) => {
  const missing = domain.records.filter(({ required, status }) => required && status !== "verified")
  return (
    <>
      Checked <Time at={at} />: {wordOf(domain.status).toLowerCase()}.{" "}
      {session.value?.mode === "test"
        ? "No name server is asked in test mode."
        : missing.length === 0
          ? "Every needed record was found."
          : `Missing: ${missing.map(({ name, record }) => `${record} of ${name}`).join(", ")}. A check may still be under way: look again in a minute.`}
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
          {
            head: "State",
            cell: ({ status }) =>
              session.value?.mode === "test" && status !== "verified" ? (
                <Chip state="none" word="Not needed in test mode" />
              ) : (
                <Chip state={status} />
              )
          },
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
        label={`Released today, tier ${domain.tier}`}
        used={domain.releasedToday}
        limit={domain.dailyCap}
        note={`${domain.held.toLocaleString()} held, ${domain.scheduled.toLocaleString()} scheduled`}
      />
      {nextTier === null ? (
        <p class="note">
          {["verified", "partially_failed"].includes(domain.status)
            ? "There is no higher tier."
            : "Its first tier begins when it is verified: set its records, then check them."}
        </p>
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
  const checkedAt = useSignal<number | undefined>(undefined)
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
                checkedAt.value = Date.now()
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
            <p class="note" role="status">
              {checkedAt.value !== undefined && <Checked at={checkedAt.value} domain={data} />}
            </p>
            {session.value?.mode === "test" && (
              <p class="note">
                A test domain counts as verified whatever its records say. They are those of a live one.
              </p>
            )}
            <Records domain={data} />
          </Part>
          <Part title="SPF and DMARC">
            <Authentication domain={data} />
          </Part>
          <DomainReports domainId={data.id} />
          <Part title="Tier">
            <Tier domain={data} />
          </Part>
        </>
      )}
    </>
  )
}
