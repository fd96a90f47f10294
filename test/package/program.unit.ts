/**
 * The bundle that a checkout starts (bin/program.js): made again when a source has changed, never used when it does not fit, and the modules
 * themselves where none can be made.
 */
import { execFile } from "node:child_process"
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = new URL("../..", import.meta.url).pathname

/** A checkout of its own, with the installed packages of this one and a cache of its own. */
let checkout: string
beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "sluice-checkout-"))
  for (const part of ["bin", "src", "package.json", "package-lock.json", "tsconfig.json", "nats.conf"])
    await cp(join(root, part), join(checkout, part), { recursive: true, preserveTimestamps: true })
  await mkdir(join(checkout, "node_modules"))
  for (const name of await readdir(join(root, "node_modules")))
    if (name !== ".cache") await symlink(join(root, "node_modules", name), join(checkout, "node_modules", name))
})
afterAll(() => rm(checkout, { recursive: true, force: true }))

const sluice = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly stdout: string; readonly stderr: string }>((resolve, reject) =>
    execFile(
      process.execPath,
      [join(checkout, "bin/sluice.js"), ...args],
      { env: { PATH: process.env.PATH, HOME: checkout } },
      (error, stdout, stderr) => (error === null ? resolve({ stdout, stderr }) : reject(error))
    )
  )

const builds = () => readdir(join(checkout, "node_modules/.cache/sluice"))

const described = "src/cli/config.ts"

/** Changes what `sluice config --help` says. */
const describeAs = async (words: string) => {
  const file = join(checkout, described)
  const text = await readFile(file, "utf8")
  await writeFile(file, text.replace(/withDescription\("[^"]*"\)/, `withDescription("${words}")`))
}

describe("the bundle of a checkout", () => {
  it("is made by the first command, and used by the next one", async () => {
    await describeAs("The first words")
    expect((await sluice("config", "--help")).stdout).toContain("The first words")
    const [made, ...others] = await builds()
    expect(others).toEqual([])
    // The next command runs what is there, so a mark in it shows.
    const start = join(checkout, "node_modules/.cache/sluice", made!, "start.mjs")
    await appendFile(start, `\nconsole.log("from the bundle")\n`)
    expect((await sluice("config", "--help")).stdout).toContain("from the bundle")
  })

  it("is made again when a source has changed", async () => {
    await describeAs("Other words")
    const { stderr, stdout } = await sluice("config", "--help")
    expect(stdout).toContain("Other words")
    expect(stdout).not.toContain("from the bundle")
    expect(stderr).toBe("")
    expect(await builds()).toHaveLength(2)
  })

  it("is for every user of the machine to read", async () => {
    for (const name of await builds()) {
      const { mode } = await stat(join(checkout, "node_modules/.cache/sluice", name))
      expect(mode & 0o055).toBe(0o055)
    }
  })

  it("is not needed: where it cannot be made, the modules run", async () => {
    const cache = join(checkout, "node_modules/.cache")
    await rm(cache, { recursive: true })
    // A file in its place: root may write into every folder.
    await writeFile(cache, "")
    expect((await sluice("config", "--help")).stdout).toContain("Other words")
  })
})
