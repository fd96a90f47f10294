/** Implements `sluice inspect partition N | org ID | actor KIND ORG [KEY]`: the running engine's state, readably. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { OrganizationActor } from "../platform/OrganizationActor.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

const dataDir = { dataDir: settingFlags.dataDir }

/** JSON, one line a field, nested ones indented; times in milliseconds also as a date. */
const readable = (value: unknown, indent = ""): string => {
  if (Array.isArray(value)) {
    return value.length === 0 ? " none" : `\n${value.map((item) => `${indent}- ${JSON.stringify(item)}`).join("\n")}`
  }
  if (typeof value !== "object" || value === null) return ` ${String(value)}`
  return `\n${Object.entries(value)
    .map(([name, field]) => {
      const isTime = /^(now|wakeAt)$/.test(name) && typeof field === "number"
      return `${indent}${name}:${readable(field, `${indent}  `)}${isTime ? ` (${new Date(field).toISOString()})` : ""}`
    })
    .join("\n")}`
}

const print = (asJson: boolean, value: unknown) => (asJson ? printJson(value) : Console.log(readable(value).slice(1)))

const partition = Command.make(
  "partition",
  { partition: Argument.Int("partition").pipe(Argument.withDescription("Its number, from 0")), json, ...dataDir },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        yield* print(flags.json, yield* client.engine.inspectPartition({ params: { partition: flags.partition } }))
      })
    )
).pipe(Command.withDescription("Status, head, checkpoint, cursors and the last facts of a partition"))

const organization = Argument.String("organization").pipe(Argument.withDescription("Id of the organization"))

const org = Command.make("org", { organization, json, ...dataDir }, (flags) =>
  withAdmin(
    flags,
    Effect.gen(function* () {
      const client = yield* AdminClient
      const found = yield* client.engine.inspectActor({
        params: { kind: OrganizationActor.kind },
        query: { organization: flags.organization }
      })
      yield* print(flags.json, found)
    })
  )
).pipe(Command.withDescription("The organization's own actor: plans, limits and the last facts"))

const actor = Command.make(
  "actor",
  {
    kind: Argument.String("kind").pipe(Argument.withDescription("Kind of the actor, such as organization")),
    organization,
    key: Flag.String("key").pipe(
      Flag.withDescription("Key of the actor, where an organization has several"),
      Flag.withDefault("")
    ),
    json,
    ...dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const found = yield* client.engine.inspectActor({
          params: { kind: flags.kind },
          query: { organization: flags.organization, key: flags.key }
        })
        yield* print(flags.json, found)
      })
    )
).pipe(Command.withDescription("State, sequence, checkpoint, timer and the last facts of an actor"))

export const inspect = Command.make("inspect").pipe(
  Command.withDescription("Look into the running engine"),
  Command.withSubcommands([partition, org, actor])
)
