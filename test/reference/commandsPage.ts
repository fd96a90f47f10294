/** The page of commands, from what each says of itself. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Option } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag, type HelpDoc } from "effect/cli"
import { wholeCommand } from "../../src/cli/commandLine.ts"
import { commandExamples } from "../../src/cli/examples.ts"
import { settings } from "../../src/config/settings.ts"
import { code, page, table } from "./markdown.ts"

/** Every command's help, those above before those below. */
export const everyHelp = async (): Promise<ReadonlyArray<HelpDoc.HelpDoc>> => {
  const sluice = await wholeCommand()
  const helpOf = (path: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<HelpDoc.HelpDoc>> =>
    Effect.gen(function* () {
      let found: HelpDoc.HelpDoc | undefined
      const presenter: CliOutput.Presenter = {
        present: (event) =>
          Effect.sync(() => {
            if (event._tag === "Help") found = event.helpDoc
          })
      }
      const layer = Layer.mergeAll(
        NodeServices.layer,
        CliOutput.layerPresenter(presenter),
        CliConfig.layer({ builtIns: [GlobalFlag.Help] })
      )
      const run = Command.runWith(sluice, { version: "" })([...path, "--help"]) as Effect.Effect<void>
      yield* Effect.provide(run, layer)
      const names = (found!.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))
      return [found!, ...(yield* Effect.forEach(names, (name) => helpOf([...path, name]))).flat()]
    })
  return Effect.runPromise(helpOf([]))
}

const settingFlags = new Set(Object.values(settings).map(({ flag }) => flag))

const fewest = 10

const section = ({ args = [], commandPath = [], description, flags, usage }: HelpDoc.HelpDoc): string => {
  const name = commandPath.join(" ")
  const ofSettings = flags.filter((flag) => settingFlags.has(flag.name))
  const takesAll = ofSettings.length >= fewest
  const own = takesAll ? flags.filter((flag) => !settingFlags.has(flag.name)) : flags
  const rows = [
    ...args.map((argument) => [code(argument.name), Option.getOrElse(argument.description, () => "")]),
    ...own.map((flag) => [code(`--${flag.name}`), Option.getOrElse(flag.description, () => "")])
  ]
  const examples = (commandExamples[name] ?? []).map(([command, meaning]) => `${command}   # ${meaning}`)
  return [
    `## ${name}`,
    `${description}.`,
    `\`\`\`text\n${[usage, "", ...examples].join("\n")}\n\`\`\``,
    ...(takesAll ? ["Every [setting](settings.md) that is no secret is a flag of it."] : []),
    ...(rows.length === 0 ? [] : [table(["Argument or flag", "Meaning"], rows)])
  ].join("\n\n")
}

export const commandsPage = async (): Promise<string> => {
  const every = await everyHelp()
  return page(
    "Commands",
    `Results go to stdout, everything else to stderr; \`--json\` makes a result JSON. A command ends with 0, with 1 where it
failed, with 2 where it was not typed rightly, and with 130 where it was interrupted. \`sluice help <command>\` says the
same as \`sluice <command> --help\`, \`sluice version\` the same as \`sluice --version\`.

\`sluice --completions bash\` prints what completes commands and flags in a shell; zsh and fish have theirs:

\`\`\`text
sluice --completions bash > ~/.local/share/bash-completion/completions/sluice
sluice --completions zsh > ~/.zfunc/_sluice
sluice --completions fish > ~/.config/fish/completions/sluice.fish
\`\`\`

In a checkout, \`npx --no-install sluice\` is the command.`,
    ...every.map(section)
  )
}
