/** docs/reference is what the code says, and has everything. */
import { readdirSync, readFileSync } from "node:fs"
import { Result } from "effect"
import type { HelpDoc } from "effect/cli"
import { describe, expect, it } from "vitest"
import { commandExamples } from "../../src/cli/examples.ts"
import { helpText } from "../../src/cli/help.ts"
import { settingExamples, settingGroups } from "../../src/config/settingGroups.ts"
import { settings } from "../../src/config/settings.ts"
import { everyHelp } from "./commandsPage.ts"
import { referencePages } from "./pages.ts"

const folder = new URL("../../docs/reference/", import.meta.url)

const nameOf = ({ commandPath }: HelpDoc.HelpDoc): string => commandPath!.join(" ")

describe("docs/reference", () => {
  it("is as the code has it; `npm run reference` writes it anew", async () => {
    const pages = await referencePages()
    expect(readdirSync(folder).toSorted()).toEqual(Object.keys(pages).toSorted())
    for (const [name, text] of Object.entries(pages)) expect(readFileSync(new URL(name, folder), "utf8")).toBe(text)
  })

  it("has every setting once, with an example that the setting takes", () => {
    const names = Object.values(settings).map(({ env }) => env as string)
    expect(Object.values(settingGroups).flat().toSorted()).toEqual(names.toSorted())
    for (const { env, fallback, parse } of Object.values(settings)) {
      expect(settingExamples[env] === undefined, `${env} has a default or an example`).toBe(fallback !== undefined)
      const parsed: Result.Result<unknown, string> = parse(settingExamples[env] ?? fallback!)
      expect(Result.isSuccess(parsed), env).toBe(true)
    }
  })

  it("has an example of every command, and of no other, with the flags that the command takes", async () => {
    const every = await everyHelp()
    expect(Object.keys(commandExamples).toSorted()).toEqual(every.map(nameOf).toSorted())
    for (const [command] of Object.values(commandExamples).flat()) {
      // Without what the shell reads from files.
      const words = command.slice(command.indexOf("sluice ")).split(" <")[0]!.split(" ")
      if (words[1] === "help" || words.includes("--help")) continue
      const given = words.filter((word) => word.startsWith("--")).map((word) => word.slice(2))
      const of = every.filter((help) => ` ${words.join(" ")} `.startsWith(` ${nameOf(help)} `)).at(-1)!
      const flags = new Map(of.flags.map((flag) => [flag.name, flag]))
      expect(
        given.filter((name) => !flags.has(name)),
        command
      ).toEqual([])
      // One that may be given several times is told as if it were needed.
      const needed = of.flags.filter(({ name, required }) => required && name !== "retire").map(({ name }) => name)
      expect(
        needed.filter((name) => !given.includes(name)),
        command
      ).toEqual([])
      const isValue = (word: string | undefined) =>
        word?.startsWith("--") === true && flags.get(word.slice(2))?.type !== "boolean"
      const own = words.slice(of.commandPath!.length)
      const places = own.filter((word, at) => !word.startsWith("--") && !isValue(own[at - 1]))
      expect(places.length > 0, `${command}: ${of.usage}`).toBe((of.args ?? []).length > 0)
    }
  })

  it("is what --help says, in lines of the terminal's width", async () => {
    const every = await everyHelp()
    for (const help of every) {
      const text = helpText(help, 100)
      expect(text).toContain("USAGE")
      expect(text.split("\n").filter((line) => line.length > 100)).toEqual([])
    }
    const serve = helpText(every.find((help) => nameOf(help) === "sluice serve")!, 80)
    for (const { env } of Object.values(settings)) expect(serve).toContain(env)
  })
})
