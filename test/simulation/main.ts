/** `npm run simulate -- [--of send|webhooks|handoff|followers|owners] [--seeds 500] [--seed N] [--minutes 10] [--replay file.json]` (docs/simulation.md). */
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { simulateKnown } from "../../src/cli/simulate.ts"
import { version } from "../../src/common/version.ts"
import { simulations } from "./simulations.ts"

simulateKnown(simulations, { command: "npm run simulate --", standard: "engine" }).pipe(
  Command.run({ version }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
