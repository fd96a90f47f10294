/**
 * Implements `sluice trigger <type> [--org ID] [--endpoint ID]`: emits the catalogue's example of a type as a test
 * event.
 */
import { Console, Data, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { exampleTypes } from "../events/TestEvents.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

/** The command names no organization, and there is not exactly one to choose. */
export class WhoseEvent extends Data.TaggedError("WhoseEvent")<{ readonly organizations: number }> {
  override get message(): string {
    return this.organizations === 0
      ? "There is no organization yet: make one with sluice orgs create"
      : "Say with --org whose event it is; sluice orgs list shows the organizations"
  }
}

/** A test event goes only to the endpoint that it names, and the example names none. */
const reachesNoEndpoint =
  "It is in the event log and its streams, and goes to no webhook endpoint: POST /v1/webhooks/{id}/test sends one to the endpoint that is to be tested, and so does --endpoint."

const onlyOrganization = Effect.gen(function* () {
  const { organizations } = yield* AdminClient
  const { data } = yield* organizations.list({ query: { limit: 2 } })
  return data.length === 1 ? data[0]!.id : yield* new WhoseEvent({ organizations: data.length })
})

export const trigger = Command.make(
  "trigger",
  {
    type: Argument.Literals("type", exampleTypes).pipe(Argument.withDescription(`One of ${exampleTypes.join(", ")}`)),
    org: Flag.optional(Flag.String("org")).pipe(
      Flag.withDescription("Id of the organization; not needed where there is only one")
    ),
    endpoint: Flag.optional(Flag.String("endpoint")).pipe(
      Flag.withDescription("Id of the only webhook endpoint that gets it, whatever its patterns")
    ),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const id = Option.isSome(flags.org) ? flags.org.value : yield* onlyOrganization
        const event = yield* client.events.trigger({
          params: { id },
          payload: { type: flags.type, ...(Option.isSome(flags.endpoint) ? { endpoint: flags.endpoint.value } : {}) }
        })
        yield* flags.json
          ? printJson(event)
          : Console.log(
              [
                `Emitted ${event.type} as a test event:`,
                JSON.stringify(event.data, null, 2),
                `id  ${event.eventId ?? "not written yet"}`,
                ...event.endpoints.map(({ id, isPaused, url }) => `to  ${id}  ${url}${isPaused ? "  (paused)" : ""}`),
                ...(event.endpoints.length === 0
                  ? ["to  no webhook endpoint; the event log and its streams have it"]
                  : [])
              ].join("\n")
            )
        if (flags.type === "platform.test" && Option.isNone(flags.endpoint))
          yield* Console.error(`  ${reachesNoEndpoint}`)
      })
    )
).pipe(Command.withDescription("Emit a test event, the catalogue's example of its type"))
