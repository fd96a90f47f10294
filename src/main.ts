#!/usr/bin/env node
/** The program `sluice`. The import that compiles schemas comes first, because it must run before any schema is made. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { commandLine, exitCodeOf } from "./cli/commandLine.ts"
import { watchOutput } from "./cli/watchOutput.ts"

const args = process.argv.slice(2)
watchOutput(args)

NodeRuntime.runMain(await commandLine(args), {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit, args))
})
