/** Lists the request rates of organizations with what is left of them, and sets them. */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get } from "../api.ts"
import { Empty, Field, Head, Part, Select, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, usePolling } from "../usePages.ts"
import { Filters, given } from "../views/filters.tsx"
import { Age, Choice, OrganizationCell, Unknown } from "./parts.tsx"

type Rate = Answer<"GET", "/admin/v1/rates">["data"][number]

const refreshSeconds = 5

const inWords = (rate: number | "unlimited"): string => (rate === "unlimited" ? "unlimited" : rate.toLocaleString())

const SetRate = ({ of, done }: { readonly of: Rate; readonly done: () => void }) => {
  const kind = useSignal(of.own === null ? "plan" : of.own === "unlimited" ? "unlimited" : "own")
  const number = useSignal(typeof of.own === "number" ? String(of.own) : String(of.inForce))
  return (
    <Opener word="Set" label={`Set the rate of ${of.organizationName}`}>
      {(close) => (
        <FormDialog
          title={`Requests a minute of ${of.organizationName}`}
          verb="Set it"
          onClose={close}
          act={async () => {
            const own = kind.value === "plan" ? null : kind.value === "unlimited" ? "unlimited" : Number(number.value)
            await ask("PUT", "/admin/v1/organizations/:id/limits", {
              params: { id: of.organizationId },
              body: { requestsPerMinute: own }
            })
            done()
          }}
        >
          <p>In force at its next request, of all its keys together.</p>
          <Select
            label="Rate"
            value={kind.value}
            options={[
              ["plan", "the plan's own"],
              ["own", "a number of its own"],
              ["unlimited", "unlimited"]
            ]}
            onChange={(value) => {
              kind.value = value
            }}
          />
          {kind.value === "own" && (
            <Field
              label="Requests a minute"
              isFigure
              required
              pattern="[1-9][0-9]{0,8}"
              value={number.value}
              onInput={(event) => {
                number.value = event.currentTarget.value
              }}
            />
          )}
        </FormDialog>
      )}
    </Opener>
  )
}

export const Limits = () => {
  const [own, search] = [given("own"), given("search")]
  const paged = usePages((cursor) => get("/admin/v1/rates", { query: { cursor, own, search } }), [own, search])
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head title="Limits" note="Requests a minute of each organization, and what is left of the present one." />
      <Part title="Request rates">
        <div class="filters">
          <Choice
            label="Rate"
            name="own"
            options={[
              ["", "All organizations"],
              ["true", "With a rate of their own"]
            ]}
          />
          <Filters hasTime={false} fields={[["search", "Organization", "name, id or domain"]]} />
        </div>
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Request rates"
          keyOf={({ organizationId }) => organizationId}
          empty={
            <Empty title={own === "" && search === "" ? "No organization yet" : "No such organization"}>
              {own !== "" && <p class="note">Every organization that is found has the rate of its plan.</p>}
            </Empty>
          }
          columns={[
            {
              head: "Organization",
              isName: true,
              cell: ({ organizationId, organizationName }) => (
                <OrganizationCell id={organizationId} name={organizationName} />
              )
            },
            { head: "Plan", cell: ({ plan }) => plan.replace("_", " ") },
            {
              head: "A minute",
              isFigure: true,
              cell: (one) => (
                <>
                  {inWords(one.inForce)}
                  <span class="sub">{one.own === null ? "the plan's" : "set by an operator"}</span>
                </>
              )
            },
            {
              head: "Left",
              isFigure: true,
              cell: ({ left }) =>
                left === null ? (
                  <Unknown />
                ) : (
                  <>
                    {inWords(left.remaining)}
                    {left.remaining !== "unlimited" && (
                      <span class="sub">
                        until <Time at={left.resetsAt} />
                      </span>
                    )}
                  </>
                )
            },
            { head: "Actions", cell: (one) => <SetRate key={String(one.own)} of={one} done={paged.reload} /> }
          ]}
        />
      </Part>
    </>
  )
}
