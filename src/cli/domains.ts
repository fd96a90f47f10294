/**
 * Implements `sluice domains verify <domain> --org ID [--unchecked]`: verifies a domain by its records or on the
 * operator's word (docs/platform.md, 9.13).
 */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { modes } from "../send/index.ts"
import { withAdmin } from "./admin.ts"
import { json, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

const verify = Command.make(
  "verify",
  {
    domain: Argument.String("domain").pipe(Argument.withDescription("A domain that the organization has added")),
    org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
    mode: Flag.Literals("mode", modes).pipe(
      Flag.withDescription("Whether it is of the live keys or of the test keys"),
      Flag.withDefault("live" as const)
    ),
    unchecked: Flag.Boolean("unchecked").pipe(
      Flag.withDescription("Let it count as verified whatever its records say; recorded as such"),
      Flag.withDefault(false)
    ),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const payload = { mode: flags.mode, domain: flags.domain, unchecked: flags.unchecked }
        const shown = yield* client.send.verifyDomain({ params: { id: flags.org }, payload })
        if (flags.json) return yield* printJson(shown)
        yield* Console.log(`${shown.name} is ${shown.status}${shown.proof === "unchecked" ? ", unchecked" : ""}`)
      })
    )
).pipe(Command.withDescription("Verify a domain by its records, or unchecked"))

export const domains = Command.make("domains").pipe(
  Command.withDescription("Verify domains of senders"),
  Command.withSubcommands([verify])
)
