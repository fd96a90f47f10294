/** `sluice trigger <type> --org ID`: emits the catalogue's example of a type as a test event. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { exampleTypes } from "../events/TestEvents.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

export const trigger = Command.make(
  "trigger",
  {
    type: Argument.Literals("type", exampleTypes).pipe(Argument.withDescription(`One of ${exampleTypes.join(", ")}`)),
    org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const event = yield* client.events.trigger({ params: { id: flags.org }, payload: { type: flags.type } })
        yield* flags.json
          ? printJson(event)
          : Console.log(`Emitted ${event.type} as a test event:\n${JSON.stringify(event.data, null, 2)}`)
      })
    )
).pipe(Command.withDescription("Emit a test event, the catalogue's example of its type"))
