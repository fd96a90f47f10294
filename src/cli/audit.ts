/** Implements `sluice audit list`: acts of operators, or all acts on an organization (docs/platform.md, 2.11 and 8.3). */
import { Data, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { hours, limit, newest, parameter, sinceOf } from "./logFlags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

/** The acts of one organization have no subject to choose. */
export class SubjectAndOrganization extends Data.TaggedError("SubjectAndOrganization") {
  override get message(): string {
    return "Give --subject for acts of operators, or --org for the audit log of an organization: not both"
  }
}

const list = Command.make(
  "list",
  {
    org: Flag.String("org").pipe(
      Flag.withDescription("The audit log of this organization: acts of its keys, sessions and operators"),
      Flag.optional
    ),
    act: Flag.String("act").pipe(Flag.withDescription("This act alone, such as key.created"), Flag.optional),
    subject: Flag.String("subject").pipe(Flag.withDescription("Acts of operators on this id alone"), Flag.optional),
    hours,
    limit,
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        if (Option.isSome(flags.org) && Option.isSome(flags.subject)) return yield* new SubjectAndOrganization()
        const filter = { ...parameter("act", flags.act), ...(yield* sinceOf(flags.hours)) }
        if (Option.isSome(flags.org)) {
          const id = flags.org.value
          const entries = yield* newest(flags.limit, (page) =>
            client.organizations.audit({ params: { id }, query: { ...filter, ...page } })
          )
          return yield* flags.json
            ? printJson(entries)
            : printTable(
                ["AT", "ACT", "ON", "BY", "FROM"],
                entries.map(({ act, actor, address, at, object }) => [
                  shownTime(at),
                  act,
                  object ?? "-",
                  actor.id === null ? actor.type : `${actor.type} ${actor.id}`,
                  address ?? "-"
                ]),
                "No such act."
              )
        }
        const acts = yield* newest(flags.limit, (page) =>
          client.acts.list({ query: { ...filter, ...parameter("subject", flags.subject), ...page } })
        )
        yield* flags.json
          ? printJson(acts)
          : printTable(
              ["AT", "ACT", "ON", "GIVEN"],
              acts.map(({ act, at, detail, subject }) => [shownTime(at), act, subject, JSON.stringify(detail)]),
              "No such act."
            )
      })
    )
).pipe(Command.withDescription("List the acts of operators, or all acts on an organization, newest first"))

export const audit = Command.make("audit").pipe(
  Command.withDescription("Look at who did what"),
  Command.withSubcommands([list])
)
