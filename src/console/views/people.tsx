/** Lists the members of the organization, and lets owners invite, change and remove them. */
import { useSignal } from "@preact/signals"
import { type Answer, ask, get, post } from "../api.ts"
import { session } from "../session.ts"
import { Chip, Code, Empty, Fault, Field, Head, Loading, Part, Select, Time } from "../ui/basics.tsx"
import { FormDialog, Opener } from "../ui/dialog.tsx"
import { Table } from "../ui/lists.tsx"
import { useLoad } from "../usePages.ts"

type Member = Answer<"GET", "/v1/members">["data"][number]
type Role = Member["role"]
type Invited = Answer<"POST", "/v1/members">

const roles: ReadonlyArray<readonly [role: Role, word: string]> = [
  ["owner", "Owner: everything"],
  ["developer", "Developer: all but people and the plan"],
  ["viewer", "Viewer: reads, and sees no contents of mail"]
]

const RoleField = ({ value, choose }: { readonly value: Role; readonly choose: (role: Role) => void }) => (
  // Its options are roles.
  <Select label="Role" value={value} options={roles} onChange={(role) => choose(role as Role)} />
)

const reasons = {
  no_relay: "This platform has no relay, so it mails no links.",
  failed: "The mail was not taken.",
  mailed: ""
} as const

/** The link of an invitation that was not mailed, this once. */
const Handed = ({ invited, onClose }: { readonly invited: Invited; readonly onClose: () => void }) => (
  <FormDialog
    title={`Hand the link to ${invited.email}`}
    verb="I have handed it over"
    onClose={onClose}
    act={async () => {}}
  >
    <p>{reasons[invited.delivery]} Whoever opens this link is in, once and within seven days. It is shown this once.</p>
    <Code text={invited.link ?? ""} label="Link" />
  </FormDialog>
)

interface Changes {
  readonly done: () => void
  /** Shows a link that was not mailed. */
  readonly hand: (invited: Invited) => void
}

const Invite = ({ done, hand }: Changes) => {
  const email = useSignal("")
  const role = useSignal<Role>("developer")
  return (
    <Opener word="Invite" kind="primary">
      {(close) => (
        <FormDialog
          title="Invite somebody"
          verb="Invite"
          onClose={close}
          act={async () => {
            hand(await post("/v1/members", { body: { email: email.value.trim(), role: role.value } }))
            email.value = ""
            done()
          }}
        >
          <Field
            label="Email address"
            type="email"
            required
            value={email.value}
            hint="Gets a link that works once, for seven days."
            onInput={(event) => {
              email.value = event.currentTarget.value
            }}
          />
          <RoleField
            value={role.value}
            choose={(chosen) => {
              role.value = chosen
            }}
          />
        </FormDialog>
      )}
    </Opener>
  )
}

const ChangeRole = ({ member, done }: { readonly member: Member; readonly done: () => void }) => {
  const role = useSignal(member.role)
  return (
    <Opener word="Role" label={`Change the role of ${member.email}`}>
      {(close) => (
        <FormDialog
          title={`The role of ${member.email}`}
          verb="Change"
          onClose={close}
          act={async () => {
            await ask("PATCH", "/v1/members/:id", { params: { id: member.id }, body: { role: role.value } })
            done()
          }}
        >
          <RoleField
            value={role.value}
            choose={(chosen) => {
              role.value = chosen
            }}
          />
          <p class="note">Open sessions have the new rights immediately.</p>
        </FormDialog>
      )}
    </Opener>
  )
}

const Remove = ({ member, done }: { readonly member: Member; readonly done: () => void }) => {
  const isInvited = member.state === "invited"
  const isSelf = member.id === session.value?.member?.id
  return (
    <Opener
      word={isInvited ? "Revoke" : "Remove"}
      label={`${isInvited ? "Revoke the invitation of" : "Remove"} ${member.email}`}
      kind="danger"
    >
      {(close) => (
        <FormDialog
          title={isInvited ? `Revoke the invitation of ${member.email}?` : `Remove ${member.email}?`}
          verb={isInvited ? "Revoke it" : "Remove"}
          isDangerous
          onClose={close}
          act={async () => {
            await ask("DELETE", "/v1/members/:id", { params: { id: member.id } })
            done()
          }}
        >
          <p>
            {isInvited
              ? "The link opens nothing any more."
              : "Their sessions end immediately. Keys that they made belong to the organization and go on."}
            {isSelf && " You remove yourself, so this session ends too."}
          </p>
        </FormDialog>
      )}
    </Opener>
  )
}

const Resend = ({ member, done, hand }: Changes & { readonly member: Member }) => (
  <Opener word="Send again" label={`Send again the invitation of ${member.email}`}>
    {(close) => (
      <FormDialog
        title={`Send the invitation of ${member.email} again?`}
        verb="Send it"
        onClose={close}
        act={async () => {
          hand(await post("/v1/members/:id/resend", { params: { id: member.id } }))
          done()
        }}
      >
        <p>With another link. The one before opens nothing any more.</p>
      </FormDialog>
    )}
  </Opener>
)

export const People = () => {
  const { data, error, reload } = useLoad(() => get("/v1/members"), [])
  const handed = useSignal<Invited | undefined>(undefined)
  const mailed = useSignal("")
  const hand = (invited: Invited) => {
    if (invited.link === null) mailed.value = invited.email
    else handed.value = invited
  }
  return (
    <>
      <Head
        title="People"
        note="Who signs in to this console. Roles count in both modes."
        actions={<Invite done={reload} hand={hand} />}
      />
      {handed.value !== undefined && (
        <Handed
          invited={handed.value}
          onClose={() => {
            handed.value = undefined
          }}
        />
      )}
      <Part title="Members">
        {mailed.value !== "" && <p role="status">The invitation was mailed to {mailed.value}.</p>}
        {error !== undefined && <Fault error={error} retry={reload} />}
        {data === undefined && error === undefined && <Loading />}
        {data?.data.length === 0 && (
          <Empty title="No members yet">
            <p class="note">Invite yourself as the owner first: then you sign in by mail, and need no key for it.</p>
          </Empty>
        )}
        {data !== undefined && data.data.length > 0 && (
          <Table
            caption="Members"
            items={data.data}
            keyOf={({ id }) => id}
            columns={[
              {
                head: "Address",
                isName: true,
                cell: ({ email, id }) => (
                  <>
                    {email}
                    {id === session.value?.member?.id && " (you)"}
                    <span class="sub mono line">{id}</span>
                  </>
                )
              },
              { head: "Role", cell: ({ role }) => role },
              {
                head: "State",
                cell: ({ state }) => (
                  <Chip
                    state={state === "invited" ? "pending" : state}
                    word={state === "invited" ? "Invited" : "Active"}
                  />
                )
              },
              { head: "Invited", cell: ({ invitedAt }) => <Time at={invitedAt} /> },
              { head: "Joined", cell: ({ joinedAt }) => <Time at={joinedAt} /> },
              {
                head: "Actions",
                cell: (member) => (
                  <div class="actions">
                    {member.state === "invited" && <Resend member={member} done={reload} hand={hand} />}
                    <ChangeRole key={member.role} member={member} done={reload} />
                    <Remove member={member} done={reload} />
                  </div>
                )
              }
            ]}
          />
        )}
      </Part>
    </>
  )
}
