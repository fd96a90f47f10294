/** Lists the addresses to which the account sends nothing. */
import { useSignal } from "@preact/signals"
import { ask, get, post } from "../api.ts"
import { search, setSearch } from "../router.ts"
import { Command, Empty, Field, Head, Part, Select, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, useRefresh } from "../usePages.ts"

const origins = ["bounce", "complaint", "manual", "unsubscribe"] as const

const Add = ({ done }: { readonly done: () => void }) => {
  const email = useSignal("")
  return (
    <Opener word="Add an address" kind="primary">
      {(close) => (
        <FormDialog
          title="Send nothing more to an address"
          verb="Add it"
          onClose={close}
          act={async () => {
            await post("/v1/send/suppressions", { body: { email: email.value.trim() } })
            email.value = ""
            done()
          }}
        >
          <Field
            label="Address"
            type="email"
            required
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

export const Suppressions = () => {
  const origin = origins.find((one) => one === search.value.get("origin"))
  const paged = usePages(
    async (cursor) => {
      const { data, pagination } = await get("/v1/send/suppressions", { query: { cursor, origin } })
      return { data, pagination }
    },
    [origin ?? ""]
  )
  // An addition or removal here is in the list a moment later, and makes no event.
  useRefresh(["send.email.bounced", "send.email.complained"], paged.reload, 10_000)
  return (
    <>
      <Head title="Suppressions" note="Addresses that nothing is sent to." actions={<Add done={paged.reload} />} />
      <Part title="All addresses">
        <div class="filters">
          <Select
            label="Cause"
            value={origin ?? ""}
            options={[["", "All"], ...origins.map((one) => [one, one] as const)]}
            onChange={(value) => setSearch({ origin: value })}
          />
        </div>
        <PagedTable
          paged={paged}
          caption="Suppressed addresses"
          keyOf={({ id }) => id}
          empty={
            <Empty title="Nobody is suppressed">
              <p class="note">
                Hard bounces, complaints and unsubscribes come here by themselves. A test key can act one out:
              </p>
              <Command
                text={`curl -X POST ${location.origin}/v1/send/emails -H "Authorization: Bearer $TEST_KEY" -H 'Content-Type: application/json' -d '{"from": "hello@demo.test", "to": "bounced@simulator.invalid", "subject": "Hello", "text": "It bounces."}'`}
              />
            </Empty>
          }
          columns={[
            { head: "Address", isName: true, cell: ({ email }) => email },
            { head: "Cause", cell: (one) => one.origin },
            { head: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
            {
              head: "Actions",
              cell: ({ email, id }) => (
                <Opener word="Remove" label={`Remove ${email}`}>
                  {(close) => (
                    <FormDialog
                      title="Send to this address again?"
                      verb="Remove it"
                      onClose={close}
                      act={async () => {
                        await ask("DELETE", "/v1/send/suppressions/:idOrEmail", { params: { idOrEmail: id } })
                        paged.reload()
                      }}
                    >
                      <p>Emails to {email} go out again. Another bounce counts against the account.</p>
                    </FormDialog>
                  )}
                </Opener>
              )
            }
          ]}
        />
      </Part>
    </>
  )
}
