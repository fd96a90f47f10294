#!/usr/bin/env node
/** The command line. The import that compiles schemas comes first, because it must run before any schema is made. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Layer } from "effect"
import { type CliError, Command } from "effect/cli"
import { layerTerminal, reportDefect } from "./cli/terminal.ts"
import { version } from "./common/version.ts"

/** The commands, each with what it needs: a command that asks a running platform need not load the platform. */
const commands = {
  serve: async () => (await import("./cli/serve.ts")).serve,
  ingest: async () => (await import("./cli/ingest.ts")).ingest,
  orgs: async () => (await import("./cli/orgs.ts")).orgs,
  keys: async () => (await import("./cli/keys.ts")).keys,
  console: async () => (await import("./cli/console.ts")).consoleLink,
  sites: async () => (await import("./cli/sites.ts")).sites,
  invoices: async () => (await import("./cli/invoices.ts")).invoices,
  numbers: async () => (await import("./cli/numbers.ts")).numbers,
  send: async () => (await import("./cli/send.ts")).send,
  domains: async () => (await import("./cli/domains.ts")).domains,
  feedback: async () => (await import("./cli/feedback.ts")).feedback,
  listen: async () => (await import("./cli/listen.ts")).listen,
  trigger: async () => (await import("./cli/trigger.ts")).trigger,
  config: async () => (await import("./cli/config.ts")).config,
  inspect: async () => (await import("./cli/inspect.ts")).inspect,
  cluster: async () => (await import("./cli/cluster.ts")).cluster,
  parked: async () => (await import("./cli/parked.ts")).parked,
  recover: async () => (await import("./cli/recover.ts")).recover,
  simulate: async () => (await import("./cli/simulate.ts")).simulate
}

/** The one that is named, none for the version, else all of them: for help, completions, and to say what a wrong name may have meant. */
const named = process.argv[2] ?? ""
const needed = Object.hasOwn(commands, named)
  ? [commands[named as keyof typeof commands]]
  : named === "--version" || named === "-v"
    ? []
    : Object.values(commands)
const loaded = await Promise.all(needed.map((load) => load()))

const sluice = Command.make("sluice").pipe(
  Command.withDescription(
    "Actor-based stream processing engine on Effect, NATS JetStream and PostgreSQL, and its platform"
  ),
  Command.withSubcommands(loaded)
)

// Each command provides to itself what it needs, which the type of a list of different ones does not say.
const run = Command.run(sluice, { version }) as Effect.Effect<void, CliError.CliError, Command.Environment>

const program = run.pipe(Effect.tapCause(reportDefect), Effect.provide(Layer.merge(NodeServices.layer, layerTerminal)))

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => {
    // A server that was told to stop, and did, has succeeded; an interrupted command has not.
    if (Exit.isSuccess(exit)) onExit(0)
    else if (Cause.hasInterruptsOnly(exit.cause)) onExit(process.argv[2] === "serve" ? 0 : 130)
    else onExit(1)
  }
})
