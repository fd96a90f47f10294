/** Lists the domains and single addresses that may send. */
import { useSignal } from "@preact/signals"
import { ask, get, post } from "../api.ts"
import { go } from "../router.ts"
import { Chip, Command, Empty, Field, Head, Link, Part, Tabs, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages, useRefresh } from "../usePages.ts"

const AddDomain = () => {
  const name = useSignal("")
  return (
    <Opener word="Add a domain" kind="primary">
      {(close) => (
        <FormDialog
          title="Add a domain"
          verb="Add it"
          onClose={close}
          act={async () => {
            const { id } = await post("/v1/send/domains", { body: { name: name.value.trim() } })
            go(`/domains/${id}`)
          }}
        >
          <Field
            label="Domain"
            required
            placeholder="example.com"
            hint="Then you publish some records, which are looked for."
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value
            }}
          />
        </FormDialog>
      )}
    </Opener>
  )
}

const AddAddress = ({ done }: { readonly done: () => void }) => {
  const email = useSignal("")
  return (
    <Opener word="Add an address">
      {(close) => (
        <FormDialog
          title="Add a single address"
          verb="Send the verification mail"
          onClose={close}
          act={async () => {
            await post("/v1/send/senders", { body: { email: email.value.trim() } })
            done()
          }}
        >
          <Field
            label="Address"
            type="email"
            required
            hint="A mail with a link goes there; once it is followed, emails may be from it."
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

const Domains = () => {
  const paged = usePages(async (cursor) => {
    const { data, pagination } = await get("/v1/send/domains", { query: { cursor } })
    return { data, pagination }
  }, [])
  useRefresh(["send.domain"], paged.reload)
  return (
    <PagedTable
      paged={paged}
      caption="Domains"
      keyOf={({ id }) => id}
      empty={
        <Empty title="No domain yet">
          <p class="note">Add one above, or with a key:</p>
          <Command
            text={`curl -X POST ${location.origin}/v1/send/domains -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"name": "example.com"}'`}
          />
        </Empty>
      }
      columns={[
        { head: "Domain", isName: true, cell: ({ id, name }) => <Link to={`/domains/${id}`}>{name}</Link> },
        { head: "State", cell: ({ status }) => <Chip state={status} /> },
        { head: "Added", cell: ({ created_at }) => <Time at={created_at} /> }
      ]}
    />
  )
}

const Addresses = ({ version }: { readonly version: number }) => {
  const paged = usePages(
    async (cursor) => {
      const { data, pagination } = await get("/v1/send/senders", { query: { cursor } })
      return { data, pagination }
    },
    [version]
  )
  return (
    <PagedTable
      paged={paged}
      caption="Single addresses"
      keyOf={({ id }) => id}
      empty={
        <Empty title="No single address">
          <p class="note">For those who have no domain to verify. Add one above.</p>
        </Empty>
      }
      columns={[
        { head: "Address", isName: true, cell: ({ email }) => email },
        { head: "State", cell: ({ status }) => <Chip state={status} /> },
        { head: "Added", cell: ({ created_at }) => <Time at={created_at} /> },
        {
          head: "Actions",
          cell: ({ email, id }) => (
            <Opener word="Remove" label={`Remove ${email}`}>
              {(close) => (
                <FormDialog
                  title="Remove this address?"
                  verb="Remove it"
                  isDangerous
                  onClose={close}
                  act={async () => {
                    await ask("DELETE", "/v1/send/senders/:id", { params: { id } })
                    paged.reload()
                  }}
                >
                  <p>No email may be from {email} any more.</p>
                </FormDialog>
              )}
            </Opener>
          )
        }
      ]}
    />
  )
}

export const Senders = () => {
  const version = useSignal(0)
  return (
    <>
      <Head
        title="Domains"
        note="Who emails may be from."
        actions={
          <>
            <AddAddress
              done={() => {
                version.value++
              }}
            />
            <AddDomain />
          </>
        }
      />
      <Part title="Senders">
        <Tabs
          label="Senders"
          tabs={[
            ["Domains", () => <Domains />],
            ["Addresses", () => <Addresses version={version.value} />]
          ]}
        />
      </Part>
    </>
  )
}
