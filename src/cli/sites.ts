/** Implements `sluice sites create | list | revoke`: credentials of other products' sites (docs/platform.md, 2.8). */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { everyPage, withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const common = { json, dataDir: settingFlags.dataDir }
const org = Flag.String("org").pipe(Flag.withDescription("Id of the organization"))

const create = Command.make(
  "create",
  { org, name: Flag.String("name").pipe(Flag.withDescription("Which site it is for"), Flag.optional), ...common },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const { body: made } = yield* client.sites.create({
          params: { id: flags.org },
          headers: {},
          payload: { name: Option.getOrNull(flags.name) }
        })
        yield* flags.json
          ? printJson({ id: made.id, credential: made.credential })
          : Console.log(
              `id          ${made.id}\ncredential  ${made.credential}\n\nThe credential is shown this once; only its digest is stored.`
            )
      })
    )
).pipe(Command.withDescription("Make a credential by which another product's site speaks for an organization"))

const list = Command.make("list", { org, ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const sites = yield* everyPage((query) => client.sites.list({ params: { id: flags.org }, query }))
      yield* flags.json
        ? printJson(sites)
        : printTable(
            ["ID", "NAME", "CREDENTIAL", "STATE", "CREATED"],
            sites.map((site) => [
              site.id,
              site.name ?? "-",
              `${site.prefix}…`,
              site.active ? "active" : "revoked",
              shownTime(site.createdAt)
            ]),
            "No site credentials yet. Make one: sluice sites create --org <id>"
          )
    })
  )
).pipe(Command.withDescription("List an organization's site credentials, newest first"))

const revoke = Command.make("revoke", { id: Argument.String("id"), ...common }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const site = yield* client.sites.revoke({ params: { id: flags.id } })
      yield* flags.json ? printJson({ id: site.id }) : Console.log(`Revoked ${site.id} (${site.prefix}…).`)
    })
  )
).pipe(Command.withDescription("End a site credential for good, from its next request on"))

export const sites = Command.make("sites").pipe(
  Command.withDescription("Make, list and revoke credentials of other products' sites"),
  Command.withSubcommands([create, list, revoke])
)
