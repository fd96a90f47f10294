/** `npm test` runs a file that failed again, alone, and lists it as unsteady when it passes then (test/main.ts). */
import { spawn } from "node:child_process"
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const main = fileURLToPath(new URL("main.ts", import.meta.url))
const modules = fileURLToPath(new URL("../node_modules", import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-unsteady-"))
  await symlink(modules, join(folder, "node_modules"))
  await writeFile(
    join(folder, "vitest.config.mjs"),
    `export default { test: { root: ${JSON.stringify(folder)}, include: ["*.unit.mjs"], isolate: false } }`
  )
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs these files, each a test's body, and answers the exit code and the last lines. */
const runFiles = async (bodies: Readonly<Record<string, string>>) => {
  for (const [name, body] of Object.entries(bodies))
    await writeFile(
      join(folder, `${name}.unit.mjs`),
      `import { existsSync, writeFileSync } from "node:fs"\nimport { expect, it } from "vitest"\nit("holds", () => {${body}})\n`
    )
  const child = spawn(process.execPath, [main, "--config", join(folder, "vitest.config.mjs")], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ["ignore", "pipe", "ignore"]
  })
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
  })
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
  return { code, last: output.trim().split("\n").slice(-2) }
}

const failsOnce = (mark: string) =>
  `if (!existsSync("${mark}")) { writeFileSync("${mark}", ""); expect("the first run").toBe("steady") }`

describe("A run of the tests", () => {
  it("lists a file that failed and then passed alone, and passes", async () => {
    const { code, last } = await runFiles({ steady: "", unsteady: failsOnce("mark") })
    expect(code).toBe(0)
    expect(last).toEqual([
      "unsteady: unsteady.unit.mjs: holds: expected 'the first run' to be 'steady' // Object.is equality",
      "2 passed, 0 failed"
    ])
  })

  it("fails when a file fails twice", async () => {
    const { code, last } = await runFiles({ steady: "", wrong: `expect(1).toBe(2)` })
    expect(code).toBe(1)
    expect(last.at(-1)).toBe("1 passed, 1 failed")
    expect(last.join("\n")).not.toContain("unsteady:")
  })

  it("counts a file that cannot be loaded", async () => {
    const { code, last } = await runFiles({ steady: "", broken: "}); throw new Error('broken'); (() => {" })
    expect(code).toBe(1)
    expect(last.at(-1)).toMatch(/^\d passed, 1 failed$/)
  })
})
