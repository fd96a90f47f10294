/**
 * A data folder on a disk without room, as an operator meets it: at a first start, while the platform runs, in commands,
 * and at a later start. Needs a small disk of its own, which only root may mount.
 */
import { execFile } from "node:child_process"
import { open, rm, statfs, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { usLines } from "../directory/support.ts"
import { needing } from "../support/needs.ts"
import { type Platform, sluice, startPlatform } from "../support/platform.ts"
import { copyDataFolder } from "../support/templates.ts"
import { textOf, usNpa } from "./files.ts"
import { refusal, until, useFolders } from "./support.ts"

const run = promisify(execFile)
const newFolder = useFolders()
let folder = ""
let platform: Platform | undefined

const environment = () => ({ SLUICE_PORT: "0", SLUICE_DATA_DIR: folder })

const mount = (megabytes: number) => run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "tmpfs", folder])

/** Leaves so many bytes free. */
const fill = async (leaveBytes: number): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  const file = await open(join(folder, "logs", "filler"), "a")
  const block = Buffer.alloc(1024 * 1024)
  for (let left = bavail * bsize - leaveBytes; left > 0; left -= block.length) {
    await file.write(block, 0, Math.min(block.length, left)).catch(() => {})
  }
  await file.close()
}

const empty = () => rm(join(folder, "logs", "filler"), { force: true })

const full = (needed: string) =>
  new RegExp(
    `^sluice: The disk of the data folder ${folder} is full: \\d+ MB are free and ${needed} MB are needed\\. Make room there, or choose another folder with SLUICE_DATA_DIR\\.$`
  )

describe("a full disk", needing("mount"), () => {
  beforeAll(async () => {
    folder = await newFolder()
  })

  afterAll(async () => {
    platform?.process.kill("SIGKILL")
    await platform?.finished
    await run("umount", ["-l", folder])
  })

  it("is one sentence at a first start and in a command, and nothing is begun", async () => {
    await mount(40)
    expect(refusal(await sluice(["serve"], environment()))).toMatch(full("256"))
    expect(refusal(await sluice(["orgs", "create", "Acme"], environment()))).toMatch(full("256"))
    await run("umount", [folder])
  })

  it("degrades a running platform, which reads on; commands say it, and nothing is lost when there is room again", async () => {
    await mount(700)
    await copyDataFolder(folder)
    platform = await startPlatform(environment(), folder)
    const status = async () =>
      ((await (await fetch(`${platform!.url}/v1/health`)).json()) as { readonly status: string }).status
    expect(await status()).toBe("healthy")
    await fill(0)
    await until(async () => (await status()) === "degraded")
    const headers = { authorization: `Bearer ${platform.demoKey}` }
    expect((await fetch(`${platform.url}/v1/npa/212`, { headers })).status).toBe(200)
    // It is recorded, and 800 changed records need more pages than their table has.
    const changed = join(await newFolder(), "changed.txt")
    await writeFile(
      changed,
      textOf(usLines(usNpa).map((line) => line.replace(/"[^"]*" */, '"CHANGED CO"'.padEnd(100))))
    )
    const refused = await sluice(["ingest", changed], environment())
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: "" })
    expect(refused.stderr.trimEnd().split("\n").at(-1)).toMatch(full("16"))
    await empty()
    await until(async () => (await status()) === "healthy")
    const { stdout } = await sluice(["ingest", changed], environment())
    expect(stdout).toMatch(/read 800, added 0, changed 79\d, removed 0/)
  })

  it("is one sentence at a later start, which succeeds once there is room", async () => {
    await platform!.stop()
    platform = undefined
    await fill(0)
    expect(refusal(await sluice(["serve"], environment()))).toMatch(full("16"))
    expect(refusal(await sluice(["recover"], environment()))).toMatch(full("16"))
    await empty()
    platform = await startPlatform(environment(), folder)
    expect(await (await fetch(`${platform.url}/v1/stats`)).json()).toMatchObject({ total_records: 1_600 })
  })
})
