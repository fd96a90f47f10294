/**
 * Shows the operator one organization: its plans, its keys, its trust stage with the reasons, and the link into its own
 * console.
 */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get, post } from "../api.ts"
import { AuditList } from "../ui/auditList.tsx"
import { Chip, Code, Copy, Facts, Fault, Head, Loading, Part, Select, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { RequestList } from "../ui/requestList.tsx"
import { useLoad, usePages, usePolling } from "../usePages.ts"

type Organization_ = Answer<"GET", "/admin/v1/organizations/:id">
type Account = Answer<"GET", "/admin/v1/organizations/:id/send">

const plans = ["free", "early_adopter", "team"] as const
const sendPlans = ["hobby", "pro", "enterprise"] as const

const OpenConsole = ({ id }: { readonly id: string }) => {
  const mode = useSignal<"live" | "test">("live")
  const made = useSignal<{ readonly url: string } | undefined>(undefined)
  return (
    <Opener word="Open its console" kind="primary">
      {(close) => {
        const end = () => {
          made.value = undefined
          close()
        }
        return (
          <FormDialog
            title="A link into its console"
            verb={made.value === undefined ? "Make the link" : "Close"}
            onClose={end}
            act={async () => {
              if (made.value !== undefined) return
              made.value = await post("/admin/v1/console-links", { body: { organization: id, mode: mode.value } })
              return true
            }}
          >
            {made.value === undefined ? (
              <>
                <p>It signs one browser in, once, within ten minutes. That you made it is recorded.</p>
                <Select
                  label="Mode"
                  value={mode.value}
                  options={[
                    ["live", "live"],
                    ["test", "test"]
                  ]}
                  onChange={(value) => {
                    mode.value = value === "test" ? "test" : "live"
                  }}
                />
              </>
            ) : (
              <>
                <Code text={made.value.url} label="Link" />
                <p>
                  <a href={made.value.url} target="_blank" rel="noreferrer">
                    Open it now
                  </a>
                </p>
              </>
            )}
          </FormDialog>
        )
      }}
    </Opener>
  )
}

const Plans = ({ of, done }: { readonly of: Organization_; readonly done: () => void }) => {
  const plan = useSignal<(typeof plans)[number]>(of.plan)
  const sendPlan = useSignal<(typeof sendPlans)[number]>(of.sendPlan)
  return (
    <Opener word="Set plans">
      {(close) => (
        <FormDialog
          title="Set its plans"
          verb="Set them"
          onClose={close}
          act={async () => {
            await ask("PUT", "/admin/v1/organizations/:id/plans", {
              params: { id: of.id },
              body: { plan: plan.value, sendPlan: sendPlan.value }
            })
            done()
          }}
        >
          <p>In force at its next request, whatever it subscribes to.</p>
          <Select
            label="Plan"
            value={plan.value}
            options={plans.map((one) => [one, one.replace("_", " ")] as const)}
            onChange={(value) => {
              plan.value = plans.find((one) => one === value) ?? of.plan
            }}
          />
          <Select
            label="Send plan"
            value={sendPlan.value}
            options={sendPlans.map((one) => [one, one] as const)}
            onChange={(value) => {
              sendPlan.value = sendPlans.find((one) => one === value) ?? of.sendPlan
            }}
          />
        </FormDialog>
      )}
    </Opener>
  )
}

const Lift = ({
  id,
  mode,
  done
}: {
  readonly id: string
  readonly mode: "live" | "test"
  readonly done: () => void
}) => (
  <Opener word="Lift the pause" kind="primary">
    {(close) => (
      <FormDialog
        title="Lift the pause?"
        verb="Lift it"
        onClose={close}
        act={async () => {
          await post("/admin/v1/organizations/:id/send/lift", { params: { id }, body: { mode } })
          done()
        }}
      >
        <p>Held mail goes on, and probation begins again from the beginning.</p>
      </FormDialog>
    )}
  </Opener>
)

const Facts_ = ({ account }: { readonly account: Account }) => (
  <section class={`why ${account.pausedAt === null ? "" : "bad"}`} aria-label="Why">
    <h2>{account.pausedAt === null ? "What led here" : "Why it is paused"}</h2>
    {account.facts.length === 0 ? (
      <p>Nothing was decided yet.</p>
    ) : (
      <ol class="story">
        {account.facts.map((one) => (
          <li
            key={`${one.sequence}.${one.index}`}
            class={(one.fact as { _tag?: string })._tag === "Paused" ? "trouble" : ""}
          >
            {one.sentence}
            <div class="sub">
              <Time at={one.decidedAt} /> · log {one.sequence}, record {one.index}
            </div>
          </li>
        ))}
      </ol>
    )}
  </section>
)

const Sending = ({ id }: { readonly id: string }) => {
  const mode = useSignal<"live" | "test">("live")
  const { data, error, reload } = useLoad(
    () => get("/admin/v1/organizations/:id/send", { params: { id }, query: { mode: mode.value } }),
    [id, mode.value]
  )
  // The fact of an act is shown a moment later than the account.
  usePolling(5_000, reload)
  return (
    <Part title="Sending" actions={data?.pausedAt != null && <Lift id={id} mode={mode.value} done={reload} />}>
      <div class="filters">
        <Select
          label="Account"
          value={mode.value}
          options={[
            ["live", "live"],
            ["test", "test"]
          ]}
          onChange={(value) => {
            mode.value = value === "test" ? "test" : "live"
          }}
        />
      </div>
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          <Facts_ account={data} />
          <Facts
            of={[
              ["Stage", <Chip state={data.trustStage} />],
              ["Risk", data.risk],
              ["Probation ends", <Time at={data.probationEndsAt} />],
              ["Emails a month", String(data.inForce.emailsPerMonth)],
              ["Requests a minute", String(data.inForce.requestsPerMinute)],
              data.inForce.probation !== null && [
                "Probation's caps",
                `${data.inForce.probation.emailsPerHour} an hour, ${data.inForce.probation.emailsPerDay} a day, ${data.inForce.probation.domainsPerHour} domains an hour`
              ]
            ]}
          />
        </>
      )}
    </Part>
  )
}

