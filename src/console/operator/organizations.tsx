/** Lists every organization. */
import { useSignal } from "@preact/signals"
import { get, post } from "../api.ts"
import { go } from "../router.ts"
import { Command, Empty, Field, Head, Link, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages } from "../usePages.ts"

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
  const paged = usePages((cursor) => get("/admin/v1/organizations", { query: { cursor } }), [])
  return (
    <>
      <Head title="Organizations" actions={<Create />} />
      <Part title="All organizations">
        <PagedTable
          paged={paged}
          caption="Organizations"
          keyOf={({ id }) => id}
          empty={
            <Empty title="No organization yet">
              <Command text="npx --no-install sluice orgs create acme" />
            </Empty>
          }
          columns={[
            {
              head: "Organization",
              isName: true,
              cell: ({ id, name }) => (
                <>
                  <Link to={`/organizations/${id}`}>{name}</Link>
                  <span class="sub mono">{id}</span>
                </>
              )
            },
            { head: "Plan", cell: ({ plan }) => plan.replace("_", " ") },
            { head: "Send plan", cell: ({ sendPlan }) => sendPlan },
            { head: "Risk", cell: ({ risk }) => risk },
            { head: "Contact", cell: ({ email }) => email ?? <span class="none">none</span> },
            { head: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> }
          ]}
        />
      </Part>
    </>
  )
}
