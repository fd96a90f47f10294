/** Lists domains and addresses that send with their tiers and daily caps, and sets caps. */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get } from "../api.ts"
import { Chip, Empty, Field, Head, Part, Select, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { wordOf } from "../ui/states.ts"
import { usePages, usePolling } from "../usePages.ts"
import { Filters, given } from "../views/filters.tsx"
import { Age, Choice, OrganizationCell, Unknown } from "./parts.tsx"

type Sender = Answer<"GET", "/admin/v1/send/senders">["data"][number]

const modes = ["live", "test"] as const
const refreshSeconds = 15

const SetCap = ({ of, done }: { readonly of: Sender; readonly done: () => void }) => {
  const isOwn = useSignal(true)
  const cap = useSignal(String(of.sending?.dailyCap ?? ""))
  return (
    <Opener word="Set cap" label={`Set cap of ${of.name}, ${of.mode}`}>
      {(close) => (
        <FormDialog
          title={`Emails a day of ${of.name}`}
          verb="Set it"
          onClose={close}
          act={async () => {
            await ask("PUT", "/admin/v1/organizations/:id/send/cap", {
              params: { id: of.organizationId },
              body: { mode: of.mode, sender: of.name, dailyCap: isOwn.value ? Number(cap.value) : null }
            })
            done()
          }}
        >
          <p>In place of the tier's. A raised cap releases held mail immediately.</p>
          <Select
            label="Cap"
            value={isOwn.value ? "own" : "tier"}
            options={[
              ["own", "a number of its own"],
              ["tier", "the tier's own"]
            ]}
            onChange={(value) => {
              isOwn.value = value === "own"
            }}
          />
          {isOwn.value && (
            <Field
              label="Emails a day"
              isFigure
              required
              pattern="[1-9][0-9]{0,8}"
              value={cap.value}
              onInput={(event) => {
                cap.value = event.currentTarget.value
              }}
            />
          )}
        </FormDialog>
      )}
    </Opener>
  )
}

export const Caps = () => {
  const mode = modes.find((one) => one === given("mode"))
  const [name, organization] = [given("name"), given("organization")]
  const all = [mode ?? "", name, organization]
  const paged = usePages(
    (cursor) => get("/admin/v1/send/senders", { query: { cursor, mode, name, organization } }),
    all
  )
  usePolling(refreshSeconds * 1_000, paged.reload)
  return (
    <>
      <Head
        title="Send caps"
        note="Domains and addresses that send: their tiers, and the emails that they may send a day."
      />
      <Part title="Senders">
        <div class="filters">
          <Choice
            label="Mode"
            name="mode"
            options={[["", "Live and test"], ...modes.map((one) => [one, wordOf(one)] as const)]}
          />
          <Filters
            hasTime={false}
            fields={[
              ["name", "Begins with", "mail.example.com"],
              ["organization", "Organization", "org_…"]
            ]}
          />
        </div>
        <Age of={paged} seconds={refreshSeconds} />
        <PagedTable
          paged={paged}
          caption="Senders"
          keyOf={({ id }) => id}
          empty={
            <Empty title={all.some((one) => one !== "") ? "No such sender" : "No domain or address yet"}>
              {all.every((one) => one === "") && (
                <p class="note">Domains and addresses that organizations add come here by themselves.</p>
              )}
            </Empty>
          }
          columns={[
            {
              head: "Sender",
              isName: true,
              cell: (one) => (
                <>
                  <bdi>{one.name}</bdi>
                  <span class="sub">
                    {one.kind}, {one.mode}
                  </span>
                </>
              )
            },
            {
              head: "Organization",
              cell: (one) => <OrganizationCell id={one.organizationId} name={one.organizationName} />
            },
            { head: "Proof", cell: (one) => <Chip state={one.status} /> },
            {
              head: "Tier",
              cell: ({ sending }) =>
                sending === null ? (
                  <Unknown />
                ) : sending.isVerified ? (
                  <Chip state={sending.tier} />
                ) : (
                  <span class="none">not verified</span>
                )
            },
            {
              head: "A day",
              isFigure: true,
              cell: ({ sending }) => (sending === null ? <Unknown /> : sending.dailyCap.toLocaleString())
            },
            {
              head: "Held",
              isFigure: true,
              cell: ({ sending }) => (sending === null ? <Unknown /> : sending.waiting.toLocaleString())
            },
            { head: "Added", cell: ({ createdAt }) => <Time at={createdAt} /> },
            {
              head: "Actions",
              cell: (one) =>
                one.sending?.isVerified === true && <SetCap key={one.sending.dailyCap} of={one} done={paged.reload} />
            }
          ]}
        />
      </Part>
    </>
  )
}
