/**
 * Defines the command line as an effect; `main.ts` runs it as a process, prints its result and ends with its exit code.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Layer } from "effect"
import { type CliError, Command } from "effect/cli"
import { version } from "../common/version.ts"
import { layerTerminal, reportDefect } from "./terminal.ts"

/** The commands, each with what it needs: a command that asks a running platform need not load the platform. */
const commands = {
  serve: async () => (await import("./serve.ts")).serve,
  ingest: async () => (await import("./ingest.ts")).ingest,
  orgs: async () => (await import("./orgs.ts")).orgs,
  keys: async () => (await import("./keys.ts")).keys,
  console: async () => (await import("./console.ts")).consoleLink,
  people: async () => (await import("./people.ts")).people,
  sites: async () => (await import("./sites.ts")).sites,
  invoices: async () => (await import("./invoices.ts")).invoices,
  numbers: async () => (await import("./numbers.ts")).numbers,
  lookup: async () => (await import("./lookup.ts")).lookup,
  send: async () => (await import("./send.ts")).send,
  "what-if": async () => (await import("./whatIf.ts")).whatIf,
  domains: async () => (await import("./domains.ts")).domains,
  suppressions: async () => (await import("./suppressions.ts")).suppressions,
  feedback: async () => (await import("./feedback.ts")).feedback,
  listen: async () => (await import("./listen.ts")).listen,
  mcp: async () => (await import("./mcp.ts")).mcp,
  trigger: async () => (await import("./trigger.ts")).trigger,
  doctor: async () => (await import("./doctor.ts")).doctor,
  migrate: async () => (await import("./migrateCommand.ts")).migrateCommand,
  config: async () => (await import("./config.ts")).config,
  requests: async () => (await import("./requestsCommand.ts")).requestsCommand,
  audit: async () => (await import("./audit.ts")).audit,
  inspect: async () => (await import("./inspect.ts")).inspect,
  cluster: async () => (await import("./cluster.ts")).cluster,
  parked: async () => (await import("./parkedRecords.ts")).parked,
  recover: async () => (await import("./recover.ts")).recover,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./restore.ts")).restore,
  simulate: async () => (await import("./simulate.ts")).simulate
}

/**
 * The one that is named, none for the version, else all of them: for help, completions, and to say what a wrong name
 * may have meant.
 */
const neededFor = (named: string): ReadonlyArray<() => Promise<Command.Command.Any>> =>
  Object.hasOwn(commands, named)
    ? [commands[named as keyof typeof commands]]
    : named === "--version" || named === "-v"
      ? []
      : Object.values(commands)

/** The command of the program, of the given ones. */
const sluiceOf = (loaded: ReadonlyArray<Command.Command.Any>) =>
  Command.make("sluice").pipe(
    Command.withDescription(
      "Actor-based stream processing engine on Effect, NATS JetStream and PostgreSQL, and its platform"
    ),
    Command.withSubcommands(loaded)
  )

/** The whole program, for what is written about it. */
export const wholeCommand = async () =>
  sluiceOf(await Promise.all(Object.values(commands).map((load): Promise<Command.Command.Any> => load())))

/** Whether words name a command; its arguments and flags end them. */
const isNamed = (command: Command.Command.Any, [first, ...rest]: ReadonlyArray<string>): boolean => {
  if (first === undefined || first.startsWith("-") || command.subcommands.length === 0) return true
  const below = command.subcommands.flatMap(({ commands: some }) => some).find(({ name }) => name === first)
  return below !== undefined && isNamed(below, rest)
}

/**
 * Reads `help` and `version` as words for flags. Help on no command is left as it is: the words themselves then say what
 * is unknown, and run nothing.
 */
const asFlags = (sluice: Command.Command.Any, [first, ...rest]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (first === "help") return isNamed(sluice, rest) && !rest.includes("--help") ? [...rest, "--help"] : rest
  return first === "version" && rest.length === 0 ? ["--version"] : first === undefined ? [] : [first, ...rest]
}

/**
 * Runs the command that the arguments name, and tells of its failure itself. Its exit has the exit code of
 * `exitCodeOf`.
 */
export const commandLine = async (given: ReadonlyArray<string>): Promise<Effect.Effect<void, CliError.CliError>> => {
  const [first = "", second = ""] = given
  const named = first === "help" ? second : first === "version" ? "--version" : first
  const sluice = sluiceOf(await Promise.all(neededFor(named).map((load) => load())))
  const args = asFlags(sluice, given)
  // Each command provides to itself what it needs, which the type of a list of different ones does not say.
  const run = Command.runWith(sluice, { version })(args) as Effect.Effect<void, CliError.CliError, Command.Environment>
  return run.pipe(Effect.tapCause(reportDefect), Effect.provide(Layer.merge(NodeServices.layer, layerTerminal)))
}

/** The exit code of a process that has run a command. */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>, args: ReadonlyArray<string>): number => {
  if (Exit.isSuccess(exit)) return 0
  // A server that stopped on request has succeeded; an interrupted command has not.
  if (Cause.hasInterruptsOnly(exit.cause)) return args[0] === "serve" ? 0 : 130
  return isMisuse(Cause.squash(exit.cause)) ? 2 : 1
}

/** Whether the command line itself is wrong, which is said beside the usage. */
const isMisuse = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "ShowHelp"
