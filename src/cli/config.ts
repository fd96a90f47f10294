/** Implements `sluice config`: the effective configuration with the source of each value, secrets redacted. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { describeConfig } from "../config/settings.ts"
import { json, resolved, settingFlags } from "./flags.ts"
import { printJson } from "./output.ts"

export const config = Command.make(
  "config",
  { ...settingFlags, json },
  Effect.fn(function* (flags) {
    const { lines } = yield* resolved(flags)
    yield* flags.json ? printJson(lines) : Console.log(describeConfig(lines))
  })
).pipe(Command.withDescription("Print the effective configuration, secrets redacted"))
