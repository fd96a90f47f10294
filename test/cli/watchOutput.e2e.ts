/** Commands whose output goes nowhere: a full disk, and a reader that has gone. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync } from "node:fs"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { isVariantRun } from "../support/platform.ts"

/** How a command ends whose stdout is this, and what it says. */
const ended = async (program: string, args: ReadonlyArray<string>, stdout: number | "broken" | "pipe") => {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", stdout === "broken" ? "pipe" : stdout, "pipe"]
  })
  if (stdout === "broken") child.stdout!.destroy()
  else child.stdout?.resume()
  const [told, [code]] = await Promise.all([text(child.stderr!), once(child, "close")])
  return { told, code }
}

const sluice = isVariantRun ? "src/main.ts" : "bin/sluice.js"

/** The last is answered without the program. */
const programs = [
  [sluice, ["config"]],
  [sluice, ["config", "--help"]],
  ["bin/sluice.js", ["--version"]]
] as const

describe("a command whose output cannot be written", () => {
  it.each(programs)("fails where the disk is full: %s %s", async (program, args) => {
    const full = openSync("/dev/full", "w")
    try {
      const { code, told } = await ended(program, args, full)
      expect([code, told]).toEqual([1, expect.stringContaining("could not be written: ENOSPC")])
    } finally {
      closeSync(full)
    }
  })

  it.each(programs)("fails where its reader has gone: %s %s", async (program, args) => {
    expect(await ended(program, args, "broken")).toEqual({ code: 1, told: "" })
  })

  it.each(programs)("and succeeds where it can: %s %s", async (program, args) => {
    expect(await ended(program, args, "pipe")).toEqual({ code: 0, told: "" })
  })
})
