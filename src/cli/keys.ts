/** Implements `sluice keys create | list | revoke` (docs/platform.md, 2.3). */
import { Clock, Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { scopes, services } from "../platform/model.ts"
import { everyPage, withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson, printTable, shownTime } from "./output.ts"

const dataDir = { dataDir: settingFlags.dataDir }

const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")

/** A comma-separated list of the given words; `all` means every one of them. */
const listOf = <const Words extends ReadonlyArray<string>>(words: Words) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) =>
        text.trim() === "all" ||
        wordsOf(text).every((word) => words.includes(word)) ||
        `Expected some of ${words.join(", ")}, separated by commas`
    )
  )

const chosen = <const Words extends ReadonlyArray<string>>(words: Words, text: string): ReadonlyArray<Words[number]> =>
  text.trim() === "all" ? words : words.filter((word) => wordsOf(text).includes(word))

const scopesOf = (given: ReadonlyArray<string>): string =>
  given.includes("*") ? "* (all of them)" : given.join(", ") || "none"

const create = Command.make(
  "create",
  {
    org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
    name: Flag.String("name").pipe(Flag.withDescription("Name of the key"), Flag.optional),
    services: Flag.String("services").pipe(
      Flag.withSchema(listOf(services)),
      Flag.withDescription(`Some of ${services.join(", ")}, or all`)
    ),
    scopes: Flag.String("scopes").pipe(
      Flag.withSchema(listOf(scopes)),
      Flag.withDescription(`Some of ${scopes.join(", ")}`),
      Flag.withDefault("")
    ),
    test: Flag.Boolean("test").pipe(
      Flag.withDescription("A test key: its events are not live and its mail is not sent"),
      Flag.withDefault(false)
    ),
    expires: Flag.Date("expires").pipe(Flag.withDescription("When the key ends, ISO 8601"), Flag.optional),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const { body: created } = yield* client.keys.create({
          params: { id: flags.org },
          headers: {},
          payload: {
            name: Option.getOrNull(flags.name),
            mode: flags.test ? "test" : "live",
            services: chosen(services, flags.services),
            scopes: flags.scopes.trim() === "all" ? ["*"] : chosen(scopes, flags.scopes),
            expiresAt: Option.match(flags.expires, { onNone: () => null, onSome: (date) => date.getTime() })
          }
        })
        yield* flags.json
          ? printJson({ id: created.id, key: created.key })
          : Console.log(
              [
                `id        ${created.id}`,
                `key       ${created.key}`,
                `mode      ${created.mode}`,
                `services  ${created.services.join(", ") || "none"}`,
                `scopes    ${scopesOf(created.scopes)}`,
                `ends      ${created.expiresAt === null ? "never" : shownTime(created.expiresAt)}`,
                "",
                "The key is shown this once; only its digest is stored."
              ].join("\n")
            )
      })
    )
).pipe(Command.withDescription("Make an API key"))

const list = Command.make(
  "list",
  { org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")), json, ...dataDir },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const keys = yield* everyPage((query) => client.keys.list({ params: { id: flags.org }, query }))
        const now = yield* Clock.currentTimeMillis
        yield* flags.json
          ? printJson(keys)
          : printTable(
              ["ID", "NAME", "KEY", "SERVICES", "SCOPES", "STATE", "LAST USED"],
              keys.map((key) => [
                key.id,
                key.name ?? "-",
                `${key.prefix}…`,
                key.services.join(",") || "-",
                key.scopes.join(",") || "-",
                !key.active ? "revoked" : key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active",
                shownTime(key.lastUsedAt)
              ]),
              "No keys yet. Make one: sluice keys create --org <id> --services directory"
            )
      })
    )
).pipe(Command.withDescription("List an organization's keys, newest first"))

const revoke = Command.make("revoke", { id: Argument.String("id"), json, ...dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const key = yield* client.keys.revoke({ params: { id: flags.id } })
      yield* flags.json ? printJson({ id: key.id }) : Console.log(`Revoked ${key.id} (${key.prefix}…).`)
    })
  )
).pipe(Command.withDescription("End a key for good; it stops working on every node within a second"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("Make, list and revoke API keys"),
  Command.withSubcommands([create, list, revoke])
)
