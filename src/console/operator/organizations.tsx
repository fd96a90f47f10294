/** Lists every organization. */
import { useSignal } from "@preact/signals"
import { get, post } from "../api.ts"
import { go } from "../router.ts"
import { Command, Empty, Field, Head, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, usePolling } from "../usePages.ts"
import { Filters, given } from "../views/filters.tsx"
import { Age, OrganizationCell } from "./parts.tsx"

const refreshSeconds = 30

const Create = () => {
  const name = useSignal("")
  const email = useSignal("")
  return (
    <Opener word="New organization" kind="primary">
      {(close) => (
        <FormDialog
          title="New organization"
          verb="Make it"
          onClose={close}
          act={async () => {
            const { id } = await post("/admin/v1/organizations", {
              body: { name: name.value.trim(), email: email.value.trim() || null }
            })
            go(`/organizations/${id}`)
          }}
        >
          <Field
            label="Name"
            required
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value
            }}
          />
          <Field
            label="Contact"
            type="email"
            hint="Told of pauses; may be left out."
            value={email.value}
            onInput={(event) => {
              email.value = event.currentTarget.value
            }}
          />
        </FormDialog>
      )}
    </Opener>
  )
}

export const Organizations = () => {
  const search = given("search")
  const paged = usePages((cursor) => get("/admin/v1/organizations", { query: { cursor, search } }), [search])
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head title="Organizations" actions={<Create />} />
      <Part title="All organizations">
        <Filters hasTime={false} fields={[["search", "Find", "name, address, domain or id"]]} />
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Organizations"
          keyOf={({ id }) => id}
          empty={
            search === "" ? (
              <Empty title="No organization yet">
                <Command text="npx --no-install sluice orgs create acme" />
              </Empty>
            ) : (
              <Empty title="No such organization">
                <p class="note">
                  Words of names and addresses are found by their beginnings, domains and addresses that send by theirs,
                  ids only whole.
                </p>
              </Empty>
            )
          }
          columns={[
            {
              head: "Organization",
              isName: true,
              cell: ({ id, name }) => <OrganizationCell id={id} name={name} />
            },
            { head: "Plan", cell: ({ plan }) => plan.replace("_", " ") },
            { head: "Send plan", cell: ({ sendPlan }) => sendPlan },
            { head: "Risk", cell: ({ risk }) => risk },
            { head: "Contact", cell: ({ email }) => email ?? <span class="none">none</span> },
            { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> }
          ]}
        />
      </Part>
    </>
  )
}
