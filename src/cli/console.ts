/**
 * Implements `sluice console`: an address that opens an organization's console, signed in, once (docs/platform.md,
 * 12.1).
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./admin.ts"
import { configuration, json, settingFlags } from "./flags.ts"
import { printJson, shownTime } from "./output.ts"

export const consoleLink = Command.make(
  "console",
  {
    org: Flag.String("org").pipe(Flag.withDescription("Id of the organization")),
    mode: Flag.Literals("mode", ["live", "test"]).pipe(
      Flag.withDescription("Whose events, endpoints and emails it shows"),
      Flag.withDefault("live" as const)
    ),
    json,
    dataDir: settingFlags.dataDir
  },
  (flags) =>
    withAdmin(
      flags,
      Effect.gen(function* () {
        const client = yield* AdminClient
        const made = yield* client.console.link({ payload: { organization: flags.org, mode: flags.mode } })
        const { host, port, publicUrl } = yield* configuration(flags)
        // Without a running platform only the path is known.
        const base = (publicUrl ?? `http://${host}:${port}`).replace(/\/+$/, "")
        const url = made.url.startsWith("/") ? `${base}${made.url}` : made.url
        yield* flags.json
          ? printJson({ url, expiresAt: made.expiresAt })
          : Console.log(`${url}\n\nIt opens the console once, until ${shownTime(made.expiresAt)}.`)
      })
    )
).pipe(Command.withDescription("Make an address that opens an organization's console, signed in, once"))
