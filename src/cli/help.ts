/**
 * Writes the text of `--help`: examples, flags in groups and secrets, which are no flags, wrapped at the terminal's
 * width. Pure but for the width.
 */
import { Option } from "effect"
import type { HelpDoc } from "effect/cli"
import { settingGroups } from "../config/settingGroups.ts"
import { settings } from "../config/settings.ts"
import { commandExamples } from "./examples.ts"

/** Columns where no terminal says how many it has: what terminals had, before they had any width. */
const usualColumns = 80

/** Wider lines than this are hard to read. */
const mostColumns = 120

const fewestColumns = 40

/** Columns of the names before what they mean; longer names stand on a line of their own. */
const nameColumns = 26

/** The columns to write in. */
export const columns = (): number =>
  Math.max(fewestColumns, Math.min(mostColumns, process.stdout.columns || usualColumns))

const indent = "  "

/** Breaks a text into lines of a width, at blanks. A word that is longer keeps its line. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

type Row = readonly [name: string, meaning: string]

const rowsOf = (rows: ReadonlyArray<Row>, width: number): ReadonlyArray<string> => {
  const gap = 2
  const widest = Math.min(nameColumns, Math.max(0, ...rows.map(([name]) => name.length)))
  const meaningAt = indent.length + widest + gap
  return rows.flatMap(([name, meaning]) => {
    const [first = "", ...rest] = wrapped(meaning, width - meaningAt)
    const later = rest.map((line) => `${" ".repeat(meaningAt)}${line}`)
    return name.length > widest
      ? [`${indent}${name}`, `${" ".repeat(meaningAt)}${first}`, ...later]
      : [`${indent}${name.padEnd(widest)}${" ".repeat(gap)}${first}`.trimEnd(), ...later]
  })
}

/** The name of a flag with what it takes. Where a setting has choices, they are named. */
const flagName = ({ aliases, name, type }: HelpDoc.FlagDoc): string => {
  const short = aliases.length === 0 ? "" : `, ${aliases.join(", ")}`
  return `--${name}${short}${type === "boolean" ? "" : ` <${type === "string" ? "text" : type.replaceAll(/[<>]/g, "")}>`}`
}

const described = ({ description }: HelpDoc.FlagDoc | HelpDoc.ArgDoc): string => Option.getOrElse(description, () => "")

const byFlag = new Map(Object.values(settings).map((setting) => [setting.flag, setting]))

/** A command that takes every setting has them in groups, secrets among them. */
const groupsOf = (
  flags: ReadonlyArray<HelpDoc.FlagDoc>
): { readonly own: ReadonlyArray<HelpDoc.FlagDoc>; readonly groups: ReadonlyArray<readonly [string, Row[]]> } => {
  const ofSettings = flags.filter(({ name }) => byFlag.has(name))
  const fewest = 10
  if (ofSettings.length < fewest) return { own: flags, groups: [] }
  const byName = new Map(ofSettings.map((flag) => [byFlag.get(flag.name)!.env as string, flag]))
  const secrets = new Map<string, string>(
    Object.values(settings).flatMap(({ description, env, secret }) => (secret ? [[env as string, description]] : []))
  )
  const groups = Object.entries(settingGroups).map(([title, names]): readonly [string, Row[]] => [
    title,
    names.flatMap((env): ReadonlyArray<Row> => {
      const flag = byName.get(env)
      if (flag !== undefined) return [[flagName(flag), described(flag)]]
      const secret = secrets.get(env)
      return secret === undefined
        ? []
        : [[env, `${secret}; a secret, so only the environment has it, or the file that ${env}_FILE names`]]
    })
  ])
  return { own: flags.filter(({ name }) => !byFlag.has(name)), groups }
}

/** The program's commands by purpose. */
const commandGroups: Readonly<Record<string, ReadonlyArray<string>>> = {
  "Subcommands to run the platform": ["serve", "doctor", "migrate", "config", "ingest", "cluster"],
  "Subcommands for organizations": ["orgs", "people", "keys", "console", "numbers", "sites", "invoices"],
  "Subcommands for email": ["send", "domains", "suppressions", "feedback"],
  "Subcommands for developers": ["listen", "trigger", "mcp", "simulate"],
  "Subcommands to look inside": ["inspect", "parked", "requests", "audit"],
  "Subcommands to back up and repair": ["backup", "restore", "recover"]
}

/** The subcommands under their titles; those of a subcommand have one title. */
const subcommandsOf = ({
  commandPath = [],
  subcommands = []
}: HelpDoc.HelpDoc): ReadonlyArray<readonly [string, ReadonlyArray<Row>]> => {
  const rows = subcommands.flatMap(({ commands }) =>
    commands.map(({ description, name, shortDescription }): Row => [name, shortDescription ?? description])
  )
  if (commandPath.length > 1) return [["Subcommands", rows]]
  const grouped = Object.entries(commandGroups).map(
    ([title, names]) => [title, names.flatMap((name) => rows.filter(([one]) => one === name))] as const
  )
  const named = Object.values(commandGroups).flat()
  return [...grouped, ["Subcommands", rows.filter(([name]) => !named.includes(name))]]
}

/** The text of a command's help. */
export const helpText = (help: HelpDoc.HelpDoc, width = columns()): string => {
  const parts: Array<ReadonlyArray<string>> = []
  const section = (title: string, rows: ReadonlyArray<Row>) => {
    if (rows.length > 0) parts.push([title.toUpperCase(), ...rowsOf(rows, width)])
  }
  if (help.description !== "") parts.push(wrapped(help.description, width))
  parts.push(["USAGE", ...wrapped(help.usage, width - indent.length).map((line) => `${indent}${line}`)])
  const examples = commandExamples[help.commandPath?.join(" ") ?? ""] ?? []
  if (examples.length > 0)
    parts.push([
      "EXAMPLES",
      ...examples.flatMap(([command, meaning]) => [`${indent}${command}`, `${indent}${indent}${meaning}`])
    ])
  section(
    "Arguments",
    (help.args ?? []).map((argument) => [argument.name, described(argument)])
  )
  for (const [title, rows] of subcommandsOf(help)) section(title, rows)
  const { groups, own } = groupsOf([...help.flags, ...(help.inheritedFlags ?? [])])
  section(
    "Flags",
    own.map((flag): Row => [flagName(flag), described(flag)])
  )
  for (const [title, rows] of groups) section(title, rows)
  section(
    "Global flags",
    (help.globalFlags ?? []).map((flag): Row => [flagName(flag), described(flag)])
  )
  return parts.map((lines) => lines.join("\n")).join("\n\n")
}
