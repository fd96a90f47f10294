/**
 * Parts of files and command lines in the documents, each read by what reads it in use: settings by the platform, lines
 * of a configuration by nats-server, commands by the command line, scripts by package.json.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Result, Schema } from "effect"
import { describe, expect, inject, it } from "vitest"
import { resolveConfig } from "../../src/config/settings.ts"
import { FeedbackSignal } from "../../src/send/feedback/intake/feedbackSignal.ts"
import { everyHelp } from "../reference/commandsPage.ts"
import { needing } from "../support/needs.ts"
import { variants } from "../variants/variants.ts"
import { blockOf, blocksOf, documents } from "./blocks.ts"

const root = new URL("../../", import.meta.url).pathname

const inFolder = async (use: (folder: string) => Promise<void> | void): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-fragments-"))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The faults of an environment as the platform finds them. */
const faultsOf = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> => {
  const resolved = resolveConfig(environment)
  return Result.isSuccess(resolved)
    ? resolved.success.unknown
    : [...resolved.failure.faults, ...resolved.failure.unknown]
}

describe("settings in the documents", () => {
  it("a catalogue of prices is one that the platform takes", () => {
    const { text } = blockOf("docs/platform/billing.md", `{"prices"`)
    expect(faultsOf({ SLUICE_BILLING_PRICES: text })).toEqual([])
    expect(faultsOf({ SLUICE_BILLING_PRICES: text.replace("amount", "amounts") })).toHaveLength(1)
  })

  it("the environment of a node is one that it starts with", () => {
    const lines = blockOf("docs/cluster.md", "SLUICE_PLACEMENT=cluster").text.split("\n")
    const environment = Object.fromEntries(lines.map((line) => [line.split("=", 1)[0]!, line.replace(/^\w+=/, "")]))
    // A secret is for who runs it to fill in.
    expect(environment.SLUICE_SECRETS_KEY).toBe("")
    expect(faultsOf({ ...environment, SLUICE_SECRETS_KEY: "5e".repeat(32) })).toEqual([])
    expect(faultsOf({ ...environment, SLUICE_PLACEMEMT: "cluster" })).toEqual(["SLUICE_PLACEMEMT"])
  })

  it("the settings of a program for language models start the command with settings that exist", () => {
    const { mcpServers } = JSON.parse(blockOf("docs/mcp.md", "{").text)
    const { args, command, env } = mcpServers.sluice
    expect([command, ...args].join(" ")).toBe("npx --no-install sluice mcp")
    // A key is for who runs it to fill in.
    const key = (env.SLUICE_API_KEY as string).replace("…", "Ab1".repeat(8))
    expect(faultsOf({ ...env, SLUICE_API_KEY: key })).toEqual([])
  })
})

describe("parts of other programs' files", () => {
  it("nats-server takes the lines for three machines beside nats.conf", () =>
    inFolder((folder) => {
      const file = join(folder, "nats.conf")
      const lines = blocksOf("docs/cluster.md").find(({ text }) => text.startsWith("server_name"))!.text
      const check = (text: string) => {
        writeFileSync(file, `${readFileSync(join(root, "nats.conf"), "utf8")}\n${text}\n`)
        return spawnSync(inject("natsServer"), ["-c", file, "-t"], { encoding: "utf8" })
      }
      expect(check(lines)).toMatchObject({ status: 0, stderr: expect.stringContaining("is valid") })
      expect(check(lines.replace("routes", "ruotes")).status).not.toBe(0)
    }))

  it("Prometheus takes the configuration of the runbook", needing("promtool"), () =>
    inFolder((folder) => {
      const file = join(folder, "prometheus.yml")
      const check = (text: string) => {
        writeFileSync(file, text)
        return spawnSync("promtool", ["check", "config", "--syntax-only", file], { encoding: "utf8" }).status
      }
      const { text } = blockOf("docs/runbook.md", "rule_files")
      // The package's place, and the file with a key, are a user's.
      const here = text
        .replace("node_modules/sluice/", root)
        .replace("/etc/prometheus/sluice.key", join(folder, "prometheus.yml"))
      expect(check(here)).toBe(0)
      expect(check(here.replace("static_configs", "static_config"))).not.toBe(0)
    })
  )

  it("a signal of another mail system is one that the platform reads", () => {
    const { text } = blockOf("docs/handoff.md", `{"id": "em_`)
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(FeedbackSignal))
    expect(decode(text)).toMatchObject({ what: "bounced", kind: "permanent" })
    expect(() => decode(text.replace(`"bounced"`, `"returned"`))).toThrow()
  })

  it("a broken variant has the form of those that there are", () => {
    const { text } = blocksOf("docs/testing.md").find((block) => block.text.startsWith("{\n  name:"))!
    const [, name] = /name: "([^"]+)"/.exec(text)!
    const variant = variants.find((one) => one.name === name)!
    const fields = [...text.matchAll(/^ {2}(\w+):/gm)].map(([, field]) => field!)
    expect(Object.keys(variant).toSorted()).toEqual(fields.toSorted())
    for (const field of ["find", "replace", "sentence"] as const) expect(text).toContain(variant[field])
  })
})

/** Lines of shell in the documents: what they run, with their words. */
const shellLines = documents.flatMap((document) =>
  blocksOf(document)
    .filter(({ language }) => language === "sh")
    .flatMap(({ line, text }) =>
      text
        .replaceAll(/\\\n */g, "")
        .split("\n")
        .map((command) => ({ of: `${document}:${line}`, command }))
    )
)

describe("command lines in the documents", () => {
  it("are of commands and flags that there are", async () => {
    const every = await everyHelp()
    const nameOf = ({ commandPath }: (typeof every)[number]): string => commandPath!.join(" ")
    const lines = shellLines.filter(({ command }) => /^(?:\w+=\S+ )*(?:npx --no-install )?sluice /.test(command))
    expect(lines.length).toBeGreaterThan(15)
    for (const { command, of } of lines) {
      const words = command
        .replace(/^(?:\w+=\S+ )*(?:npx --no-install )?/, "")
        .replace(/ +# .*$/, "")
        .split(/ +/)
      const help = every.filter((one) => ` ${words.join(" ")} `.startsWith(` ${nameOf(one)} `)).at(-1)!
      const below = (help.subcommands ?? []).flatMap(({ commands }) => commands)
      // A command with commands below it that has flags or words of its own runs by itself, too.
      const runs = below.length === 0 || help.flags.length > 0 || (help.args ?? []).length > 0
      expect(runs || words.includes("--version"), `${of}: ${command}`).toBe(true)
      const flags = [...help.flags.map(({ name }) => name), "help", "version"]
      const given = words.filter((word) => word.startsWith("--")).map((word) => word.slice(2).split("=")[0]!)
      expect(
        given.filter((name) => !flags.includes(name)),
        `${of}: ${command}`
      ).toEqual([])
    }
  })

  it("of npm are of scripts that package.json has", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    const texts = documents.map((document) => readFileSync(join(root, document), "utf8"))
    const named = texts.flatMap((text) => [...text.matchAll(/\bnpm run (?:-s )?([\w:]+)/g)].map(([, name]) => name!))
    expect(named.length).toBeGreaterThan(15)
    expect([...new Set(named)].filter((name) => scripts[name] === undefined)).toEqual([])
  })
})
