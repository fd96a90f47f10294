/**
 * The disk of the embedded NATS runs full under a platform that works: `/readyz` names it, nothing answered is lost, and
 * work goes on by itself once there is room again. nats-server alone would refuse writes until somebody restarts it.
 * Needs a small disk of its own, which only root may mount.
 */
import { execFile } from "node:child_process"
import { open, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { needing } from "../support/needs.ts"
import { type Platform, startPlatform } from "../support/platform.ts"
import { copyDataFolder } from "../support/templates.ts"
import { until, useFolders } from "./support.ts"

const run = promisify(execFile)
const newFolder = useFolders()
let folder = ""
let platform: Platform

const filler = () => join(folder, "nats", "filler")

/** Takes all room that is left. */
const fill = async (): Promise<void> => {
  const { bavail, bsize } = await statfs(join(folder, "nats"))
  const file = await open(filler(), "a")
  const block = Buffer.alloc(256 * 1024)
  // The last blocks in small pieces: a file takes less than a block that does not fit whole.
  for (let left = bavail * bsize; left > 0; left -= block.length) await file.write(block).catch(() => {})
  for (let pages = 0; pages < 100; pages++) await file.write(Buffer.alloc(bsize)).catch(() => {})
  await file.close()
}

const lookUp = (): Promise<Response> =>
  fetch(`${platform.url}/v1/telco/lookup/+12125550123`, { headers: { authorization: `Bearer ${platform.demoKey}` } })

interface Readiness {
  readonly checks: { readonly disk: { readonly ok: boolean; readonly detail?: string } }
}

const diskOf = async () => {
  const answer = await fetch(`${platform.url}/readyz`)
  return ((await answer.json()) as Readiness).checks.disk
}

const events = async (): Promise<number> => {
  const answer = await fetch(`${platform.url}/v1/events?type=telco.*&limit=100`, {
    headers: { authorization: `Bearer ${platform.demoKey}` }
  })
  return ((await answer.json()) as { readonly data: ReadonlyArray<unknown> }).data.length
}

describe("a full disk of the embedded NATS", needing("mount"), () => {
  beforeAll(async () => {
    folder = await copyDataFolder(await newFolder())
    await run("mount", ["-t", "tmpfs", "-o", "size=160m,mode=700", "tmpfs", join(folder, "nats")])
    platform = await startPlatform({ SLUICE_PARTITIONS: "2" }, folder)
  })

  afterAll(async () => {
    await platform?.stop()
    await run("umount", ["-l", join(folder, "nats")])
  })

  it("[platform 8.1] is named by /readyz, and heals once there is room", async () => {
    let answered = 0
    const count = async () => {
      const { ok, status } = await lookUp()
      expect([200, 503]).toContain(status)
      answered += ok ? 1 : 0
      return ok
    }
    expect(await count()).toBe(true)
    expect(await diskOf()).toMatchObject({ ok: true })

    await fill()
    // A look-up makes an event, which is stored before it is answered.
    await until(async () => !(await count()))
    await until(async () => {
      await count()
      return /NATS refuses writes for \d+ s, of .*Make room on its disk/.test((await diskOf()).detail ?? "")
    })
    // What is in memory is answered meanwhile.
    const headers = { authorization: `Bearer ${platform.demoKey}` }
    expect((await fetch(`${platform.url}/v1/npa/212`, { headers })).status).toBe(200)

    await rm(filler())
    await until(count)
    await until(async () => !/NATS refuses writes/.test((await diskOf()).detail ?? ""))
    expect(platform.stderr()).toContain("The embedded NATS server is restarted, so that it takes writes again")
    // Those that were refused may be stored all the same: their outcome was not known.
    await until(async () => (await events()) >= answered)
  })
})
