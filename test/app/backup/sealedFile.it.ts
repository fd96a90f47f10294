/** Files of a backup: what was written is read, and whatever was changed, cut, moved or exchanged is found. */
import { mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { digestProblem, lengthProblem, readSealed, writeSealed } from "../../../src/app/backup/sealedFile.ts"
import { parseSecretsKeys, type SecretsKeys } from "../../../src/common/secretsKeys.ts"
import { Prng } from "../../../src/simulation/kernel/Prng.ts"

const keys = parseSecretsKeys("5e".repeat(32))!
const others = parseSecretsKeys("6f".repeat(32))!
const name = "20260131T090500123Z/tables/events"
const chunk = 64 * 1024 + 16
const head = 28

/** Bytes that do not get smaller. */
const noise = (length: number, seed = 1): Buffer => {
  const random = new Prng(seed, "noise")
  return Buffer.from(Array.from({ length }, () => Math.floor(random.next() * 256)))
}

let folder = ""
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-sealed-"))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const write = async (content: Buffer, pieceBytes = 10_000) => {
  const path = join(folder, `${count++}`)
  const pieces = async function* () {
    for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
  }
  return { path, written: await writeSealed({ path, name, key: keys[0] }, pieces()) }
}
const read = (path: string, as = name, by: SecretsKeys = keys) => buffer(readSealed(path, as, by))

describe("a file of a backup", () => {
  it.each([0, 1, 1_000, 64 * 1024 - 1, 300_000])("has %s bytes again", async (length) => {
    const content = noise(length)
    const { path, written } = await write(content)
    expect((await read(path)).equals(content)).toBe(true)
    expect(await lengthProblem(path, name, written.bytes)).toBeUndefined()
    expect(await digestProblem(path, name, written.sha256)).toBeUndefined()
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it("reveals nothing of its content", async () => {
    const { path } = await write(Buffer.from("ann@example.com ".repeat(5_000)))
    const text = (await readFile(path)).toString("latin1")
    expect(text).not.toContain("ann@example.com")
  })

  it("names the place of a flipped bit, wherever it is", async () => {
    const content = noise(200_000)
    const { path } = await write(content)
    const whole = await readFile(path)
    for (const at of [head, head + 70_000, whole.length - 1]) {
      const changed = Buffer.from(whole)
      changed[at]! ^= 4
      await writeFile(path, changed)
      const begin = head + Math.floor((at - head) / chunk) * chunk
      await expect(read(path)).rejects.toThrow(
        `${name}: the ${Math.min(chunk, whole.length - begin)} bytes at byte ${begin} are not`
      )
    }
  })

  it("is found to be cut, also between two chunks", async () => {
    const { path, written } = await write(noise(200_000))
    for (const length of [written.bytes - 1, head + 2 * chunk, head, 3]) {
      await truncate(path, length)
      await expect(read(path)).rejects.toThrow(/ at byte \d+|does not begin/)
      expect(await lengthProblem(path, name, written.bytes)).toBe(
        `${name}: the file is cut at byte ${length} of ${written.bytes}`
      )
    }
  })

  it("cannot take the place of another one, nor have its chunks exchanged", async () => {
    const { path } = await write(noise(200_000))
    await expect(read(path, "20260131T090500123Z/tables/emails")).rejects.toThrow("are not those that were written")
    const whole = await readFile(path)
    const [first, second] = [whole.subarray(head, head + chunk), whole.subarray(head + chunk, head + 2 * chunk)]
    await writeFile(path, Buffer.concat([whole.subarray(0, head), second, first, whole.subarray(head + 2 * chunk)]))
    await expect(read(path)).rejects.toThrow(`at byte ${head} `)
  })

  it("opens under its key alone, also where that is no longer the first", async () => {
    const content = noise(1_000)
    const { path } = await write(content)
    await expect(read(path, name, others)).rejects.toThrow(`it needs the secrets key "${keys[0].id}"`)
    expect((await read(path, name, [...others, ...keys])).equals(content)).toBe(true)
  })

  it("that is not there is missing", async () => {
    await expect(read(join(folder, "none"))).rejects.toThrow(`${name}: the file is missing`)
    expect(await lengthProblem(join(folder, "none"), name, 1)).toBe(`${name}: the file is missing`)
  })
})