const Keys = ({ id }: { readonly id: string }) => {
  const paged = usePages(
    (cursor) => get("/admin/v1/organizations/:id/keys", { params: { id }, query: { cursor } }),
    [id]
  )
  return (
    <PagedTable
      paged={paged}
      caption="API keys"
      keyOf={(one) => one.id}
      empty={<p class="note">It has no key.</p>}
      columns={[
        {
          head: "Key",
          isName: true,
          cell: (one) => (
            <>
              {one.name ?? "(no name)"}
              <span class="sub mono line">{one.prefix}…</span>
            </>
          )
        },
        { head: "State", cell: ({ active }) => <Chip state={active ? "active" : "revoked"} /> },
        { head: "Mode", cell: (one) => one.mode },
        { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        {
          head: "Actions",
          cell: (one) =>
            one.active && (
              <Opener word="Revoke" label={`Revoke ${one.name ?? one.prefix}`} kind="danger">
                {(close) => (
                  <FormDialog
                    title="Revoke this key?"
                    verb="Revoke it"
                    isDangerous
                    onClose={close}
                    act={async () => {
                      await ask("DELETE", "/admin/v1/keys/:id", { params: { id: one.id } })
                      paged.reload()
                    }}
                  >
                    <p>Whoever uses it is refused within a second, in the console too.</p>
                  </FormDialog>
                )}
              </Opener>
            )
        }
      ]}
    />
  )
}

const Acts = ({ id }: { readonly id: string }) => {
  const paged = usePages(
    (cursor) => get("/admin/v1/organizations/:id/audit", { params: { id }, query: { cursor, limit: 25 } }),
    [id]
  )
  return <AuditList paged={paged} />
}

const Requests = ({ id }: { readonly id: string }) => {
  const paged = usePages(
    (cursor) => get("/admin/v1/organizations/:id/requests", { params: { id }, query: { cursor, limit: 25 } }),
    [id]
  )
  return (
    <RequestList paged={paged} placeOf={(request) => `/organizations/${id}/requests/${request}`} isFiltered={false} />
  )
}

export const Organization = ({ params }: { readonly params: Readonly<Record<string, string>> }) => {
  const id = params.id ?? ""
  const { data, error, reload } = useLoad(() => get("/admin/v1/organizations/:id", { params: { id } }), [id])
  return (
    <>
      <Head
        title={data?.name ?? "Organization"}
        note={
          <>
            <span class="mono">{id}</span> <Copy text={id} what="id" />
          </>
        }
        trail={["/organizations", "Organizations"]}
        actions={
          data !== undefined && (
            <>
              <OpenConsole id={id} />
              <Plans key={`${data.plan} ${data.sendPlan}`} of={data} done={reload} />
            </>
          )
        }
      />
      {error !== undefined && <Fault error={error} retry={reload} />}
      {data !== undefined && (
        <>
          <Part title="Organization">
            <Facts
              of={[
                ["Plan", data.plan.replace("_", " ")],
                ["Send plan", data.sendPlan],
                ["Risk at sign-up", data.risk],
                ["Requests a minute", data.requestsPerMinute === null ? "the plan's" : String(data.requestsPerMinute)],
                ["Contact", data.email ?? "none"],
                ["Created", <Time at={data.createdAt} />]
              ]}
            />
          </Part>
          <Sending id={id} />
          <Part title="API keys">
            <Keys id={id} />
          </Part>
          <Part title="Requests">
            <Requests id={id} />
          </Part>
          <Part title="Audit">
            <Acts id={id} />
          </Part>
        </>
      )}
    </>
  )
}
