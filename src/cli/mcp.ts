/** Implements `sluice mcp`: the public API as tools of the Model Context Protocol, over stdin and stdout. */
import { Data, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import type { Config } from "../config/settings.ts"
import { findRunning } from "../embedded/dataFolder.ts"
import { configuration, settingFlags } from "./flags.ts"
import { explained } from "./output.ts"

/** The command lacks a key or an address, or the platform does not answer. */
export class McpRefused extends Data.TaggedError("McpRefused")<{ readonly message: string }> {}

const refuse = (message: string) => Effect.fail(new McpRefused({ message }))

const run = Effect.fnUntraced(function* (config: Config, allowsWrite: boolean, live: boolean) {
  if (config.apiKey === undefined)
    return yield* refuse(
      "A key is needed: set SLUICE_API_KEY to one of the organization, sk_test_… unless --live is given"
    )
  const apiKey = Redacted.value(config.apiKey)
  if (!live && !apiKey.startsWith("sk_test_"))
    return yield* refuse("SLUICE_API_KEY is a live key: give a test key, or --live if tools are to act for real")
  const running = config.apiUrl === undefined ? yield* findRunning(config.dataDir) : Option.none()
  const url = config.apiUrl ?? (Option.isSome(running) ? running.value.apiUrl : undefined)
  if (url === undefined)
    return yield* refuse(`No platform runs in ${config.dataDir}: start one, or name another one with SLUICE_API_URL`)
  const { serveMcp } = yield* Effect.promise(() => import("./mcpServer.ts"))
  yield* Effect.tryPromise({
    try: (signal) => serveMcp({ url: url.replace(/\/+$/, ""), apiKey, allowsWrite }, signal),
    catch: (error) =>
      new McpRefused({
        message: `The platform at ${url} is not there (${error instanceof Error ? error.message : error})`
      })
  })
})

export const mcp = Command.make(
  "mcp",
  {
    allowWrite: Flag.Boolean("allow-write").pipe(
      Flag.withDescription("Offer tools that change something or return credentials too"),
      Flag.withDefault(false)
    ),
    live: Flag.Boolean("live").pipe(
      Flag.withDescription("Take a live key; without it only test keys are taken"),
      Flag.withDefault(false)
    ),
    apiUrl: Flag.String("url").pipe(
      Flag.withDescription("Where the platform's API listens; SLUICE_API_URL"),
      Flag.optional
    ),
    dataDir: settingFlags.dataDir
  },
  ({ allowWrite, apiUrl, dataDir, live }) =>
    Effect.flatMap(configuration({ apiUrl, dataDir }), (config) => explained(run(config, allowWrite, live)))
).pipe(Command.withDescription("Offer the API to a language model as tools, over stdin and stdout (MCP)"))
