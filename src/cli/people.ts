/** Implements `sluice people list | invite | remove`: the members of an organization (docs/platform.md, 2.13). */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { roles } from "../platform/model.ts"
import { withAdmin } from "./admin.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const common = { json, dataDir: settingFlags.dataDir }
const org = Flag.String("org").pipe(Flag.withDescription("Id of the organization"))

const list = Command.make("list", { org, ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const { data } = yield* client.members.list({ params: { id: flags.org } })
      yield* flags.json
        ? printJson(data)
        : printTable(
            ["ID", "ADDRESS", "ROLE", "STATE", "INVITED", "JOINED"],
            data.map((member) => [
              member.id,
              member.email,
              member.role,
              member.state,
              shownTime(member.invitedAt),
              shownTime(member.joinedAt)
            ]),
            "No members yet. Invite one: sluice people invite --org <id> --role owner <address>"
          )
    })
  )
).pipe(Command.withDescription("List the members of an organization, invited ones too"))

const invite = Command.make(
  "invite",
  {
    org,
    role: Flag.Literals("role", roles).pipe(
      Flag.withDescription("owner: everything; developer: all but people and the plan; viewer: reads")
    ),
    address: Argument.String("address"),
    ...common
  },
  ({ address, dataDir, json: asJson, org: id, role }) =>
    withAdmin(
      { dataDir },
      Effect.gen(function* () {
        const client = yield* AdminClient
        const made = yield* client.members.invite({
          params: { id },
          payload: { email: address, role }
        })
        const { host, port, publicUrl } = yield* configuration({ dataDir })
        // Without a running platform only the path is known.
        const base = (publicUrl ?? `http://${host}:${port}`).replace(/\/+$/, "")
        const link = made.link?.startsWith("/") === true ? `${base}${made.link}` : made.link
        if (asJson) return yield* printJson({ id: made.id, delivery: made.delivery, link })
        yield* Console.log(
          link === null
            ? `Invited ${made.email} as ${made.role} (${made.id}). The link was mailed; it works once, for seven days.`
            : `Invited ${made.email} as ${made.role} (${made.id}). No mail was sent: hand this over. It works once, for seven days.\n\n${link}`
        )
      })
    )
).pipe(Command.withDescription("Invite somebody to an organization by a mailed link"))

const remove = Command.make("remove", { id: Argument.String("id"), ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const member = yield* client.members.remove({ params: { id: flags.id } })
      yield* flags.json ? printJson({ id: member.id }) : Console.log(`Removed ${member.email} (${member.id}).`)
    })
  )
).pipe(Command.withDescription("Remove a member, or revoke an invitation; their sessions end"))

export const people = Command.make("people").pipe(
  Command.withDescription("List, invite and remove the members of an organization"),
  Command.withSubcommands([list, invite, remove])
)
