/** Lists sessions of the console, own ones or those of the organization, and ends them. */
import { type Answer, ask, get } from "../api.ts"
import { enter } from "../enter.ts"
import { hasScope } from "../session.ts"
import { Chip, Head, Part, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { PagedTable } from "../ui/lists.tsx"
import { usePages } from "../usePages.ts"

type Listed = Answer<"GET", "/v1/console/sessions">["data"][number]

/** The one who signed in. */
const nameOf = ({ keyId, member }: Listed): string =>
  member?.email ?? (keyId === null ? "A link of the operator" : `The key ${keyId}`)

const End = ({ listed, done }: { readonly listed: Listed; readonly done: () => void }) => (
  <Opener word="End" label={`End the session of ${nameOf(listed)}`} kind="danger" isForViewers>
    {(close) => (
      <FormDialog
        title="End this session?"
        verb="End it"
        isDangerous
        onClose={close}
        act={async () => {
          await ask("DELETE", "/v1/console/sessions/:id", { params: { id: listed.id } })
          if (listed.current) await enter()
          else done()
        }}
      >
        <p>
          {listed.current
            ? "It is the one that you use: you sign in again after that."
            : `${nameOf(listed)} is signed out of it immediately.`}
        </p>
      </FormDialog>
    )}
  </Opener>
)

export const Sessions = () => {
  const paged = usePages((cursor) => get("/v1/console/sessions", { query: { cursor } }), [])
  const isAll = hasScope("platform:people:manage")
  return (
    <>
      <Head
        title="Sessions"
        note={isAll ? "Everybody who is signed in to this organization." : "Where you are signed in."}
      />
      <Part title="Open sessions">
        <PagedTable
          paged={paged}
          caption="Open sessions"
          keyOf={({ id }) => id}
          empty={<p class="note">No session is open.</p>}
          columns={[
            {
              head: "Signed in",
              isName: true,
              cell: (one) => (
                <>
                  {nameOf(one)} {one.current && <Chip state="active" word="This one" />}
                  <span class="sub">{one.member === null ? `${one.mode} mode` : one.member.role}</span>
                </>
              )
            },
            { head: "Browser", cell: ({ browser }) => browser ?? <span class="none">unknown</span> },
            { head: "From", cell: ({ address }) => <span class="mono">{address ?? "–"}</span> },
            { head: "Opened", cell: ({ createdAt }) => <Time at={createdAt} /> },
            { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
            { head: "Ends", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
            { head: "Actions", cell: (one) => <End listed={one} done={paged.reload} /> }
          ]}
        />
      </Part>
    </>
  )
}
