/** Lists accounts that send, by what may pause them, and lifts pauses. */
import { get, post } from "../api.ts"
import { Chip, Empty, Head, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { wordOf } from "../ui/states.ts"
import { usePages, usePolling } from "../usePages.ts"
import { Filters, given } from "../views/filters.tsx"
import { Age, Choice, OrganizationCell, Triggers } from "./parts.tsx"

const stages = ["probation", "established", "trusted", "sending_paused"] as const
const risks = ["standard", "higher"] as const
const modes = ["live", "test"] as const
const refreshSeconds = 10

const Lift = ({
  id,
  mode,
  name,
  done
}: {
  readonly id: string
  readonly mode: "live" | "test"
  readonly name: string
  readonly done: () => void
}) => (
  <Opener word="Lift" label={`Lift the pause of ${name}, ${mode}`} kind="primary">
    {(close) => (
      <FormDialog
        title={`Lift the pause of ${name}?`}
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

export const Accounts = () => {
  const stage = stages.find((one) => one === given("stage"))
  const risk = risks.find((one) => one === given("risk"))
  const mode = modes.find((one) => one === given("mode"))
  const [warned, organization] = [given("warned"), given("organization")]
  const all = [stage ?? "", risk ?? "", mode ?? "", warned, organization]
  const paged = usePages(
    (cursor) => get("/admin/v1/send/accounts", { query: { cursor, stage, risk, mode, warned, organization } }),
    all
  )
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head title="Risk" note="Accounts that send: what may pause them, and those that are paused." />
      <Part title="Accounts">
        <div class="filters">
          <Choice
            label="Stage"
            name="stage"
            options={[["", "Any stage"], ...stages.map((one) => [one, wordOf(one)] as const)]}
          />
          <Choice
            label="Signs"
            name="warned"
            options={[
              ["", "With and without"],
              ["true", "With a warning sign"]
            ]}
          />
          <Choice
            label="Risk"
            name="risk"
            options={[["", "Any risk"], ...risks.map((one) => [one, wordOf(one)] as const)]}
          />
          <Choice
            label="Mode"
            name="mode"
            options={[["", "Live and test"], ...modes.map((one) => [one, wordOf(one)] as const)]}
          />
          <Filters hasTime={false} fields={[["organization", "Organization", "org_…"]]} />
        </div>
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Accounts that send"
          keyOf={(one) => `${one.organizationId} ${one.mode}`}
          empty={
            all.some((one) => one !== "") ? (
              <Empty title="No such account" />
            ) : (
              <Empty title="No account has begun">
                <p class="note">An account begins with its first email, or when its owner first looks at it.</p>
              </Empty>
            )
          }
          columns={[
            {
              head: "Organization",
              isName: true,
              cell: (one) => <OrganizationCell id={one.organizationId} name={one.organizationName} />
            },
            { head: "Mode", cell: (one) => wordOf(one.mode) },
            {
              head: "Stage",
              cell: (one) => (
                <>
                  <Chip state={one.stage} />
                  {one.stage === "sending_paused" && (
                    <span class="sub">
                      {one.pauseReason !== null && `${wordOf(one.pauseReason)}, `}
                      <Time at={one.pausedAt} />
                    </span>
                  )}
                </>
              )
            },
            { head: "Risk", cell: (one) => wordOf(one.risk) },
            {
              head: "To a pause",
              cell: (one) => (one.stage === "probation" ? <Triggers of={one.triggers} /> : <span class="none">–</span>)
            },
            { head: "Last sign", cell: (one) => <Time at={one.warnedAt} /> },
            { head: "Changed", cell: (one) => <Time at={one.changedAt} /> },
            {
              head: "Actions",
              cell: (one) =>
                one.stage === "sending_paused" && (
                  <Lift id={one.organizationId} mode={one.mode} name={one.organizationName} done={paged.reload} />
                )
            }
          ]}
        />
      </Part>
    </>
  )
}
