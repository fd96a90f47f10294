#!/usr/bin/env node
/** The command line. The import that compiles schemas comes first, because it must run before any schema is made. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Layer } from "effect"
import { Command } from "effect/cli"
import { cluster } from "./cli/cluster.ts"
import { config } from "./cli/config.ts"
import { consoleLink } from "./cli/console.ts"
import { domains } from "./cli/domains.ts"
import { feedback } from "./cli/feedback.ts"
import { ingest } from "./cli/ingest.ts"
import { inspect } from "./cli/inspect.ts"
import { invoices } from "./cli/invoices.ts"
import { keys } from "./cli/keys.ts"
import { listen } from "./cli/listen.ts"
import { numbers } from "./cli/numbers.ts"
import { orgs } from "./cli/orgs.ts"
import { parked } from "./cli/parked.ts"
import { recover } from "./cli/recover.ts"
import { send } from "./cli/send.ts"
import { serve } from "./cli/serve.ts"
import { simulate } from "./cli/simulate.ts"
import { sites } from "./cli/sites.ts"
import { layerTerminal, reportDefect } from "./cli/terminal.ts"
import { trigger } from "./cli/trigger.ts"
import { version } from "./common/version.ts"

const sluice = Command.make("sluice").pipe(
  Command.withDescription(
    "Actor-based stream processing engine on Effect, NATS JetStream and PostgreSQL, and its platform"
  ),
  Command.withSubcommands([
    serve,
    ingest,
    orgs,
    keys,
    consoleLink,
    sites,
    invoices,
    numbers,
    send,
    domains,
    feedback,
    listen,
    trigger,
    config,
    inspect,
    cluster,
    parked,
    recover,
    simulate
  ])
)

const program = Command.run(sluice, { version }).pipe(
  Effect.tapCause(reportDefect),
  Effect.provide(Layer.merge(NodeServices.layer, layerTerminal))
)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => {
    // A server that was told to stop, and did, has succeeded; an interrupted command has not.
    if (Exit.isSuccess(exit)) onExit(0)
    else if (Cause.hasInterruptsOnly(exit.cause)) onExit(process.argv[2] === "serve" ? 0 : 130)
    else onExit(1)
  }
})
